/* The wire: every message's plain form, encode and decode. PROTOCOL.md draws the bytes. Decoders
 * return ARB_DECODE_OK or a reason, and then have changed nothing but their output; they never
 * assert on bytes. Knows no socket and no world.
 */
#ifndef ARB_PROTO_H
#define ARB_PROTO_H

#include "shared/base/arb_bits.h"
#include "shared/base/arb_field.h"
#include "shared/base/arb_input.h"
#include "shared/base/arb_shape.h"
#include "shared/proto/arb_schema.h"

enum {
    ARB_NAME_BYTES = 32,  /* with the NUL */
    ARB_TOKEN_BYTES = 16, /* a resume token */
    ARB_PLAYERS_MAX = 1024,
    ARB_INPUTS_PER_PACKET_MAX = 32,
    ARB_CHUNK_PAYLOAD_MAX = 8186, /* the format's bound; what is configured must fit a datagram */
    ARB_CHUNKS_MAX = 64,
    ARB_BASELINE_DISTANCE_MAX = 63,               /* ids; a client keeps its 64 newest snapshots */
    ARB_MESSAGE_BYTES_MAX = 1175,                 /* one message in one datagram */
    ARB_LONG_MESSAGE_BYTES_MAX = 4 * 1024 * 1024, /* reassembled from parts */
};

enum arb_decode {
    ARB_DECODE_OK = 0,
    ARB_DECODE_EMPTY,   /* no type byte */
    ARB_DECODE_UNKNOWN, /* type not in the list, or not from this side */
    ARB_DECODE_SHORT,   /* ended early */
    ARB_DECODE_LONG,    /* bytes left over */
    ARB_DECODE_RANGE,   /* a value outside its table row, not finite, not UTF-8 */
    ARB_DECODE_ORDER,   /* inputs or entities not ascending, index >= count */
    ARB_DECODE_REASONS,
};
const char *arb_decode_text(enum arb_decode reason);

/* value, name, sender, channel, text. c: client, s: server. r: reliable ordered, u: unsequenced. */
#define ARB_MESSAGE_MAP(X)                                                                         \
    X(1, HELLO, 'c', 'r', "first message: versions and name")                                      \
    X(2, INPUT, 'c', 'u', "inputs not yet acknowledged, snapshot acknowledgement")                 \
    X(3, PING, 'c', 'u', "asks for the time")                                                      \
    X(4, SPECTATE, 'c', 'u', "what a spectator looks at, snapshot acknowledgement")                \
    X(16, REFUSED, 's', 'r', "the connection ends; why")                                           \
    X(17, WELCOME, 's', 'r', "rules, numbers and map of the match (sent in parts)")                \
    X(18, PART, 's', 'r', "a piece of a message longer than a datagram")                           \
    X(19, SNAPSHOT, 's', 'u', "a chunk of a snapshot")                                             \
    X(20, PONG, 's', 'u', "answers a ping")                                                        \
    X(21, EVENT, 's', 'r', "something that must not be lost, with its tick")                       \
    X(22, COUNTS, 's', 'r', "what the server counted of this client")                              \
    X(23, LATE, 's', 'r', "a step began late")                                                     \
    X(24, SCORES, 's', 'r', "score lines that changed, the newest of each")                        \
    X(25, EVENTS, 's', 'r', "several events, in order")

enum arb_message_type {
#define X(value, name, sender, channel, text) ARB_MESSAGE_##name = value,
    ARB_MESSAGE_MAP(X)
#undef X
};

enum { ARB_MESSAGE_TYPES = 32 }; /* all values are below */
/* "SNAPSHOT"; NULL: no such type. */
const char *arb_message_name(int type);

/* Type of a message, 0 when empty or unknown. */
int arb_message_type(const uint8_t *bytes, size_t size);

/* Texts of the wire are UTF-8 without control characters (U+0000..U+001F, U+007F..U+009F). `size`
 * without the NUL. */
bool arb_proto_text_valid(const char *text, size_t size);
/* Whether a name may stand in a message: it ends within its bytes, and is such a text. */
bool arb_proto_name_valid(const char name[ARB_NAME_BYTES]);

