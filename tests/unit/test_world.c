/* server/world: life cycle of entities, streams, save and restore, bodies. */
#include "server/world/world.h"
#include "shared/base/arb_math.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct arb_arena arena;
static struct world world;

static void create(uint16_t entities, uint64_t seed)
{
    arb_arena_init(&arena);
    struct world_capacity capacity = {
        .players = 4, .entities = entities, .bodies = 2, .body_points = 32, .rules_bytes = 16};
    world_create(&world, &arena, &capacity, seed, 100);
}

static void destroy(void)
{
    arb_arena_free(&arena);
}

TestSuite(world, .fini = destroy);

Test(world, ids_freed_longest_ago_are_reused_first_and_generations_grow)
{
    create(3, 1);
    struct arb_key a = world_spawn(&world, 0);
    struct arb_key b = world_spawn(&world, 0);
    struct arb_key c = world_spawn(&world, 0);
    cr_assert_eq(a.generation, 1);
    cr_assert(arb_key_is_none(world_spawn(&world, 0)), "all ids are in use");
    world_remove(&world, b);
    world_settle(&world);
    world_remove(&world, a);
    world_settle(&world);
    struct arb_key d = world_spawn(&world, 0);
    struct arb_key e = world_spawn(&world, 0);
    cr_assert_eq(d.id, b.id);
    cr_assert_eq(d.generation, 2);
    cr_assert_eq(e.id, a.id);
    cr_assert_null(world_find(&world, b), "the old generation is gone");
    cr_assert_not_null(world_find(&world, c));
}

Test(world, generation_skips_zero_when_it_wraps)
{
    create(1, 1);
    world.entities[0].generation = UINT16_MAX;
    cr_assert_eq(world_spawn(&world, 0).generation, 1);
}

Test(world, removed_entities_are_freed_in_key_order_at_settle)
{
    create(8, 1);
    struct arb_key keys[8];
    for (int i = 0; i < 8; i++) {
        keys[i] = world_spawn(&world, 0);
    }
    world_remove(&world, keys[6]);
    world_remove(&world, keys[2]);
    world_remove(&world, keys[2]);
    cr_assert_null(world_find(&world, keys[2]), "not found from the moment it is marked");
    cr_assert_eq(world.head->entity_count, 8, "but still there until the stage ends");
    world_settle(&world);
    cr_assert_eq(world.head->entity_count, 6);
    cr_assert_eq(world_spawn(&world, 0).id, 2);
    cr_assert_eq(world_spawn(&world, 0).id, 6);
}

Test(world, a_draw_more_from_one_stream_changes_no_other)
{
    create(1, 7);
    uint32_t loot = arb_rng_next(world_stream(&world, WORLD_STREAM_LOOT));
    destroy();
    create(1, 7);
    arb_rng_next(world_stream(&world, WORLD_STREAM_COMBAT));
    cr_assert_eq(arb_rng_next(world_stream(&world, WORLD_STREAM_LOOT)), loot);
}

Test(world, every_byte_of_the_state_belongs_to_a_named_field)
{
    static const size_t sizes[] = {sizeof(struct world_head),   sizeof(struct world_player),
                                   sizeof(struct world_entity), sizeof(uint16_t),
                                   sizeof(struct world_body),   sizeof(struct arb_vec2)};
    create(8, 3);
    struct arb_form_part parts[WORLD_PARTS];
    cr_assert_eq(world_parts(&world, parts), sizeof sizes / sizeof sizes[0]);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        cr_expect(arb_form_covers(parts[i].fields, sizes[i]), "%s", parts[i].name);
    }
}

static void expect(const struct world *other, const char *wrong)
{
    const char *text;
    bool good = world_check(other, &world, 2, &text);
    cr_assert(good == (wrong == NULL), "%s", text);
    if (!good) cr_assert_str_eq(text, wrong);
}

/* A state like ours, in memory of its own. */
static void copy_of(struct world *other)
{
    world_view(other, &world, calloc(1, world.head->block_bytes));
    memcpy(other->block, world.block, world.head->block_bytes);
}

