/* Published frames as bytes and back: what comes back is what was there, to the last shot, and what
 * no frame can be is refused. Of kinds that no mode has together: bodies, all widths, both signs.
 */
#include "server/rewind/rewind_internal.h"
#include "server/rewind/rewind_save.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 70, POINTS = 300, HALF_BACK = 5, ROUNDS = 20 };

static const struct arb_kind_field runner_fields[] = {
    {"x", 22, 1, 1.0F / 512, ""}, {"y", 22, 1, 1.0F / 512, ""},  {"vx", 12, 1, 1.0F / 64, ""},
    {"vy", 12, 1, 1.0F / 64, ""}, {"heading", 12, 0, 1.0F, ""},  {"jump", 1, 0, 1.0F, ""},
    {"signed", 31, 1, 1.0F, ""},  {"unsigned", 31, 0, 1.0F, ""}, {"small", 1, 1, 1.0F, ""},
};
static const struct arb_kind_field worm_fields[] = {
    {"owner", 8, 0, 1.0F, ""},
    {"x", 18, 1, 1.0F / 512, ""},
    {"y", 20, 1, 1.0F / 512, ""},
};
static const struct arb_kind_field thing_fields[] = {
    {"x", 16, 0, 1.0F / 512, ""},
    {"y", 16, 0, 1.0F / 512, ""},
};
enum { RUNNER, WORM, THING, KINDS };
#define NONE .heading = -1, .jump = -1, .owner = -1, .start = -1
static const struct arb_kind all_kinds[] = {
    [RUNNER] = {.name = "runner",
                .fields = runner_fields,
                .field_count = 9,
                .x = 0,
                .y = 1,
                .vx = 2,
                .vy = 3,
                .heading = 4,
                .jump = 5,
                .owner = -1,
                .start = -1},
    [WORM] = {.name = "worm",
              .fields = worm_fields,
              .field_count = 3,
              .has_body = 1,
              .x = 1,
              .y = 2,
              .vx = -1,
              .vy = -1,
              NONE},
    [THING] = {.name = "thing",
               .fields = thing_fields,
               .field_count = 2,
               .x = 0,
               .y = 1,
               .vx = -1,
               .vy = -1,
               NONE},
};
static const struct arb_schema schema = {"made up", all_kinds, KINDS, 0};
static const struct rewind_kind shapes[KINDS] = {
    [RUNNER] = {.shapes = {{{0, 0}, {0.5F, 0}, 0.3F, 1}}, .count = 1},
    [WORM] = {.shapes = {{{0, 0}, {0, 0}, 0.8F, 1}}, .count = 1},
};
/* No tree: places that no frame can have may stand in it. */
static const struct rewind_kind shapeless[KINDS];

static struct arb_arena arena;
static struct arb_geometry *geometry;
static struct rewind *first, *second, *unshot;
static uint8_t *bytes, *again;
static struct arb_rng rng;

static struct rewind *create(const struct rewind_kind *kinds)
{
    struct rewind_config config = {.schema = &schema,
                                   .kinds = kinds,
                                   .tick_rate = 60,
                                   .max_rewind_ms = 250,
                                   .snapshot_interval_ticks = 2,
                                   .back_ticks = HALF_BACK,
                                   .entity_capacity = CAPACITY,
                                   .point_capacity = POINTS,
                                   .player_capacity = 2};
    return rewind_create(&arena, &config, geometry);
}

static void setup(void)
{
    struct arb_shape wall = {ARB_SHAPE_POLYGON, 4, 0, {{-1, 50}, {1, 50}, {1, 60}, {-1, 60}}};
    struct arb_bounds bounds = {{-1000, -1000}, {1000, 1000}};
    arb_arena_init(&arena);
    geometry = arb_geometry_create(&wall, 1, bounds);
    first = create(shapes);
    second = create(shapes);
    unshot = create(shapeless);
    bytes = malloc(rewind_frames_bytes(first));
    again = malloc(rewind_frames_bytes(first));
    arb_rng_seed(&rng, 5, 1);
}

static void teardown(void)
{
    free(again);
    free(bytes);
    rewind_destroy(unshot);
    rewind_destroy(second);
    rewind_destroy(first);
    arb_geometry_destroy(geometry);
    arb_arena_free(&arena);
}

TestSuite(rewind_save, .init = setup, .fini = teardown);

/* ---- frames at random ---- */

static int32_t least(const struct arb_kind_field *field)
{
    return field->is_signed ? -(int32_t)(UINT32_C(1) << (field->bits - 1)) : 0;
}

