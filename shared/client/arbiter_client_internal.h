/* The inside of a client: its state, the calls between its files, and what tests over the simulated
 * network need (a carrier of theirs, the predicted state, the newest frame). A game never includes
 * this.
 *
 * arbiter_client.c           life, connection, the poll
 * arb_client_receive.c       messages of the server
 * arb_client_snapshot.c      chunks, commit, correction
 * arb_client_events.c        reliable events, scoreboard
 * arb_client_input.c         the player's controls, the input clock, packets
 * arb_client_spectate.c      the same of a spectator: what it wants to see
 * arb_client_view.c          what is drawn
 * arb_client_projectiles.c   what flies
 * arb_client_line.c          silence, stutters and whose fault they were
 * arb_client_info.c          map, tables, figures
 * arb_client_resolve.c       names of hosts
 * arb_client_clock.c         the time that the system has
 */
#ifndef ARBITER_CLIENT_INTERNAL_H
#define ARBITER_CLIENT_INTERNAL_H

#include "shared/client/arb_client_history.h"
#include "shared/client/arb_client_light.h"
#include "shared/client/arb_client_line.h"
#include "shared/client/arb_client_pace.h"
#include "shared/client/arb_client_predict.h"
#include "shared/client/arb_client_projectiles.h"
#include "shared/client/arb_client_time.h"
#include "shared/client/arbiter_client.h"
#include "shared/proto/arb_proto.h"
#include "shared/transport/arb_net.h"

enum {
    ARB_CLIENT_PINGS = 16, /* under way at once */
    /* Waiting for their tick or for the next sample; and as many more as there are players, twice,
     * since each may join and have a score in one tick. */
    ARB_CLIENT_EVENTS = 256,
    ARB_CLIENT_EVENTS_LIGHT = 32, /* of one that forgets them */
    ARB_CLIENT_NEWS = 8,          /* of the line, waiting for the next sample */
    ARB_CLIENT_NO_MEASURE = 127,  /* of buffer_ticks: no new input since the last snapshot */
};

/* Rules and map: from the welcome to the end of the connection. */
struct arb_client_match {
    bool known;
    struct arb_welcome welcome;
    struct arb_move_params params;
    const struct arb_schema *schema;
    const struct arb_fields *own_fields;
    struct arb_geometry *geometry;
    /* Units of the schema's fields side by side; 0 of those that a kind has not. */
    float units[ARB_KINDS_MAX][ARB_KIND_FIELDS_MAX];
};

struct arb_client_clocks {
    struct arb_time_sync sync;
    struct arb_slew server, view, input; /* server's present; drawn time; input clock */
    struct arb_delay delay;
    struct arb_delay_state delay_now;
    struct arb_lead lead;
    uint16_t ping_sequence;
    uint32_t pings_sent;
    uint64_t ping_sent_ns[ARB_CLIENT_PINGS]; /* by sequence */
    uint32_t pings_open;                     /* bit sequence % 16: not answered */
    uint64_t first_ping_ns, next_ping_ns, newest_rtt_ns;
    uint64_t poll_gap_ns; /* between the last two polls, or the longest that counts as a frame */
    bool behind;  /* what is handled now has waited here: it says nothing about the network */
    float rtt_ms; /* smoothed */
};

struct arb_client_snapshots {
    struct arb_assembly assembly;
    struct arb_history history;
    bool any;                          /* one was committed */
    struct arb_snapshot_header header; /* of the newest */
    arb_tick tick;                     /* published, of the newest */
    uint64_t committed_mask;           /* bit i: id newest - i was committed */
    uint64_t ids_seen;                 /* since the first, at most 64 count for the loss */
    struct arb_key controlled;         /* of the newest, as all that follows; or none */
    struct arb_own own;
    struct arb_own_part own_part;
    bool has_own;
    int32_t own_jump;        /* jump count of the own entity; -1: not seen */
    arb_sequence consumed;   /* by the server, as the newest says */
    arb_sequence forgotten;  /* inputs up to it were forgotten here and perhaps not there... */
    arb_tick forgotten_tick; /* ... and their newest target */
    bool unacknowledged;     /* nothing was sent since the newest commit */
};

