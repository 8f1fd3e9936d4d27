#include "shared/base/arb_math.h"
#include "shared/proto/arb_schema.h"

#define METRE (1.0F / 512.0F)
#define STEP 1.0F

/* field, name, bits, signed, unit, text */
#define HEAD_ROWS(ROW)                                                                             \
    ROW(OWNER, "owner", 11, 0, STEP, "player slot + 1; 0: nobody's")                               \
    ROW(X, "x", 22, 1, METRE, "m, centre of the head")                                             \
    ROW(Y, "y", 22, 1, METRE, "m")                                                                 \
    ROW(HEADING, "heading", 16, 0, ARB_TURN / 65536.0F, "turn/65536 counter-clockwise from +x")    \
    ROW(BOOST, "boost", 1, 0, STEP, "1 while the server grants boost")                             \
    ROW(LENGTH, "length", 16, 0, 1.0F / 64.0F, "m, of the body")                                   \
    ROW(JUMP, "jump", 8, 0, STEP, "jump count, wraps; a difference means no interpolation")

#define FOOD_ROWS(ROW)                                                                             \
    ROW(VALUE, "value", 8, 0, STEP, "points")                                                      \
    ROW(X, "x", 22, 1, METRE, "m, centre")                                                         \
    ROW(Y, "y", 22, 1, METRE, "m")

#define TABLE_ROW(field, name, bits, is_signed, unit, text) {name, bits, is_signed, unit, text},

/* Every row stands at its field's index: a forgotten, doubled or misplaced row does not compile. */
#define HEAD_INDEX(field, name, bits, is_signed, unit, text) HEAD_AT_##field,
#define HEAD_CHECK(field, name, bits, is_signed, unit, text)                                       \
    _Static_assert((int)HEAD_AT_##field == (int)ARB_HEAD_##field, name);
#define FOOD_INDEX(field, name, bits, is_signed, unit, text) FOOD_AT_##field,
#define FOOD_CHECK(field, name, bits, is_signed, unit, text)                                       \
    _Static_assert((int)FOOD_AT_##field == (int)ARB_FOOD_##field, name);

enum { HEAD_ROWS(HEAD_INDEX) HEAD_ROW_COUNT };
enum { FOOD_ROWS(FOOD_INDEX) FOOD_ROW_COUNT };
HEAD_ROWS(HEAD_CHECK)
FOOD_ROWS(FOOD_CHECK)
_Static_assert((int)HEAD_ROW_COUNT == (int)ARB_HEAD_FIELDS, "a row for each field");
_Static_assert((int)FOOD_ROW_COUNT == (int)ARB_FOOD_FIELDS, "a row for each field");
_Static_assert((int)ARB_HEAD_FIELDS <= (int)ARB_KIND_FIELDS_MAX, "the published entity holds them");

static const struct arb_kind_field head_rows[] = {HEAD_ROWS(TABLE_ROW)};
static const struct arb_kind_field food_rows[] = {FOOD_ROWS(TABLE_ROW)};

static const struct arb_kind kinds[] = {
    [ARB_SERPENT_HEAD] =
        {
            .name = "head",
            .fields = head_rows,
            .field_count = ARB_HEAD_FIELDS,
            .has_body = 1,
            .x = ARB_HEAD_X,
            .y = ARB_HEAD_Y,
            .vx = -1,
            .vy = -1,
            .heading = ARB_HEAD_HEADING,
            .jump = ARB_HEAD_JUMP,
            .owner = ARB_HEAD_OWNER,
        },
    [ARB_SERPENT_FOOD] =
        {
            .name = "food",
            .fields = food_rows,
            .field_count = ARB_FOOD_FIELDS,
            .x = ARB_FOOD_X,
            .y = ARB_FOOD_Y,
            .vx = -1,
            .vy = -1,
            .heading = -1,
            .jump = -1,
            .owner = -1,
        },
};

const struct arb_schema arb_schema_serpent = {
    .name = "serpent",
    .kinds = kinds,
    .kind_count = sizeof kinds / sizeof kinds[0],
    .mover =
        2, /* ARB_MOVER_SERPENT of shared/move, which proto does not include; a test compares */
};
