#include "tests/scenes/scenes.h"

#include "shared/base/arb_math.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOOR_WALLS (1.0F / 60.0F) /* per m^2, as in the loop that figures are compared with */

/* Nobody dies and nobody aims: moving, colliding and shooting cost what they cost. */
static const char *const target_practice[] = {
    "arena.weapons=[{\"name\":\"probe\",\"start\":true,\"range_m\":40,\"damage\":0,"
    "\"damage_far\":0,\"interval_ms\":1}]",
    "interest.enter_m=45",
    "interest.retain_m=50",
    NULL,
};

static const char *const fight[] = {"arena.respawn_ms=500", "arena.spawn_protection_ms=0", NULL};
static const char *const pushing[] = {"arena.player_push=true", "arena.spawn_protection_ms=0",
                                      "arena.team_damage=true", NULL};
static const char *const field[] = {"serpent.respawn_ms=500", "serpent.food_count=2000",
                                    "serpent.food_max=4000", "serpent.spawn_candidates=2", NULL};
static const char *const crowd[] = {"serpent.respawn_ms=500", "serpent.food_count=400", NULL};

const struct scene scenes[] = {
    {"arena10", "arena", "10 players on 40 x 40 m, one shot per player and second", 10, 40,
     FLOOR_WALLS, 0, 1, target_practice},
    {"arena64", "arena", "64 players on 80 x 80 m, one shot per player and second", 64, 80,
     FLOOR_WALLS, 0, 1, target_practice},
    {"arena1000", "arena", "1,000 players on 205 x 205 m, one shot per player and second", 1000,
     205, FLOOR_WALLS, 0, 1, target_practice},
    {"fight16", "arena", "16 players on 24 x 24 m who kill each other, with pickups", 16, 24,
     FLOOR_WALLS, 12, 6, fight},
    {"push16", "arena", "as fight16, crowded, pushed apart", 16, 14, FLOOR_WALLS, 12, 3, pushing},
    {"serpent16", "serpent", "16 serpents on 40 x 40 m", 16, 40, 0.002F, 8, 1, crowd},
    {"serpent64", "serpent", "64 serpents on 120 x 120 m", 64, 120, 0.002F, 16, 1, crowd},
    {"serpent1000", "serpent", "1,000 serpents on 474 x 474 m", 1000, 474, 0.002F, 0, 1, field},
};
const size_t scene_count = sizeof scenes / sizeof scenes[0];

const struct scene *scene_find(const char *name)
{
    for (size_t i = 0; i < scene_count; i++) {
        if (strcmp(scenes[i].name, name) == 0) {
            return &scenes[i];
        }
    }
    return NULL;
}

/* ---- map ---- */

static struct arb_vec2 anywhere(const struct scene *scene, struct arb_rng *rng)
{
    float x = arb_rng_range(rng, 0.0F, scene->side_m);
    float y = arb_rng_range(rng, 0.0F, scene->side_m);
    return (struct arb_vec2){x, y};
}

static struct arb_shape wall(struct arb_vec2 at, float half_x, float half_y)
{
    return (struct arb_shape){
        .type = ARB_SHAPE_POLYGON,
        .count = 4,
        .points = {{at.x - half_x, at.y - half_y},
                   {at.x + half_x, at.y - half_y},
                   {at.x + half_x, at.y + half_y},
                   {at.x - half_x, at.y + half_y}},
    };
}

static void place_pickups(struct map *map, const struct scene *scene, struct arb_rng *rng)
{
    static const char *const kinds[] = {"health", "ammo", "weapon"};
    for (uint32_t i = 0; i < scene->pickup_count; i++) {
        struct map_place *place = &map->pickups[map->pickup_count++];
        *place = (struct map_place){.respawn_s = 2.0F};
        place->low = place->high = anywhere(scene, rng);
        const char *kind = strcmp(scene->mode, "arena") == 0 ? kinds[i % 3] : "food";
        snprintf(place->type, sizeof place->type, "%s", kind);
        snprintf(place->name, sizeof place->name, "%s %u", kind, i + 1);
    }
}

