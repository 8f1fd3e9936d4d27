#include "server/rules/crowd.h"

#include "shared/base/arb_assert.h"

#include <math.h>
#include <string.h>

enum {
    CROWD_FEW = 16,        /* so many are all asked about, sooner than cells are looked up */
    CROWD_NOBODY = 0xFFFF, /* ends a chain; there are fewer players */
};

/* More than cells and distances are rounded by within +-4,096 m. */
#define CROWD_SLACK_M 0.01

struct member {
    struct arb_vec2 at;
    uint16_t slot;
    uint16_t next; /* in the same cell */
};

/* Cells are a square of side x side over the box around those who were there when it was laid out;
 * whoever is outside counts to the nearest cell of the border, which brings nobody closer to
 * anybody than he is. */
struct rules_crowd {
    struct member *members; /* [capacity] */
    uint16_t *cells;        /* [side_max * side_max] first member of each */
    uint32_t capacity, count;
    uint32_t laid_out; /* how many members the cells were made for; 0: there are none */
    int32_t side, side_max;
    struct arb_vec2 low;
    double cell_m;
    float reach; /* the largest of any member */
    bool filled;
};

static int32_t side_for(uint32_t members)
{
    int32_t side = 1;
    while ((uint32_t)(side * side) < members)
        side++;
    return side;
}

struct rules_crowd *rules_crowd_create(struct arb_arena *arena, uint32_t players)
{
    /* Each may begin anew while he still has a character: from outside may come such a state. */
    uint32_t members = 2 * players;
    ARB_ASSERT(members > 0 && members < CROWD_NOBODY);
    struct rules_crowd *crowd = arb_arena_take(arena, sizeof *crowd);
    crowd->capacity = members;
    crowd->members = arb_arena_take_array(arena, members, sizeof *crowd->members);
    crowd->side_max = side_for(members);
    size_t cells = (size_t)crowd->side_max * (size_t)crowd->side_max;
    crowd->cells = arb_arena_take_array(arena, cells, sizeof *crowd->cells);
    return crowd;
}

void rules_crowd_clear(struct rules_crowd *crowd)
{
    crowd->count = 0;
    crowd->laid_out = 0;
    crowd->reach = 0.0F;
    crowd->filled = false;
}

void rules_crowd_set_filled(struct rules_crowd *crowd)
{
    crowd->filled = true;
}

bool rules_crowd_is_filled(const struct rules_crowd *crowd)
{
    return crowd->filled;
}

/* ---- cells ---- */

static int32_t along(const struct rules_crowd *crowd, float value, float low)
{
    double cells = floor(((double)value - (double)low) / crowd->cell_m);
    double last = (double)(crowd->side - 1);
    return (int32_t)(cells < 0.0 ? 0.0 : cells > last ? last : cells);
}

static void enter_cell(struct rules_crowd *crowd, uint32_t index)
{
    struct member *member = &crowd->members[index];
    int32_t x = along(crowd, member->at.x, crowd->low.x);
    int32_t y = along(crowd, member->at.y, crowd->low.y);
    uint16_t *cell = &crowd->cells[y * crowd->side + x];
    member->next = *cell;
    *cell = (uint16_t)index;
}

/* About one member per cell. Laid out anew when there are twice as many: that is what it takes to
 * keep it so wherever they begin, and costs each of them twice at most on the mean. */
static void lay_out(struct rules_crowd *crowd)
{
    struct arb_vec2 low = crowd->members[0].at, high = low;
    for (uint32_t i = 1; i < crowd->count; i++) {
        struct arb_vec2 at = crowd->members[i].at;
        low = (struct arb_vec2){fminf(low.x, at.x), fminf(low.y, at.y)};
        high = (struct arb_vec2){fmaxf(high.x, at.x), fmaxf(high.y, at.y)};
    }
    double width = (double)high.x - (double)low.x, height = (double)high.y - (double)low.y;
    double extent = width > height ? width : height;
    crowd->laid_out = crowd->count;
    crowd->side = side_for(crowd->count);
    crowd->low = low;
    crowd->cell_m = fmax(extent / (double)crowd->side, CROWD_SLACK_M);
    memset(crowd->cells, 0xFF, (size_t)(crowd->side * crowd->side) * sizeof *crowd->cells);
    for (uint32_t i = 0; i < crowd->count; i++) {
        enter_cell(crowd, i);
    }
}

void rules_crowd_add(struct rules_crowd *crowd, uint16_t slot, struct arb_vec2 at, float reach)
{
    ARB_ASSERT(crowd->count < crowd->capacity);
    ARB_ASSERT(reach >= 0.0F);
    crowd->members[crowd->count] = (struct member){.at = at, .slot = slot};
    crowd->reach = fmaxf(crowd->reach, reach);
    if (crowd->laid_out > 0) enter_cell(crowd, crowd->count);
    crowd->count++;
    if (crowd->count > 2 * crowd->laid_out) crowd->laid_out = 0;
}

/* ---- questions ---- */

struct question {
    const struct rules_crowd *crowd;
    rules_crowd_look *look;
    void *asker;
    float enough;
    int32_t x, y; /* cell of the place */
};

static void ask_cell(struct question *question, int32_t x, int32_t y)
{
    const struct rules_crowd *crowd = question->crowd;
    if (x < 0 || x >= crowd->side) return;
    uint16_t index = crowd->cells[y * crowd->side + x];
    for (; index != CROWD_NOBODY; index = crowd->members[index].next) {
        question->enough = question->look(question->asker, crowd->members[index].slot);
    }
}

/* The cells that are `ring` cells away, across or along. */
static void ask_ring(struct question *question, int32_t ring)
{
    for (int32_t dy = -ring; dy <= ring; dy++) {
        int32_t y = question->y + dy;
        if (y < 0 || y >= question->crowd->side) continue;
        bool is_edge = dy == -ring || dy == ring;
        int32_t step = is_edge || ring == 0 ? 1 : 2 * ring;
        for (int32_t dx = -ring; dx <= ring; dx += step) {
            ask_cell(question, question->x + dx, y);
        }
    }
}

void rules_crowd_around(struct rules_crowd *crowd, struct arb_vec2 at, float enough,
                        rules_crowd_look *look, void *asker)
{
    if (crowd->count <= CROWD_FEW) {
        for (uint32_t i = 0; i < crowd->count; i++) {
            look(asker, crowd->members[i].slot);
        }
        return;
    }
    if (crowd->laid_out == 0) lay_out(crowd);
    struct question question = {
        .crowd = crowd,
        .look = look,
        .asker = asker,
        .enough = enough,
        .x = along(crowd, at.x, crowd->low.x),
        .y = along(crowd, at.y, crowd->low.y),
    };
    for (int32_t ring = 0; ring < crowd->side; ring++) {
        /* Between the place and whoever is in the ring lie `ring` - 1 whole cells. */
        double least = (double)(ring - 1) * crowd->cell_m - (double)crowd->reach - CROWD_SLACK_M;
        if (least > (double)question.enough) return;
        ask_ring(&question, ring);
    }
}
