/* Arbiter client library: connect, feed input, poll, sample what to draw (spec/client.md).
 *
 * It owns protocol, time, prediction of the own player, assembly of snapshots and interpolation of
 * everybody else. It never draws, never blocks (but arbiter_resolve), reads no clock and, once a
 * connection plays, never allocates. A game calls, each of its frames:
 *
 *     arbiter_client_input(client, &input);              as often as it has news
 *     arbiter_client_poll(client, now_ns);               handles the network
 *     arbiter_client_sample(client, now_ns, &view);      what to draw
 *
 * `now_ns` is any monotonic clock in nanoseconds, the same for all calls of one client. One client,
 * one thread; several clients may live in several threads. Metres, seconds, radians; x right, y up,
 * angles counter-clockwise from +x.
 */
#ifndef ARBITER_CLIENT_H
#define ARBITER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Goes up when a struct or a function changes its form; arbiter_config carries it. */
#define ARBITER_CLIENT_ABI 3U

enum {
    ARBITER_NAME_BYTES = 32,    /* a name with its NUL, UTF-8 */
    ARBITER_HOST_BYTES = 256,   /* a host's name or address with its NUL */
    ARBITER_ADDRESS_BYTES = 64, /* a numeric address with its NUL */
    ARBITER_TEXT_BYTES = 160,
    ARBITER_BUTTONS = 16,
    ARBITER_FIELDS_MAX = 16,      /* values of one entity */
    ARBITER_SHAPE_POINTS_MAX = 8, /* corners of a static shape */
    ARBITER_WEAPONS_MAX = 6,
    ARBITER_TOKEN_BYTES = 16, /* a resume token */
    ARBITER_STUTTERS = 32,    /* the newest that are kept */
    ARBITER_NO_SLOT = 0xFFFF, /* no player */
};

struct arbiter_client;

/* ---- input ---- */

enum arbiter_button {
    ARBITER_BUTTON_FIRE = 1 << 0, /* mode `serpent`: boost */
    ARBITER_BUTTON_USE = 1 << 1,
    ARBITER_BUTTON_DASH = 1 << 2,
    ARBITER_BUTTON_RELOAD = 1 << 3, /* bits 4..15 belong to the mode */
};

/* What the player holds and wants at this moment. */
struct arbiter_input {
    uint16_t buttons;      /* held, enum arbiter_button */
    int8_t move_x, move_y; /* -127..127, world axes; `serpent`: x < -32 turns left, > 32 right */
    uint16_t aim;          /* 1/65536 turn counter-clockwise from +x */
};

/* Radians to arbiter_input.aim. */
uint16_t arbiter_aim(float angle);

/* ---- configuration ---- */

/* Called in arbiter_client_poll for each input that is about to be made, with the tick that will
 * consume it and the input that arbiter_client_input has given, presses that are over by now
 * included; may replace it. For games and tools whose logic runs in ticks, recordings for one. */
typedef void (*arbiter_tick_function)(void *user, uint64_t tick, struct arbiter_input *input);

struct arbiter_config {
    uint32_t abi;                  /* ARBITER_CLIENT_ABI */
    char name[ARBITER_NAME_BYTES]; /* the player's, as others see it; UTF-8 without controls */
    bool spectate; /* false: plays. true: watches without a character, see "spectators" below */

    /* Others are drawn in the past by the age of what arrives plus an interpolation delay that
     * follows send interval and measured jitter within these limits. Longer: smoother under loss;
     * shorter: fresher. Equal values fix it. */
    uint32_t interpolation_min_ms; /* 0 */
    uint32_t interpolation_max_ms; /* 250 */

    /* Own player, when the server's result differs from what was shown: */
    float correction_half_life_ms; /* 60: the visible offset halves in that time */
    float correction_tolerance_m;  /* 0.005: up to here nothing is smoothed */
    float hard_snap_m;             /* 2: beyond, the own player jumps */