static int32_t most(const struct arb_kind_field *field)
{
    return (int32_t)((UINT32_C(1) << (field->bits - (field->is_signed ? 1 : 0))) - 1);
}

static uint32_t below(uint32_t bound)
{
    return (uint32_t)arb_rng_below(&rng, bound);
}

/* Mostly near where it was, of various widths; places within some metres, so that rays meet. */
static int32_t next_value(const struct arb_kind_field *field, int32_t value)
{
    static const int32_t steps[] = {1, 100, 128, 129, 32767, 32769, 1 << 20};
    int64_t low = least(field), high = most(field), next = value;
    int64_t step = steps[below(7)];
    bool place = strlen(field->name) == 1 || field->name[0] == 'v';
    if (below(3) == 0) return value;
    if (place) step = below(2) == 0 ? 128 : 40;
    if (!place && below(9) == 0) return below(2) == 0 ? (int32_t)low : (int32_t)high;
    next += below(2) == 0 ? step : -step;
    if (place) {
        low = low < -4000 ? -4000 : low;
        high = high > 4000 ? 4000 : high;
    }
    return (int32_t)(next < low ? low : next > high ? high : next);
}

static struct arb_published world[CAPACITY];
static bool there[CAPACITY];

static void change_world(void)
{
    for (uint16_t id = 0; id < CAPACITY; id++) {
        struct arb_published *entity = &world[id];
        if (!there[id] ? below(20) == 0 : below(40) == 0) {
            there[id] = !there[id];
            uint16_t generation = (uint16_t)(entity->key.generation + 1);
            *entity =
                (struct arb_published){.key = {id, generation}, .kind = (uint8_t)below(KINDS)};
        }
        const struct arb_kind *kind = &all_kinds[entity->kind];
        for (uint32_t i = 0; i < kind->field_count && there[id]; i++) {
            entity->q[i] = next_value(&kind->fields[i], entity->q[i]);
        }
    }
}

static void publish(struct rewind *rewind, arb_tick tick)
{
    struct arb_frame *frame = rewind_begin_frame(rewind, tick);
    for (uint32_t id = 0; id < CAPACITY; id++) {
        if (!there[id]) continue;
        struct arb_published *out = &frame->entities[frame->entity_count++];
        *out = world[id];
        if (!all_kinds[out->kind].has_body) continue;
        uint32_t room = POINTS - frame->point_count;
        out->body_count = (uint16_t)below(room < 20 ? room + 1 : 20);
        out->body_first = frame->point_count;
        for (uint32_t i = 0; i < out->body_count; i++) {
            frame->points[frame->point_count++] =
                (struct arb_point){(int32_t)arb_rng_next(&rng), (int32_t)below(99)};
        }
    }
    rewind_commit(rewind);
}

static arb_tick now;

static void play(uint32_t ticks)
{
    for (; ticks > 0; ticks--) {
        change_world();
        publish(first, ++now);
    }
}

static bool same_frame(const struct arb_frame *a, const struct arb_frame *b)
{
    return a->tick == b->tick && a->entity_count == b->entity_count &&
           a->point_count == b->point_count &&
           memcmp(a->entities, b->entities, a->entity_count * sizeof a->entities[0]) == 0 &&
           memcmp(a->points, b->points, a->point_count * sizeof a->points[0]) == 0;
}

/* ---- what comes back ---- */

Test(rewind_save, what_comes_back_is_what_was_there)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        play(round == 0 ? 1 : 1 + below(60));
        uint32_t size = rewind_put_frames(first, bytes);
        cr_assert_leq(size, rewind_frames_bytes(first));
        cr_assert(rewind_check_frames(second, bytes, size, now), "round %u", round);
        rewind_get_frames(second, bytes, size, now);
        for (arb_tick tick = 0; tick <= now + 1; tick++) {
            const struct arb_frame *a = rewind_frame(first, tick), *b = rewind_frame(second, tick);
            cr_assert_eq(a == NULL, b == NULL);
            cr_assert(a == NULL || same_frame(a, b), "round %u, tick %u", round, (unsigned)tick);
        }
        cr_assert_eq(rewind_put_frames(second, again), size);
        cr_assert_eq(memcmp(bytes, again, size), 0);
    }
}

static struct rewind_shot shoot(struct rewind *rewind, const struct rewind_ray *ray)
{
    struct rewind_shot shot;
    memset(&shot, 0, sizeof shot);
    rewind_resolve_shot(rewind, ray, &shot);
    return shot;
}