/* ---- HELLO, REFUSED, PING, PONG, SPECTATE, COUNTS, LATE: fixed tables ---- */

enum arb_role {
    ARB_ROLE_PLAYER,
    ARB_ROLE_SPECTATOR, /* no character, no inputs: SPECTATE instead */
};

struct arb_hello {
    uint16_t version;     /* ARB_PROTOCOL_VERSION */
    uint64_t schema_hash; /* arb_proto_schema_hash() */
    char name[ARB_NAME_BYTES];
    uint8_t role;   /* enum arb_role */
    uint8_t resume; /* 1: the player of this token, or nobody */
    uint8_t token[ARB_TOKEN_BYTES];
};

/* Version and hash stand first in the HELLO of every version, so that a server of another one can
 * name them: reads these two only. False: not a HELLO, or shorter than that. */
bool arb_hello_peek(const uint8_t *bytes, size_t size, uint16_t *version, uint64_t *schema_hash);

/* value, name, text */
#define ARB_REFUSAL_MAP(X)                                                                         \
    X(1, VERSION, "protocol version or schema hash differs")                                       \
    X(2, FULL, "no free place for a player, or for a spectator")                                   \
    X(3, ENDED, "the match is over")                                                               \
    X(4, PROTOCOL, "the client sent what no client sends")                                         \
    X(5, SHUTDOWN, "the server stops")                                                             \
    X(6, KICKED, "slow reader or repeated offence")                                                \
    X(7, TOKEN, "no place is kept for the player of this resume token")                            \
    X(8, REPLACED, "the same player has come on another connection")

enum arb_refusal {
#define X(value, name, text) ARB_REFUSED_##name = value,
    ARB_REFUSAL_MAP(X)
#undef X
};
/* Static text; "unknown reason" for others. */
const char *arb_refusal_text(uint8_t reason);

struct arb_refused {
    uint8_t reason; /* enum arb_refusal */
    uint16_t server_version, client_version;
    uint64_t server_hash, client_hash;
};

struct arb_ping {
    uint16_t sequence;
};

struct arb_pong {
    uint16_t sequence;
    uint32_t tick; /* low 32 bits of the tick whose step comes next when this is sent, S[tick] */
    uint16_t fraction; /* 1/65536 of a tick passed since that tick's deadline minus one period, i.e.
                          towards it */
    uint32_t wait_us;  /* between the ping's arrival at the socket and sending this */
};

/* A step that began late: what a player then saw was no fault of the network. */
struct arb_late {
    uint32_t tick; /* low 32 bits of the published tick of that step */
    uint16_t late_ms;
};

/* All that a spectator says, over and over: the newest number counts. */
struct arb_spectate {
    uint16_t number;       /* +1 each, wraps */
    uint16_t ack_snapshot; /* as in an input packet */
    uint8_t has_ack;
    uint32_t ack_mask;
    uint16_t follow; /* slot, whether there is such a player or not; ARB_NO_SLOT: free camera */
    float x, y;      /* m, of the free camera */
};

struct arb_counts {
    uint32_t ticks;           /* live ticks with this player present */
    uint32_t inputs_consumed; /* ticks whose input came in time */
    uint32_t inputs_starved;
    uint32_t inputs_late;      /* arrived after their tick */
    uint32_t inputs_duplicate; /* again or older; the redundancy at work */
    /* Too far ahead, wrong control number, late press that waits already. */
    uint32_t inputs_refused;
    uint32_t edges[ARB_BUTTON_COUNT];
};

/* ---- WELCOME ---- */

struct arb_welcome {
    char mode[ARB_NAME_BYTES];
    uint8_t match_id[16];
    uint8_t token[ARB_TOKEN_BYTES]; /* brings this player back; zeros: a spectator's */
    uint64_t player_id;
    uint16_t player_slot; /* ARB_NO_SLOT: a spectator */
    uint16_t player_capacity;
    uint32_t tick;      /* low 32 bits, S[tick] when sent */
    uint16_t tick_rate; /* Hz */
    uint8_t snapshot_interval_ticks;
    uint8_t input_delay_ticks;
    uint8_t input_buffer_ticks;
    uint64_t map_hash; /* arb_geometry_hash of what follows */
    struct arb_bounds bounds;
    uint32_t shape_count;
    const struct arb_shape *shapes; /* encode: caller's; decode: in the caller's `shapes` array */
    const void *params;             /* struct described by the params table given to the codec */
};