struct arb_client_controls {
    struct arbiter_input now; /* as arbiter_client_input said last */
    uint16_t collected;       /* presses since the last input was made */
    bool fire_caught;         /* the first press of fire since then: its own aim and view */
    uint16_t fire_aim;
    struct arb_view fire_view;
    uint8_t fire_fraction;
    uint16_t held_before;  /* buttons of the last input made */
    struct arb_view drawn; /* of the last sample */
    uint8_t drawn_fraction;
    uint64_t packet_ns;   /* when the last packet went */
    uint64_t edges_until; /* presses count up to this tick: the match is decided there */
};

struct arb_client_spectating {
    struct arb_spectate wish; /* as the caller said last; number of the newest message */
    bool changed;             /* since that one */
    bool placed;              /* the camera, by the caller */
    uint64_t sent_ns;
};

struct arb_client_events {
    struct arb_event *ring; /* [capacity]; one block with the next two */
    arb_tick *ticks;
    struct arbiter_event *out;  /* [capacity + ARB_CLIENT_NEWS] */
    uint32_t capacity;          /* 0: there is none, since nobody welcomed us yet */
    uint32_t first, due, count; /* ring from first; the first `due` are applied, not yet sampled */
    arb_tick newest;            /* to widen ticks with */
    struct arbiter_event news[ARB_CLIENT_NEWS]; /* of the line; told behind the match's */
    uint32_t news_count;
    struct arbiter_event alone[ARB_CLIENT_NEWS]; /* the same as told without a ring */
    const struct arbiter_event *told;            /* by arb_client_events_take */
};

struct arb_client_board {
    struct arbiter_player *players; /* by slot, player_capacity */
    bool *known;
    struct arbiter_player *out;
    uint32_t capacity;
    enum arbiter_match_phase phase;
    uint32_t round;
    arb_tick phase_end_tick;
    bool has_result;
    struct arb_event_result result;
};

struct arb_client_drawing {
    struct arb_vec2 offset; /* of the own player */
    uint64_t offset_ns;     /* when it was that */
    struct arbiter_entity *entities;
    struct arbiter_point *points;
    uint32_t entity_count, point_count;
};

struct arbiter_client {
    struct arbiter_config config;
    struct arb_client_account account; /* of the newest connection */
    const struct arb_schema *schema;   /* of its match, which outlives it; or NULL */
    bool light;                        /* arb_client_go_light */
    enum arbiter_connection connection;
    enum arbiter_game game;
    struct arbiter_disconnect_info info;
    struct arbiter_statistics statistics;
    double correction_sum_m,
        outside_sum_m;                   /* of the corrections without a cause, and from outside */
    char address[ARBITER_ADDRESS_BYTES]; /* of the newest connection; "": none, or a carrier's */
    uint16_t port;
    bool has_token;                     /* the welcome of the newest connection had one */
    uint8_t token[ARBITER_TOKEN_BYTES]; /* of it; before the welcome the one that is shown */
    bool resumes;
    struct arb_line line; /* of the newest connection */

    struct arb_net *net;
    uint64_t now_ns;     /* of the newest call */
    uint64_t connect_ns; /* when connecting or disconnecting began */
    bool ending;         /* the connection ends after the event at hand */
    struct arb_parts parts;
    uint8_t *parts_bytes;
    void *room; /* one block for all arrays of the connection */

    struct arb_client_match match;
    struct arb_client_clocks clocks;
    struct arb_client_snapshots snapshots;
    struct arb_client_controls controls;
    struct arb_client_spectating spectating;
    struct arb_predict predict;
    struct arb_client_events events;
    struct arb_client_board board;
    struct arb_client_drawing drawing;
    struct arb_client_projectiles projectiles;
};

/* ---- for tests ---- */

/* As arbiter_client_connect, over a carrier of the caller's, which the client closes. */
bool arb_client_connect_carrier(struct arbiter_client *client, struct arb_carrier *carrier,
                                uint64_t now_ns);
/* The same of arbiter_client_resume. */
bool arb_client_resume_carrier(struct arbiter_client *client, struct arb_carrier *carrier,
                               const uint8_t token[ARBITER_TOKEN_BYTES], uint64_t now_ns);
/* The same of arbiter_client_rejoin. */
bool arb_client_rejoin_carrier(struct arbiter_client *client, struct arb_carrier *carrier,
                               uint64_t now_ns);
/* Predicted state of published tick `tick`; false when none is held. */
bool arb_client_predicted(const struct arbiter_client *client, arb_tick tick, struct arb_own *own);
/* The newest committed frame; false before the first. Points into the client. */
bool arb_client_frame(const struct arbiter_client *client, struct arb_frame *frame);
/* The server's time at now_ns, before smoothing. */
bool arb_client_estimate(const struct arbiter_client *client, uint64_t now_ns, arb_fine *out);

