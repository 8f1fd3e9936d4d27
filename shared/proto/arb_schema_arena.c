#include "shared/base/arb_math.h"
#include "shared/proto/arb_schema.h"

#define METRE (1.0F / 512.0F)
#define SPEED (1.0F / 64.0F)
#define PATH_SPEED (1.0F / 256.0F)
#define STEP 1.0F

/* field, name, bits, signed, unit, text */
#define CHARACTER_ROWS(ROW)                                                                        \
    ROW(OWNER, "owner", 11, 0, STEP, "player slot + 1; 0: nobody's")                               \
    ROW(TEAM, "team", 4, 0, STEP, "0: none")                                                       \
    ROW(X, "x", 22, 1, METRE, "m, centre")                                                         \
    ROW(Y, "y", 22, 1, METRE, "m")                                                                 \
    ROW(VX, "vx", 14, 1, SPEED, "m/s")                                                             \
    ROW(VY, "vy", 14, 1, SPEED, "m/s")                                                             \
    ROW(HEADING, "heading", ARB_CHARACTER_TURN_BITS, 0, ARB_TURN / 4096.0F,                        \
        "turn/4096 counter-clockwise from +x")                                                     \
    ROW(HEALTH, "health", 10, 0, STEP, "points")                                                   \
    ROW(WEAPON, "weapon", 3, 0, STEP, "index of the weapon in hand")                               \
    ROW(JUMP, "jump", 8, 0, STEP, "jump count, wraps; a difference means no interpolation")

#define PICKUP_ROWS(ROW)                                                                           \
    ROW(TYPE, "type", 2, 0, STEP, "0 health, 1 ammunition, 2 weapon")                              \
    ROW(VALUE, "value", 10, 0, STEP, "points, rounds, or index of the weapon")                     \
    ROW(X, "x", 22, 1, METRE, "m, centre")                                                         \
    ROW(Y, "y", 22, 1, METRE, "m")

#define PROJECTILE_ROWS(ROW)                                                                       \
    ROW(OWNER, "owner", 11, 0, STEP, "player slot + 1 of who fired")                               \
    ROW(WEAPON, "weapon", 3, 0, STEP, "index of the weapon")                                       \
    ROW(X, "x", 22, 1, METRE, "m, centre at the start")                                            \
    ROW(Y, "y", 22, 1, METRE, "m")                                                                 \
    ROW(VX, "vx", 18, 1, PATH_SPEED, "m/s, from the start on")                                     \
    ROW(VY, "vy", 18, 1, PATH_SPEED, "m/s")                                                        \
    ROW(START, "start", 24, 0, STEP, "moment that its shooter saw, low bits, in 1/256 tick")       \
    ROW(ACTION, "action", 16, 0, STEP, "low bits of the sequence of the input that fired it")      \
    ROW(PELLET, "pellet", 4, 0, STEP, "which one of its shot, from 0")

#define TABLE_ROW(field, name, bits, is_signed, unit, text) {name, bits, is_signed, unit, text},

/* Every row stands at its field's index: a forgotten, doubled or misplaced row does not compile. */
#define CHARACTER_INDEX(field, name, bits, is_signed, unit, text) CHARACTER_AT_##field,
#define CHARACTER_CHECK(field, name, bits, is_signed, unit, text)                                  \
    _Static_assert((int)CHARACTER_AT_##field == (int)ARB_CHARACTER_##field, name);
#define PICKUP_INDEX(field, name, bits, is_signed, unit, text) PICKUP_AT_##field,
#define PICKUP_CHECK(field, name, bits, is_signed, unit, text)                                     \
    _Static_assert((int)PICKUP_AT_##field == (int)ARB_PICKUP_##field, name);

#define PROJECTILE_INDEX(field, name, bits, is_signed, unit, text) PROJECTILE_AT_##field,
#define PROJECTILE_CHECK(field, name, bits, is_signed, unit, text)                                 \
    _Static_assert((int)PROJECTILE_AT_##field == (int)ARB_PROJECTILE_##field, name);

enum { CHARACTER_ROWS(CHARACTER_INDEX) CHARACTER_ROW_COUNT };
enum { PICKUP_ROWS(PICKUP_INDEX) PICKUP_ROW_COUNT };
enum { PROJECTILE_ROWS(PROJECTILE_INDEX) PROJECTILE_ROW_COUNT };
CHARACTER_ROWS(CHARACTER_CHECK)
PICKUP_ROWS(PICKUP_CHECK)
PROJECTILE_ROWS(PROJECTILE_CHECK)
_Static_assert(1 << ARB_CHARACTER_TURN_BITS == 4096, "as its unit says");
_Static_assert((int)CHARACTER_ROW_COUNT == (int)ARB_CHARACTER_FIELDS, "a row for each field");
_Static_assert((int)PICKUP_ROW_COUNT == (int)ARB_PICKUP_FIELDS, "a row for each field");
_Static_assert((int)PROJECTILE_ROW_COUNT == (int)ARB_PROJECTILE_FIELDS, "a row for each field");
_Static_assert((int)ARB_CHARACTER_FIELDS <= (int)ARB_KIND_FIELDS_MAX,
               "the published entity holds them");

static const struct arb_kind_field character_rows[] = {CHARACTER_ROWS(TABLE_ROW)};
static const struct arb_kind_field pickup_rows[] = {PICKUP_ROWS(TABLE_ROW)};

static const struct arb_kind_field projectile_rows[] = {PROJECTILE_ROWS(TABLE_ROW)};

static const struct arb_kind kinds[] = {
    [ARB_ARENA_CHARACTER] =
        {
            .name = "character",
            .fields = character_rows,
            .field_count = ARB_CHARACTER_FIELDS,
            .x = ARB_CHARACTER_X,
            .y = ARB_CHARACTER_Y,
            .vx = ARB_CHARACTER_VX,
            .vy = ARB_CHARACTER_VY,
            .heading = ARB_CHARACTER_HEADING,
            .jump = ARB_CHARACTER_JUMP,
            .owner = ARB_CHARACTER_OWNER,
        },
    [ARB_ARENA_PICKUP] =
        {
            .name = "pickup",
            .fields = pickup_rows,
            .field_count = ARB_PICKUP_FIELDS,
            .x = ARB_PICKUP_X,
            .y = ARB_PICKUP_Y,
            .vx = -1,
            .vy = -1,
            .heading = -1,
            .jump = -1,
            .owner = -1,
        },
    [ARB_ARENA_PROJECTILE] =
        {
            .name = "projectile",
            .fields = projectile_rows,
            .field_count = ARB_PROJECTILE_FIELDS,
            .x = ARB_PROJECTILE_X,
            .y = ARB_PROJECTILE_Y,
            .vx = ARB_PROJECTILE_VX,
            .vy = ARB_PROJECTILE_VY,
            .heading = -1,
            .jump = -1,
            .owner = ARB_PROJECTILE_OWNER,
            .has_path = 1,
            .start = ARB_PROJECTILE_START,
        },
};

const struct arb_schema arb_schema_arena = {
    .name = "arena",
    .kinds = kinds,
    .kind_count = sizeof kinds / sizeof kinds[0],
    .mover = 1, /* ARB_MOVER_ARENA of shared/move, which proto does not include; a test compares */
};
