/* Entity kinds and their field tables: what a published entity consists of on the wire, in the
 * client, in the rewind history and in the journal. A mode brings its own schema; the codec gets it
 * as an argument.
 */
#ifndef ARB_SCHEMA_H
#define ARB_SCHEMA_H

#include "shared/base/arb_types.h"

#include <stddef.h>

enum {
    ARB_KIND_FIELDS_MAX = 16,
    ARB_KINDS_MAX = 8,
    ARB_BODY_POINTS_MAX = 512, /* points of one body */
    ARB_ENTITIES_MAX = 8192,   /* entities of one snapshot */
};

/* One quantised value: q in [-2^(bits-1), 2^(bits-1)) or [0, 2^bits); shown value = q * unit. */
struct arb_kind_field {
    const char *name;
    uint8_t bits; /* 1..31 */
    uint8_t is_signed;
    float unit; /* m, m/s, rad or 1 per step */
    const char *doc;
};

/* Indices into the fields by meaning, for code that draws, aims or interpolates any kind; -1: the
 * kind has none. */
struct arb_kind {
    const char *name;
    const struct arb_kind_field *fields;
    uint8_t field_count; /* <= ARB_KIND_FIELDS_MAX */
    uint8_t has_body;    /* a polyline of points follows the fields (quantised by x's field) */
    int8_t x, y;         /* position, always present */
    int8_t vx, vy;
    int8_t heading; /* unit ARB_TURN / 2^bits */
    int8_t jump;    /* jump count: a difference means no interpolation */
    int8_t owner;   /* player slot + 1; 0: nobody */
    /* Its state never changes: x, y is where it was at `start`, from where it goes on with vx, vy
     * for ever (shared/view/arb_drawn.h says where it is). Such a kind has both. */
    uint8_t has_path;
    int8_t start; /* moment in 1/256 tick, the low bits; meaningful with has_path */
};

struct arb_schema {
    const char *name; /* the mode's */
    const struct arb_kind *kinds;
    uint8_t kind_count; /* <= ARB_KINDS_MAX */
    uint8_t mover;      /* enum arb_mover: which own-player state travels with it */
};

/* One published entity: quantised once per tick after stage 8, read by everyone. */
struct arb_published {
    struct arb_key key;
    uint8_t kind; /* index into schema->kinds */
    uint8_t reserved;
    uint16_t body_count;            /* points of the body, 0 for none */
    uint32_t body_first;            /* index of its first point in the frame's points */
    int32_t q[ARB_KIND_FIELDS_MAX]; /* in table order; unused are 0 */
};

struct arb_point {
    int32_t x, y; /* quantised as the kind's x field */
};

/* A published frame: entities ascending by key. Also what a client holds after a commit. */
struct arb_frame {
    arb_tick tick; /* published tick */
    uint32_t entity_count;
    uint32_t point_count;
    struct arb_published *entities;
    struct arb_point *points;
};

/* One entity of a snapshot as a client holds it, apart from its values. */
struct arb_held_entry {
    struct arb_key key;
    uint16_t age; /* ticks from its state to the snapshot: 0, the snapshot carried it or said that
                     nothing had changed; else it was left out, and this is the state of before */
    uint16_t reserved; /* 0 */
};

/* Binary search; NULL when the frame has no such key. */
const struct arb_published *arb_frame_find(const struct arb_frame *frame, struct arb_key key);

/* The built-in modes. */
extern const struct arb_schema arb_schema_arena;
extern const struct arb_schema arb_schema_serpent;

/* By name; NULL when unknown. */
const struct arb_schema *arb_schema_find(const char *name);

/* Field indices of the built-in kinds (their order in the tables). */
enum arb_arena_kind { ARB_ARENA_CHARACTER, ARB_ARENA_PICKUP, ARB_ARENA_PROJECTILE };

/* To be drawn with, and for where an oblong shape lies: the own one travels exact. Half of an
 * update was heading when it had 16. */
enum { ARB_CHARACTER_TURN_BITS = 12 };

enum arb_arena_character_field {
    ARB_CHARACTER_OWNER, /* slot + 1 */
    ARB_CHARACTER_TEAM,  /* 0: none */
    ARB_CHARACTER_X,     /* 1/512 m */
    ARB_CHARACTER_Y,
    ARB_CHARACTER_VX, /* 1/64 m/s */
    ARB_CHARACTER_VY,
    ARB_CHARACTER_HEADING, /* 1/4096 turn */
    ARB_CHARACTER_HEALTH,  /* points */
    ARB_CHARACTER_WEAPON,
    ARB_CHARACTER_JUMP,
    ARB_CHARACTER_FIELDS,
};
enum arb_arena_pickup_field {
    ARB_PICKUP_TYPE, /* enum arb_pickup_type */
    ARB_PICKUP_VALUE,
    ARB_PICKUP_X,
    ARB_PICKUP_Y,
    ARB_PICKUP_FIELDS,
};
enum arb_arena_projectile_field {
    ARB_PROJECTILE_OWNER, /* slot + 1 of the shooter */
    ARB_PROJECTILE_WEAPON,
    ARB_PROJECTILE_X, /* 1/512 m, at the start */
    ARB_PROJECTILE_Y,
    ARB_PROJECTILE_VX, /* 1/256 m/s */
    ARB_PROJECTILE_VY,
    ARB_PROJECTILE_START,  /* 1/256 tick, low 24 bits */
    ARB_PROJECTILE_ACTION, /* low 16 bits of the sequence of the input that fired */
    ARB_PROJECTILE_PELLET, /* which of its shot */
    ARB_PROJECTILE_FIELDS,
};
enum arb_pickup_type { ARB_PICKUP_HEALTH, ARB_PICKUP_AMMO, ARB_PICKUP_WEAPON };

enum arb_serpent_kind { ARB_SERPENT_HEAD, ARB_SERPENT_FOOD };
enum arb_serpent_head_field {
    ARB_HEAD_OWNER,
    ARB_HEAD_X, /* 1/512 m */
    ARB_HEAD_Y,
    ARB_HEAD_HEADING, /* 1/65536 turn */
    ARB_HEAD_BOOST,   /* 0 or 1 */
    ARB_HEAD_LENGTH,  /* 1/64 m */
    ARB_HEAD_JUMP,
    ARB_HEAD_FIELDS,
};
enum arb_serpent_food_field {
    ARB_FOOD_VALUE,
    ARB_FOOD_X,
    ARB_FOOD_Y,
    ARB_FOOD_FIELDS,
};

/* Hash over every table of the protocol (messages, own state, parameters, all built-in kinds): told
 * at connect. The tables of own state and parameters belong to shared/move, which this module does
 * not include: their hash stands here, and a test compares it with the tables. */
#define ARB_PROTO_MOVE_TABLES_HASH 0xD6612F53FFFC3548ULL
uint64_t arb_proto_schema_hash(void);

struct arb_fields;

/* Chains a table onto a hash: names, types, sizes, bits and ranges of its rows. */
uint64_t arb_proto_fields_hash(uint64_t hash, const struct arb_fields *fields);

enum { ARB_PROTOCOL_VERSION = 3 };

#endif