void scene_map(struct map *map, struct arb_arena *arena, const struct scene *scene,
               struct arb_rng *rng)
{
    uint32_t walls =
        (uint32_t)arb_quantise(scene->walls_per_m2 * scene->side_m * scene->side_m, 1.0F, 0, 4096);
    *map = (struct map){.bounds = {{0, 0}, {scene->side_m, scene->side_m}}};
    snprintf(map->path, sizeof map->path, "%s", scene->name);
    map->shapes = arb_arena_take_array(arena, walls, sizeof map->shapes[0]);
    map->spawns = arb_arena_take_array(arena, 1, sizeof map->spawns[0]);
    map->pickups = arb_arena_take_array(arena, scene->pickup_count, sizeof map->pickups[0]);
    for (; map->shape_count < walls; map->shape_count++) {
        struct arb_vec2 at = anywhere(scene, rng);
        float half_x = arb_rng_range(rng, 0.5F, 1.5F);
        float half_y = arb_rng_range(rng, 0.3F, 0.8F);
        map->shapes[map->shape_count] = wall(at, half_x, half_y);
    }
    map->spawns[map->spawn_count++] =
        (struct map_place){.low = map->bounds.low, .high = map->bounds.high, .name = "anywhere"};
    place_pickups(map, scene, rng);
}

/* ---- running ---- */

void scene_open(struct scene_run *run, const struct scene *scene, uint64_t seed)
{
    static const uint8_t match_id[16] = {1};
    memset(run, 0, sizeof *run);
    run->scene = scene;
    arb_arena_init(&run->arena);
    arb_rng_seed(&run->rng, seed, 1000);
    run->params = scene_configure(&run->config, &run->arena, scene->mode, scene->sets, seed);
    struct match_config *numbers = &run->config.match;
    numbers->max_players = (int32_t)scene->players;
    numbers->min_players = 1;
    numbers->countdown_s = 0;
    numbers->duration_s = 24 * 3600;
    scene_map(&run->map, &run->arena, scene, &run->rng);
    run->geometry = arb_geometry_create(run->map.shapes, run->map.shape_count, run->map.bounds);
    run->match = match_create(&run->arena, numbers, rules_find(scene->mode), run->params, &run->map,
                              run->geometry, match_id, NULL);
    run->inputs = arb_arena_take_array(&run->arena, scene->players, sizeof run->inputs[0]);
    for (uint32_t i = 0; i < scene->players; i++) {
        char name[ARB_NAME_BYTES];
        snprintf(name, sizeof name, "walker %u", i + 1);
        match_add_player(run->match, name);
    }
    tick_run(run->match, TICK_RERUN);
    arb_arena_seal(&run->arena);
}

void scene_close(struct scene_run *run)
{
    match_destroy(run->match);
    arb_geometry_destroy(run->geometry);
    arb_arena_free(&run->arena);
}

/* A new direction twice a second, an aim that turns slowly, shots at random. */
static void next_input(struct scene_run *run, uint32_t slot)
{
    struct arb_input *input = &run->inputs[slot];
    bool acts =
        arb_rng_unit(&run->rng) * (float)run->config.match.tick_rate < run->scene->shots_per_s;
    if (run->ticks % 30 == slot % 30) {
        uint32_t bits = arb_rng_next(&run->rng);
        input->move_x = (int8_t)(bits >> 8);
        input->move_y = (int8_t)(bits >> 16);
    }
    input->target_tick = match_tick(run->match);
    input->sequence++;
    input->aim = (uint16_t)(run->ticks * 640 + slot * 977);
    if (strcmp(run->scene->mode, "serpent") == 0) {
        input->buttons ^= acts ? ARB_BUTTON_BOOST : 0;
        return;
    }
    input->buttons = acts ? ARB_BUTTON_FIRE : 0;
    input->edges = input->buttons;
}

void scene_give_inputs(struct scene_run *run)
{
    for (uint32_t slot = 0; slot < run->scene->players; slot++) {
        next_input(run, slot);
        match_set_input(run->match, (uint16_t)slot, &run->inputs[slot]);
    }
    run->ticks++;
}

void scene_step(struct scene_run *run)
{
    scene_give_inputs(run);
    tick_run(run->match, TICK_RERUN);
}

int scene_bench(int argc, char **argv, uint32_t rounds, uint32_t rounds_max,
                void (*measure)(const struct scene *scene, uint32_t rounds, uint64_t seed))
{
    const char *name = argc > 1 ? argv[1] : "all";
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    bool any = false;
    if (argc > 2) rounds = (uint32_t)strtoul(argv[2], NULL, 10);
    rounds = rounds < 1 ? 1 : rounds > rounds_max ? rounds_max : rounds;
    for (size_t i = 0; i < scene_count; i++) {
        if (strcmp(name, "all") == 0 || strcmp(name, scenes[i].name) == 0) {
            measure(&scenes[i], rounds, seed);
            any = true;
        }
    }
    if (!any) fprintf(stderr, "usage: %s [scene|all [rounds [seed]]]\n", argv[0]);
    return any ? 0 : 64;
}