/* Size is bounded by ARB_LONG_MESSAGE_BYTES_MAX; 0 when it does not fit `capacity`. `param_fields`
 * is arb_move_param_fields (proto does not include move). */
size_t arb_welcome_encode(const struct arb_welcome *welcome, const struct arb_fields *param_fields,
                          uint8_t *bytes, size_t capacity);
/* `shapes` has room for `shape_capacity`; `params` for the struct of param_fields. Values in range
 * and finite. */
enum arb_decode arb_welcome_decode(const uint8_t *bytes, size_t size,
                                   const struct arb_fields *param_fields, struct arb_shape *shapes,
                                   size_t shape_capacity, void *params, struct arb_welcome *out);

/* ---- PART: messages longer than one datagram, reliable channel, in order ---- */

struct arb_part {
    uint16_t message; /* number of the long message, +1 each */
    uint16_t index, count;
    uint16_t size;
    const uint8_t *bytes; /* into the decoded datagram */
};

enum {
    ARB_PART_PAYLOAD_MAX = 1100,
    ARB_PARTS_MAX = (ARB_LONG_MESSAGE_BYTES_MAX + ARB_PART_PAYLOAD_MAX - 1) / ARB_PART_PAYLOAD_MAX,
};

/* Parts that a long message of `size` bytes (1..ARB_LONG_MESSAGE_BYTES_MAX) is sent in. */
uint16_t arb_part_count(size_t size);
/* Part `index` of it, as arb_part_encode takes it; points into `bytes`. */
struct arb_part arb_part_cut(const uint8_t *bytes, size_t size, uint16_t message, uint16_t index);

size_t arb_part_encode(const struct arb_part *part, uint8_t *bytes, size_t capacity);
enum arb_decode arb_part_decode(const uint8_t *bytes, size_t size, struct arb_part *out);

/* Receiver of parts: one long message at a time, in order, into memory of the caller. */
struct arb_parts {
    uint8_t *bytes; /* caller's, `capacity` bytes */
    size_t capacity;
    size_t size;      /* got so far; whole when ARB_PARTS_COMPLETE was returned */
    uint16_t message; /* number of the newest message */
    uint16_t next;    /* index expected; 0: between two messages */
    uint16_t count;
    bool started; /* a first part came once: numbers go up by one from there */
};

enum arb_parts_result {
    ARB_PARTS_WAITING,  /* taken, more follow */
    ARB_PARTS_COMPLETE, /* bytes[0..size) is the message, until the next part is added */
    ARB_PARTS_BROKEN,   /* not the part that comes next: the sender is no server of ours, disconnect
                         */
    ARB_PARTS_TOO_LONG, /* more than `capacity` bytes: as above */
};

void arb_parts_init(struct arb_parts *parts, uint8_t *bytes, size_t capacity);
/* After an error what was collected is dropped, and every part but the first of the next message is
 * an error too. */
enum arb_parts_result arb_parts_add(struct arb_parts *parts, const struct arb_part *part);

/* ---- INPUT ---- */

struct arb_input_packet {
    uint8_t control;       /* control number, +1 per rebind of the controlled entity */
    uint16_t ack_snapshot; /* newest committed snapshot id (low 16); meaningful when has_ack */
    uint8_t has_ack;
    uint32_t ack_mask;   /* bit i: snapshot ack - 1 - i was committed too */
    uint16_t view_delay; /* 1/16 tick: the delay of drawing others that this client announces, its
                            estimate of the server's time less half a round trip less the time it
                            draws (spec/lag-compensation.md); 0 before it draws */
    uint8_t count;       /* 0..ARB_INPUTS_PER_PACKET_MAX; 0: a bare acknowledgement */
    uint8_t older_count; /* the first so many of them were made under an earlier control number: the
                            server counts their edges and steps with a neutral input (aim kept), and
                            the client's prediction does the same; 0..count */
    /* Sequences ascending by 1, ticks ascending. */
    struct arb_input inputs[ARB_INPUTS_PER_PACKET_MAX];
};

