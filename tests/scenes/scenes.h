/* Whole matches that tests and benches share: a mode with its numbers, a generated map, players
 * whose inputs are a random walk. One seed, one course: maps, inputs and the match's own randomness
 * follow from it. */
#ifndef TESTS_SCENES_H
#define TESTS_SCENES_H

#include "server/match/match.h"
#include "tests/scenes/scene_config.h"

struct scene {
    const char *name;
    const char *mode;
    const char *doc;
    uint32_t players;
    float side_m;          /* the map is a square from 0 to side_m */
    float walls_per_m2;    /* boxes of 1..3 m by 0.6..1.6 m */
    uint32_t pickup_count; /* spread over the map, of all kinds that the mode knows */
    float shots_per_s;     /* presses of fire per player; serpent: changes of boost */
    const char *const *sets;
};

extern const struct scene scenes[];
extern const size_t scene_count;
/* NULL: no scene of that name. */
const struct scene *scene_find(const char *name);

/* A running scene; all of it is the caller's to read. */
struct scene_run {
    const struct scene *scene;
    struct arb_arena arena;
    struct config config;
    const void *params;
    struct map map;
    struct arb_geometry *geometry;
    struct match *match;
    struct arb_rng rng;       /* of the inputs */
    struct arb_input *inputs; /* [players], of the tick that ran last */
    uint64_t ticks;
};

/* All players are there and the round is live after the first tick. */
void scene_open(struct scene_run *run, const struct scene *scene, uint64_t seed);
/* Gives everyone the next input and runs stages 2 to 8 of one tick. */
void scene_step(struct scene_run *run);
/* The first half of that, for who runs the tick otherwise. */
void scene_give_inputs(struct scene_run *run);
void scene_close(struct scene_run *run);

/* The body of a bench with the arguments [scene|all [rounds [seed]]]: `measure` of each scene asked
 * for, with at most `rounds_max` rounds. Its exit status; usage goes to stderr. */
int scene_bench(int argc, char **argv, uint32_t rounds, uint32_t rounds_max,
                void (*measure)(const struct scene *scene, uint32_t rounds, uint64_t seed));

/* Walls, spawns and pickups of a scene, by the seed: what scene_open plays on. Memory from the
 * arena. */
void scene_map(struct map *map, struct arb_arena *arena, const struct scene *scene,
               struct arb_rng *rng);

#endif
