/* server/match saved and restored: a match goes on from a block as if nothing had been, and a block
 * that is not one changes nothing. */
#include "server/match/match_save_internal.h"
#include "shared/base/arb_hash.h"
#include "tests/scenes/scenes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct scene_run run, other;

/* Every option that has a state of its own, in fights that bring out all of it. */
static const char *const weapons[] = {
    "arena.weapons=[{\"name\":\"rifle\",\"start\":true,\"damage\":30,\"damage_far\":10,"
    "\"spread_rad\":0.1,\"pellets\":3,\"magazine\":4,\"reserve\":40,\"reload_ms\":400,"
    "\"interval_ms\":150},{\"name\":\"rocket\",\"kind\":\"projectile\",\"start\":true,"
    "\"damage\":40,\"projectile_speed\":9,\"projectile_life_ms\":1500,\"interval_ms\":300,"
    "\"blast_m\":3,\"blast_damage\":60,\"pellets\":2,\"spread_rad\":0.2}]",
    "arena.respawn_ms=700",
    "arena.player_push=true",
    "lagcomp.cover_grace_ms=60",
    "lagcomp.abilities_win=true",
    "match.teams=2",
    NULL,
};
static const struct scene brawl = {"brawl", "arena", "", 16, 24, 1.0F / 60, 12, 6, weapons};

/* Those who fire see the others as they were, all between two snapshots. */
static void give(struct scene_run *scene)
{
    scene_give_inputs(scene);
    arb_tick now = match_tick(scene->match);
    for (uint32_t slot = 0; slot < scene->scene->players; slot++) {
        struct arb_input input = scene->inputs[slot];
        arb_tick back = 2 + slot % 7;
        if (input.buttons == 0 || now < 16 || strcmp(scene->scene->mode, "arena") != 0) continue;
        input.view = (struct arb_view){
            .from_tick = now - back - 2, .to_tick = now - back, .fraction = (uint16_t)(slot * 16)};
        input.edges |= scene->ticks % 5 == 0 ? ARB_BUTTON_DASH : 0;
        input.edges |= scene->ticks % 11 == 0 ? ARB_BUTTON_USE : 0;
        match_set_input(scene->match, (uint16_t)slot, &input);
    }
}

static void step(struct scene_run *scene)
{
    give(scene);
    tick_run(scene->match, TICK_RERUN);
}

static void open_both(const struct scene *scene, uint64_t seed)
{
    scene_open(&run, scene, seed);
    scene_open(&other, scene, seed);
}

static void close_both(void)
{
    scene_close(&run);
    scene_close(&other);
}

struct block {
    uint8_t *bytes;
    uint32_t size;
};

static struct block save(const struct match *match, enum match_save_parts parts)
{
    uint32_t capacity = match_save_bytes(match, parts);
    struct block block = {.bytes = malloc(capacity)};
    block.size = match_save(match, parts, block.bytes, capacity);
    cr_assert_leq(block.size, capacity);
    return block;
}

static bool same(struct block a, struct block b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static enum arb_result restore(struct match *match, struct block block)
{
    struct match_save_error error = {.text = ""};
    enum arb_result result = match_restore(match, block.bytes, block.size, &error);
    cr_assert_eq(result, ARB_OK, "%s", error.text);
    return result;
}

static void go_on(const struct scene *scene, uint64_t seed, uint32_t before, uint32_t after)
{
    open_both(scene, seed);
    for (uint32_t i = 0; i < before; i++) {
        step(&run);
    }
    struct block block = save(run.match, MATCH_SAVE_WHOLE);
    cr_assert_eq(restore(other.match, block), ARB_OK, "%s", scene->name);
    other.rng = run.rng;
    other.ticks = run.ticks;
    memcpy(other.inputs, run.inputs, scene->players * sizeof run.inputs[0]);
    struct block again = save(other.match, MATCH_SAVE_WHOLE);
    cr_assert(same(block, again), "%s: what was restored is what was saved", scene->name);
    for (uint32_t i = 0; i < after; i++) {
        step(&run);
        step(&other);
        cr_assert_eq(match_checksum(run.match), match_checksum(other.match), "%s, tick %u after %u",
                     scene->name, i, before);
    }
    free(block.bytes);
    free(again.bytes);
    block = save(run.match, MATCH_SAVE_WHOLE);
    again = save(other.match, MATCH_SAVE_WHOLE);
    cr_assert(same(block, again), "%s: and so are the past and the figures", scene->name);
    free(block.bytes);
    free(again.bytes);
    close_both();
}

Test(match_save, a_restored_match_goes_on_as_the_first_one_for_a_minute)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 5, 1);
    for (size_t s = 0; s < scene_count; s++) {
        if (scenes[s].players > 16) continue;
        go_on(&scenes[s], 3 + s, arb_rng_below(&rng, 900), 3600);
    }
    go_on(&brawl, 7, 333 + arb_rng_below(&rng, 400), 3600);
}