/* 0 when it does not fit, or two ticks in a row are more than 65,535 apart. Unchanged inputs
 * (buttons, move, aim, muzzle fraction as before, no edge, next tick) cost one bit while fire is
 * neither held nor pressed; only with fire does the view travel, else it is decoded as zeros. So is
 * what a view of nothing drawn says else. -128 of a move travels as -127. */
size_t arb_input_packet_encode(const struct arb_input_packet *packet, uint8_t *bytes,
                               size_t capacity);

/* Sequences, ticks and views are 16 bits on the wire: widened against the newest sequence seen of
 * this session and the server's current tick S[tick]. */
enum arb_decode arb_input_packet_decode(const uint8_t *bytes, size_t size,
                                        arb_sequence near_sequence, arb_tick near_tick,
                                        struct arb_input_packet *out);

/* ---- SNAPSHOT ---- */

/* One group of chunks shares this header; the bits of all payloads in index order are one stream.
 */
struct arb_snapshot_header {
    uint16_t id;             /* low 16 bits */
    uint16_t tick;           /* published tick, low 16 bits */
    uint16_t confirmed_tick; /* low 16 bits */
    uint16_t last_sequence;  /* newest input of this client that was consumed, low 16 */
    int8_t buffer_ticks; /* worst lead of this client's inputs since the last snapshot, in ticks:
                            how many ticks before its own an input arrived; negative: late; 127: no
                            new input arrived since then */
    uint8_t control;     /* control number */
    uint8_t chunk_index, chunk_count; /* index = count: the parity chunk of a group of 2 to 63 */
    uint8_t baseline;    /* ids back to the snapshot that the stream is a difference to; 0: none */
    uint16_t last_bytes; /* of the parity chunk: payload bytes of the last chunk; else 0 */
};

enum {
    /* Type and header of a chunk; with all confirmed and one chunk, as mostly, fewer. */
    ARB_CHUNK_HEAD_BYTES_MAX = 16,
};

struct arb_chunk {
    struct arb_snapshot_header header;
    const uint8_t *payload; /* into the decoded datagram */
    uint16_t payload_bytes;
};

static inline bool arb_chunk_is_parity(const struct arb_snapshot_header *header)
{
    return header->chunk_count > 1 && header->chunk_index == header->chunk_count;
}

size_t arb_chunk_encode(const struct arb_chunk *chunk, uint8_t *bytes, size_t capacity);
enum arb_decode arb_chunk_decode(const uint8_t *bytes, size_t size, struct arb_chunk *out);

/* ---- pieces of a snapshot's stream (arb_delta.h) ---- */

/* What its receiver's prediction begins with. */
struct arb_own_part {
    uint32_t starved_ticks;   /* of this session, wraps at 2^16 on the wire */
    uint32_t outside_changes; /* changes of own state that its own step did not make, same */
    const void *own;          /* struct arb_own, coded by the mover's table */
};

/* What an entity that enters costs is paid once per tick and shared by all clients: its record (all
 * but the key, which is coded against the one before it) is encoded once and then copied into every
 * stream. */

/* Appends the record of `entity`, an entity of `frame`. */
void arb_entity_encode(const struct arb_schema *schema, const struct arb_frame *frame,
                       const struct arb_published *entity, struct arb_bit_writer *writer);
/* Bits that no record of an entity of this schema with a body of `points` exceeds. */
size_t arb_entity_bits_max(const struct arb_schema *schema, uint32_t points);

/* Bytes that the records of all entities of a frame do not exceed. */
size_t arb_entities_bytes_max(const struct arb_schema *schema, uint32_t entity_capacity,
                              uint32_t point_capacity);

enum { ARB_KEY_BITS_MAX = 36 }; /* of a key in the stream */

/* ---- Chunk assembly (receiver) ---- */

