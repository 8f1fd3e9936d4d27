/* One description of the bytes for both ways: each `do_` function writes when the codec writes and
 * reads when it reads, so that the two cannot disagree. What is read is checked where it is used as
 * an index, a count or an order. */
#include "server/match/match_codec.h"

#include "server/match/match_views.h"
#include "shared/base/arb_assert.h"

#include <string.h>

enum {
    TYPE_BITS = 3,
    REASON_BITS = 8,
    VERDICT_BITS = 3,
    NAME_LENGTH_BITS = 5,
    BUTTON_BITS = 4, /* those that every mode has */
    GROUP_BITS = 3,  /* of a number, before the bit that says whether it goes on */
    STEADY = 256,    /* a view goes on by a tick with each tick */
};

_Static_assert(MATCH_VIEW_VERDICTS <= 1 << VERDICT_BITS, "a verdict fits");
_Static_assert(MATCH_COMMAND_TYPES <= 1 << TYPE_BITS, "a command's type fits");
_Static_assert(ARB_NAME_BYTES <= 1 << NAME_LENGTH_BITS, "a name's length fits");

/* What is known of a player from the records before. */
struct memory {
    struct match_record_input last; /* sequence 0: nothing */
    struct arb_view view;           /* the newest that was applied, all zero: none */
    arb_tick view_tick;             /* whose input had it */
    uint32_t key_count;             /* of its newest list of pairs */
    bool is_active;                 /* an input of it came since the reset */
};

struct match_codec {
    struct match_record_capacity capacity;
    struct memory *players;  /* [capacity.players] */
    struct arb_key *keys;    /* [capacity.pairs]: a row of `row` for each player */
    struct arb_key *scratch; /* [row] */
    uint32_t row;
    bool *here; /* [capacity.players] */
    unsigned slot_bits;
    arb_tick tick;
    bool reads;
    enum arb_decode reason;
    struct arb_bit_writer writer;
    struct arb_bit_reader reader;
};

struct match_codec *match_codec_create(struct arb_arena *arena,
                                       const struct match_record_capacity *capacity)
{
    struct match_codec *codec = arb_arena_take(arena, sizeof *codec);
    codec->capacity = *capacity;
    codec->row = capacity->pairs / capacity->players;
    codec->players = arb_arena_take_array(arena, capacity->players, sizeof codec->players[0]);
    codec->keys = arb_arena_take_array(arena, capacity->pairs, sizeof codec->keys[0]);
    codec->scratch = arb_arena_take_array(arena, codec->row, sizeof codec->scratch[0]);
    codec->here = arb_arena_take_array(arena, capacity->players, sizeof codec->here[0]);
    codec->slot_bits = 1;
    while (1U << codec->slot_bits < capacity->players)
        codec->slot_bits++;
    return codec;
}

void match_codec_reset(struct match_codec *codec)
{
    memset(codec->players, 0, codec->capacity.players * sizeof codec->players[0]);
}

/* ---- values ---- */

static void refuse(struct match_codec *codec, enum arb_decode reason)
{
    if (codec->reason == ARB_DECODE_OK) codec->reason = reason;
}

/* Stops all loops: nothing that is read from here on counts. */
static bool is_bad(const struct match_codec *codec)
{
    return codec->reads ? codec->reason != ARB_DECODE_OK || codec->reader.ended
                        : codec->writer.full;
}

/* At most 56 bits: all that is longer is a number in groups. */
static inline uint64_t do_bits(struct match_codec *codec, uint64_t value, unsigned bits)
{
    if (codec->reads) return arb_bits_read(&codec->reader, bits);
    arb_bits_write_short(&codec->writer, value, bits);
    return value;
}

static bool do_bit(struct match_codec *codec, bool value)
{
    return do_bits(codec, value, 1) != 0;
}

/* Groups of three bits, the lowest first; small numbers are short. */
static uint64_t do_number(struct match_codec *codec, uint64_t value)
{
    uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += GROUP_BITS) {
        out |= do_bits(codec, value >> shift & 7, GROUP_BITS) << shift;
        uint64_t rest = shift + GROUP_BITS < 64 ? value >> (shift + GROUP_BITS) : 0;
        if (!do_bit(codec, rest != 0)) break;
    }
    return out;
}