Test(world, a_state_with_an_index_that_there_is_not_is_no_state)
{
    struct world other;
    create(8, 3);
    struct arb_key key = world_spawn(&world, 1);
    world_find(&world, key)->owner = 2;
    world_bind(&world, 2, key);
    world.players[2].presence = WORLD_PRESENT;
    uint16_t body = world_body_create(&world, key, 1.0F, 4.0F);
    world_find(&world, key)->body = body;
#define BROKEN(change, text)                                                                       \
    do {                                                                                           \
        copy_of(&other);                                                                           \
        expect(&other, NULL);                                                                      \
        change;                                                                                    \
        expect(&other, text);                                                                      \
        free(other.block);                                                                         \
    } while (0)
    BROKEN(other.head->player_capacity = 3, "is of other capacities, or of another seed");
    BROKEN(other.head->schema_version++, "is of other capacities, or of another seed");
    BROKEN(other.head->phase = 9, "has an impossible number in its head");
    BROKEN(other.head->streams[1].increment++, "has an impossible number in its head");
    BROKEN(other.head->removed_count = 1, "has an impossible number in its head");
    BROKEN(other.head->free_first = 8, "does not say which entity ids are free");
    BROKEN(other.free_ids[2] = 8, "does not say which entity ids are free");
    BROKEN(other.free_ids[2] = other.free_ids[3], "does not say which entity ids are free");
    BROKEN(other.free_ids[2] = key.id, "does not say which entity ids are free");
    BROKEN(other.head->free_count--, "does not say which entity ids are free");
    BROKEN(other.entities[key.id].kind = 2, "has an impossible entity");
    BROKEN(other.entities[key.id].owner = 4, "has an impossible entity");
    BROKEN(other.entities[key.id].body = 1, "has an impossible entity");
    BROKEN(other.entities[key.id].x = NAN, "has an impossible entity");
    BROKEN(other.entities[key.id + 1].x = 1.0F, "has an impossible entity");
    BROKEN(other.bodies[body].count = 33, "has an impossible body");
    BROKEN(other.bodies[body].first = 32, "has an impossible body");
    BROKEN(other.bodies[body].spacing = 0.0F, "has an impossible body");
    BROKEN(other.bodies[1].used = 1, "has an impossible body");
    BROKEN(other.points[40].x = 1.0F, "has an impossible body");
    BROKEN(other.points[3].x = INFINITY, "has an impossible body");
    BROKEN(other.players[1].controlled = key, "has an impossible player");
    BROKEN(other.players[2].controlled.generation++, "has an impossible player");
    BROKEN(other.players[2].presence = WORLD_LEFT, "has an impossible player");
    BROKEN(other.players[2].own.weapon = 6, "has an impossible player");
    BROKEN(memset(other.players[0].name, 'a', ARB_NAME_BYTES), "has an impossible player");
#undef BROKEN
}

Test(world, every_byte_of_the_state_is_in_the_checksum)
{
    create(8, 3);
    uint64_t checksum = world_checksum(&world);
    size_t bytes = world_block_bytes(&(struct world_capacity){
        .players = 4, .entities = 8, .bodies = 2, .body_points = 32, .rules_bytes = 16});
    const size_t size_at = offsetof(struct world_head, block_bytes); /* says how much is hashed */
    for (size_t i = 0; i < bytes; i++) {
        if (i >= size_at && i < size_at + sizeof world.head->block_bytes) continue;
        world.block[i] ^= 0x10;
        cr_assert_neq(world_checksum(&world), checksum, "byte %zu", i);
        world.block[i] ^= 0x10;
    }
    cr_assert_eq(world_checksum(&world), checksum);
}

Test(world, binding_raises_the_control_number_and_clears_the_own_state)
{
    create(2, 1);
    world.players[1].own.x = 4.0F;
    world.players[1].carried_edges = ARB_BUTTON_FIRE;
    world.players[1].carried_aim = 7;
    world.players[1].carried_view.to_tick = 7;
    uint8_t before = world.players[1].control;
    struct arb_key key = world_spawn(&world, 0);
    world_bind(&world, 1, key);
    cr_assert_eq(world.players[1].control, (uint8_t)(before + 1));
    cr_assert(world.players[1].own.x == 0.0F);
    cr_assert(arb_key_equal(world.players[1].controlled, key));
    cr_assert_eq(world.players[1].carried_edges, 0, "a press was for the character before");
    cr_assert_eq(world.players[1].carried_aim, 0);
    cr_assert_eq(world.players[1].carried_view.to_tick, 0);
}