enum arb_assembly_result {
    ARB_ASSEMBLY_WAITING,   /* taken, more are missing */
    ARB_ASSEMBLY_COMPLETE,  /* the group is whole: assembly->bytes[0..size) */
    ARB_ASSEMBLY_DUPLICATE, /* identical again: ignored */
    ARB_ASSEMBLY_STALE,     /* not newer than the last committed, or of an older or dead group */
    ARB_ASSEMBLY_CONFLICT, /* same index other bytes, other metadata, or a parity that does not fit:
                              the group is dead */
};

struct arb_assembly {
    struct arb_snapshot_header header; /* of the group in assembly */
    bool active, dead; /* `header` names a group; it got its verdict or conflicted */
    bool complete;     /* waits for arb_assembly_finish */
    bool committed_any;
    uint16_t committed_id; /* newest committed */
    uint64_t present;      /* bit per chunk; the parity's behind the last */
    uint16_t last_bytes;   /* as the parity says */
    uint16_t chunk_size[ARB_CHUNKS_MAX];
    uint32_t chunk_capacity; /* bytes per chunk in `storage` */
    uint8_t *storage;        /* ARB_CHUNKS_MAX * chunk_capacity, caller's */
    uint8_t *bytes;          /* the whole stream when complete, caller's, same size */
    size_t size;
};

void arb_assembly_init(struct arb_assembly *assembly, uint8_t *storage, uint8_t *bytes,
                       uint32_t chunk_capacity);
enum arb_assembly_result arb_assembly_add(struct arb_assembly *assembly,
                                          const struct arb_chunk *chunk);
/* Call after a complete group was decoded: good groups advance committed_id, bad ones are dead. */
void arb_assembly_finish(struct arb_assembly *assembly, bool committed);

/* ---- EVENT ---- */

/* value, name, struct suffix, text */
#define ARB_EVENT_MAP(X)                                                                           \
    X(1, PLAYER, player, "a player joined, left or changed team")                                  \
    X(2, REBIND, rebind, "which entity this client controls now")                                  \
    X(3, DEATH, death, "a character died")                                                         \
    X(4, HIT, hit, "a shot hit (to shooter and victim)")                                           \
    X(5, SCORE, score, "the score line of who receives it changed; of others: SCORES")             \
    X(6, PHASE, phase, "the match went into another phase")                                        \
    X(7, RESULT, result, "the match ended")                                                        \
    X(8, IMPACT, impact, "a projectile ended at a character")

enum arb_event_kind {
#define X(value, name, suffix, text) ARB_EVENT_##name = value,
    ARB_EVENT_MAP(X)
#undef X
};

enum arb_phase {
    ARB_PHASE_WAITING,
    ARB_PHASE_COUNTDOWN,
    ARB_PHASE_LIVE,
    ARB_PHASE_RESULT,
    ARB_PHASE_ENDED
};

/* cause of a death */
enum arb_cause { ARB_CAUSE_SHOT, ARB_CAUSE_WALL, ARB_CAUSE_HEAD, ARB_CAUSE_BODY, ARB_CAUSE_LEFT };

enum arb_end_reason { ARB_END_TIME, ARB_END_SCORE, ARB_END_ABORTED, ARB_END_NOBODY, ARB_END_EMPTY };
/* "time", "score", "aborted", "nobody", "empty": as in the result file. */
const char *arb_end_reason_text(enum arb_end_reason reason);

enum arb_presence { ARB_PRESENCE_LEFT, ARB_PRESENCE_THERE, ARB_PRESENCE_AWAY };

/* Disconnect data of a client whose player leaves the match; with any other it may come back. */
enum { ARB_GOODBYE_DATA = 1 };

#define ARB_NO_SLOT 0xFFFFU

