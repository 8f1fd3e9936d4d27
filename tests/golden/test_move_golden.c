/* The own-player step gives the same bits with every compiler, level and processor. The hashes are
 * over the states of 10,000 steps; a wanted change of the movement renews them:
 *
 *     ARBITER_GOLDEN=print <build folder>/tests/golden_test_move_golden
 */
#include "shared/base/arb_hash.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_move.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10000, SHAPES = 60 };

/* One after the other: the order within an initialiser is the compiler's. */
static struct arb_vec2 random_point(struct arb_rng *rng, float size)
{
    struct arb_vec2 point;
    point.x = arb_rng_range(rng, -size, size);
    point.y = arb_rng_range(rng, -size, size);
    return point;
}

static struct arb_geometry *make_map(uint64_t seed, float size)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, seed, 7);
    struct arb_shape shapes[SHAPES];
    memset(shapes, 0, sizeof shapes);
    for (int i = 0; i < SHAPES; i++) {
        struct arb_shape *shape = &shapes[i];
        struct arb_vec2 at = random_point(&rng, size);
        shape->type = (uint8_t)(1 + i % 3);
        shape->count = shape->type;
        shape->radius = arb_rng_range(&rng, 0.02F, 0.8F);
        shape->points[0] = at;
        shape->points[1] = arb_vec2_add(at, random_point(&rng, 4));
        if (shape->type == ARB_SHAPE_POLYGON) {
            float turn = arb_rng_range(&rng, -3, 3);
            float out = arb_rng_range(&rng, 0.5F, 2);
            for (int p = 0; p < shape->count; p++) {
                struct arb_vec2 direction = arb_move_direction(turn + 2.0F * (float)p);
                shape->points[p] = arb_vec2_mul_add(at, out, direction);
            }
            shape->radius = i % 2 == 0 ? 0.0F : 0.1F;
        }
    }
    struct arb_bounds bounds = {{-size, -size}, {size, size}};
    return arb_geometry_create(shapes, SHAPES, bounds);
}

/* Over the members in table order, little-endian, as they travel: not over memory. */
static uint64_t mix_state(uint64_t hash, const struct arb_own *own, const struct arb_fields *fields)
{
    for (size_t row = 0; row < fields->count; row++) {
        const struct arb_field *field = &fields->rows[row];
        const uint8_t *at = (const uint8_t *)own + field->offset;
        uint32_t u32;
        uint16_t u16;
        for (size_t i = 0; i < field->size;) {
            if (field->type == ARB_FIELD_F32) {
                memcpy(&u32, at + i, sizeof u32);
                hash = arb_hash_mix(hash, u32);
                i += sizeof u32;
            } else if (field->type == ARB_FIELD_U16) {
                memcpy(&u16, at + i, sizeof u16);
                hash = arb_hash_mix(hash, u16);
                i += sizeof u16;
            } else {
                hash = arb_hash_mix(hash, at[i]);
                i++;
            }
        }
    }
    return hash;
}

static uint64_t play(const struct arb_move_params *params, uint64_t seed, float size)
{
    struct arb_geometry *geometry = make_map(seed, size);
    struct arb_own own = {.weapons = 3, .magazine = {30, 8, 0, 0}, .reserve = {9000, 9000, 0, 0}};
    struct arb_rng rng;
    arb_rng_seed(&rng, seed, 8);
    struct arb_input input = {0};
    uint64_t hash = arb_geometry_hash(geometry);
    for (int step = 0; step < STEPS; step++) {
        uint32_t dice = arb_rng_next(&rng);
        if (dice % 16 == 0) {
            input.move_x = (int8_t)(dice >> 8);
            input.move_y = (int8_t)(dice >> 16);
        }
        input.aim = (uint16_t)(input.aim + dice % 1999);
        input.buttons = (uint16_t)(dice >> 24 & 1);
        input.edges = (uint16_t)((dice & 7) == 0 ? dice >> 26 & 15 : 0);
        own.boost = params->mover == ARB_MOVER_SERPENT && step / 100 % 2 == 1;
        struct arb_move_report report;
        arb_move_step(&own, &input, params, geometry, &report);
        if (report.touched_static && params->mover == ARB_MOVER_SERPENT) {
            own.x = 0;
            own.y = 0;
        }
        hash = mix_state(hash, &own, arb_own_fields((enum arb_mover)params->mover));
        hash = arb_hash_mix(hash, (uint64_t)report.fired << 2 | (uint64_t)report.dashed << 1 |
                                      report.touched_static);
    }
    arb_geometry_destroy(geometry);
    return hash;
}

static struct arb_move_params arena(float speed, float half_length)
{
    return (struct arb_move_params){
        .mover = ARB_MOVER_ARENA,
        .weapon_count = 2,
        .tick_rate = 60,
        .radius = 0.4F,
        .half_length = half_length,
        .max_speed = speed,
        .acceleration = 10.0F * speed,
        .friction = 5.0F * speed,
        .dash_speed = 3.0F * speed,
        .dash_ticks = 9,
        .dash_cooldown_ticks = 70,
        .weapons = {{.interval_ticks = 6, .magazine = 30, .reload_ticks = 90, .automatic = 1},
                    {.interval_ticks = 40, .magazine = 8, .reload_ticks = 60}}};
}

static const struct arb_move_params serpent = {.mover = ARB_MOVER_SERPENT,
                                               .tick_rate = 60,
                                               .radius = 0.3F,
                                               .base_speed = 5.0F,
                                               .boost_speed = 9.0F,
                                               .turn_rate = 3.0F};

static uint64_t directions(void)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < 1000000; i++) {
        float angle = -7.0F + 14e-6F * (float)i;
        struct arb_vec2 direction = arb_move_direction(angle);
        float parts[4] = {direction.x, direction.y, arb_move_angle(direction),
                          arb_move_lerp_angle(angle, direction.y, 0.3F)};
        for (int k = 0; k < 4; k++) {
            uint32_t bits;
            memcpy(&bits, &parts[k], sizeof bits);
            hash = arb_hash_mix(hash, bits);
        }
    }
    return hash;
}

static void expect(const char *name, uint64_t got, uint64_t golden)
{
    const char *mode = getenv("ARBITER_GOLDEN");
    if (mode != NULL && strcmp(mode, "print") == 0) {
        fprintf(stderr, "%s: 0x%016llXULL\n", name, (unsigned long long)got);
        return;
    }
    cr_expect_eq(got, golden, "%s: %016llX", name, (unsigned long long)got);
}

Test(move_golden, arena_circle)
{
    struct arb_move_params params = arena(6, 0);
    expect("arena_circle", play(&params, 1, 20), 0x35892C5F0FAE5F87ULL);
}

Test(move_golden, arena_capsule_fast)
{
    struct arb_move_params params = arena(200, 0.3F);
    expect("arena_capsule_fast", play(&params, 2, 30), 0x5E2CB2BE9C7FF6C3ULL);
}

Test(move_golden, serpent)
{
    expect("serpent", play(&serpent, 3, 40), 0x6B0286941168433FULL);
}

Test(move_golden, a_million_headings)
{
    expect("a_million_headings", directions(), 0x85A6A1A2F386735EULL);
}
