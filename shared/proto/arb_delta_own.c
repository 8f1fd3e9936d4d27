/* The own part of a stream, bit by bit (PROTOCOL.md "Own part"):
 *
 *   starved | outside | each float | integers 1 [each: changed 1 (difference)]
 *
 * The state itself travels exact. A float is told by how many floats lie between it and the one
 * that is expected: x and y where the two velocities lead, a heading on the grid of the aim as a
 * turn, every other one where it was. So x and y come last.
 */
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

const struct arb_step arb_step_float = {{0, 8, 20}};
const struct arb_step arb_step_own = {{2, 5, 8}};
const struct arb_small arb_small_counts = {{0, 4, 8, 16}};

enum { FLOAT_BITS = 32, TURN_BITS = 16 };

/* What a row's float is expected to be. */
enum role { ROLE_PLAIN, ROLE_HEADING, ROLE_PLACE };

static enum role role_of(const struct arb_field *row)
{
    bool place = (row->name[0] == 'x' || row->name[0] == 'y') && row->name[1] == '\0';
    if (place) return ROLE_PLACE;
    if (row->name[0] != 'h') return ROLE_PLAIN;
    return strcmp(row->name, "heading") == 0 ? ROLE_HEADING : ROLE_PLAIN;
}

static float load_float(const void *state, const struct arb_field *row)
{
    float value = 0.0F;
    if (state != NULL) memcpy(&value, (const uint8_t *)state + row->offset, sizeof value);
    return value;
}

static int64_t load_number(const void *state, const struct arb_field *row, size_t element)
{
    if (state == NULL) return 0;
    size_t bytes = row->size / arb_field_elements(row);
    return arb_field_load(row->type, (const uint8_t *)state + row->offset + element * bytes);
}

/* The row "vx" of "x"; NULL when the table has none. */
static const struct arb_field *velocity_row(const struct arb_fields *fields,
                                            const struct arb_field *place)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct arb_field *row = &fields->rows[i];
        if (row->type == ARB_FIELD_F32 && row->name[0] == 'v' &&
            strcmp(row->name + 1, place->name) == 0) {
            return row;
        }
    }
    return NULL;
}

/* `now` holds the velocity already. */
static float expected_float(const struct arb_delta_rule *rule, const struct arb_field *row,
                            const void *base, const void *now, uint32_t ticks)
{
    float before = load_float(base, row);
    const struct arb_field *velocity =
        role_of(row) == ROLE_PLACE ? velocity_row(rule->own_fields, row) : NULL;
    if (velocity == NULL || ticks == 0 || base == NULL) return before;
    double slow = (double)load_float(base, velocity) * ((double)ticks - 1.0);
    double fast = (double)load_float(now, velocity) * ((double)ticks + 1.0);
    return (float)((double)before + (slow + fast) / (2.0 * (double)rule->tick_rate));
}

/* Floats in their order, as whole numbers: neighbours differ by 1. */
static uint32_t float_place(float value)
{
    uint32_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    return pattern >> 31 != 0 ? ~(pattern & 0x7FFFFFFFU) : pattern;
}

static float float_at(uint32_t place)
{
    uint32_t pattern = place >> 31 != 0 ? ~place | 0x80000000U : place;
    float value;
    memcpy(&value, &pattern, sizeof value);
    return value;
}

static bool is_float(const struct arb_field *row)
{
    return row->type == ARB_FIELD_F32;
}

/* ---- encode ---- */

static void write_float(struct arb_bit_writer *writer, const struct arb_delta_rule *rule,
                        const struct arb_field *row, const void *now, const void *base,
                        uint32_t ticks)
{
    float value = load_float(now, row);
    ARB_ASSERT(arb_field_holds_float(row, value));
    if (role_of(row) == ROLE_HEADING) {
        uint16_t turn = arb_angle_to_turn16(value);
        bool on_grid = float_place(arb_turn16_to_angle(turn)) == float_place(value);
        arb_bits_write(writer, on_grid, 1);
        if (on_grid) {
            int32_t step = turn - arb_angle_to_turn16(load_float(base, row));
            arb_step_write(writer, &arb_step_turn, TURN_BITS, arb_fold(arb_wrap(step, TURN_BITS)));
            return;
        }
    }
    uint32_t step = float_place(value) - float_place(expected_float(rule, row, base, now, ticks));
    arb_step_write(writer, &arb_step_float, FLOAT_BITS, arb_fold((int32_t)step));
}

/* Equal bytes are equal integers. */
static bool differs(const struct arb_field *row, const void *now, const void *base)
{
    static const uint8_t zeros[64];
    ARB_ASSERT(base != NULL || row->size <= sizeof zeros);
    const void *before = base != NULL ? (const uint8_t *)base + row->offset : zeros;
    return memcmp((const uint8_t *)now + row->offset, before, row->size) != 0;
}

static void write_integers(struct arb_bit_writer *writer, const struct arb_field *row,
                           const void *now, const void *base)
{
    bool changed = differs(row, now, base);
    arb_bits_write(writer, changed, 1);
    size_t elements = arb_field_elements(row);
    for (size_t i = 0; i < elements && changed; i++) {
        ARB_ASSERT(arb_field_holds(row, load_number(now, row, i)));
        int64_t step = load_number(now, row, i) - load_number(base, row, i);
        if (elements > 1) arb_bits_write(writer, step != 0, 1);
        if (step != 0) {
            arb_step_write(writer, &arb_step_own, row->bits, arb_fold(arb_wrap(step, row->bits)));
        }
    }
}