/* Sign in the lowest bit. What is read may be any number: it is added where that cannot overflow.
 */
static int64_t do_step(struct match_codec *codec, int64_t value)
{
    uint64_t folded = do_number(codec, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
    return (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
}

static uint32_t do_count(struct match_codec *codec, uint32_t count, uint32_t most)
{
    uint64_t value = do_number(codec, count);
    if (value > most) {
        refuse(codec, ARB_DECODE_RANGE);
        return 0;
    }
    return (uint32_t)value;
}

static uint16_t do_slot(struct match_codec *codec, uint16_t slot)
{
    uint16_t value = (uint16_t)do_bits(codec, slot, codec->slot_bits);
    if (value >= codec->capacity.players) {
        refuse(codec, ARB_DECODE_RANGE);
        return 0;
    }
    return value;
}

/* ---- commands ---- */

static void do_name(struct match_codec *codec, char name[ARB_NAME_BYTES])
{
    size_t length = (size_t)do_bits(codec, codec->reads ? 0 : strlen(name), NAME_LENGTH_BITS);
    for (size_t i = 0; i < length; i++) {
        name[i] = (char)(unsigned char)do_bits(codec, (unsigned char)name[i], 8);
    }
    if (codec->reads && !arb_proto_text_valid(name, length)) refuse(codec, ARB_DECODE_RANGE);
}

static void do_token_hash(struct match_codec *codec, uint8_t hash[PORT_TOKEN_HASH_BYTES])
{
    for (size_t i = 0; i < PORT_TOKEN_HASH_BYTES; i++) {
        hash[i] = (uint8_t)do_bits(codec, hash[i], 8);
    }
}

/* Of whoever is refused there is no slot. */
static void do_place(struct match_codec *codec, struct match_command *command)
{
    if (do_bit(codec, command->slot != ARB_NO_SLOT)) {
        command->slot = do_slot(codec, command->slot);
        codec->players[command->slot].is_active = false;
    } else {
        command->slot = ARB_NO_SLOT;
    }
    do_token_hash(codec, command->token_hash);
}

/* All of them: what was in force before may stand in a part of the file that is gone. */
static void do_numbers(struct match_codec *codec, struct match_record *record)
{
    if (codec->capacity.numbers == 0) {
        refuse(codec, ARB_DECODE_UNKNOWN);
        return;
    }
    if (codec->reads && record->number_count > 0) {
        refuse(codec, ARB_DECODE_ORDER);
        return;
    }
    record->number_count = codec->capacity.numbers;
    for (uint32_t i = 0; i < record->number_count; i++) {
        record->numbers[i] = (uint32_t)do_bits(codec, record->numbers[i], 32);
    }
}

static void do_command(struct match_codec *codec, struct match_record *record,
                       struct match_command *command)
{
    command->type = (enum match_command_type)do_bits(codec, command->type, TYPE_BITS);
    switch (command->type) {
    case MATCH_COMMAND_JOIN:
        /* A session is known by the process that has it alone. */
        if (!do_bit(codec, command->session.index != UINT16_MAX)) {
            command->session.index = UINT16_MAX;
        }
        do_name(codec, command->name);
        do_place(codec, command);
        break;
    case MATCH_COMMAND_RETURN:
        do_place(codec, command);
        break;
    case MATCH_COMMAND_LEAVE:
    case MATCH_COMMAND_AWAY:
        command->slot = do_slot(codec, command->slot);
        codec->players[command->slot].is_active = false;
        break;
    case MATCH_COMMAND_ABORT:
        command->reason = (uint8_t)do_bits(codec, command->reason, REASON_BITS);
        if (command->reason > ARB_END_EMPTY) refuse(codec, ARB_DECODE_RANGE);
        break;
    case MATCH_COMMAND_RELOAD:
        do_numbers(codec, record);
        break;
    case MATCH_COMMAND_TYPES:
    default:
        refuse(codec, ARB_DECODE_UNKNOWN);
        break;
    }
}

static void do_commands(struct match_codec *codec, struct match_record *record)
{
    if (!do_bit(codec, record->command_count > 0)) return;
    record->command_count = do_count(codec, record->command_count, codec->capacity.commands);
    for (uint32_t i = 0; i < record->command_count && !is_bad(codec); i++) {
        if (codec->reads) memset(&record->commands[i], 0, sizeof record->commands[i]);
        do_command(codec, record, &record->commands[i]);
    }
}

/* ---- inputs ---- */

static bool fires(const struct arb_input *input)
{
    return ((input->buttons | input->edges) & ARB_BUTTON_FIRE) != 0;
}

static bool same_view(const struct arb_view *a, const struct arb_view *b)
{
    return a->from_tick == b->from_tick && a->to_tick == b->to_tick && a->fraction == b->fraction &&
           a->held == b->held;
}

/* Where a view stands, in 1/256 tick. */
static uint64_t place_of(const struct arb_view *view)
{
    arb_tick gap = view->to_tick - view->from_tick;
    return view->from_tick * STEADY + (gap > 0 ? gap : 1) * view->fraction;
}

/* A view of the same kind as the one before, so many 1/256 ticks further. False: there is none. */
static bool continued(const struct arb_view *before, uint64_t place, struct arb_view *out)
{
    arb_tick gap = before->to_tick - before->from_tick;
    uint64_t length = gap * STEADY;
    uint64_t start = before->from_tick * STEADY;
    if (gap == 0 || gap > UINT16_MAX || place < start || before->to_tick > UINT64_MAX / 1024) {
        return false;
    }
    arb_tick steps = (place - start) / length;
    uint64_t within = (place - start) % length;
    *out = *before;
    out->from_tick += steps * gap;
    out->to_tick += steps * gap;
    out->fraction = (uint16_t)(within / gap);
    return within % gap == 0;
}

/* As the one before with the time that passed, but for a little: that little. */
static bool do_steady_view(struct match_codec *codec, const struct memory *memory,
                           struct arb_view *view)
{
    bool is_known = memory->view.to_tick != 0 && codec->tick >= memory->view_tick;
    if (!is_known) return false;
    uint64_t expected = place_of(&memory->view) + (codec->tick - memory->view_tick) * STEADY;
    struct arb_view made = {0};
    bool steady = !codec->reads && continued(&memory->view, place_of(view), &made);
    made.held = view->held;
    steady = steady && same_view(&made, view);
    if (!do_bit(codec, steady)) return false;
    int64_t off = do_step(codec, (int64_t)(place_of(view) - expected));
    uint64_t held_step = (uint64_t)do_step(codec, (int16_t)(view->held - memory->view.held));
    uint16_t held = (uint16_t)(memory->view.held + held_step);
    if (codec->reads) {
        if (!continued(&memory->view, expected + (uint64_t)off, view)) {
            refuse(codec, ARB_DECODE_RANGE);
        }
        view->held = held;
    }
    return true;
}

static void do_whole_view(struct match_codec *codec, struct arb_view *view)
{
    /* From the newest published tick back; a view of no tick is far back. */
    view->to_tick = codec->tick - (arb_tick)do_step(codec, (int64_t)(codec->tick - view->to_tick));
    view->from_tick = view->to_tick - do_number(codec, view->to_tick - view->from_tick);
    view->fraction = (uint16_t)do_bits(codec, view->fraction, 16);
    view->held = (uint16_t)do_bits(codec, view->held, 16);
    if (codec->reads && view->from_tick > view->to_tick) refuse(codec, ARB_DECODE_RANGE);
    if (codec->reads && view->from_tick < view->to_tick && view->fraction > STEADY) {
        refuse(codec, ARB_DECODE_RANGE);
    }
}

/* `memory` of its player. */
static void do_view(struct match_codec *codec, const struct memory *memory, struct arb_view *view)
{
    static const struct arb_view none;
    if (do_bit(codec, same_view(view, &none))) {
        *view = none;
        return;
    }
    if (!do_steady_view(codec, memory, view)) do_whole_view(codec, view);
}

static uint16_t do_buttons(struct match_codec *codec, uint16_t buttons, uint16_t expected)
{
    if (do_bit(codec, buttons == expected)) return expected;
    bool wide = do_bit(codec, buttons >> BUTTON_BITS != 0);
    return (uint16_t)do_bits(codec, buttons, wide ? 16 : BUTTON_BITS);
}

static uint16_t do_aim(struct match_codec *codec, uint16_t aim, uint16_t before)
{
    /* The narrowest of four that holds the step. */
    static const unsigned widths[] = {6, 9, 12, 16};
    int16_t step = (int16_t)(uint16_t)(aim - before);
    unsigned width = 0;
    while (width < 3 && (step < -(1 << (widths[width] - 1)) || step >= 1 << (widths[width] - 1))) {
        width++;
    }
    width = (unsigned)do_bits(codec, width, 2);
    uint64_t sign = UINT64_C(1) << (widths[width] - 1);
    uint64_t low = do_bits(codec, (uint64_t)(uint16_t)step & (2 * sign - 1), widths[width]);
    return (uint16_t)(before + (low ^ sign) - sign);
}

static void do_move(struct match_codec *codec, struct arb_input *input,
                    const struct arb_input *before)
{
    bool same = input->move_x == before->move_x && input->move_y == before->move_y;
    if (do_bit(codec, same)) {
        input->move_x = before->move_x;
        input->move_y = before->move_y;
        return;
    }
    input->move_x = (int8_t)(uint8_t)do_bits(codec, (uint8_t)input->move_x, 8);
    input->move_y = (int8_t)(uint8_t)do_bits(codec, (uint8_t)input->move_y, 8);
}

/* What hardly ever differs from what is expected. */
static void do_odd(struct match_codec *codec, struct match_record_input *entry,
                   const struct match_record_input *last)
{
    struct arb_input *input = &entry->input;
    bool even = input->sequence == last->input.sequence + 1 && entry->control == last->control &&
                entry->verdict == MATCH_VIEW_HONOURED;
    if (do_bit(codec, even)) {
        input->sequence = last->input.sequence + 1;
        entry->control = last->control;
        entry->verdict = MATCH_VIEW_HONOURED;
    } else {
        int64_t step = (int64_t)input->sequence - (int64_t)last->input.sequence;
        input->sequence = (arb_sequence)(last->input.sequence + (uint64_t)do_step(codec, step));
        entry->control = (uint8_t)do_bits(codec, entry->control, 8);
        entry->verdict = (uint8_t)do_bits(codec, entry->verdict, VERDICT_BITS);
    }
    if (input->sequence == 0 || entry->verdict >= MATCH_VIEW_VERDICTS) {
        refuse(codec, ARB_DECODE_RANGE);
    }
}

/* Of somebody who goes on as before, and at most turns: no button that shoots or changes. */
static bool is_plain(const struct match_record_input *entry, const struct match_record_input *last)
{
    const struct arb_input *input = &entry->input;
    static const struct arb_view none;
    return input->sequence == last->input.sequence + 1 && entry->control == last->control &&
           entry->verdict == MATCH_VIEW_HONOURED && input->move_x == last->input.move_x &&
           input->move_y == last->input.move_y && input->buttons == last->input.buttons &&
           input->edges == 0 && input->muzzle_fraction == 0 && same_view(&input->view, &none);
}

static void fill_plain(struct match_record_input *entry, const struct match_record_input *last)
{
    struct arb_input *input = &entry->input;
    input->sequence = last->input.sequence + 1;
    input->move_x = last->input.move_x;
    input->move_y = last->input.move_y;
    input->buttons = last->input.buttons;
    entry->control = last->control;
    entry->verdict = MATCH_VIEW_HONOURED;
}

/* All but the aim. */
static void do_changes(struct match_codec *codec, struct match_record_input *entry,
                       struct memory *memory)
{
    const struct match_record_input *last = &memory->last;
    struct arb_input *input = &entry->input;
    do_odd(codec, entry, last);
    do_move(codec, input, &last->input);
    input->buttons = do_buttons(codec, input->buttons, last->input.buttons);
    uint16_t pressed = (uint16_t)(input->buttons & ~last->input.buttons);
    input->edges = do_buttons(codec, input->edges, pressed);
    uint8_t muzzle = fires(input) ? last->input.muzzle_fraction : 0;
    if (do_bit(codec, input->muzzle_fraction == muzzle)) {
        input->muzzle_fraction = muzzle;
    } else {
        input->muzzle_fraction = (uint8_t)do_bits(codec, input->muzzle_fraction, 8);
    }
    do_view(codec, memory, &input->view);
    if (entry->verdict != MATCH_VIEW_HONOURED) {
        do_view(codec, memory, &entry->claimed);
    } else if (codec->reads) {
        entry->claimed = input->view;
    }
}

static void do_input(struct match_codec *codec, struct match_record_input *entry)
{
    struct memory *memory = &codec->players[entry->slot];
    const struct match_record_input *last = &memory->last;
    struct arb_input *input = &entry->input;
    if (do_bit(codec, !codec->reads && is_plain(entry, last))) {
        if (codec->reads) fill_plain(entry, last);
    } else {
        do_changes(codec, entry, memory);
    }
    if (do_bit(codec, input->aim == last->input.aim)) {
        input->aim = last->input.aim;
    } else {
        input->aim = do_aim(codec, input->aim, last->input.aim);
    }
    if (input->view.to_tick != 0) {
        memory->view = input->view;
        memory->view_tick = codec->tick;
    }
    memory->last = *entry;
    memory->is_active = true;
}

static void do_stale(struct match_codec *codec, struct match_record *record)
{
    if (!do_bit(codec, record->stale_count > 0)) return;
    record->stale_count = do_count(codec, record->stale_count, codec->capacity.players);
    for (uint32_t i = 0; i < record->stale_count && !is_bad(codec); i++) {
        struct match_record_stale *stale = &record->stale[i];
        stale->slot = do_slot(codec, stale->slot);
        stale->count = do_count(codec, stale->count, UINT32_MAX);
        stale->within = do_count(codec, stale->within, stale->count);
        stale->newest = (arb_sequence)do_bits(codec, stale->newest, 32);
        if (i > 0 && stale->slot <= stale[-1].slot) refuse(codec, ARB_DECODE_ORDER);
    }
}

static void do_late(struct match_codec *codec, struct match_record *record)
{
    if (!do_bit(codec, record->late_count > 0)) return;
    record->late_count = do_count(codec, record->late_count, codec->capacity.late);
    for (uint32_t i = 0; i < record->late_count && !is_bad(codec); i++) {
        struct match_record_input *late = &record->late[i];
        if (codec->reads) memset(late, 0, sizeof *late);
        late->slot = do_slot(codec, late->slot);
        uint64_t behind = do_number(codec, codec->tick - late->input.target_tick);
        if (behind == 0 || behind > codec->capacity.late_ticks || behind > codec->tick) {
            refuse(codec, ARB_DECODE_RANGE);
            return;
        }
        late->input.target_tick = codec->tick - behind;
        do_input(codec, late);
    }
}

/* Whose input came: of those that had one before a bit each, then the others. */
static void do_presence(struct match_codec *codec, const struct match_record *record)
{
    uint32_t fresh = 0;
    memset(codec->here, 0, codec->capacity.players * sizeof codec->here[0]);
    for (uint32_t i = 0; !codec->reads && i < record->input_count; i++) {
        codec->here[record->inputs[i].slot] = true;
        fresh += !codec->players[record->inputs[i].slot].is_active;
    }
    for (uint32_t slot = 0; slot < codec->capacity.players; slot++) {
        if (codec->players[slot].is_active) {
            codec->here[slot] = do_bit(codec, codec->here[slot]);
        }
    }
    if (!do_bit(codec, fresh > 0)) return;
    fresh = do_count(codec, fresh, codec->capacity.players);
    uint16_t at = 0;
    for (uint32_t i = 0; i < fresh && !is_bad(codec); i++) {
        while (!codec->reads && (codec->players[at].is_active || !codec->here[at]))
            at++;
        uint16_t slot = do_slot(codec, at);
        codec->here[slot] = true;
        at++;
    }
}

static void do_inputs(struct match_codec *codec, struct match_record *record)
{
    do_presence(codec, record);
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < codec->capacity.players && !is_bad(codec); slot++) {
        if (!codec->here[slot]) continue;
        struct match_record_input *entry = &record->inputs[count++];
        if (codec->reads) {
            memset(entry, 0, sizeof *entry);
            entry->slot = (uint16_t)slot;
            entry->input.target_tick = codec->tick;
        }
        do_input(codec, entry);
    }
    record->input_count = count;
}

/* ---- what shots met ---- */

static bool is_before(struct arb_key a, struct arb_key b)
{
    return arb_key_order(a) < arb_key_order(b);
}

/* A list of keys is told against the one before of that player: who stayed, then who came. */
static void write_keys(struct match_codec *codec, const struct arb_key *before,
                       uint32_t before_count, const struct rewind_pair *pairs, uint32_t count)
{
    uint32_t at = 0, stayed = 0;
    for (uint32_t i = 0; i < before_count; i++) {
        while (at < count && is_before(pairs[at].key, before[i]))
            at++;
        bool stays = at < count && arb_key_equal(pairs[at].key, before[i]);
        do_bit(codec, stays);
        stayed += stays;
    }
    do_number(codec, count - stayed);
    uint32_t known = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (known < before_count && is_before(before[known], pairs[i].key))
            known++;
        if (known == before_count || !arb_key_equal(before[known], pairs[i].key)) {
            do_bits(codec, arb_key_order(pairs[i].key), 32);
        }
    }
}