    /* Inputs run ahead of the server just far enough to be there in time. */
    float lead_min_ticks;  /* 0 */
    float lead_max_ticks;  /* 60 */
    float spare_ticks;     /* 1: how long before its tick the latest input of a second arrives */
    uint32_t resync_ticks; /* 15: an error beyond jumps once instead of being steered away */

    uint32_t max_events_per_poll; /* 64: bound on network events handled by one poll */
    uint32_t max_bad_messages; /* 64: so many malformed messages of a server end the connection */

    /* Room for the 64 newest snapshots, taken at connect and touched only as it is used. */
    uint32_t max_entities;      /* 1024: of one snapshot */
    uint32_t max_points;        /* 16384: body points of one snapshot */
    uint32_t max_welcome_bytes; /* 1 MiB: rules and map; freed when they have arrived */

    uint32_t timeout_ms;   /* 10000: silence of the server that ends the connection */
    uint32_t silence_ms;   /* 500: silence that is told of, see ARBITER_EVENT_LINE */
    uint32_t late_poll_ms; /* 50: a longer way from poll to poll is a stutter of this process */
    uint64_t seed;         /* of the transport's identifiers; equal seeds, equal runs */

    arbiter_tick_function on_tick; /* NULL: none */
    void *on_tick_user;
};

/* Fills in all defaults. */
void arbiter_config_default(struct arbiter_config *config);

/* ---- life of a client ---- */

/* ARBITER_CLIENT_ABI of the library that is linked. */
uint32_t arbiter_client_abi(void);

/* NULL when config->abi is another one or a value is out of range. Copies *config. */
struct arbiter_client *arbiter_client_create(const struct arbiter_config *config);

/* Also in the middle of a connection, which the server then finds out by itself. Accepts NULL. */
void arbiter_client_destroy(struct arbiter_client *client);

/* "HOST:PORT" as players type it to its parts; an IPv6 address may stand in brackets. False, and
 * nothing written: it is none. */
bool arbiter_parse_target(const char *text, char host[ARBITER_HOST_BYTES], uint16_t *port);

/* Host name to numeric address: the first that the system names; localhost is 127.0.0.1 where it is
 * that as well as ::1. May block for seconds; the only call that does. */
bool arbiter_resolve(const char *host, char address[ARBITER_ADDRESS_BYTES]);

/* A monotonic clock in nanoseconds, for games that have none of their own: the library itself never
 * reads a clock. */
uint64_t arbiter_now_ns(void);

/* Begins to connect to a numeric address; nothing of an earlier connection is left. False when the
 * address cannot be used: arbiter_client_disconnect_info tells why. */
bool arbiter_client_connect(struct arbiter_client *client, const char *address, uint16_t port,
                            uint64_t now_ns);

/* ---- coming back ----
 *
 * The server keeps the place of a player whose connection was lost for its option
 * match.rejoin_grace_s: its character stays where it is, holding the last input for a moment and
 * nothing after that. Whoever shows the player's resume token in that time is that player again:
 * slot, score and, where it still lives, character. Nothing else of the earlier connection is left,
 * the first snapshot is a whole one. If the earlier connection still stands, it is ended there with
 * ARBITER_REASON_REPLACED. arbiter_client_disconnect gives the place up; destroying a client, or
 * the end of its process, does not.
 *
 * The token is a secret like a password: whoever has it is the player. It stays the same for all of
 * a match and is worth nothing in another. A game that wants to come back after its own end writes
 * it to a file. */

/* The token of the newest connection that was welcomed; stays known after its end, until the next
 * one begins. False: none, as of spectators. */
bool arbiter_client_token(const struct arbiter_client *client, uint8_t token[ARBITER_TOKEN_BYTES]);

/* As arbiter_client_connect, as the player whose token this is. ARBITER_REASON_TOKEN when the
 * server keeps no place for it (wrong, too late, another match): nobody has joined then, and
 * arbiter_client_connect is there for a new player. */