/* Walks a head along a circle and compares the body with the path itself. */
Test(world, body_is_the_path_of_its_head_in_even_steps)
{
    create(2, 1);
    struct arb_key key = world_spawn(&world, 0);
    float spacing = 0.5F, length = 6.3F, step = 0.0833F;
    uint16_t body = world_body_create(&world, key, spacing, length);
    cr_assert_neq(body, WORLD_NO_BODY);
    struct arb_vec2 at = {10.0F, 0.0F};
    for (int i = 1; i <= 300; i++) {
        float angle = (float)i * step / 10.0F;
        struct arb_vec2 next = {10.0F * cosf(angle), 10.0F * sinf(angle)};
        world_body_advance(&world, body, at, next);
        at = next;
    }
    uint32_t count = world_body_count(&world, body);
    cr_assert_eq(count, 13, "ceil(6.3 / 0.5) points behind the head, got %u", count);
    float whole = 0.0F;
    struct arb_vec2 nearer = at;
    for (uint32_t i = 0; i < count; i++) {
        struct arb_vec2 point = world_body_point(&world, body, i, at);
        cr_assert(fabsf(arb_vec2_length(point) - 10.0F) < 0.02F, "on the path");
        whole += arb_vec2_distance(nearer, point);
        nearer = point;
    }
    cr_assert(fabsf(whole - length) < 0.02F, "as long as wanted: %f", (double)whole);
}

Test(world, a_step_longer_than_the_spacing_leaves_no_gap)
{
    create(2, 1);
    uint16_t body = world_body_create(&world, world_spawn(&world, 0), 0.5F, 4.0F);
    struct arb_vec2 to = {3.25F, 0.0F};
    world_body_advance(&world, body, (struct arb_vec2){0, 0}, to);
    cr_assert_eq(world_body_count(&world, body), 7);
    for (uint32_t i = 0; i < 7; i++) {
        struct arb_vec2 point = world_body_point(&world, body, i, to);
        cr_assert_float_eq(point.x, 3.0F - 0.5F * (float)i, 1e-5F);
    }
}

Test(world, a_body_made_shorter_ends_at_once_at_its_new_length)
{
    create(2, 1);
    uint16_t body = world_body_create(&world, world_spawn(&world, 0), 0.5F, 4.0F);
    struct arb_vec2 head = {6.0F, 0.0F};
    world_body_advance(&world, body, (struct arb_vec2){0, 0}, head);
    world_body_set_length(&world, body, 1.2F);
    uint32_t count = world_body_count(&world, body);
    cr_assert_eq(count, 4, "at 0, 0.5, 1 and the cut end");
    cr_assert_float_eq(world_body_point(&world, body, count - 1, head).x, 6.0F - 1.2F, 1e-5F);
    world_body_set_length(&world, body, 0.0F);
    cr_assert_float_eq(world_body_point(&world, body, 0, head).x, 6.0F, 1e-5F);
}

/* Also where the ring comes round, and where several points lie past the length. */
Test(world, all_points_of_a_body_are_its_single_ones_in_a_row)
{
    create(2, 1);
    uint16_t body = world_body_create(&world, world_spawn(&world, 0), 0.5F, 4.0F);
    struct arb_vec2 points[ARB_BODY_POINTS_MAX], head = {0, 0};
    cr_assert_eq(world_body_points(&world, body, head, points), 0);
    for (uint32_t i = 0; i < 3U * world.head->body_points; i++) {
        struct arb_vec2 next = {head.x + 0.37F, head.y + (i % 3 == 0 ? 0.2F : -0.1F)};
        world_body_advance(&world, body, head, next);
        head = next;
        world.bodies[body].length = i % 5 == 0 ? 1.6F : 4.0F;
        uint32_t count = world_body_points(&world, body, head, points);
        cr_assert_eq(count, world_body_count(&world, body));
        for (uint32_t k = 0; k < count; k++) {
            struct arb_vec2 one = world_body_point(&world, body, k, head);
            cr_assert_eq(memcmp(&one, &points[k], sizeof one), 0, "step %u point %u", i, k);
        }
    }
}

Test(world, a_freed_body_leaves_no_trace_in_the_checksum)
{
    create(2, 1);
    struct arb_key key = world_spawn(&world, 0);
    world_remove(&world, key);
    world_settle(&world);
    uint64_t without = world_checksum(&world);
    destroy();
    create(2, 1);
    key = world_spawn(&world, 0);
    uint16_t body = world_body_create(&world, key, 0.5F, 4.0F);
    world_find(&world, key)->body = body;
    world_body_advance(&world, body, (struct arb_vec2){0, 0}, (struct arb_vec2){3, 1});
    world_remove(&world, key);
    world_settle(&world);
    cr_assert_eq(world_checksum(&world), without);
}