/* The tree is made anew, and may be too large, never too small: also for the ticks that follow, and
 * wherever a rollback goes back to. */
Test(rewind_save, shots_meet_the_same_in_a_past_that_came_back)
{
    uint32_t hits = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        play(1 + below(80));
        uint32_t size = rewind_put_frames(first, bytes);
        rewind_get_frames(second, bytes, size, now);
        uint32_t ticks = below(60), back = below(HALF_BACK + 1);
        for (uint32_t i = 0; i < ticks; i++) {
            play(1);
            struct arb_frame *frame = rewind_begin_frame(second, now);
            const struct arb_frame *from = rewind_frame(first, now);
            frame->entity_count = from->entity_count;
            frame->point_count = from->point_count;
            memcpy(frame->entities, from->entities, from->entity_count * sizeof *from->entities);
            memcpy(frame->points, from->points, from->point_count * sizeof *from->points);
            rewind_commit(second);
        }
        back = back < now ? back : 0;
        rewind_go_back(first, now + 1 - back);
        rewind_go_back(second, now + 1 - back);
        now -= back;
        for (uint32_t i = 0; i < 50; i++) {
            arb_tick tick = now > 18 ? now - below(18) : now;
            struct arb_vec2 aim = {(float)below(201) - 100.5F, (float)below(201) - 100};
            float length = arb_vec2_length(aim);
            struct rewind_ray ray = {
                .shooter = ARB_KEY_NONE,
                .origin = {(float)below(16) - 8, (float)below(16) - 8},
                .direction = {aim.x / length, aim.y / length},
                .range = 20,
                .pierce = 20,
                .view = {.from_tick = tick, .to_tick = tick},
            };
            struct rewind_shot a = shoot(first, &ray), b = shoot(second, &ray);
            cr_assert_eq(memcmp(&a, &b, sizeof a), 0, "round %u, ray %u", round, i);
            hits += a.hit_count;
        }
    }
    cr_assert_gt(hits, 500, "%u", hits);
}

/* ---- what is refused ---- */

static bool reads(uint32_t size)
{
    return rewind_check_frames(second, bytes, size, now);
}

/* The value stands in a new entity or is reached by a change, whatever the width. */
static bool takes(uint32_t kind, uint32_t field, int32_t before, int32_t value)
{
    memset(there, 0, sizeof there);
    there[3] = there[40] = true;
    world[3] = (struct arb_published){.key = {3, 1}, .kind = THING};
    world[40] = (struct arb_published){.key = {40, 1}, .kind = (uint8_t)kind};
    world[40].q[field] = before;
    publish(unshot, ++now);
    world[40].q[field] = value;
    publish(unshot, ++now);
    uint32_t size = rewind_put_frames(unshot, bytes);
    rewind_forget(unshot);
    return reads(size);
}

Test(rewind_save, each_field_of_each_kind_has_its_bounds)
{
    for (uint32_t k = 0; k < KINDS; k++) {
        for (uint32_t i = 0; i < all_kinds[k].field_count; i++) {
            const struct arb_kind_field *field = &all_kinds[k].fields[i];
            int32_t low = least(field), high = most(field);
            int32_t under = (int32_t)((uint32_t)low - 1), over = (int32_t)((uint32_t)high + 1);
            cr_assert(takes(k, i, low, low) && takes(k, i, high, high), "%s", field->name);
            cr_assert(takes(k, i, low, high) && takes(k, i, high, low), "%s", field->name);
            cr_assert_not(takes(k, i, low, under), "%s", field->name);
            cr_assert_not(takes(k, i, high, over), "%s", field->name);
            cr_assert_not(takes(k, i, under, low), "%s: new", field->name);
            cr_assert_not(takes(k, i, over, high), "%s: new", field->name);
            cr_assert_not(takes(k, i, low, INT32_MIN), "%s", field->name);
            cr_assert_eq(takes(k, i, low, INT32_MAX), high == INT32_MAX, "%s", field->name);
        }
    }
}

Test(rewind_save, a_field_that_a_kind_has_not_stays_zero)
{
    there[4] = there[5] = true;
    world[4] = (struct arb_published){.key = {4, 1}, .kind = RUNNER};
    world[5] = (struct arb_published){.key = {5, 1}, .kind = THING};
    publish(unshot, ++now);
    world[4].q[7] = 1;
    publish(unshot, ++now);
    cr_assert(reads(rewind_put_frames(unshot, bytes)));
    world[5].q[7] = 1;
    publish(unshot, ++now);
    cr_assert_not(reads(rewind_put_frames(unshot, bytes)));
}