/* Those that stayed ascend, and so do those that came: keys[count] into one ascending list. */
static void merge(struct match_codec *codec, uint32_t stayed, uint32_t count,
                  struct rewind_pair *pairs)
{
    const struct arb_key *keys = codec->scratch;
    uint32_t a = 0, b = stayed;
    for (uint32_t i = 0; i < count; i++) {
        bool first = b == count || (a < stayed && is_before(keys[a], keys[b]));
        pairs[i].key = first ? keys[a++] : keys[b++];
        if (i > 0 && !is_before(pairs[i - 1].key, pairs[i].key)) refuse(codec, ARB_DECODE_ORDER);
        if (pairs[i].key.id >= codec->capacity.entities || arb_key_is_none(pairs[i].key)) {
            refuse(codec, ARB_DECODE_RANGE);
        }
    }
}

static uint32_t read_keys(struct match_codec *codec, const struct arb_key *before,
                          uint32_t before_count, struct rewind_pair *pairs)
{
    uint32_t stayed = 0;
    for (uint32_t i = 0; i < before_count && !is_bad(codec); i++) {
        if (do_bit(codec, false)) codec->scratch[stayed++] = before[i];
    }
    uint32_t came = do_count(codec, 0, codec->row - stayed);
    for (uint32_t i = 0; i < came && !is_bad(codec); i++) {
        codec->scratch[stayed + i] = arb_key_of_order((uint32_t)do_bits(codec, 0, 32));
    }
    if (is_bad(codec)) return 0;
    merge(codec, stayed, stayed + came, pairs);
    return stayed + came;
}

