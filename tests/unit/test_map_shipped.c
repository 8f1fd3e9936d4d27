/* The maps of config/maps: playable, fair, and whatever a damaged one holds is refused. */
#define _GNU_SOURCE
#include "tests/unit/config_rig.h"

#include "server/config/config.h"
#include "server/rules/arena_internal.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_geometry.h"

#include <math.h>

static struct map map;
static struct arb_arena arena;

static void load(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, ARBITER_SOURCE_DIR "/config/maps/%s.tmj", name);
    arb_arena_init(&arena);
    cr_assert_eq(map_load(&map, &arena, path, &rig_error), ARB_OK, "%s", rig_error.text);
}

static const struct {
    const char *name;
    uint32_t spawns; /* at least */
    float radius;    /* of who spawns, m */
} shipped[] = {
    {"arena_duel", 6, 0.5F},
    {"arena_crossfire", 16, 0.5F},
    {"arena_foundry", 16, 0.5F},
    {"serpent_meadow", 16, 0.5F},
};

Test(map_shipped, every_spawn_point_and_pickup_has_room_for_a_player)
{
    for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; i++) {
        load(shipped[i].name);
        cr_expect_geq(map.spawn_count, shipped[i].spawns);
        struct arb_geometry *geometry =
            arb_geometry_create(map.shapes, map.shape_count, map.bounds);
        for (uint32_t k = 0; k < map.spawn_count + map.pickup_count; k++) {
            const struct map_place *place =
                k < map.spawn_count ? &map.spawns[k] : &map.pickups[k - map.spawn_count];
            if (place->low.x == place->high.x) {
                struct arb_hull hull = {.radius = shipped[i].radius};
                cr_expect_gt(arb_geometry_clearance(geometry, hull, place->low, 1.0F), 0.0F,
                             "%s: (%g, %g)", shipped[i].name, (double)place->low.x,
                             (double)place->low.y);
            }
        }
        arb_geometry_destroy(geometry);
        arb_arena_free(&arena);
    }
}

static bool has_opposite(const struct map_place *place)
{
    for (uint32_t i = 0; i < map.spawn_count; i++) {
        const struct map_place *other = &map.spawns[i];
        bool teams = (place->team == 0 && other->team == 0) || place->team + other->team == 3;
        if (teams && other->low.x == -place->high.x && other->low.y == -place->high.y) {
            return true;
        }
    }
    return false;
}

Test(map_shipped, both_halves_of_each_arena_have_the_same_spawns)
{
    for (size_t i = 0; i < 3; i++) {
        load(shipped[i].name);
        for (uint32_t k = 0; k < map.spawn_count; k++) {
            cr_expect(has_opposite(&map.spawns[k]), "%s: spawn %u", shipped[i].name, k);
        }
        arb_arena_free(&arena);
    }
}

Test(map_shipped, the_foundry_has_spawns_for_both_teams)
{
    load("arena_foundry");
    int of_team[3] = {0};
    for (uint32_t i = 0; i < map.spawn_count; i++) {
        of_team[map.spawns[i].team]++;
    }
    cr_assert_geq(of_team[1], 8);
    cr_assert_eq(of_team[1], of_team[2]);
    arb_arena_free(&arena);
}

Test(map_shipped, random_damage_is_loaded_or_refused_in_one_line, .timeout = 1200)
{
    struct arb_rng rng;
    uint64_t seed = 20240718;
    arb_rng_seed(&rng, seed, 1);
    size_t bytes;
    char *text = rig_read(ARBITER_SOURCE_DIR "/config/maps/arena_crossfire.tmj", &bytes);
    char *damaged = malloc(bytes);
    for (int i = 0; i < 1500; i++) {
        memcpy(damaged, text, bytes);
        uint32_t changes = 1 + arb_rng_below(&rng, 3);
        for (uint32_t k = 0; k < changes; k++) {
            /* Mostly digits into digits: such a file is still JSON, and its shapes are odd. */
            uint32_t at = arb_rng_below(&rng, (uint32_t)bytes);
            bool digit = damaged[at] >= '0' && damaged[at] <= '9';
            damaged[at] = digit ? (char)('0' + arb_rng_below(&rng, 10))
                                : (char)(arb_rng_below(&rng, 8) == 0 ? arb_rng_below(&rng, 256)
                                                                     : (uint32_t)damaged[at]);
        }
        arb_arena_init(&arena);
        const char *path = rig_write("m.tmj", damaged, bytes);
        if (map_load(&map, &arena, path, &rig_error) == ARB_OK) {
            for (uint32_t k = 0; k < map.shape_count; k++) {
                cr_assert(arb_geometry_shape_valid(&map.shapes[k]), "seed %lu case %d",
                          (unsigned long)seed, i);
            }
        } else {
            cr_assert(rig_begins(rig_text(), "m.tmj:"), "%s", rig_error.text);
            cr_assert_null(strchr(rig_error.text, '\n'));
        }
        arb_arena_free(&arena);
    }
    free(damaged);
    free(text);
    rig_clean();
}
