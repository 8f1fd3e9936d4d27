/* The state of a match: everything that can change a result, in one contiguous block without
 * pointers and padding (spec/simulation.md "World state"). The view below holds pointers into the
 * block; it is rebuilt from the block and never saved. The world does nothing by itself: stages and
 * rules change it.
 */
#ifndef WORLD_H
#define WORLD_H

#include "shared/base/arb_arena.h"
#include "shared/base/arb_form.h"
#include "shared/base/arb_input.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_own.h"
#include "shared/proto/arb_proto.h"

enum {
    WORLD_SCHEMA_VERSION = 1,
    WORLD_NO_BODY = 0xFFFF,
    WORLD_VALUES = 6,
    WORLD_RULES_PARTS = 3, /* of the mode's own state, at most */
    WORLD_PARTS = 6 + WORLD_RULES_PARTS,
};

/* One named random stream per purpose, so that a draw more in one changes no other. */
enum world_stream { WORLD_STREAM_SPAWN, WORLD_STREAM_COMBAT, WORLD_STREAM_LOOT, WORLD_STREAMS };

struct world_head {
    uint32_t schema_version;
    uint32_t block_bytes;
    arb_tick tick; /* this state is S[tick] */
    uint64_t seed;
    struct arb_rng streams[WORLD_STREAMS];
    arb_tick phase_end_tick; /* S[that tick] begins the next phase; 0: open */
    arb_tick live_from_tick; /* first tick of the first live phase; 0: not yet */
    uint64_t next_player_id; /* open mode counts from 1 */
    uint32_t free_first;     /* ring of free entity ids: position of the one freed longest ago */
    uint32_t free_count;
    uint32_t entity_count; /* alive */
    uint16_t player_capacity, entity_capacity;
    uint16_t body_capacity, body_points;
    uint32_t rules_bytes;
    uint8_t phase;          /* enum arb_phase */
    uint8_t round;          /* from 1 once live */
    uint8_t end_reason;     /* enum arb_end_reason, meaningful in RESULT and ENDED */
    uint8_t ended_early;    /* the mode decides the match now (score limit) */
    uint32_t live_ticks;    /* ticks spent in LIVE so far */
    uint32_t removed_count; /* marked for removal in this stage 7 */
    uint32_t reserved;
};

enum world_presence {
    WORLD_ABSENT = 0,
    WORLD_PRESENT,
    WORLD_LEFT, /* played once; the line stays */
    WORLD_AWAY, /* there, with its character, but the connection is lost */
};

struct world_player {
    uint64_t player_id; /* 0: the slot was never used */
    char name[ARB_NAME_BYTES];
    struct arb_own own;    /* truth of the controlled character; zero without one */
    struct arb_input last; /* last real input, repeated while one is missing */
    struct arb_view carried_view;
    arb_tick respawn_tick;      /* S[that tick] spawns again; 0: not waiting */
    struct arb_key controlled;  /* or ARB_KEY_NONE */
    arb_sequence last_sequence; /* newest consumed, of this session */
    uint32_t hold_ticks;        /* ticks since the last real input */
    uint32_t starved_ticks;     /* of this session */
    uint32_t outside_changes;   /* changes of `own` that its own step did not make */
    int32_t score;
    uint16_t kills, deaths, deaths_by_nobody;
    uint16_t carried_edges; /* presses that came too late for their tick, due with the next input */
    uint16_t carried_aim;   /* of the carried fire press */
    uint16_t carried_action; /* the same: low bits of its input's sequence */
    uint8_t presence;        /* enum world_presence */
    uint8_t team;            /* 0: none */
    uint8_t control;         /* control number, +1 per rebind */
    uint8_t reserved;
    int32_t values[WORLD_VALUES]; /* the mode's own numbers */
};

/* flags of an entity */
enum {
    WORLD_ENTITY_REMOVED = 1 /* leaves at the end of stage 7 */,
    WORLD_ENTITY_ALWAYS_RELEVANT = 2
};

struct world_entity {
    float x, y; /* m */
    float previous_x,
        previous_y;      /* where it was in S[tick] before stage 4: contacts are swept from there */
    float vx, vy;        /* m/s */
    float heading;       /* rad */
    float radius;        /* m, for contacts */
    uint16_t generation; /* of this slot, also while free: the last one used */
    uint16_t owner;      /* player slot or ARB_NO_SLOT */
    uint16_t body;       /* index of its body or WORLD_NO_BODY */
    uint8_t alive;       /* 0: the id is free, all but generation is zero */
    uint8_t kind;        /* index into schema->kinds */
    uint8_t flags;
    uint8_t team;
    uint8_t jump; /* jump count */
    uint8_t reserved;
    uint32_t born_tick;           /* low 32 bits, S[tick] that first has it */
    int32_t values[WORLD_VALUES]; /* the mode's own: health, worth, ... */
};

/* A body: the path of its head in evenly spaced points, newest first in a ring (spec/simulation.md
 * "Movement", clarifications "Body points are evenly spaced"). */
struct world_body {
    uint16_t first, count; /* ring in this body's points */
    uint16_t entity;       /* id of its head */
    uint16_t used;         /* 0: free */
    float along;           /* m travelled since the newest point */
    float length;          /* m, wanted length of the body behind the head */
    float spacing;         /* m */
    float reserved;
};