static uint32_t do_keys(struct match_codec *codec, uint16_t slot, struct rewind_pair *pairs,
                        uint32_t count)
{
    struct memory *memory = &codec->players[slot];
    struct arb_key *before = codec->keys + (size_t)slot * codec->row;
    bool same = !codec->reads && count == memory->key_count;
    for (uint32_t i = 0; same && i < count; i++) {
        same = arb_key_equal(pairs[i].key, before[i]);
    }
    if (do_bit(codec, same)) {
        for (uint32_t i = 0; i < memory->key_count; i++)
            pairs[i].key = before[i];
        return memory->key_count;
    }
    if (codec->reads) {
        count = read_keys(codec, before, memory->key_count, pairs);
    } else {
        write_keys(codec, before, memory->key_count, pairs, count);
    }
    for (uint32_t i = 0; i < count; i++)
        before[i] = pairs[i].key;
    memory->key_count = count;
    return count;
}

static bool is_as_view(const struct rewind_pair *pair, const struct arb_view *view)
{
    return pair->from_tick == view->from_tick && pair->to_tick == view->to_tick;
}

/* The states that the client held of each: mostly those of the view's own two ticks. */
static void do_states(struct match_codec *codec, const struct arb_view *view,
                      struct rewind_pair *pairs, uint32_t count)
{
    bool all = true;
    for (uint32_t i = 0; !codec->reads && i < count; i++)
        all = all && is_as_view(&pairs[i], view);
    all = do_bit(codec, all);
    for (uint32_t i = 0; i < count && !is_bad(codec); i++) {
        struct rewind_pair *pair = &pairs[i];
        if (all || do_bit(codec, is_as_view(pair, view))) {
            pair->from_tick = view->from_tick;
            pair->to_tick = view->to_tick;
            continue;
        }
        int64_t back = do_step(codec, (int64_t)(view->from_tick - pair->from_tick));
        pair->from_tick = view->from_tick - (arb_tick)back;
        pair->to_tick = pair->from_tick + do_number(codec, pair->to_tick - pair->from_tick);
    }
}