struct arb_event {
    uint32_t tick; /* low 32 bits of the published tick */
    uint8_t kind;  /* enum arb_event_kind */
    union {
        struct arb_event_player {
            uint16_t slot;
            uint8_t present; /* enum arb_presence */
            uint8_t team;
            uint64_t player_id;
            char name[ARB_NAME_BYTES];
        } player;
        struct arb_event_rebind {
            struct arb_key key; /* none: no character */
            uint8_t control;
        } rebind;
        struct arb_event_death {
            struct arb_key victim;
            uint16_t victim_slot, killer_slot; /* killer ARB_NO_SLOT: nobody */
            uint8_t cause;
        } death;
        struct arb_event_hit {
            struct arb_key victim;
            uint16_t shooter_slot, victim_slot;
            uint16_t damage; /* points */
            uint8_t part;
            float x, y; /* m, where it hit */
        } hit;
        struct arb_event_impact {
            uint16_t shooter_slot;
            uint16_t action; /* these two as in the entity's fields */
            uint8_t pellet;
            uint32_t moment; /* low 32 bits, in 1/256 tick, of the drawn world */
            float x, y;      /* m, its centre then */
        } impact;
        struct arb_event_score {
            uint16_t slot;
            int32_t score;
            uint16_t kills, deaths, deaths_by_nobody;
        } score;
        struct arb_event_phase {
            uint8_t phase;     /* enum arb_phase */
            uint8_t round;     /* from 1 */
            uint32_t end_tick; /* low 32 bits of the tick at which it ends; 0: open */
        } phase;
        struct arb_event_result {
            uint8_t reason;       /* enum arb_end_reason */
            uint16_t winner_slot; /* ARB_NO_SLOT: draw */
            uint8_t winner_team;  /* 0: none */
        } result;
    };
};

/* The table of a kind's own struct; NULL when the kind is unknown. */
const struct arb_fields *arb_event_fields(uint8_t kind);

size_t arb_event_encode(const struct arb_event *event, uint8_t *bytes, size_t capacity);
enum arb_decode arb_event_decode(const uint8_t *bytes, size_t size, struct arb_event *out);

/* ---- EVENTS ----
 *
 * Several at once: what a crowd is told of would be more messages than all else. */

enum {
    ARB_EVENTS_MAX = 255, /* of one message */
};

struct arb_events {
    uint32_t tick;                         /* low 32 bits, of the first */
    uint16_t count;                        /* 1..ARB_EVENTS_MAX */
    struct arb_event list[ARB_EVENTS_MAX]; /* ticks ascending, each at most 65,535 after the last */
};

/* Encodes the first of `count` events (ticks ascending), as many as fit; *used says how many, and
 * none gives 0. */
size_t arb_events_encode(const struct arb_event *list, uint32_t count, uint8_t *bytes,
                         size_t capacity, uint32_t *used);
enum arb_decode arb_events_decode(const uint8_t *bytes, size_t size, struct arb_events *out);

/* ---- SCORES ----
 *
 * All score lines that changed since the receiver was told last, the newest of each: with a
 * thousand players an event for each change would be more than all their snapshots. */

enum {
    ARB_SCORES_HEAD_BITS = 8 + 32 + 11,
    ARB_SCORES_LINE_BITS_LEAST = 15,
    /* Lines of one message. */
    ARB_SCORES_LINES_MAX =
        (8 * ARB_MESSAGE_BYTES_MAX - ARB_SCORES_HEAD_BITS) / ARB_SCORES_LINE_BITS_LEAST,
};

struct arb_scores {
    uint32_t tick;  /* low 32 bits of the published tick whose lines these are */
    uint16_t count; /* 1..ARB_SCORES_LINES_MAX */
    struct arb_event_score lines[ARB_SCORES_LINES_MAX]; /* ascending by slot */
};

/* Encodes the first of `count` lines (ascending by slot), as many as fit `capacity` (which holds
 * one at least); *used says how many. */
size_t arb_scores_encode(uint32_t tick, const struct arb_event_score *lines, uint32_t count,
                         uint8_t *bytes, size_t capacity, uint32_t *used);
enum arb_decode arb_scores_decode(const uint8_t *bytes, size_t size, struct arb_scores *out);

/* ---- table-driven messages ---- */

extern const struct arb_fields arb_hello_fields, arb_refused_fields, arb_ping_fields,
    arb_pong_fields, arb_spectate_fields, arb_counts_fields, arb_late_fields;

/* Type byte, then the struct by its table; 0 when it does not fit. */
size_t arb_message_encode(enum arb_message_type type, const struct arb_fields *fields,
                          const void *message, uint8_t *bytes, size_t capacity);
enum arb_decode arb_message_decode(enum arb_message_type type, const struct arb_fields *fields,
                                   const uint8_t *bytes, size_t size, void *out);

#endif
