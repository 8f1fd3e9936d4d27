/* server/match: the bytes of records, from any record and from any bytes. */
#include "server/match/match_codec.h"
#include "server/match/match_views.h"
#include "shared/base/arb_rng.h"

#include <criterion/criterion.h>
#include <string.h>

enum { PLAYERS = 6, ENTITIES = 40, ROUNDS = 3000 };

static const struct match_record_capacity capacity = {.players = PLAYERS,
                                                      .commands = 13,
                                                      .numbers = 7,
                                                      .late = PLAYERS * 30,
                                                      .late_ticks = 30,
                                                      .entities = ENTITIES,
                                                      .pairs = PLAYERS * ENTITIES};
static struct arb_arena arena;
static struct match_codec *writes, *reads;
static struct match_record record, decoded;
static struct arb_rng rng;
static uint8_t bytes[32768];

static void setup(void)
{
    arb_arena_init(&arena);
    arb_rng_seed(&rng, 11, 3);
    writes = match_codec_create(&arena, &capacity);
    reads = match_codec_create(&arena, &capacity);
    match_record_create(&record, &arena, &capacity);
    match_record_create(&decoded, &arena, &capacity);
}

static void teardown(void)
{
    arb_arena_free(&arena);
}

TestSuite(match_codec, .init = setup, .fini = teardown);

static uint32_t below(uint32_t limit)
{
    return arb_rng_below(&rng, limit);
}

/* ---- records as matches make them, and odder ones ---- */

static struct arb_view some_view(arb_tick tick)
{
    struct arb_view view = {0};
    switch (below(6)) {
    case 0:
        return view;
    case 1:
        view.fraction = UINT16_MAX;
        return view;
    case 2:
        view.from_tick = view.to_tick = tick - below(60);
        view.fraction = (uint16_t)below(65536);
        break;
    default:
        view.from_tick = tick - 2 * below(20) - 2;
        view.to_tick = view.from_tick + 2;
        view.fraction = (uint16_t)below(257);
    }
    view.held = (uint16_t)(tick / 2 + below(3));
    return view;
}

/* Between fields as well: records are compared as bytes. */
static struct match_record_input some_input(uint16_t slot, arb_tick target)
{
    struct match_record_input entry;
    memset(&entry, 0, sizeof entry);
    entry.slot = slot;
    entry.control = (uint8_t)(below(9) / 8);
    entry.input.target_tick = target;
    entry.input.sequence = (arb_sequence)(below(50) == 0 ? 1 + below(UINT32_MAX) : target);
    entry.input.buttons = (uint16_t)(below(4) == 0 ? below(65536) : below(4));
    entry.input.edges = (uint16_t)(below(4) == 0 ? below(65536) : below(2));
    entry.input.move_x = (int8_t)below(3);
    entry.input.move_y = (int8_t)below(256);
    entry.input.aim = (uint16_t)(below(3) == 0 ? below(65536) : 1000 + below(40));
    entry.input.muzzle_fraction = (uint8_t)below(256);
    entry.input.view = some_view(target);
    entry.verdict = (uint8_t)(below(4) == 0 ? below(MATCH_VIEW_VERDICTS) : 0);
    entry.claimed = entry.verdict == MATCH_VIEW_HONOURED ? entry.input.view : some_view(target);
    return entry;
}

static void add_view(struct match_record *out, uint16_t slot)
{
    struct match_record_view *view = &out->views[out->view_count++];
    memset(view, 0, sizeof *view);
    view->slot = slot;
    view->everyone = below(4) == 0;
    view->slow = below(2) == 0;
    view->view = some_view(out->tick);
    if (view->everyone) return;
    view->pair_first = out->pair_count;
    view->later = below(3) == 0 ? (uint64_t)below(UINT32_MAX) << 32 : below(16);
    uint32_t often = 1 + below(3);
    for (uint16_t id = 0; id < ENTITIES; id++) {
        if (below(often) != 0) continue;
        struct rewind_pair *pair = &out->pairs[out->pair_count++];
        *pair = (struct rewind_pair){
            {id, (uint16_t)(1 + below(2))}, view->view.from_tick, view->view.to_tick};
        if (below(9) == 0) pair->to_tick = pair->from_tick = out->tick - below(30);
        view->pair_count++;
    }
}

