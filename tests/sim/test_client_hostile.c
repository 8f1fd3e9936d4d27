/* A server, or somebody on the way, that spoils what it says: every kind of message, at every stage
 * of a connection, from printed seeds. The client goes on or ends with a reason; it never crashes
 * (the sanitizers' builds run this too), never grows, never draws what is no number. */
#include "shared/base/arb_mem.h"
#include "tests/support/fake_player.h"
#include "tests/support/proto_samples.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEEDS = 12, SECOND_US = 1000000, RUN_S = 5, LONG_S = 30 };

struct spoiler {
    struct arb_rng rng;
    int type;        /* 0: all */
    uint32_t one_in; /* of that type is spoiled */
    uint64_t spoiled;
};

static uint32_t below(struct spoiler *spoiler, size_t bound)
{
    return arb_rng_below(&spoiler->rng, (uint32_t)bound);
}

static void flip(struct spoiler *spoiler, uint8_t *bytes, size_t size)
{
    for (uint32_t i = below(spoiler, 4); size > 1; i--) {
        bytes[1 + below(spoiler, size - 1)] ^= (uint8_t)(1U << below(spoiler, 8));
        if (i == 0) return;
    }
}

/* Zeros or ones where a number or a count may be. */
static void extreme(struct spoiler *spoiler, uint8_t *bytes, size_t size)
{
    if (size < 2) return;
    size_t at = 1 + below(spoiler, size - 1);
    size_t count = 1 + below(spoiler, 8);
    count = count < size - at ? count : size - at;
    memset(bytes + at, below(spoiler, 2) == 0 ? 0xFF : 0x00, count);
}

static void randomise(struct spoiler *spoiler, uint8_t *bytes, size_t size)
{
    for (size_t i = 1; i < size; i++) {
        bytes[i] = (uint8_t)arb_rng_next(&spoiler->rng);
    }
}

static void spoil(void *user, uint8_t *bytes, size_t *size)
{
    struct spoiler *spoiler = user;
    int type = arb_message_type(bytes, *size);
    if ((spoiler->type != 0 && type != spoiler->type) || below(spoiler, spoiler->one_in) != 0) {
        return;
    }
    spoiler->spoiled++;
    switch (below(spoiler, 6)) {
    case 0:
    case 1:
        flip(spoiler, bytes, *size);
        break;
    case 2:
        extreme(spoiler, bytes, *size);
        break;
    case 3:
        *size = 1 + below(spoiler, *size);
        break;
    case 4: {
        size_t longer = *size + 1 + below(spoiler, 64);
        longer = longer < ARB_NET_MESSAGE_MAX ? longer : ARB_NET_MESSAGE_MAX;
        for (; *size < longer; (*size)++) {
            bytes[*size] = (uint8_t)arb_rng_next(&spoiler->rng);
        }
        break;
    }
    default:
        randomise(spoiler, bytes, *size);
        break;
    }
}

/* ---- what must hold ---- */

static void check_view(const struct arbiter_view *view)
{
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        cr_assert(isfinite(entity->x) && isfinite(entity->y) && isfinite(entity->heading));
        cr_assert(isfinite(entity->vx) && isfinite(entity->vy));
        for (uint32_t p = 0; p < entity->point_count; p++) {
            cr_assert(isfinite(entity->points[p].x) && isfinite(entity->points[p].y));
        }
    }
    cr_assert(isfinite(view->own.x) && isfinite(view->own.y) && isfinite(view->own.vx));
    cr_assert(isfinite(view->server_tick) && isfinite(view->phase_left_s));
}

static void ended_well(const struct arbiter_client *client, const char *what, uint64_t seed)
{
    struct arbiter_statistics statistics = fake_figures(client);
    cr_assert_leq(statistics.bad_messages, client->config.max_bad_messages, "%s seed %llu", what,
                  (unsigned long long)seed);
    if (client->connection == ARBITER_OFFLINE) {
        cr_assert_neq(client->info.reason, ARBITER_REASON_NONE, "%s seed %llu", what,
                      (unsigned long long)seed);
        cr_assert_neq(client->info.text[0], '\0');
    }
}

/* Frames of a client to that moment; while it plays it takes no memory, whatever comes. */
static void frames_until(struct fake_server *fake, struct arbiter_client *client, uint64_t until_us)
{
    for (uint64_t us = arb_simnet_now_us(fake->sim); us < until_us;) {
        us += 16667;
        fake_advance(fake, us);
        bool played = client->connection == ARBITER_CONNECTED;
        struct arbiter_view view;
        uint64_t before = arb_mem_count() - arb_simnet_counters(fake->sim)->allocations;
        arbiter_client_input(client, &(struct arbiter_input){.buttons = us % 7 == 0, .move_x = 90});
        arbiter_client_poll(client, fake_now_ns(fake));
        arbiter_client_sample(client, fake_now_ns(fake), &view);
        uint64_t after = arb_mem_count() - arb_simnet_counters(fake->sim)->allocations;
        cr_assert(!played || after == before, "%llu allocations",
                  (unsigned long long)(after - before));
        check_view(&view);
    }
}