Test(match_save, from_every_tick_of_its_begin_a_match_goes_on)
{
    for (uint32_t before = 0; before < 40; before += 3) {
        go_on(&brawl, 11, before, 60);
    }
}

Test(match_save, every_byte_of_what_is_saved_belongs_to_a_named_field)
{
    struct match_form forms[MATCH_FORMS];
    match_forms(forms);
    for (uint32_t i = 0; i < MATCH_FORMS; i++) {
        cr_expect(arb_form_covers(forms[i].fields, forms[i].bytes), "%s", forms[i].fields->name);
    }
    static const char *const names[] = {"fight16", "serpent16"};
    for (size_t n = 0; n < 2; n++) {
        scene_open(&run, scene_find(names[n]), 1);
        struct arb_form_part parts[MATCH_PARTS];
        uint32_t count = match_state_parts(run.match, false, parts);
        size_t rules = 0;
        for (uint32_t i = 0; i < count; i++) {
            cr_expect(arb_form_covers(parts[i].fields, arb_form_bytes(parts[i].fields)), "%s",
                      parts[i].name);
            if (i >= count - run.match->world.rules_part_count) {
                rules += (size_t)parts[i].count * arb_form_bytes(parts[i].fields);
            }
        }
        cr_expect_eq(rules, run.match->world.head->rules_bytes, "the mode names all of its own");
        scene_close(&run);
    }
}

/* ---- going back ---- */

Test(match_save, a_match_that_goes_back_repeats_its_course)
{
    enum { BACK = 30, TICKS = 1200 };
    static struct arb_input given[BACK][16];
    static uint64_t checksums[BACK];
    static struct block blocks[BACK];
    const struct scene *const played[] = {&brawl, scene_find("serpent16")};
    for (size_t s = 0; s < 2; s++) {
        scene_open(&run, played[s], 19);
        uint32_t bytes = match_save_bytes(run.match, MATCH_SAVE_STATE);
        for (uint32_t i = 0; i < BACK; i++) {
            blocks[i].bytes = malloc(bytes);
        }
        for (uint32_t i = 0; i < TICKS; i++) {
            arb_tick now = match_tick(run.match);
            uint32_t back = i % 7 == 6 ? 1 + i % BACK : 0;
            for (arb_tick tick = now - back; back > 0 && i >= BACK && tick < now; tick++) {
                if (tick == now - back) match_go_back(run.match, blocks[tick % BACK].bytes);
                for (uint16_t slot = 0; slot < 16; slot++) {
                    match_set_input(run.match, slot, &given[tick % BACK][slot]);
                }
                tick_run(run.match, TICK_RERUN);
                cr_assert_eq(match_checksum(run.match), checksums[tick % BACK], "%s, %u back at %u",
                             played[s]->name, back, i);
            }
            blocks[now % BACK].size =
                match_save(run.match, MATCH_SAVE_STATE, blocks[now % BACK].bytes, bytes);
            give(&run);
            memcpy(given[now % BACK], run.match->applied, sizeof given[0]);
            tick_run(run.match, TICK_RERUN);
            checksums[now % BACK] = match_checksum(run.match);
        }
        for (uint32_t i = 0; i < BACK; i++) {
            free(blocks[i].bytes);
        }
        scene_close(&run);
    }
}