bool arbiter_client_resume(struct arbiter_client *client, const char *address, uint16_t port,
                           const uint8_t token[ARBITER_TOKEN_BYTES], uint64_t now_ns);

/* Once more to where the newest connection led: as the player that it was, or, after
 * ARBITER_REASON_TOKEN, as a new one. For who does not keep address and token. False as of
 * arbiter_client_connect, and before the first connection. */
bool arbiter_client_rejoin(struct arbiter_client *client, uint64_t now_ns);

/* Asks for the end; ARBITER_OFFLINE follows once the server knows, or after a second. The player
 * has left the match then. */
void arbiter_client_disconnect(struct arbiter_client *client, uint64_t now_ns);

/* For poll or select (on Windows a SOCKET as an int); -1 while there is none. */
int arbiter_client_fd(const struct arbiter_client *client);

/* ---- each frame ---- */

/* The newest state of the player's controls. A button that is pressed and released between two
 * ticks counts as one press, pressed twice between two ticks as one as well. */
void arbiter_client_input(struct arbiter_client *client, const struct arbiter_input *input);

/* Handles what has arrived, makes the inputs that are due and sends them. Call it at least as often
 * as the game draws. */
void arbiter_client_poll(struct arbiter_client *client, uint64_t now_ns);

enum arbiter_connection {
    ARBITER_OFFLINE = 0,
    ARBITER_CONNECTING,    /* no answer yet */
    ARBITER_JOINING,       /* connected; rules and map are arriving */
    ARBITER_CONNECTED,     /* all is here */
    ARBITER_DISCONNECTING, /* asked, not yet happened */
};

/* Where the game stands for this player: apart from the connection, which a result may outlive. */
enum arbiter_game {
    ARBITER_GAME_NONE = 0,
    ARBITER_GAME_JOINING,
    ARBITER_GAME_WAITING, /* no character now: before the first, or dead */
    ARBITER_GAME_PLAYING,
    ARBITER_GAME_RESULT, /* between rounds or at the end */
    ARBITER_GAME_ERROR,  /* arbiter_client_disconnect_info tells */
    ARBITER_GAME_SPECTATING,
};

enum arbiter_match_phase {
    ARBITER_MATCH_WAITING = 0,
    ARBITER_MATCH_COUNTDOWN,
    ARBITER_MATCH_LIVE,
    ARBITER_MATCH_RESULT,
    ARBITER_MATCH_ENDED,
};

enum arbiter_drawn {
    ARBITER_INTERPOLATED = 0, /* between two states of the server */
    ARBITER_EXTRAPOLATED,     /* beyond the newest, by its velocity */
    ARBITER_FROZEN,           /* beyond what may be extrapolated */
    ARBITER_PREDICTED,        /* the own character and projectiles, ahead of the server */
};

struct arbiter_point {
    float x, y; /* m */
};

/* An entity as it is to be drawn now. */
struct arbiter_entity {
    /* id << 16 | generation; another generation is another entity. 0: an own projectile that the
     * server has not told of (ARBITER_PREDICTED). Its owner and its fields `action` and `pellet`
     * name it, before and after the entity of these names takes over in its place. */
    uint32_t key;
    uint8_t kind;   /* arbiter_client_kind */
    uint8_t drawn;  /* enum arbiter_drawn */
    bool is_own;    /* what this player controls */
    uint16_t owner; /* player slot, or ARBITER_NO_SLOT */
    float x, y;     /* m */
    float vx, vy;   /* m/s; 0 where the kind has none, and when frozen */
    float heading;  /* rad (-pi, pi]; of a projectile its way; 0 where the kind has none */
    uint32_t jump;  /* grows when it was moved without going there */
    uint16_t field_count;
    uint32_t point_count; /* of its body, head first; 0: none */
    const struct arbiter_point *points;
    float fields[ARBITER_FIELDS_MAX]; /* by arbiter_client_field: health, weapon, length, ... */
};

