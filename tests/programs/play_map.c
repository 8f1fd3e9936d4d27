/* play_map CONFIG MAP [SECONDS [CLIENTS [SEED]]]: bots play a map under virtual time; after every
 * tick nobody may be inside a wall or outside the bounds. Prints one line; status 0 when that held,
 * 1 when not, 64 for wrong arguments. A map or configuration that cannot be used ends with its
 * error, as in arbiterd. */
#include "server/rules/rules.h"
#include "tests/support/virtual.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 512 };

/* Box2D's linear slop, and a little for the sum of roundings. */
static const float allowed_m = 0.006F;

struct watch {
    const struct arb_geometry *geometry;
    struct arb_hull hull;
    uint64_t looked; /* characters times ticks */
    uint64_t wrong;
    float least_m; /* smallest clearance seen */
};

static void look(struct watch *watch, struct arb_vec2 at, arb_tick tick, uint16_t slot)
{
    struct arb_bounds bounds = arb_geometry_bounds(watch->geometry);
    float clearance = arb_geometry_clearance(watch->geometry, watch->hull, at, 1.0F);
    bool outside =
        at.x < bounds.low.x || at.x > bounds.high.x || at.y < bounds.low.y || at.y > bounds.high.y;
    watch->looked++;
    if (clearance < watch->least_m) watch->least_m = clearance;
    if (outside || clearance < -allowed_m) {
        watch->wrong++;
        fprintf(stderr, "tick %" PRIu64 ": player %u at (%g, %g) is %s, clearance %g m\n", tick,
                slot, (double)at.x, (double)at.y, outside ? "outside the bounds" : "in a wall",
                (double)clearance);
    }
}

static void after_tick(void *user, struct match *match)
{
    struct watch *watch = user;
    const struct world *world = match_world(match);
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        if (watch->geometry != NULL && !arb_key_is_none(player->controlled)) {
            look(watch, (struct arb_vec2){player->own.x, player->own.y}, world->head->tick, slot);
        }
    }
}

static bool number(const char *text, uint32_t low, uint32_t high, uint32_t *out)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    *out = (uint32_t)value;
    return *text != '\0' && *end == '\0' && value >= low && value <= high;
}

/* Deaths of all players; and how far the farthest of them is from the first, to show that they
 * moved. */
static void print_line(struct sim *run, const char *map, const struct watch *watch)
{
    const struct world *world = match_world(sim_match(run));
    uint32_t deaths = 0;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        deaths += world->players[slot].deaths;
    }
    printf("%s: %" PRIu64 " places looked at, %" PRIu64 " wrong, least clearance %g m, %u deaths, "
           "checksum %016" PRIx64 "\n",
           map, watch->looked, watch->wrong, (double)watch->least_m, deaths,
           match_checksum(sim_match(run)));
}

int main(int argc, char **argv)
{
    uint32_t seconds = 60, clients = 16, seed = 1;
    bool good = argc >= 3 && argc <= 6 && (argc < 4 || number(argv[3], 1, 3600, &seconds)) &&
                (argc < 5 || number(argv[4], 1, 256, &clients)) &&
                (argc < 6 || number(argv[5], 0, UINT32_MAX - 1, &seed));
    if (!good) {
        fprintf(stderr, "usage: play_map CONFIG MAP [SECONDS [CLIENTS [SEED]]]\n");
        return 64;
    }
    char map[TEXT_BYTES], least[64], most[64], duration[64];
    snprintf(map, sizeof map, "match.map=%s", argv[2]);
    snprintf(least, sizeof least, "match.min_players=%u", clients);
    snprintf(most, sizeof most, "match.max_players=%u", clients);
    snprintf(duration, sizeof duration, "match.duration_s=%u", seconds);
    const char *sets[] = {map, least, most, duration, "match.countdown_s=0", "match.result_s=1"};
    struct watch watch = {.least_m = 1.0F};
    struct arb_link link = {.delay_us = 20000, .jitter_us = 5000, .loss_ppm = 5000};
    struct sim *run =
        virtual_create(&(struct sim_options){.config_file = argv[1],
                                             .sets = sets,
                                             .set_count = sizeof sets / sizeof sets[0],
                                             .clients = clients,
                                             .seed = seed,
                                             .up = link,
                                             .down = link,
                                             .policies = {"aim"},
                                             .after_tick = after_tick,
                                             .user = &watch});
    struct arb_move_params move;
    sim_rules(run)->move_params(sim_params(run), 60, &move);
    watch.hull = (struct arb_hull){move.radius, move.half_length};
    watch.geometry = sim_geometry(run);
    sim_run_to_end(run, 60 * (seconds + 20));
    print_line(run, argv[2], &watch);
    sim_destroy(run);
    return watch.wrong == 0 && watch.looked > 0 ? 0 : 1;
}