static bool integers_differ(const struct arb_fields *fields, const void *now, const void *base)
{
    for (size_t r = 0; r < fields->count; r++) {
        if (!is_float(&fields->rows[r]) && differs(&fields->rows[r], now, base)) return true;
    }
    return false;
}

void arb_delta_own_write(struct arb_bit_writer *writer, const struct arb_delta_rule *rule,
                         const struct arb_own_part *own, const struct arb_own_part *base,
                         uint32_t ticks)
{
    const struct arb_fields *fields = rule->own_fields;
    ARB_ASSERT(fields != NULL && own->own != NULL);
    struct arb_own_part zero = {0};
    if (base == NULL) base = &zero;
    arb_small_write(writer, &arb_small_counts,
                    (uint16_t)(own->starved_ticks - base->starved_ticks));
    arb_small_write(writer, &arb_small_counts,
                    (uint16_t)(own->outside_changes - base->outside_changes));
    for (int places = 0; places < 2; places++) {
        for (size_t i = 0; i < fields->count; i++) {
            const struct arb_field *row = &fields->rows[i];
            if (is_float(row) && (role_of(row) == ROLE_PLACE) == (places == 1)) {
                write_float(writer, rule, row, own->own, base->own, ticks);
            }
        }
    }
    bool differ = integers_differ(fields, own->own, base->own);
    arb_bits_write(writer, differ, 1);
    for (size_t i = 0; i < fields->count && differ; i++) {
        if (!is_float(&fields->rows[i])) {
            write_integers(writer, &fields->rows[i], own->own, base->own);
        }
    }
}

/* ---- decode ---- */

static bool read_float(struct arb_bit_reader *reader, const struct arb_delta_rule *rule,
                       const struct arb_field *row, const void *base, uint32_t ticks, void *now)
{
    float value;
    if (role_of(row) == ROLE_HEADING && arb_bits_read(reader, 1) != 0) {
        int32_t step = arb_unfold(arb_step_read(reader, &arb_step_turn, TURN_BITS));
        value = arb_turn16_to_angle(
            (uint16_t)(arb_angle_to_turn16(load_float(base, row)) + (uint32_t)step));
    } else {
        uint32_t step = (uint32_t)arb_unfold(arb_step_read(reader, &arb_step_float, FLOAT_BITS));
        value = float_at(float_place(expected_float(rule, row, base, now, ticks)) + step);
    }
    memcpy((uint8_t *)now + row->offset, &value, sizeof value);
    return arb_field_holds_float(row, value);
}

static int64_t into_row(const struct arb_field *row, int64_t value)
{
    if (arb_field_is_signed(row->type)) return arb_wrap(value, row->bits);
    return (int64_t)((uint64_t)value & (((uint64_t)1 << row->bits) - 1));
}

static bool read_integers(struct arb_bit_reader *reader, const struct arb_field *row, bool differ,
                          const void *base, void *now)
{
    bool good = true;
    bool changed = differ && arb_bits_read(reader, 1) != 0;
    size_t elements = arb_field_elements(row);
    for (size_t i = 0; i < elements; i++) {
        int64_t value = load_number(base, row, i);
        if (changed && (elements == 1 || arb_bits_read(reader, 1) != 0)) {
            value =
                into_row(row, value + arb_unfold(arb_step_read(reader, &arb_step_own, row->bits)));
        }
        good = good && arb_field_holds(row, value);
        arb_field_store(row->type, (uint8_t *)now + row->offset + i * (row->size / elements),
                        value);
    }
    return good;
}

enum arb_decode arb_delta_own_read(struct arb_bit_reader *reader, const struct arb_delta_rule *rule,
                                   const struct arb_own_part *base, uint32_t ticks,
                                   struct arb_own_part *own, void *state)
{
    const struct arb_fields *fields = rule->own_fields;
    struct arb_own_part zero = {0};
    if (base == NULL) base = &zero;
    own->own = state;
    own->starved_ticks = (base->starved_ticks + arb_small_read(reader, &arb_small_counts)) & 0xFFFF;
    own->outside_changes =
        (base->outside_changes + arb_small_read(reader, &arb_small_counts)) & 0xFFFF;
    for (int places = 0; places < 2; places++) {
        for (size_t i = 0; i < fields->count; i++) {
            const struct arb_field *row = &fields->rows[i];
            if (is_float(row) && (role_of(row) == ROLE_PLACE) == (places == 1) &&
                !read_float(reader, rule, row, base->own, ticks, state)) {
                return ARB_DECODE_RANGE;
            }
        }
    }
    bool good = true;
    bool differ = arb_bits_read(reader, 1) != 0;
    for (size_t i = 0; i < fields->count; i++) {
        const struct arb_field *row = &fields->rows[i];
        if (!is_float(row)) good = read_integers(reader, row, differ, base->own, state) && good;
    }
    return good ? ARB_DECODE_OK : ARB_DECODE_RANGE;
}