/* The own character. `x, y, heading` are what is shown: predicted, plus an offset that fades after
 * a correction. */
struct arbiter_own {
    bool exists;
    uint32_t key;
    float x, y, heading;
    float offset_x, offset_y; /* m, part of x, y */
    float vx, vy;
    float confirmed_x, confirmed_y;         /* m, the server's newest word */
    uint64_t confirmed_tick;                /* published tick of it */
    uint8_t weapon;                         /* index in hand */
    uint16_t magazine[ARBITER_WEAPONS_MAX]; /* predicted rounds */
    uint16_t reserve[ARBITER_WEAPONS_MAX];
    uint16_t reload_ticks;
    bool boost; /* `serpent`: granted by the server */
};

struct arbiter_player {
    uint16_t slot;
    uint8_t team; /* 0: none */
    bool present; /* false: has left, the line stays */
    int32_t score;
    uint16_t kills, deaths, deaths_by_nobody;
    bool away; /* present, but its connection is lost: it may come back */
    uint64_t player_id;
    char name[ARBITER_NAME_BYTES];
};

enum arbiter_event_kind {
    ARBITER_EVENT_PLAYER = 1, /* a: slot, b: 1 joined or back, 0 left, 2 connection lost */
    ARBITER_EVENT_REBIND,     /* key: what this client controls now, 0: nothing */
    ARBITER_EVENT_DEATH,      /* key: victim; a: its slot, b: killer's slot, c: cause */
    ARBITER_EVENT_HIT, /* key: victim; a: shooter, b: victim's slot, c: damage; x, y: where */
    /* a: slot, b: score, c: kills. The own line at once; others' the newest of each every so many
     * ticks (each tick with up to 16 players, a second with a thousand), and all before a PHASE or
     * RESULT. */
    ARBITER_EVENT_SCORE,
    ARBITER_EVENT_PHASE,  /* a: enum arbiter_match_phase, b: round */
    ARBITER_EVENT_RESULT, /* a: enum arbiter_end, b: winner's slot, c: winning team */
    ARBITER_EVENT_IMPACT, /* a projectile ended at a character; a: shooter's slot, b: action,
                             c: pellet; x, y: where. Of those that one sees, or whose character
                             there; HIT and DEATH tell whom it hurt */
    /* Of the own connection, not of the match; tick 0. a: enum arbiter_line, b: enum arbiter_reason
     * of an end, c: ms since the server was heard last. */
    ARBITER_EVENT_LINE = 64,
};

/* What an outage looks like, by what it is:
 *
 * a name that cannot be resolved   arbiter_resolve is false; no connection was begun
 * an address that is none          arbiter_client_connect is false; OFFLINE, REASON_ADDRESS
 * nobody answers                   CONNECTING for timeout_ms, then OFFLINE, REASON_NO_ANSWER
 * another version                  JOINING, then OFFLINE, REASON_VERSION; both are named
 * no place, match over, kicked     OFFLINE, REASON_FULL, _ENDED, _KICKED
 * a token that opens nothing       OFFLINE, REASON_TOKEN
 * the network is gone for less     LINE SILENT after silence_ms; stays CONNECTED, what is drawn
 *   than timeout_ms                  freezes; LINE BACK with the next datagram
 * for longer, or the server died   LINE SILENT, then LINE ENDED: OFFLINE, REASON_LOST. Resume: the
 *                                    same player within match.rejoin_grace_s, else REASON_TOKEN; a
 *                                    server that was started anew knows no token of before
 * the server stops in order        LINE ENDED: OFFLINE, REASON_SHUTDOWN
 *
 * view->game is ARBITER_GAME_ERROR after each of these ends, unless the result was there. */
enum arbiter_line {
    ARBITER_LINE_SILENT = 1, /* nothing was heard for silence_ms */
    ARBITER_LINE_BACK,       /* heard again */
    ARBITER_LINE_ENDED,      /* the connection is over; not told where it was asked for */
};