/* A player's run; true when its connection ended. */
static bool run(int type, uint32_t one_in, uint64_t from_us, bool serpent, uint64_t seed,
                uint64_t seconds, const char *what)
{
    const struct arb_link link = {.delay_us = 20000, .jitter_us = 5000};
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = seed,
                                                                  .up = link,
                                                                  .down = link,
                                                                  .movers = 6,
                                                                  .serpent = serpent,
                                                                  .chunk_payload = 300,
                                                                  .first_tick = 100});
    struct spoiler spoiler = {.type = type, .one_in = one_in};
    arb_rng_seed(&spoiler.rng, seed, (uint64_t)type);
    struct arbiter_client *client = fake_join(fake);
    frames_until(fake, client, from_us);
    fake->spoil = spoil;
    fake->spoiler = &spoiler;
    for (uint64_t s = 0; s < 10 * seconds; s++) {
        if (fake->joined) {
            fake_event(fake,
                       (struct arb_event){.kind = ARB_EVENT_SCORE, .tick = (uint32_t)fake->tick});
        }
        frames_until(fake, client, from_us + (s + 1) * SECOND_US / 10);
    }
    ended_well(client, what, seed);
    cr_assert(spoiler.spoiled > 0 || client->connection == ARBITER_OFFLINE || type != 0);
    bool ended = client->connection == ARBITER_OFFLINE;
    arbiter_client_destroy(client);
    fake_destroy(fake);
    return ended;
}

struct kind {
    int type;
    char name[16];
};

ParameterizedTestParameters(client_hostile, each_kind_of_message_spoiled)
{
    static struct kind kinds[] = {
        {ARB_MESSAGE_PART, "PART"},     {ARB_MESSAGE_SNAPSHOT, "SNAPSHOT"},
        {ARB_MESSAGE_PONG, "PONG"},     {ARB_MESSAGE_EVENT, "EVENT"},
        {ARB_MESSAGE_COUNTS, "COUNTS"}, {0, "all"},
    };
    return cr_make_param_array(struct kind, kinds, sizeof kinds / sizeof kinds[0]);
}

ParameterizedTest(struct kind *kind, client_hostile, each_kind_of_message_spoiled)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool join = kind->type == ARB_MESSAGE_PART || kind->type == 0;
        uint64_t from_us = join && seed % 2 == 0 ? 1 : SECOND_US;
        uint32_t one_in = seed % 3 == 0 ? 1 : 8;
        run(kind->type, one_in, from_us, seed % 4 == 0, seed, RUN_S, kind->name);
    }
}

/* Every message of the protocol, the client's own ones too, whole and spoiled, before and after the
 * welcome. */
Test(client_hostile, every_message_at_every_stage)
{
    static struct proto_decoded message;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct spoiler spoiler = {.one_in = 1 + (uint32_t)(seed % 2)};
        arb_rng_seed(&spoiler.rng, seed, 77);
        struct fake_server *fake = fake_create(&(struct fake_options){.seed = seed, .movers = 3});
        struct arbiter_client *client = fake_join(fake);
        client->config.max_bad_messages = 1U << 30;
        uint64_t now_us = arb_simnet_now_us(fake->sim);
        for (size_t i = 0; i < 6 * proto_sample_count; i++) {
            const struct proto_sample *sample = &proto_samples[below(&spoiler, proto_sample_count)];
            uint8_t bytes[65536];
            memset(&message, 0, sizeof message);
            sample->fill(&message);
            size_t size = sample->encode(&message, bytes, sizeof bytes);
            if (size > 0 && size <= ARB_NET_MESSAGE_MAX) {
                spoil(&spoiler, bytes, &size);
                fake_send(fake, (uint8_t)below(&spoiler, 2), bytes, size);
            }
            now_us += 20000;
            frames_until(fake, client, now_us);
            if (client->connection == ARBITER_OFFLINE) {
                ended_well(client, sample->name, seed);
                cr_assert(
                    arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake)));
            }
        }
        arbiter_client_destroy(client);
        fake_destroy(fake);
    }
}

Test(client_hostile, spoiled_messages_without_end_end_the_connection_with_a_reason)
{
    uint32_t ended = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        ended += run(ARB_MESSAGE_SNAPSHOT, 1, SECOND_US, false, seed, LONG_S, "SNAPSHOT");
    }
    cr_assert_eq(ended, SEEDS);
}