static void add_commands(struct match_record *out)
{
    out->number_count = 0;
    out->command_count = below(6) == 0 ? below(capacity.commands + 1) : 0;
    for (uint32_t i = 0; i < out->command_count; i++) {
        struct match_command *command = &out->commands[i];
        *command =
            (struct match_command){.type = (enum match_command_type)below(MATCH_COMMAND_TYPES)};
        if (command->type == MATCH_COMMAND_JOIN) {
            command->session.index = below(2) == 0 ? UINT16_MAX : 0;
            memset(command->name, 'a' + (int)below(26), below(ARB_NAME_BYTES));
            memset(command->token_hash, (int)below(256), PORT_TOKEN_HASH_BYTES);
        } else if (command->type == MATCH_COMMAND_RETURN) {
            command->slot = below(3) == 0 ? ARB_NO_SLOT : (uint16_t)below(PLAYERS);
            memset(command->token_hash, (int)below(256), PORT_TOKEN_HASH_BYTES);
        } else if (command->type == MATCH_COMMAND_RELOAD && out->number_count == 0) {
            out->number_count = capacity.numbers;
            for (uint32_t k = 0; k < capacity.numbers; k++)
                out->numbers[k] = below(UINT32_MAX);
        } else if (command->type == MATCH_COMMAND_RELOAD) {
            command->type = MATCH_COMMAND_LEAVE; /* a tick has one at most */
        } else if (command->type != MATCH_COMMAND_ABORT) {
            command->slot = (uint16_t)below(PLAYERS);
        } else {
            command->reason = (uint8_t)below(5);
        }
    }
}

static void make_record(struct match_record *out, arb_tick tick)
{
    out->tick = tick;
    out->stale_count = out->late_count = out->input_count = out->view_count = out->pair_count = 0;
    add_commands(out);
    for (uint16_t slot = 0; slot < PLAYERS; slot++) {
        if (below(30) == 0) {
            uint32_t count = 1 + below(1000);
            struct match_record_stale *stale = &out->stale[out->stale_count++];
            memset(stale, 0, sizeof *stale);
            stale->slot = slot;
            stale->count = count;
            stale->within = below(count + 1);
            stale->newest = below(UINT32_MAX);
        }
        for (uint32_t late = below(9) == 0 ? below(4) : 0; late > 0; late--) {
            out->late[out->late_count++] = some_input(slot, tick - 1 - below(30));
        }
        if (below(10) > 0) out->inputs[out->input_count++] = some_input(slot, tick);
        if (below(3) == 0) add_view(out, slot);
    }
}

static void expect_same(const struct match_record *a, const struct match_record *b)
{
#define EXPECT_LIST(list, count)                                                                   \
    cr_assert_eq(a->count, b->count);                                                              \
    cr_assert_eq(memcmp(a->list, b->list, a->count * sizeof a->list[0]), 0, #list " of tick %llu", \
                 (unsigned long long)a->tick);
    cr_assert_eq(a->tick, b->tick);
    EXPECT_LIST(commands, command_count)
    EXPECT_LIST(stale, stale_count)
    EXPECT_LIST(late, late_count)
    EXPECT_LIST(inputs, input_count)
    EXPECT_LIST(views, view_count)
    EXPECT_LIST(pairs, pair_count)
    EXPECT_LIST(numbers, number_count)
#undef EXPECT_LIST
}

Test(match_codec, any_record_comes_back_as_it_was)
{
    for (arb_tick tick = 1000; tick < 1000 + ROUNDS; tick++) {
        make_record(&record, tick);
        size_t size = match_record_encode(writes, &record, bytes, sizeof bytes);
        cr_assert_gt(size, 0);
        enum arb_decode reason = match_record_decode(reads, tick, bytes, size, &decoded);
        cr_assert_eq(reason, ARB_DECODE_OK, "tick %llu: %s", (unsigned long long)tick,
                     arb_decode_text(reason));
        expect_same(&record, &decoded);
    }
}