enum arbiter_cause {
    ARBITER_CAUSE_SHOT,
    ARBITER_CAUSE_WALL,
    ARBITER_CAUSE_HEAD,
    ARBITER_CAUSE_BODY,
    ARBITER_CAUSE_LEFT,
};

enum arbiter_end {
    ARBITER_END_TIME,
    ARBITER_END_SCORE,
    ARBITER_END_ABORTED,
    ARBITER_END_NOBODY,
    ARBITER_END_EMPTY,
};

/* Something that happened once, told when the drawn world reaches its tick. */
struct arbiter_event {
    uint64_t tick;
    uint32_t kind; /* enum arbiter_event_kind */
    uint32_t key;
    int32_t a, b, c;
    float x, y;
};

/* Where the drawn world stands: `fraction` / 256 of the way between two published ticks; past the
 * newest both are equal and fraction counts 1/256 ticks beyond. */
struct arbiter_drawn_time {
    uint64_t from_tick, to_tick; /* 0, 0: nothing to draw yet */
    uint32_t fraction;
};

/* All pointers stay valid until the next call with this client. */
struct arbiter_view {
    enum arbiter_connection connection;
    enum arbiter_game game;
    enum arbiter_match_phase phase;
    uint32_t round;          /* from 1 */
    uint64_t phase_end_tick; /* 0: open */
    double phase_left_s;     /* 0 when open */
    uint32_t tick_rate;      /* Hz; 0 before all is here */
    struct arbiter_drawn_time time;
    double server_tick; /* estimate of the server's present */
    uint32_t silent_ms; /* since the server was heard last, from silence_ms on; 0: it is heard */
    uint16_t own_slot;  /* ARBITER_NO_SLOT before all is here, and for spectators */
    struct arbiter_own own;
    /* Of a spectator: the character that the server follows for it; 0: none. */
    uint32_t followed_key;
    const struct arbiter_entity *entities; /* ascending by key */
    uint32_t entity_count;
    const struct arbiter_player *players; /* ascending by slot */
    uint32_t player_count;
    const struct arbiter_event *events; /* since the last sample, in order */
    uint32_t event_count;
    bool has_result;
    enum arbiter_end result_reason;
    uint16_t result_winner; /* slot, ARBITER_NO_SLOT: draw */
    uint8_t result_team;    /* 0: none */
};

/* What to draw at now_ns. The drawn world only goes forward, but after a stall of seconds. */
void arbiter_client_sample(struct arbiter_client *client, uint64_t now_ns,
                           struct arbiter_view *view);

/* In a view: the player of that slot; the entity of that key. NULL: none, as for key 0. */
const struct arbiter_player *arbiter_view_player(const struct arbiter_view *view, uint16_t slot);
const struct arbiter_entity *arbiter_view_entity(const struct arbiter_view *view, uint32_t key);

/* The players of a view from the best to the worst: by score, equal ones by slot. Writes the first
 * `capacity` of them and returns how many that are. For lists of some lines: the cost is their
 * number times all players. */
uint32_t arbiter_view_ranking(const struct arbiter_view *view, const struct arbiter_player **out,
                              uint32_t capacity);

/* Where the newest snapshot has the entity of that key, m. What is drawn lags behind it on purpose,
 * so this is for pictures of the network, not of the game. False: it is not there, or is a
 * projectile, of which a snapshot has the start. */
bool arbiter_client_newest(const struct arbiter_client *client, uint32_t key,
                           struct arbiter_point *place);

/* ---- spectators ---- */

/* With config.spectate there is no own character: inputs go nowhere, view->own.exists stays false,
 * and everybody is drawn by the same rule as others are for players. What is in view is what is
 * near the followed character, or near the free camera. The server may show all of it with a delay
 * (its option spectator.delay_s): the time of the view, server_tick included, is then the delayed
 * one. Before the first call the camera stands in the middle of the map. Both are remembered from
 * connection to connection and may be called at any time; what they say travels with the polls. */