static bool takes_keys(struct arb_key a, struct arb_key b)
{
    struct arb_frame *frame = rewind_begin_frame(unshot, ++now);
    frame->entity_count = 2;
    frame->entities[0] = (struct arb_published){.key = a, .kind = THING};
    frame->entities[1] = (struct arb_published){.key = b, .kind = THING};
    rewind_commit(unshot);
    uint32_t size = rewind_put_frames(unshot, bytes);
    rewind_forget(unshot);
    return reads(size);
}

Test(rewind_save, ids_of_a_frame_ascend)
{
    cr_assert(takes_keys((struct arb_key){4, 1}, (struct arb_key){5, 1}));
    cr_assert(takes_keys((struct arb_key){0, 9}, (struct arb_key){CAPACITY - 1, UINT16_MAX}));
    cr_assert_not(takes_keys((struct arb_key){4, 1}, (struct arb_key){4, 1}), "twice the same");
    cr_assert_not(takes_keys((struct arb_key){4, 1}, (struct arb_key){4, 2}), "two of one id");
    cr_assert_not(takes_keys((struct arb_key){5, 1}, (struct arb_key){4, 1}), "descending");
    cr_assert_not(takes_keys((struct arb_key){4, 1}, (struct arb_key){5, 0}), "no key");
}

Test(rewind_save, a_cut_anywhere_and_a_byte_more_are_refused)
{
    play(9);
    uint32_t size = rewind_put_frames(first, bytes);
    cr_assert(reads(size));
    for (uint32_t cut = 0; cut < size; cut++) {
        uint8_t *exact = malloc(cut + 1);
        memcpy(exact, bytes, cut);
        cr_assert_not(rewind_check_frames(second, exact, cut, now), "cut at %u", cut);
        free(exact);
    }
    bytes[size] = 0;
    cr_assert_not(reads(size + 1));
}

Test(rewind_save, more_frames_than_there_were_ticks_are_refused)
{
    play(20);
    uint32_t size = rewind_put_frames(first, bytes);
    cr_assert(rewind_check_frames(second, bytes, size, 19));
    cr_assert_not(rewind_check_frames(second, bytes, size, 18));
}

static bool is_good(const struct arb_frame *frame)
{
    uint32_t points = 0;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        const struct arb_published *entity = &frame->entities[i];
        const struct arb_kind *kind = &all_kinds[entity->kind];
        if (entity->kind >= KINDS || entity->key.id >= CAPACITY || entity->key.generation == 0 ||
            (i > 0 && entity[-1].key.id >= entity->key.id)) {
            return false;
        }
        for (uint32_t f = 0; f < ARB_KIND_FIELDS_MAX; f++) {
            const struct arb_kind_field *field = &kind->fields[f];
            bool has = f < kind->field_count;
            if (entity->q[f] < (has ? least(field) : 0) || entity->q[f] > (has ? most(field) : 0)) {
                return false;
            }
        }
        if (entity->body_count > 0 && entity->body_first != points) return false;
        points += entity->body_count;
    }
    return frame->point_count == points && points <= POINTS;
}

/* What somebody made up is refused, and nothing has changed, or it is frames that can be worked
 * with. */
Test(rewind_save, made_up_frames_are_refused_or_good)
{
    enum { TRIES = 2000 };
    uint32_t taken = 0;
    play(50);
    uint32_t size = rewind_put_frames(first, bytes);
    uint8_t *made = malloc(size);
    rewind_get_frames(second, bytes, size, now);
    for (uint32_t try = 0; try < TRIES; try++) {
        memcpy(made, bytes, size);
        for (uint32_t n = below(3) + 1; n > 0; n--) {
            made[below(size)] = below(2) == 0 ? (uint8_t)arb_rng_next(&rng) : (uint8_t)below(4);
        }
        if (!rewind_check_frames(second, made, size, now)) {
            if (try % 50 != 0) continue;
            cr_assert_eq(rewind_put_frames(second, again), size);
            cr_assert_eq(memcmp(bytes, again, size), 0, "nothing changed");
            continue;
        }
        taken++;
        rewind_get_frames(second, made, size, now);
        for (arb_tick tick = now - 49; tick <= now; tick++) {
            const struct arb_frame *frame = rewind_frame(second, tick);
            cr_assert(frame == NULL || is_good(frame), "try %u", try);
        }
        rewind_get_frames(second, bytes, size, now);
    }
    cr_assert_gt(taken, TRIES / 100);
    cr_assert_lt(taken, TRIES / 2);
    free(made);
}