/* That of this tick's input, or that of the newest published tick, or another. */
static void do_shot_view(struct match_codec *codec, uint16_t slot, struct arb_view *view)
{
    const struct memory *memory = &codec->players[slot];
    struct arb_view present = {.from_tick = codec->tick - 1, .to_tick = codec->tick - 1};
    if (do_bit(codec, same_view(view, &memory->view))) {
        *view = memory->view;
    } else if (do_bit(codec, same_view(view, &present))) {
        *view = present;
    } else {
        do_whole_view(codec, view);
    }
}

static void do_shot(struct match_codec *codec, struct match_record *record,
                    struct match_record_view *shot)
{
    shot->everyone = do_bit(codec, shot->everyone);
    shot->slow = do_bit(codec, shot->slow);
    do_shot_view(codec, shot->slot, &shot->view);
    if (shot->everyone) return;
    if (codec->reads) shot->pair_first = record->pair_count;
    struct rewind_pair *pairs = record->pairs + shot->pair_first;
    shot->later = do_number(codec, shot->later);
    shot->pair_count = do_keys(codec, shot->slot, pairs, shot->pair_count);
    do_states(codec, &shot->view, pairs, shot->pair_count);
    if (codec->reads) record->pair_count += shot->pair_count;
}

static void do_shots(struct match_codec *codec, struct match_record *record)
{
    if (!do_bit(codec, record->view_count > 0)) return;
    uint32_t most = codec->row > 0 ? codec->capacity.players : 0;
    record->view_count = do_count(codec, record->view_count, most);
    for (uint32_t i = 0; i < record->view_count && !is_bad(codec); i++) {
        struct match_record_view *shot = &record->views[i];
        if (codec->reads) memset(shot, 0, sizeof *shot);
        shot->slot = do_slot(codec, shot->slot);
        if (i > 0 && shot->slot <= shot[-1].slot) {
            refuse(codec, ARB_DECODE_ORDER);
            return;
        }
        do_shot(codec, record, shot);
    }
}