Test(match_save, the_first_field_that_differs_has_a_name)
{
    char text[160] = "";
    open_both(&brawl, 2);
    step(&run);
    step(&other);
    struct block a = save(run.match, MATCH_SAVE_STATE);
    struct block b = save(other.match, MATCH_SAVE_STATE);
    cr_assert_not(match_save_differs(run.match, a.bytes, b.bytes, text, sizeof text));
    other.match->world.players[3].own.magazine[1]++;
    other.match->world.head->streams[WORLD_STREAM_LOOT].state++;
    match_save(other.match, MATCH_SAVE_STATE, b.bytes, b.size);
    cr_assert(match_save_differs(run.match, a.bytes, b.bytes, text, sizeof text));
    cr_assert(strstr(text, "world[0].streams[WORLD_STREAM_LOOT][0]: ") == text, "%s", text);
    other.match->world.head->streams[WORLD_STREAM_LOOT].state--;
    match_save(other.match, MATCH_SAVE_STATE, b.bytes, b.size);
    cr_assert(match_save_differs(run.match, a.bytes, b.bytes, text, sizeof text));
    cr_assert(strstr(text, "players[3].own.magazine[1]: ") == text, "%s", text);
    free(a.bytes);
    free(b.bytes);
    close_both();
}

/* ---- what is refused ---- */

static struct block good, before;

static void open_hostile_of(const struct scene *scene)
{
    scene_open(&run, scene, 23);
    for (int i = 0; i < 200; i++) {
        step(&run);
    }
    good = save(run.match, MATCH_SAVE_WHOLE);
    for (int i = 0; i < 100; i++) {
        step(&run);
    }
    before = save(run.match, MATCH_SAVE_WHOLE);
}

static void open_hostile(void)
{
    open_hostile_of(&brawl);
}

static void close_hostile(void)
{
    free(good.bytes);
    free(before.bytes);
    scene_close(&run);
}

static void refused(struct block block, const char *why, uint32_t at)
{
    struct match_save_error error = {.text = ""};
    cr_assert_neq(match_restore(run.match, block.bytes, block.size, &error), ARB_OK, "%s, %u", why,
                  at);
    cr_assert_neq(error.text[0], '\0');
    if (at % 97 != 0) return; /* looking takes long */
    struct block now = save(run.match, MATCH_SAVE_WHOLE);
    cr_assert(same(now, before), "%s, %u: and nothing changed", why, at);
    free(now.bytes);
}

/* The hash of a block that somebody made up. */
static void seal(struct block block)
{
    uint64_t hash = arb_hash(block.bytes + 64, block.size - 64, arb_hash(block.bytes, 56, 0));
    for (uint32_t i = 0; i < 8; i++) {
        block.bytes[56 + i] = (uint8_t)(hash >> (8 * i));
    }
}

Test(match_save, a_block_cut_anywhere_is_refused)
{
    open_hostile();
    for (uint32_t size = 0; size < good.size; size++) {
        /* Exactly so much memory, so that a look behind the end is noticed where that is looked
         * for.
         */
        struct block cut = {.bytes = malloc(size + 1), .size = size};
        memcpy(cut.bytes, good.bytes, size);
        refused(cut, "cut at", size);
        free(cut.bytes);
    }
    cr_assert_eq(restore(run.match, good), ARB_OK);
    close_hostile();
}