Test(match_codec, after_a_reset_nothing_of_before_is_needed)
{
    for (arb_tick tick = 1000; tick < 1050; tick++) {
        make_record(&record, tick);
        cr_assert_gt(match_record_encode(writes, &record, bytes, sizeof bytes), 0);
    }
    match_codec_reset(writes);
    for (arb_tick tick = 1050; tick < 1100; tick++) {
        make_record(&record, tick);
        size_t size = match_record_encode(writes, &record, bytes, sizeof bytes);
        cr_assert_eq(match_record_decode(reads, tick, bytes, size, &decoded), ARB_DECODE_OK);
        expect_same(&record, &decoded);
    }
}

Test(match_codec, what_does_not_fit_is_told)
{
    make_record(&record, 1000);
    size_t size = match_record_encode(writes, &record, bytes, sizeof bytes);
    for (size_t room = 0; room < size; room++) {
        match_codec_reset(writes);
        cr_assert_eq(match_record_encode(writes, &record, bytes, room), 0);
    }
}

Test(match_codec, a_player_who_steers_evenly_costs_little)
{
    size_t sum = 0;
    for (arb_tick tick = 1000; tick < 1100; tick++) {
        record.tick = tick;
        record.input_count = PLAYERS;
        for (uint16_t slot = 0; slot < PLAYERS; slot++) {
            record.inputs[slot] = (struct match_record_input){.slot = slot, .control = 1};
            record.inputs[slot].input = (struct arb_input){
                .target_tick = tick, .sequence = (arb_sequence)tick, .move_x = 127, .aim = 5};
        }
        size_t size = match_record_encode(writes, &record, bytes, sizeof bytes);
        if (tick > 1000) sum += size;
    }
    cr_expect_leq(sum, 99 * 7, "8 bits of each player");
}

/* ---- bytes as nobody wrote them ---- */

/* Whatever was taken keeps the promises that the match relies on. */
static void expect_usable(const struct match_record *out)
{
    cr_assert_leq(out->command_count, capacity.commands);
    cr_assert_leq(out->late_count, capacity.late);
    cr_assert_leq(out->pair_count, capacity.pairs);
    uint32_t reloads = 0;
    for (uint32_t i = 0; i < out->command_count; i++)
        reloads += out->commands[i].type == MATCH_COMMAND_RELOAD;
    cr_assert_leq(reloads, 1);
    cr_assert_eq(out->number_count, reloads * capacity.numbers);
    for (uint32_t i = 0; i < out->input_count; i++) {
        cr_assert_lt(out->inputs[i].slot, PLAYERS);
        cr_assert(i == 0 || out->inputs[i - 1].slot < out->inputs[i].slot);
        cr_assert_neq(out->inputs[i].input.sequence, 0);
    }
    for (uint32_t i = 0; i < out->late_count; i++) {
        cr_assert_lt(out->late[i].input.target_tick, out->tick);
    }
    for (uint32_t i = 0; i < out->view_count; i++) {
        const struct match_record_view *view = &out->views[i];
        cr_assert(i == 0 || out->views[i - 1].slot < view->slot);
        cr_assert_leq(view->pair_first + view->pair_count, out->pair_count);
        for (uint32_t k = 0; k < view->pair_count; k++) {
            const struct rewind_pair *pair = &out->pairs[view->pair_first + k];
            cr_assert_lt(pair->key.id, ENTITIES);
            cr_assert(k == 0 || arb_key_order(pair[-1].key) < arb_key_order(pair->key));
        }
    }
}

Test(match_codec, any_bytes_are_taken_whole_or_refused)
{
    uint32_t taken = 0, refused = 0;
    for (arb_tick tick = 1000; tick < 1000 + 4 * ROUNDS; tick++) {
        size_t size = 1 + below(200);
        if (below(2) == 0) {
            make_record(&record, tick);
            match_codec_reset(writes);
            size = match_record_encode(writes, &record, bytes, sizeof bytes);
            for (uint32_t flips = 1 + below(3); flips > 0; flips--) {
                bytes[below((uint32_t)size)] ^= (uint8_t)(1U << below(8));
            }
            if (below(4) == 0) size = below((uint32_t)size + 1);
        } else {
            for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)below(256);
        }
        match_codec_reset(reads);
        if (match_record_decode(reads, tick, bytes, size, &decoded) == ARB_DECODE_OK) {
            expect_usable(&decoded);
            taken++;
        } else {
            refused++;
        }
    }
    cr_expect(taken > 100 && refused > 1000, "%u taken, %u refused", taken, refused);
}