/* ---- a record ---- */

static void do_record(struct match_codec *codec, struct match_record *record)
{
    codec->tick = record->tick;
    codec->reason = ARB_DECODE_OK;
    do_commands(codec, record);
    do_stale(codec, record);
    do_late(codec, record);
    do_inputs(codec, record);
    do_shots(codec, record);
}

size_t match_record_encode(struct match_codec *codec, const struct match_record *record,
                           uint8_t *bytes, size_t capacity)
{
    /* The one description takes what it may also fill; it writes back what was there. */
    struct match_record writable = *record;
    codec->reads = false;
    arb_bits_write_begin(&codec->writer, bytes, capacity);
    do_record(codec, &writable);
    if (codec->writer.full) return 0;
    ARB_ASSERT(codec->reason == ARB_DECODE_OK);
    return arb_bits_write_end(&codec->writer);
}

static void clear(struct match_record *record, arb_tick tick)
{
    record->tick = tick;
    record->command_count = 0;
    record->stale_count = 0;
    record->late_count = 0;
    record->input_count = 0;
    record->view_count = 0;
    record->pair_count = 0;
    record->number_count = 0;
}

enum arb_decode match_record_decode(struct match_codec *codec, arb_tick tick, const uint8_t *bytes,
                                    size_t size, struct match_record *record)
{
    codec->reads = true;
    arb_bits_read_begin(&codec->reader, bytes, size);
    clear(record, tick);
    do_record(codec, record);
    if (codec->reader.ended) return ARB_DECODE_SHORT;
    if (codec->reason != ARB_DECODE_OK) return codec->reason;
    return arb_bits_read_end(&codec->reader) ? ARB_DECODE_OK : ARB_DECODE_LONG;
}
