/* Between the files of server/match and their tests. */
#ifndef MATCH_INTERNAL_H
#define MATCH_INTERNAL_H

#include "server/interest/interest.h"
#include "server/match/match.h"
#include "server/match/observe.h"
#include "server/replicate/replicate.h"

/* Ring of inputs that wait for their tick, by target tick. Part of the session, not of the state:
 * what a tick consumed is state. */
struct input_entry {
    struct arb_input input; /* sequence 0: empty */
    uint8_t control;        /* control number under which it was made */
};

struct input_buffer {
    struct input_entry *entries; /* [size] */
    uint32_t size;               /* input.buffer_ticks + 1 */
    arb_sequence newest;         /* newest sequence taken or passed over; 0: none yet */
    arb_tick newest_target;
    int32_t
        worst_lead; /* smallest target - now of new inputs since the last snapshot; MATCH_NO_LEAD */
    arb_sequence late_sequence; /* newest that came too late; 0: none */
};

enum {
    MATCH_TEAMS = 3, /* none, and two */
    MATCH_NO_LEAD = 127,
    MATCH_SESSIONS_MAX = 4 * ARB_PLAYERS_MAX, /* indices of sessions that a port may use */
};

/* What belongs to the session in a player slot; the player itself is state. */
struct match_seat {
    bool seated;
    bool has_session; /* false: a bench's player */
    bool needs_welcome;
    struct port_session session;
    struct input_buffer buffer;
    struct arb_counts counts;
    struct arb_vec2 eye; /* centre of its interest; stays where its last character was */
};

struct match {
    struct match_config config;
    const struct rules *rules;
    const struct map *map;
    const struct arb_geometry *geometry;
    struct arb_move_params move;
    struct match_port port;
    struct match_observer observer;
    uint8_t match_id[16];

    struct world world;
    struct collide *collide;
    struct rewind *rewind;
    struct interest *interest;
    struct replicate *replicate;
    struct rules_context context;
    struct rules_events events;

    struct match_seat *seats;                     /* [players] */
    uint16_t slot_of_session[MATCH_SESSIONS_MAX]; /* by session index; checked against the seat */
    struct arb_input *applied;    /* [players], this tick's, sequence 0: none or repeated */
    bool *consumed;               /* [players] a real input was consumed in this tick */
    uint8_t *origin_control;      /* [players] control number that the origin records are of */
    uint16_t *shot_edges_carried; /* [players] a carried fire press is in this tick's input */
    struct rules_moved *moved;    /* [players] */
    struct rules_shot *shots;     /* [players] */
    uint32_t shot_count;
    const struct collide_contact *contacts;
    uint32_t contact_count;
    struct match_command *commands; /* of this tick */
    uint32_t command_count, command_capacity;
    uint16_t *joined, *left; /* [players] slots, for stage 7 */
    uint32_t joined_count, left_count;
    struct arb_key *always[MATCH_TEAMS]; /* [entities] each: what a team always sees */
    uint32_t always_count[MATCH_TEAMS];
    struct arb_key *always_mine; /* [entities]: the same with the own character, of one viewer */
    uint8_t *scratch;            /* for one long message */
    size_t scratch_bytes;

    struct world_player *archive; /* lines of those who left and whose slot was needed */
    uint32_t archive_count, archive_capacity;

    arb_tick first_tick;
    arb_tick empty_since; /* S[tick] since which nobody is present; 0: somebody is */
    uint64_t checksum;
    bool anybody_came;
    bool abort_asked;
    uint8_t abort_reason;
    bool decided;          /* result is final */
    arb_tick decided_tick; /* published tick that decided it */
    arb_tick decided_ticks;
    uint64_t decided_checksum;
    uint64_t joins_refused;
    uint32_t present;
};

/* inputs.c: buffers between stages 1 and 3 */
void inputs_reset(struct input_buffer *buffer);
/* One packet of a session, before the step of tick `now`. */
void inputs_add(struct match *match, uint16_t slot, const struct arb_input_packet *packet,
                arb_tick now);
/* One that came too late: at most its presses count, with the next input. */
void inputs_add_late(struct match *match, uint16_t slot, const struct arb_input *input,
                     uint8_t control, arb_tick now);
/* Stage 3 for one player: writes match->applied[slot]. */
void inputs_take(struct match *match, uint16_t slot, arb_tick now);

/* life.c: who is there, and the phases */
void life_commands(struct match *match);    /* stage 3: joins and leaves of this tick */
void life_begin_rules(struct match *match); /* stage 7, first: phases that end, players that left */
void life_end_rules(
    struct match *match); /* stage 7, last: players that joined, rounds that are over */

/* announce.c: reliable messages of stage 9 */
void announce(struct match *match);
size_t announce_scratch_bytes(const struct arb_geometry *geometry);
void announce_player(struct match *match, uint16_t slot, uint16_t to);

/* Winner by the mode's rank: slot, or ARB_NO_SLOT for a draw or nobody. */
uint16_t life_winner(const struct match *match);

#endif