/* Follows that player; while it is dead the view stays where it was; when it has left, the next one
 * that is there is followed. */
void arbiter_client_spectate_follow(struct arbiter_client *client, uint16_t slot);
/* A camera that looks at (x, y), m; ignored beyond 4,096 m. As often as it moves. */
void arbiter_client_spectate_camera(struct arbiter_client *client, float x, float y);

/* ---- the map and the tables, once connected ---- */

enum arbiter_shape_type {
    ARBITER_SHAPE_CIRCLE = 1,  /* points[0], radius */
    ARBITER_SHAPE_CAPSULE = 2, /* points[0] to points[1], radius */
    ARBITER_SHAPE_POLYGON = 3, /* convex, counter-clockwise; radius rounds it */
};

struct arbiter_shape {
    uint32_t type; /* enum arbiter_shape_type */
    uint32_t count;
    float radius; /* m */
    struct arbiter_point points[ARBITER_SHAPE_POINTS_MAX];
};

struct arbiter_map {
    struct arbiter_point low, high; /* the world's rectangle, m */
    uint32_t shape_count;
    uint64_t hash;
};

/* False before ARBITER_CONNECTED. */
bool arbiter_client_map(const struct arbiter_client *client, struct arbiter_map *map);

/* Static shape `index`; false when there is none. */
bool arbiter_client_shape(const struct arbiter_client *client, uint32_t index,
                          struct arbiter_shape *shape);

/* First static shape or bound on the way from (x, y) by (dx, dy): true and *fraction in 0..1. */
bool arbiter_client_ray(const struct arbiter_client *client, float x, float y, float dx, float dy,
                        float *fraction);

/* Name of the mode, "" before ARBITER_CONNECTED. */
const char *arbiter_client_mode(const struct arbiter_client *client);

/* Index of an entity kind or of one of its values by name; -1: no such. */
int arbiter_client_kind(const struct arbiter_client *client, const char *name);
int arbiter_client_field(const struct arbiter_client *client, int kind, const char *name);

struct arbiter_rules {
    float radius;      /* m, of a character */
    float half_length; /* m, arena: a capsule along x; 0: a circle */
    float max_speed, dash_speed, base_speed, boost_speed; /* m/s */
    float turn_rate;                                      /* rad/s */
    uint32_t tick_rate, snapshot_interval_ticks, input_delay_ticks;
    uint32_t weapon_count;
};

/* False before ARBITER_CONNECTED. */
bool arbiter_client_rules(const struct arbiter_client *client, struct arbiter_rules *rules);

/* ---- ends and figures ---- */

enum arbiter_reason {
    ARBITER_REASON_NONE = 0,
    ARBITER_REASON_ASKED,     /* arbiter_client_disconnect */
    ARBITER_REASON_ADDRESS,   /* the address cannot be used */
    ARBITER_REASON_NO_ANSWER, /* nobody answered the connect */
    ARBITER_REASON_LOST,      /* the server fell silent or cut us */
    ARBITER_REASON_VERSION,   /* protocol version or schema differ: both are named */
    ARBITER_REASON_FULL,
    ARBITER_REASON_ENDED,    /* the match is over */
    ARBITER_REASON_PROTOCOL, /* the server says that we broke the protocol */
    ARBITER_REASON_SHUTDOWN,
    ARBITER_REASON_KICKED,
    ARBITER_REASON_BAD_SERVER, /* malformed messages, or a map that does not match its hash */
    ARBITER_REASON_ROOM,       /* map or snapshots larger than the configured room */
    ARBITER_REASON_TOKEN,      /* no player is kept for this resume token */
    ARBITER_REASON_REPLACED,   /* the same player has come on another connection */
};