struct world {
    uint8_t *block; /* all of the below, block_bytes */
    struct world_head *head;
    struct world_player *players;                        /* [player_capacity] */
    struct world_entity *entities;                       /* [entity_capacity]; index = entity id */
    uint16_t *free_ids;                                  /* [entity_capacity] ring */
    struct world_body *bodies;                           /* [body_capacity] */
    struct arb_vec2 *points;                             /* [body_capacity * body_points] */
    uint8_t *rules;                                      /* [rules_bytes], the mode's own */
    struct arb_form_part rules_parts[WORLD_RULES_PARTS]; /* what it consists of */
    uint32_t rules_part_count;
    uint8_t *form; /* [block_bytes] where memory is not little-endian, else NULL */
};

struct world_capacity {
    uint16_t players;     /* 1..ARB_PLAYERS_MAX */
    uint16_t entities;    /* 1..ARB_ENTITIES_MAX */
    uint16_t bodies;      /* 0.. */
    uint16_t body_points; /* per body, 0..ARB_BODY_POINTS_MAX */
    uint32_t rules_bytes;
};

size_t world_block_bytes(const struct world_capacity *capacity);

/* An empty world at S[first_tick]; memory from the arena. Streams seeded from `seed`. */
void world_create(struct world *world, struct arb_arena *arena,
                  const struct world_capacity *capacity, uint64_t seed, arb_tick first_tick);

/* What the mode's own state consists of, one part after another (their memory is set here), for
 * checksum and saved blocks: all of rules_bytes (asserted). Once, after world_create. */
void world_set_rules_parts(struct world *world, const struct arb_form_part *parts, uint32_t count);

/* 64-bit checksum over the block in its defined form. */
uint64_t world_checksum(const struct world *world);

/* ---- save and restore: world_form.c, world_check.c ---- */

/* The same capacities as `like`, whose head it has at first; its content is in `block`
 * (block_bytes, aligned as from an arena). */
void world_view(struct world *world, const struct world *like, uint8_t *block);

/* All of the state as parts, in the order of a saved block; returns how many. */
uint32_t world_parts(const struct world *world, struct arb_form_part parts[WORLD_PARTS]);

/* Of one line, for those that the match keeps elsewhere. */
const struct arb_fields *world_player_fields(void);

/* Whether this content, which came from outside, is one that the stages can work with: `own` is the
 * world that it is meant for. What the mode's own numbers mean is the mode's to check. False, with
 * what is wrong as a text without an end. */
bool world_check(const struct world *world, const struct world *own, uint8_t kind_count,
                 const char **wrong);

/* Creates an entity; stage 7 only (asserted by the caller's order). ARB_KEY_NONE when all ids are
 * in use. Ids freed longest ago come first; the generation is one more than the id's last, skipping
 * 0. All fields but kind and generation start at zero (owner ARB_NO_SLOT, body WORLD_NO_BODY). */
struct arb_key world_spawn(struct world *world, uint8_t kind);

/* NULL when the key is none, old, or marked removed. */
struct world_entity *world_find(const struct world *world, struct arb_key key);
struct arb_key world_key(const struct world *world, const struct world_entity *entity);

/* Marks for removal; it stays visible to the rest of this stage as removed (world_find gives NULL).
 */
void world_remove(struct world *world, struct arb_key key);

/* End of stage 7: frees what was marked, in key order, bodies too. */
void world_settle(struct world *world);

/* Gives the player control of `key` (or none): +1 control number, own zeroed or set by the caller
 * afterwards. */
void world_bind(struct world *world, uint16_t slot, struct arb_key key);

/* Bodies. A new one has no points; WORLD_NO_BODY when none is free. */
uint16_t world_body_create(struct world *world, struct arb_key head, float spacing, float length);
/* The head went from `from` to `to`: adds the points that fall due and cuts the tail to the length.
 */
void world_body_advance(struct world *world, uint16_t body, struct arb_vec2 from,
                        struct arb_vec2 to);
/* Another length, >= 0 m: a shorter one cuts the tail at once, a longer one lets it grow as the
 * head goes on. */
void world_body_set_length(struct world *world, uint16_t body, float length);
/* Point i of the polyline behind the head: 0 is nearest to the head; the last one is cut so that
 * the whole is `length` long. Count excludes the head itself. */
uint32_t world_body_count(const struct world *world, uint16_t body);
struct arb_vec2 world_body_point(const struct world *world, uint16_t body, uint32_t index,
                                 struct arb_vec2 head);
/* All of them; returns how many. */
uint32_t world_body_points(const struct world *world, uint16_t body, struct arb_vec2 head,
                           struct arb_vec2 points[ARB_BODY_POINTS_MAX]);

_Static_assert(sizeof(struct world_head) == 136, "no padding");
_Static_assert(sizeof(struct world_player) == 248, "no padding");
_Static_assert(sizeof(struct world_entity) == 72, "no padding");
_Static_assert(sizeof(struct world_body) == 24, "no padding");

static inline struct arb_rng *world_stream(struct world *world, enum world_stream stream)
{
    return &world->head->streams[stream];
}

#endif