Test(match_save, each_bit_of_the_head_matters)
{
    open_hostile();
    for (uint32_t bit = 0; bit < 64 * 8; bit++) {
        good.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        refused(good, "bit", bit);
        good.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    cr_assert_eq(restore(run.match, good), ARB_OK);
    close_hostile();
}

Test(match_save, a_flipped_bit_anywhere_is_refused)
{
    open_hostile();
    for (uint32_t byte = 64; byte < good.size; byte += 1 + byte % 5) {
        good.bytes[byte] ^= (uint8_t)(1U << byte % 8);
        refused(good, "byte", byte);
        good.bytes[byte] ^= (uint8_t)(1U << byte % 8);
    }
    close_hostile();
}

static void make_up(const struct scene *scene, uint64_t seed)
{
    enum { TRIES = 3000 };
    struct arb_rng rng;
    uint32_t played = 0;
    arb_rng_seed(&rng, seed, 1);
    open_hostile_of(scene);
    struct block made = {.bytes = malloc(good.size), .size = good.size};
    for (uint32_t i = 0; i < TRIES; i++) {
        memcpy(made.bytes, good.bytes, good.size);
        for (uint32_t n = arb_rng_below(&rng, 3) + 1; n > 0; n--) {
            uint32_t at = 24 + arb_rng_below(&rng, good.size - 24);
            static const uint8_t bytes[] = {0, 1, 0x7F, 0x80, 0xFF};
            made.bytes[at] = arb_rng_below(&rng, 2) != 0 ? bytes[arb_rng_below(&rng, 5)]
                                                         : (uint8_t)arb_rng_next(&rng);
        }
        seal(made);
        struct match_save_error error;
        if (match_restore(run.match, made.bytes, made.size, &error) != ARB_OK) continue;
        played++;
        for (int tick = 0; tick < 20; tick++) {
            step(&run);
        }
    }
    cr_assert_gt(played, TRIES / 100);
    cr_assert_lt(played, TRIES);
    free(made.bytes);
    close_hostile();
}

/* Whoever makes a block up gives it a hash that fits: what gets through can be played. */
Test(match_save, a_made_up_block_is_refused_or_can_be_played)
{
    make_up(&brawl, 77);
    make_up(scene_find("serpent16"), 78);
}

enum beyond { ABOVE, BELOW, NO_NUMBER, BEYONDS };

/* The bits of the nearest value out of the row's bounds. */
static uint64_t value_beyond(const struct arb_field *field, enum beyond beyond)
{
    bool bounded = field->low < field->high;
    float real = beyond == ABOVE ? INFINITY : beyond == BELOW ? -INFINITY : NAN;
    uint32_t bits;
    if (field->type != ARB_FIELD_F32) {
        return (uint64_t)(int64_t)(beyond == ABOVE ? floor(field->high) + 1 : field->low - 1);
    }
    if (bounded && beyond == ABOVE) {
        for (real = (float)field->high; (double)real <= field->high;) {
            real = nextafterf(real, INFINITY);
        }
    } else if (bounded && beyond == BELOW) {
        for (real = (float)field->low; (double)real >= field->low;) {
            real = nextafterf(real, -INFINITY);
        }
    }
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static uint32_t width_of(const struct arb_field *field)
{
    static const uint8_t widths[] = {[ARB_FIELD_U16] = 2, [ARB_FIELD_I16] = 2, [ARB_FIELD_U32] = 4,
                                     [ARB_FIELD_I32] = 4, [ARB_FIELD_F32] = 4, [ARB_FIELD_U64] = 8};
    return field->type < sizeof widths && widths[field->type] > 0 ? widths[field->type] : 1;
}

static uint32_t hold_to_bounds(const struct arb_field *field, uint32_t at)
{
    bool real = field->type == ARB_FIELD_F32;
    bool has_less = real || field->type == ARB_FIELD_I32; /* nothing unsigned is below 0 */
    uint8_t whole[8];
    uint32_t tried = 0;
    if (field->low >= field->high && !real) return 0;
    memcpy(whole, good.bytes + at, sizeof whole);
    for (enum beyond beyond = ABOVE; beyond < BEYONDS; beyond++) {
        if ((beyond == BELOW && !has_less) || (beyond == NO_NUMBER && !real)) continue;
        uint64_t value = value_beyond(field, beyond);
        for (uint32_t i = 0; i < width_of(field); i++) {
            good.bytes[at + i] = (uint8_t)(value >> (8 * i));
        }
        seal(good);
        refused(good, field->name, 1);
        memcpy(good.bytes + at, whole, sizeof whole);
        tried++;
    }
    return tried;
}

/* Of the first struct of each table, which is one that is used. */
static void hold_all_to_bounds(const struct scene *scene)
{
    struct arb_form_part parts[MATCH_PARTS];
    uint32_t at = 64, tried = 0;
    open_hostile_of(scene);
    uint32_t count = match_state_parts(run.match, false, parts);
    for (uint32_t i = 0; i < count; i++) {
        const struct arb_fields *fields = parts[i].fields;
        for (uint32_t row = 0; row < fields->count && parts[i].count > 0; row++) {
            tried += hold_to_bounds(&fields->rows[row], at + fields->rows[row].offset);
        }
        at += parts[i].count * arb_form_bytes(fields);
    }
    cr_assert_gt(tried, 60);
    seal(good);
    cr_assert_eq(restore(run.match, good), ARB_OK, "nothing else was wrong with it");
    close_hostile();
}

Test(match_save, each_value_is_held_to_its_bounds)
{
    hold_all_to_bounds(&brawl);
    hold_all_to_bounds(scene_find("serpent16"));
}

static void refused_for(struct block block, const char *text)
{
    struct match_save_error error;
    cr_assert_eq(match_restore(run.match, block.bytes, block.size, &error), ARB_DATA);
    cr_assert_not_null(strstr(error.text, text), "%s", error.text);
}

Test(match_save, the_text_says_what_is_wrong)
{
    open_hostile();
    good.bytes[4]++;
    seal(good);
    refused_for(good, "saved in version 4, this program reads version 3");
    good.bytes[4]--;
    seal(good);
    struct block state = save(run.match, MATCH_SAVE_STATE);
    refused_for(state, "without its past");
    free(state.bytes);
    static const char *const sets[] = {"arena.respawn_ms=701", NULL};
    struct scene changed = brawl;
    const uint64_t seeds[] = {23, 24};
    for (size_t i = 0; i < 2; i++) {
        /* Another number, then another seed. */
        changed.sets = i == 0 ? sets : weapons;
        scene_open(&other, &changed, seeds[i]);
        struct block strange = save(other.match, MATCH_SAVE_WHOLE);
        refused_for(strange, "other numbers, another mode, map or seed");
        free(strange.bytes);
        scene_close(&other);
    }
    close_hostile();
}

/* A message to others takes no such name: a match that went on with it would stop at its first. */
Test(match_save, a_name_that_no_message_takes_is_refused)
{
    open_hostile();
    char *name = run.match->world.players[0].name;
    strcpy(name, "\xFF");
    struct block made = save(run.match, MATCH_SAVE_WHOLE);
    refused_for(made, "has an impossible player");
    free(made.bytes);
    strcpy(name, "ada");
    run.match->archive[0] = run.match->world.players[0];
    strcpy(run.match->archive[0].name, "a\x07");
    run.match->archive_count = 1;
    run.match->archive_hash = match_archive_hash(run.match->archive, 1);
    made = save(run.match, MATCH_SAVE_WHOLE);
    refused_for(made, "its seats and its players");
    free(made.bytes);
    close_hostile();
}

Test(match_save, a_block_says_what_it_is)
{
    struct match_save_about about;
    open_hostile();
    cr_assert(match_save_about(good.bytes, good.size, &about));
    cr_assert_eq(about.parts, MATCH_SAVE_WHOLE);
    cr_assert_eq(about.tick, match_tick(run.match) - 100);
    cr_assert_eq(about.configuration, run.match->configuration_hash);
    cr_assert_eq(restore(run.match, good), ARB_OK);
    cr_assert_eq(about.checksum, match_checksum(run.match));
    cr_assert_eq(about.tick, match_tick(run.match));
    good.bytes[good.size - 1] ^= 1;
    cr_assert_not(match_save_about(good.bytes, good.size, &about));
    close_hostile();
}

Test(match_save, a_block_may_lie_anywhere_in_memory)
{
    open_hostile();
    uint8_t *bytes = malloc(match_save_bytes(run.match, MATCH_SAVE_WHOLE) + 1);
    cr_assert_eq(restore(run.match, good), ARB_OK);
    uint32_t size = match_save(run.match, MATCH_SAVE_WHOLE, bytes + 1,
                               match_save_bytes(run.match, MATCH_SAVE_WHOLE));
    cr_assert(same((struct block){bytes + 1, size}, good));
    cr_assert_eq(restore(run.match, (struct block){bytes + 1, size}), ARB_OK);
    free(bytes);
    close_hostile();
}