/* Of the largest step that bytes can say: a sanitizer stops where a sum of it overflows. */
Test(match_codec, steps_beyond_all_numbers_go_around)
{
    record.tick = 1000;
    record.input_count = 1;
    record.inputs[0] = (struct match_record_input){
        .control = 1, .input = {.target_tick = 1000, .sequence = 5, .aim = 9}};
    size_t size = match_record_encode(writes, &record, bytes, sizeof bytes);
    cr_assert_eq(match_record_decode(reads, 1000, bytes, size, &decoded), ARB_DECODE_OK);
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_bits_write(&writer, 0, 3); /* no command, nothing stale, nothing late */
    arb_bits_write(&writer, 1, 1); /* it is there */
    arb_bits_write(&writer, 0, 3); /* nobody else; neither plain nor even */
    arb_bits_write(&writer, 6 | 8, 4);
    for (int group = 1; group < 21; group++)
        arb_bits_write(&writer, 7 | 8, 4);
    arb_bits_write(&writer, 1, 4);     /* in all the largest step there is */
    arb_bits_write(&writer, 2, 8 + 3); /* another control number, honoured */
    arb_bits_write(&writer, 0x3F, 6);  /* all else as before */
    arb_bits_write(&writer, 0, 1);     /* no shots */
    size = arb_bits_write_end(&writer);
    cr_assert_eq(match_record_decode(reads, 1001, bytes, size, &decoded), ARB_DECODE_OK);
    cr_assert_eq(decoded.input_count, 1);
    cr_expect_eq(decoded.inputs[0].input.sequence, 4);
    cr_expect_eq(decoded.inputs[0].control, 2);
    cr_expect_eq(decoded.inputs[0].input.aim, 9);
}

static size_t reload_twice(void)
{
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_bits_write(&writer, 1, 1);
    arb_bits_write(&writer, 2, 4); /* commands */
    for (int i = 0; i < 2; i++) {
        arb_bits_write(&writer, MATCH_COMMAND_RELOAD, 3);
        for (uint32_t k = 0; k < capacity.numbers; k++)
            arb_bits_write(&writer, k, 32);
    }
    arb_bits_write(&writer, 0, 2); /* nothing too late, nothing late */
    arb_bits_write(&writer, 0, 2); /* no inputs, no shots */
    return arb_bits_write_end(&writer);
}

Test(match_codec, a_second_reload_of_a_tick_is_refused)
{
    size_t size = reload_twice();
    cr_assert_eq(match_record_decode(reads, 1000, bytes, size, &decoded), ARB_DECODE_ORDER);
}

Test(match_codec, a_reload_of_a_mode_without_such_numbers_is_refused)
{
    struct match_record_capacity none = capacity;
    none.numbers = 0;
    size_t size = reload_twice();
    struct match_codec *of_none = match_codec_create(&arena, &none);
    cr_assert_eq(match_record_decode(of_none, 1000, bytes, size, &decoded), ARB_DECODE_UNKNOWN);
}

/* Others are told of it, and a message takes no other. */
Test(match_codec, a_name_that_no_message_takes_is_refused)
{
    static const char *const names[] = {"ada", "\xFF", "a\x07", "\xC3"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct match_command join = {.type = MATCH_COMMAND_JOIN, .session.index = UINT16_MAX};
        strncpy(join.name, names[i], sizeof join.name - 1);
        record.tick = 1000;
        record.commands[0] = join;
        record.command_count = 1;
        match_codec_reset(writes);
        match_codec_reset(reads);
        size_t size = match_record_encode(writes, &record, bytes, sizeof bytes);
        enum arb_decode reason = match_record_decode(reads, 1000, bytes, size, &decoded);
        cr_expect_eq(reason, i == 0 ? ARB_DECODE_OK : ARB_DECODE_RANGE, "%zu: %s", i,
                     arb_decode_text(reason));
    }
}