/* ---- between the client's files ---- */

/* The connection ends when the event at hand is done; the first reason wins. */
void arb_client_end(struct arbiter_client *client, enum arbiter_reason reason, const char *text);
/* A malformed message: counted; too many end the connection. */
void arb_client_bad(struct arbiter_client *client);
void arb_client_message(struct arbiter_client *client, const uint8_t *bytes, size_t size,
                        uint64_t received_ns);
void arb_client_send_hello(struct arbiter_client *client);
/* Ends for what the server said, in a message or with the disconnect: enum arb_refusal; any other:
 * it said nothing, and the connection was lost. */
void arb_client_end_refused(struct arbiter_client *client, uint32_t refusal);

/* Room for all that max_entities, max_points and the players need; once, at the welcome. */
void arb_client_make_room(struct arbiter_client *client);

void arb_client_chunk(struct arbiter_client *client, const uint8_t *bytes, size_t size,
                      uint64_t received_ns);

/* Room for the events of a connection; arb_client_events_free gives it back, with the last. */
void arb_client_events_make(struct arbiter_client *client, uint32_t capacity);
void arb_client_events_free(struct arbiter_client *client);
void arb_client_event(struct arbiter_client *client, const uint8_t *bytes, size_t size);
/* EVENTS, and SCORES as so many events. */
void arb_client_event_list(struct arbiter_client *client, const uint8_t *bytes, size_t size);
void arb_client_scores(struct arbiter_client *client, const uint8_t *bytes, size_t size);
/* Applies what the drawn time has reached; `all`: whatever is left. */
void arb_client_events_due(struct arbiter_client *client, bool all);
/* Takes the applied ones out, as a sample gives them. */
uint32_t arb_client_events_take(struct arbiter_client *client);

/* Of the own line, behind what is told of the match; of too many the oldest are forgotten. */
void arb_client_news(struct arbiter_client *client, enum arbiter_line what);
/* In each poll: what was heard, and whether the poll is late. */
void arb_client_line_poll(struct arbiter_client *client, uint64_t now_ns);
/* The view of a sample: whether it ran out of snapshots. */
void arb_client_line_drawn(struct arbiter_client *client, const struct arb_view *view);

/* Clocks to now_ns. */
void arb_client_clocks_advance(struct arbiter_client *client, uint64_t now_ns);
void arb_client_ping(struct arbiter_client *client, uint64_t now_ns);
void arb_client_pong(struct arbiter_client *client, const struct arb_pong *pong,
                     uint64_t received_ns);

/* As the best sample says; 0 without one. */
arb_fine arb_client_half_round_trip(const struct arbiter_client *client);

/* Clocks and loss into the statistics, which outlive the connection. */
void arb_client_note_clocks(struct arbiter_client *client);

/* Makes the inputs that are due and sends what is unacknowledged. */
void arb_client_inputs_make(struct arbiter_client *client, uint64_t now_ns);
/* Of a spectator: a connection plays from now on; says what is due. */
void arb_client_spectate_begin(struct arbiter_client *client);
void arb_client_spectate(struct arbiter_client *client, uint64_t now_ns);
/* The input that the held controls would make now. */
struct arb_input arb_client_input_now(const struct arbiter_client *client);

/* An entity of this player that the server has not told of, behind those drawn so far. */
void arb_client_draw_shadow(struct arbiter_client *client, const struct arb_published *state,
                            struct arb_vec2 at, struct arb_vec2 speed);

/* What the own player looks like now, without the offset. */
void arb_client_own_shown(const struct arbiter_client *client, struct arb_predict_shown *shown);
/* The offset at now_ns. */
struct arb_vec2 arb_client_offset(const struct arbiter_client *client, uint64_t now_ns);
void arb_client_offset_set(struct arbiter_client *client, struct arb_vec2 offset);

/* Which of what a name stands for is taken: the first, as the system orders them; but a name of
 * this machine in both families (Debian's localhost) is its IPv4 one, where a server listens unless
 * it is told otherwise. `found` is of getaddrinfo, and so is what comes back. */
struct addrinfo;
const struct addrinfo *arb_client_chosen_address(const struct addrinfo *found);

#endif