struct arbiter_disconnect_info {
    enum arbiter_reason reason;
    uint32_t client_version, server_version; /* protocol; 0: unknown */
    uint64_t client_schema, server_schema;
    char text[ARBITER_TEXT_BYTES]; /* a sentence for a log or a dialogue */
};

/* Of the newest connection; reason NONE while there is nothing to tell. */
void arbiter_client_disconnect_info(const struct arbiter_client *client,
                                    struct arbiter_disconnect_info *info);

/* Differences between prediction and server, at the place that was shown. */
struct arbiter_corrections {
    uint32_t count; /* without a known cause */
    float mean_m, max_m;
    uint32_t outside; /* the server changed what the own step does not: a push, a hit, a pickup */
    float outside_mean_m, outside_max_m; /* of those */
    uint32_t starved;                    /* an input was not there in its tick */
    uint32_t jumped;                     /* death, respawn, another character, a resync */
};

/* Whose fault a stutter was. */
enum arbiter_stutter_cause {
    ARBITER_STUTTER_SERVER,  /* a tick ran late there; the server has told so */
    ARBITER_STUTTER_LOSS,    /* snapshots were lost on the way */
    ARBITER_STUTTER_JITTER,  /* they came late */
    ARBITER_STUTTER_PROCESS, /* this process did not poll for late_poll_ms */
    ARBITER_STUTTER_CAUSES,
};

/* The drawn world ran out of snapshots for a tick at least, or stood still since nobody polled. */
struct arbiter_stutter {
    uint64_t at_ns; /* when it began */
    float ms;       /* how long */
    uint32_t cause; /* enum arbiter_stutter_cause */
};

/* The newest ARBITER_STUTTERS of the newest connection, the newest first; returns how many were
 * written. One is there a quarter of a second after its end, when the server's word of it is. */
uint32_t arbiter_client_stutters(const struct arbiter_client *client, struct arbiter_stutter *out,
                                 uint32_t capacity);

/* Of the newest connection. */
struct arbiter_statistics {
    float rtt_ms, rtt_min_ms;
    float jitter_ms;        /* spread of the age of arriving snapshots */
    float loss;             /* 0..1, of the last snapshots */
    float lead_ticks;       /* of the input clock before the server's */
    int32_t buffer_ticks;   /* how long before its tick the latest of the newest inputs arrived, as
                               the server says; below 0: too late */
    float interpolation_ms; /* delay beyond the age of what arrives */
    float view_age_ms;      /* of the drawn world against the server's present */
    uint64_t bytes_up, bytes_down;        /* UDP payload */
    uint64_t snapshots;                   /* committed */
    uint64_t snapshots_lost;              /* ids that were never committed */
    uint64_t snapshots_undecodable;       /* among them: against one that is not held */
    uint64_t inputs_sent;                 /* made; each is sent until acknowledged */
    uint64_t edges_sent[ARBITER_BUTTONS]; /* presses in them, by button bit; up to the result */
    uint64_t input_packets;
    uint64_t bad_messages;
    uint64_t bad_snapshots;
    uint64_t events_lost; /* more than fitted between two samples */
    uint64_t resyncs;     /* jumps of the input clock */
    uint64_t frozen_frames, sampled_frames;
    uint64_t stutters[ARBITER_STUTTER_CAUSES]; /* by cause */
    float stutter_ms[ARBITER_STUTTER_CAUSES];  /* sums */
    /* Own projectiles: drawn before the server told of them; found in its word; taken back, since
     * it did not fire them or they met something unseen. The rest ended by themselves before. */
    uint64_t projectiles_predicted, projectiles_confirmed, projectiles_unconfirmed;
    struct arbiter_corrections corrections;
    /* What the server counted of this client. */
    uint64_t counts_received; /* how often it told us */
    uint32_t server_ticks, inputs_consumed, inputs_starved, inputs_late, inputs_duplicate,
        inputs_refused;
    uint32_t edges[ARBITER_BUTTONS];
};

void arbiter_client_statistics(const struct arbiter_client *client,
                               struct arbiter_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
