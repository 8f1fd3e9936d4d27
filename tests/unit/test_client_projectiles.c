/* Which projectile an impact ends: actions come again, and each names one flight only. */
#include "shared/client/arb_client_projectiles.h"
#include "shared/client/arbiter_client_internal.h"

#include <criterion/criterion.h>

#define TICK ((arb_fine)ARB_FINE_TICK)

static struct arbiter_client *client_of_arena(void)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    cr_assert_not_null(client);
    client->match.schema = &arb_schema_arena;
    return client;
}

/* Of slot 3, input 500, left at that tick. */
static struct arb_published flying(arb_tick start)
{
    struct arb_published state = {.kind = ARB_ARENA_PROJECTILE};
    state.q[ARB_PROJECTILE_OWNER] = 3 + 1;
    state.q[ARB_PROJECTILE_ACTION] = 500;
    state.q[ARB_PROJECTILE_START] = (int32_t)(start * (TICK / ARB_PATH_MOMENT) & 0xFFFFFF);
    return state;
}

static void impact(struct arbiter_client *client, arb_tick tick)
{
    arb_client_projectiles_impact(client, 3, 500, 0, (uint32_t)(tick * (TICK / ARB_PATH_MOMENT)),
                                  tick);
}

static bool has_ended(const struct arbiter_client *client, arb_tick start, arb_tick at)
{
    struct arb_published state = flying(start);
    return arb_client_projectile_ended(client, &state, start + 1, (arb_fine)at * TICK);
}

Test(client_projectiles, an_impact_ends_its_own_flight_from_its_moment_on)
{
    struct arbiter_client *client = client_of_arena();
    impact(client, 1010);
    cr_expect_not(has_ended(client, 1000, 1009));
    cr_expect(has_ended(client, 1000, 1010));
    cr_expect(has_ended(client, 1010, 1010), "met where it left");
    arbiter_client_destroy(client);
}

Test(client_projectiles, an_impact_of_before_ends_no_later_flight_of_the_same_action)
{
    struct arbiter_client *client = client_of_arena();
    impact(client, 1010);
    cr_expect_not(has_ended(client, 1011, 1030), "another one, of the next player in the slot");
    impact(client, 1040);
    cr_expect_not(has_ended(client, 1011, 1039));
    cr_expect(has_ended(client, 1011, 1040));
    cr_expect(has_ended(client, 1000, 1020), "the first one as before");
    arbiter_client_destroy(client);
}
