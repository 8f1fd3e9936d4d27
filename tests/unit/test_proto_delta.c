/* Streams against a baseline: what is said of each entity comes back, whatever the mix, the ages
 * and the values; and bytes from outside change nothing but the output. */
#include "shared/proto/arb_delta.h"

#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "tests/support/proto_samples.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENTITIES = 120, POINTS = 8000, BYTES = 65536, RUNS = 300 };

/* A frame with room, and what stands beside it. */
struct place {
    struct arb_frame frame;
    struct arb_published entities[ENTITIES];
    struct arb_point points[POINTS];
    struct arb_held_entry entries[ENTITIES];
    struct proto_sample_own own;
    struct arb_own_part part;
};

enum choice { UNCHANGED, UPDATE, LEFT_OUT, GONE };

static struct place before, now, expected, got;
static enum choice chosen[ENTITIES];
static struct arb_delta_rule rule = {&arb_schema_arena, &proto_sample_own_fields, 60};
static struct arb_delta_base base;
static struct arb_delta_out out;
static uint8_t stream[BYTES], record[BYTES];

static void clear(struct place *place, arb_tick tick)
{
    memset(place, 0, sizeof *place);
    place->frame =
        (struct arb_frame){.tick = tick, .entities = place->entities, .points = place->points};
    place->part.own = &place->own;
}

static int32_t random_value(struct arb_rng *rng, const struct arb_kind_field *field)
{
    uint32_t value = arb_rng_next(rng) >> (32 - field->bits);
    if (arb_rng_below(rng, 8) == 0) value = 0;
    if (arb_rng_below(rng, 8) == 0) value = (1U << field->bits) - 1;
    return field->is_signed ? (int32_t)value - (1 << (field->bits - 1)) : (int32_t)value;
}

static int32_t near_value(struct arb_rng *rng, const struct arb_kind_field *field, int32_t q)
{
    static const int32_t reach[] = {1, 3, 40, 900};
    int32_t by = reach[arb_rng_below(rng, 4)];
    int32_t low = field->is_signed ? -(1 << (field->bits - 1)) : 0;
    int32_t high = field->is_signed ? -(low + 1) : (1 << field->bits) - 1;
    q += (int32_t)arb_rng_below(rng, 2 * (uint32_t)by + 1) - by;
    return q < low ? low : q > high ? high : q;
}

static struct arb_published *add(struct place *place, struct arb_key key, uint8_t kind,
                                 uint16_t age)
{
    struct arb_published *entity = &place->entities[place->frame.entity_count];
    *entity = (struct arb_published){.key = key, .kind = kind};
    place->entries[place->frame.entity_count++] = (struct arb_held_entry){.key = key, .age = age};
    return entity;
}

static void copy_body(struct place *to, struct arb_published *entity, const struct place *from,
                      uint32_t first, uint32_t count)
{
    entity->body_first = to->frame.point_count;
    entity->body_count = (uint16_t)count;
    memcpy(to->points + to->frame.point_count, from->points + first, count * sizeof to->points[0]);
    to->frame.point_count += count;
}

static void add_point(struct place *place, struct arb_published *entity, int32_t x, int32_t y)
{
    if (entity->body_count == 0) entity->body_first = place->frame.point_count;
    place->points[place->frame.point_count++] = (struct arb_point){x, y};
    entity->body_count++;
}

static void random_entity(struct arb_rng *rng, struct place *place, struct arb_key key,
                          uint16_t age)
{
    uint8_t number = (uint8_t)arb_rng_below(rng, rule.schema->kind_count);
    struct arb_published *entity = add(place, key, number, age);
    const struct arb_kind *kind = &rule.schema->kinds[number];
    for (int i = 0; i < kind->field_count; i++) {
        entity->q[i] = random_value(rng, &kind->fields[i]);
    }
    if (!kind->has_body) return;
    uint32_t count = arb_rng_below(rng, 30);
    for (uint32_t i = 0; i < count; i++) {
        add_point(place, entity, near_value(rng, &kind->fields[kind->x], 300 * (int32_t)i),
                  random_value(rng, &kind->fields[kind->x]) / (1 << arb_rng_below(rng, 20)));
    }
}

/* Points in front, some of the old ones, something behind. */
static void move_body(struct arb_rng *rng, const struct arb_kind *kind,
                      const struct arb_published *from, struct arb_published *to)
{
    const struct arb_kind_field *field = &kind->fields[kind->x];
    uint32_t added = arb_rng_below(rng, 4), behind = arb_rng_below(rng, 3);
    uint32_t kept = arb_rng_below(rng, from->body_count + 1U);
    if (arb_rng_below(rng, 4) == 0) kept = from->body_count;
    for (uint32_t i = 0; i < added; i++) {
        add_point(&now, to, near_value(rng, field, -200 * (int32_t)(added - i)), (int32_t)i);
    }
    for (uint32_t i = 0; i < kept; i++) {
        struct arb_point point = before.points[from->body_first + i];
        add_point(&now, to, point.x, point.y);
    }
    for (uint32_t i = 0; i < behind; i++) {
        struct arb_point last =
            kept > 0 ? now.points[now.frame.point_count - 1] : (struct arb_point){2000, -100};
        struct arb_point next = kept > 0 && kept < from->body_count
                                    ? before.points[from->body_first + kept]
                                    : (struct arb_point){random_value(rng, field), 0};
        bool cut = arb_rng_below(rng, 2) == 0;
        add_point(&now, to, cut ? last.x + (next.x - last.x) / 3 : next.x,
                  cut ? last.y + (next.y - last.y) / 3 : near_value(rng, field, next.y));
    }
}

static void move_entity(struct arb_rng *rng, const struct arb_published *from)
{
    struct arb_published *to = add(&now, from->key, from->kind, 0);
    const struct arb_kind *kind = &rule.schema->kinds[from->kind];
    memcpy(to->q, from->q, sizeof to->q);
    bool wild = arb_rng_below(rng, 6) == 0;
    for (int i = 0; i < kind->field_count; i++) {
        if (arb_rng_below(rng, 2) == 0) continue;
        to->q[i] = wild ? random_value(rng, &kind->fields[i])
                        : near_value(rng, &kind->fields[i], from->q[i]);
    }
    if (!kind->has_body) return;
    if (arb_rng_below(rng, 4) == 0) {
        copy_body(&now, to, &before, from->body_first, from->body_count);
    } else {
        move_body(rng, kind, from, to);
    }
}

static void random_own(struct arb_rng *rng, struct place *place, const struct place *near)
{
    static const float reach[] = {0.0F, 1e-6F, 0.01F, 30.0F};
    struct proto_sample_own *own = &place->own;
    *own = near->own;
    own->x += reach[arb_rng_below(rng, 4)] * (arb_rng_unit(rng) - 0.5F);
    own->vx += reach[arb_rng_below(rng, 4)] * (arb_rng_unit(rng) - 0.5F);
    own->heading = arb_rng_below(rng, 2) == 0 ? arb_turn16_to_angle((uint16_t)arb_rng_next(rng))
                                              : arb_rng_range(rng, -3.1F, 3.1F);
    if (arb_rng_below(rng, 2) == 0) {
        own->magazine[arb_rng_below(rng, 4)] = (uint16_t)arb_rng_below(rng, 1001);
        own->lean = (int8_t)((int)arb_rng_below(rng, 32) - 16);
        own->boost = (uint8_t)arb_rng_below(rng, 2);
        own->push = (int16_t)arb_rng_next(rng);
        own->drift = (int32_t)arb_rng_next(rng);
    }
    place->part.starved_ticks = (uint16_t)(near->part.starved_ticks + arb_rng_below(rng, 3));
    place->part.outside_changes = (uint16_t)arb_rng_next(rng);
}

static void random_before(struct arb_rng *rng, uint32_t count)
{
    clear(&before, 100000 + arb_rng_below(rng, 70000));
    for (uint32_t i = 0, id = arb_rng_below(rng, 3); i < count; i++) {
        struct arb_key key = {(uint16_t)id, (uint16_t)(1 + arb_rng_below(rng, 300))};
        uint16_t age = arb_rng_below(rng, 4) == 0 ? (uint16_t)arb_rng_below(rng, 130) : 0;
        random_entity(rng, &before, key, age);
        id += 1 + arb_rng_below(rng, i % 10 == 0 ? 400 : 4);
    }
    random_own(rng, &before, &before);
    base = (struct arb_delta_base){before.frame.tick,
                                   &before.frame,
                                   before.entries,
                                   {(uint16_t)arb_rng_next(rng), 7},
                                   &before.part};
}

static arb_tick state_tick(uint32_t i)
{
    return before.frame.tick - before.entries[i].age;
}

/* Writes the update of the entity of the baseline to its namesake in `now`. */
static size_t write_record(uint32_t i, bool *changed)
{
    const struct arb_published *to = arb_frame_find(&now.frame, before.entities[i].key);
    cr_assert_not_null(to);
    struct arb_delta_state a = {&before.entities[i], before.points, state_tick(i)};
    struct arb_delta_state b = {to, now.points, now.frame.tick};
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, record, sizeof record);
    *changed = arb_delta_record(&rule, &a, &b, &writer);
    cr_assert_leq(writer.bit, arb_delta_record_bits_max(rule.schema, to->body_count));
    return writer.bit;
}

static void keep_expected(uint32_t i, uint16_t age)
{
    struct arb_published *entity =
        add(&expected, before.entities[i].key, before.entities[i].kind, age);
    memcpy(entity->q, before.entities[i].q, sizeof entity->q);
    copy_body(&expected, entity, &before, before.entities[i].body_first,
              before.entities[i].body_count);
}

static void expect_now(struct arb_key key)
{
    const struct arb_published *from = arb_frame_find(&now.frame, key);
    struct arb_published *entity = add(&expected, key, from->kind, 0);
    memcpy(entity->q, from->q, sizeof entity->q);
    copy_body(&expected, entity, &now, from->body_first, from->body_count);
}

/* Says what `chosen` says of each, then enters what the baseline lacks or lost. `expected` becomes
 * what should come out, not yet in order. */
static size_t write_stream(const struct arb_delta_head *head, bool has_base, size_t capacity)
{
    struct arb_delta_head base_head = {base.controlled, base.own};
    struct arb_delta_writer writer;
    uint32_t ticks = (uint32_t)(now.frame.tick - before.frame.tick);
    uint32_t known = has_base ? before.frame.entity_count : 0;
    if (!arb_delta_begin(&writer, &rule, head, has_base ? &base_head : NULL, has_base ? ticks : 0,
                         known, stream, capacity)) {
        return 0;
    }
    clear(&expected, now.frame.tick);
    for (uint32_t i = 0; i < known; i++) {
        uint8_t kind = before.entities[i].kind;
        bool changed = false;
        size_t bits = chosen[i] == UPDATE ? write_record(i, &changed) : 0;
        if (chosen[i] == UPDATE && changed && arb_delta_update(&writer, kind, record, 0, bits)) {
            expect_now(before.entities[i].key);
        } else if (chosen[i] == GONE) {
            arb_delta_gone(&writer, kind);
        } else if (chosen[i] == UNCHANGED || (chosen[i] == UPDATE && !changed)) {
            arb_delta_unchanged(&writer, kind);
            keep_expected(i, 0);
        } else {
            arb_delta_left_out(&writer, 1);
            keep_expected(i, (uint16_t)(now.frame.tick - state_tick(i)));
        }
    }
    for (uint32_t i = 0; i < now.frame.entity_count; i++) {
        struct arb_key key = now.entities[i].key;
        if (arb_frame_find(&expected.frame, key) != NULL) continue;
        uint32_t in_base = 0;
        while (in_base < known && !arb_key_equal(before.entities[in_base].key, key))
            in_base++;
        if (in_base < known && chosen[in_base] != GONE) continue;
        struct arb_bit_writer bits;
        arb_bits_write_begin(&bits, record, sizeof record);
        arb_bits_write(&bits, 5, 3); /* records are copied from any bit */
        arb_entity_encode(rule.schema, &now.frame, &now.entities[i], &bits);
        if (arb_delta_enter(&writer, key, record, 3, bits.bit - 3)) expect_now(key);
    }
    size_t size = arb_delta_end(&writer);
    cr_assert_leq(size, capacity);
    return size;
}

/* Every bit belongs to something, but the one that ends the list of who enters, and the padding. */
static void check_account(const struct arb_delta_account *account, size_t size)
{
    uint64_t bits = account->own_bits + 1;
    for (int k = 0; k < ARB_KINDS_MAX; k++) {
        const struct arb_delta_kind_account *kind = &account->kinds[k];
        bits += kind->said_bits + kind->enter_bits + kind->mask_bits + kind->body_bits;
        for (int i = 0; i < ARB_KIND_FIELDS_MAX; i++) {
            bits += kind->field_bits[i];
        }
    }
    cr_assert_eq((bits + 7) / 8, size, "%" PRIu64 " bits in %zu bytes", bits, size);
}

static enum arb_decode decode(size_t size, bool has_base)
{
    struct arb_delta_account account = {0};
    clear(&got, 0);
    out = (struct arb_delta_out){.frame = &got.frame,
                                 .entries = got.entries,
                                 .entity_capacity = ENTITIES,
                                 .point_capacity = POINTS,
                                 .own = &got.own,
                                 .account = &account};
    enum arb_decode reason =
        arb_delta_decode(&rule, stream, size, now.frame.tick, has_base ? &base : NULL, &out);
    if (reason == ARB_DECODE_OK) check_account(&account, size);
    out.account = NULL;
    return reason;
}

static const struct arb_held_entry *expected_entry(struct arb_key key)
{
    for (uint32_t i = 0; i < expected.frame.entity_count; i++) {
        if (arb_key_equal(expected.entries[i].key, key)) return &expected.entries[i];
    }
    return NULL;
}

static bool same_entity(const struct place *a, const struct arb_published *p, const struct place *b,
                        const struct arb_published *q)
{
    return p->kind == q->kind && memcmp(p->q, q->q, sizeof p->q) == 0 &&
           p->body_count == q->body_count &&
           memcmp(a->points + p->body_first, b->points + q->body_first,
                  p->body_count * sizeof a->points[0]) == 0;
}

static void check_result(const struct arb_delta_head *head)
{
    cr_assert_eq(got.frame.entity_count, expected.frame.entity_count);
    cr_assert_eq(got.frame.point_count, expected.frame.point_count);
    for (uint32_t i = 0; i < got.frame.entity_count; i++) {
        struct arb_key key = got.entities[i].key;
        cr_assert(i == 0 || key.id > got.entities[i - 1].key.id);
        cr_assert(arb_key_equal(got.entries[i].key, key));
        const struct arb_held_entry *entry = expected_entry(key);
        cr_assert_not_null(entry);
        cr_assert_eq(got.entries[i].age, entry->age);
        cr_assert_eq(got.entries[i].reserved, 0);
        cr_assert(same_entity(&got, &got.entities[i], &expected,
                              &expected.entities[entry - expected.entries]));
    }
    cr_assert(arb_key_equal(out.controlled, head->controlled));
    cr_assert_eq(out.has_own, head->own != NULL);
    if (head->own == NULL) return;
    cr_assert_eq(out.own_part.starved_ticks, head->own->starved_ticks);
    cr_assert_eq(out.own_part.outside_changes, head->own->outside_changes);
    cr_assert_eq(memcmp(&got.own, head->own->own, sizeof got.own), 0);
}

/* `now` becomes what follows `before`; `chosen` a random mix. */
static void random_now(struct arb_rng *rng)
{
    clear(&now, before.frame.tick + arb_rng_below(rng, 40));
    for (uint32_t i = 0; i < before.frame.entity_count; i++) {
        chosen[i] = (enum choice)arb_rng_below(rng, 4);
        const struct arb_published *from = &before.entities[i];
        uint32_t id_after =
            i + 1 < before.frame.entity_count ? before.entities[i + 1].key.id : from->key.id + 9U;
        if (chosen[i] != GONE) {
            move_entity(rng, from);
        } else if (arb_rng_below(rng, 2) == 0) {
            random_entity(rng, &now,
                          (struct arb_key){from->key.id, (uint16_t)(from->key.generation + 1)}, 0);
        } else if (arb_rng_below(rng, 2) == 0) {
            random_entity(rng, &now, from->key, 0); /* left and entered between the two */
        }
        if (id_after > from->key.id + 1U && now.frame.entity_count + 2 < ENTITIES) {
            random_entity(rng, &now, (struct arb_key){(uint16_t)(from->key.id + 1), 9}, 0);
        }
    }
    random_own(rng, &now, &before);
}

static void use_schema(int run)
{
    rule.schema = run % 2 == 0 ? &arb_schema_arena : &arb_schema_serpent;
}

Test(proto_delta, any_mix_of_unchanged_updated_left_out_gone_and_entered_round_trips)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 21, 1);
    for (int run = 0; run < RUNS; run++) {
        use_schema(run);
        random_before(&rng, arb_rng_below(&rng, ENTITIES / 2));
        random_now(&rng);
        struct arb_delta_head head = {run % 3 == 0 ? base.controlled
                                                   : (struct arb_key){(uint16_t)run, 1},
                                      run % 5 == 0 ? NULL : &now.part};
        if (run % 7 == 0) base.own = NULL;
        struct place kept = before;
        size_t size = write_stream(&head, true, sizeof stream);
        cr_assert_gt(size, 0);
        cr_assert_eq(decode(size, true), ARB_DECODE_OK, "run %d", run);
        check_result(&head);
        cr_assert_eq(memcmp(&kept, &before, sizeof kept), 0, "the baseline is only read");
    }
}

Test(proto_delta, without_a_baseline_everything_enters)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 22, 1);
    for (int run = 0; run < RUNS; run++) {
        use_schema(run);
        random_before(&rng, 40);
        random_now(&rng);
        struct arb_delta_head head = {{3, (uint16_t)(run % 2)}, run % 3 == 0 ? NULL : &now.part};
        size_t size = write_stream(&head, false, sizeof stream);
        cr_assert_eq(decode(size, false), ARB_DECODE_OK);
        cr_assert_eq(got.frame.entity_count, now.frame.entity_count);
        check_result(&head);
    }
}

Test(proto_delta, what_does_not_fit_is_left_out_and_the_stream_is_whole_at_any_capacity)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 23, 1);
    for (int run = 0; run < 12; run++) {
        use_schema(run);
        random_before(&rng, 30);
        random_now(&rng);
        struct arb_delta_head head = {base.controlled, &now.part};
        size_t whole = write_stream(&head, true, sizeof stream);
        uint32_t refused = 0;
        for (size_t capacity = 0; capacity <= whole; capacity += 3) {
            size_t size = write_stream(&head, true, capacity);
            refused += size == 0;
            if (size == 0) continue;
            cr_assert_eq(decode(size, true), ARB_DECODE_OK, "capacity %zu", capacity);
            check_result(&head);
        }
        cr_assert_gt(refused, 0);
        cr_assert_lt(refused, whole / 3, "a few bytes suffice to say that all is left out");
    }
}

Test(proto_delta, the_room_told_is_the_room_there_is)
{
    use_schema(0);
    struct arb_rng rng;
    arb_rng_seed(&rng, 24, 1);
    random_before(&rng, 20);
    struct arb_delta_head head = {base.controlled, NULL};
    struct arb_delta_head none = {base.controlled, NULL};
    for (size_t bits = 0; bits < 200; bits++) {
        struct arb_delta_writer writer;
        cr_assert(arb_delta_begin(&writer, &rule, &head, &none, 2, 20, stream, 28));
        size_t room = arb_delta_room(&writer);
        cr_assert_eq(room, 28U * 8 - 2 - 3 * 20 - 1);
        cr_assert_eq(arb_delta_update(&writer, 0, record, 0, bits), bits <= room);
        cr_assert_leq(arb_delta_room(&writer), room + ARB_DELTA_CODE_BITS - 1);
    }
}

/* One entity of the first kind from `before` to `now`. */
static void one_entity(arb_tick tick, arb_tick later, uint16_t age)
{
    clear(&before, tick);
    clear(&now, later);
    add(&before, (struct arb_key){5, 1}, 0, age);
    add(&now, (struct arb_key){5, 1}, 0, 0);
    base = (struct arb_delta_base){tick, &before.frame, before.entries, {5, 1}, NULL};
    chosen[0] = UPDATE;
}

static enum arb_decode one_update(void)
{
    struct arb_delta_head head = {{5, 1}, NULL};
    size_t size = write_stream(&head, true, sizeof stream);
    enum arb_decode reason = decode(size, true);
    if (reason == ARB_DECODE_OK) check_result(&head);
    return reason;
}

Test(proto_delta, values_at_their_bounds_wrap_and_come_back)
{
    rule.schema = &arb_schema_arena;
    one_entity(1000, 1064, 60);
    int32_t low[] = {0, 0, -2097152, -2097152, -8192, -8192, 0, 0, 0, 0};
    int32_t high[] = {2047, 15, 2097151, 2097151, 8191, 8191, 4095, 1023, 3, 255};
    for (uint32_t mix = 0; mix < 1U << ARB_CHARACTER_FIELDS; mix++) {
        for (int i = 0; i < ARB_CHARACTER_FIELDS; i++) {
            bool up = (mix >> i & 1) != 0;
            before.entities[0].q[i] = up ? low[i] : high[i];
            now.entities[0].q[i] = up ? high[i] : low[i];
        }
        cr_assert_eq(one_update(), ARB_DECODE_OK);
    }
}

Test(proto_delta, a_state_as_old_as_the_match_permits_is_updated_and_an_older_one_refused)
{
    rule.schema = &arb_schema_arena;
    one_entity(100000, 100100, 65435);
    now.entities[0].q[ARB_CHARACTER_X] = 77;
    cr_assert_eq(one_update(), ARB_DECODE_OK);
    now.frame.tick++;
    before.entries[0].age = 65434;
    struct arb_delta_head head = {{5, 1}, NULL};
    size_t size = write_stream(&head, true, sizeof stream);
    before.entries[0].age = 65435;
    cr_assert_eq(decode(size, true), ARB_DECODE_RANGE, "65,536 ticks");
    before.entries[0].age = 7;
    base.tick = before.frame.tick = 6;
    cr_assert_eq(decode(size, true), ARB_DECODE_RANGE, "a state of before the match");
}

Test(proto_delta, a_stream_of_the_same_tick_is_taken_and_an_older_one_refused)
{
    rule.schema = &arb_schema_arena;
    one_entity(500, 500, 0);
    now.entities[0].q[ARB_CHARACTER_X] = -5;
    now.entities[0].q[ARB_CHARACTER_VX] = -70;
    cr_assert_eq(one_update(), ARB_DECODE_OK);
    struct arb_delta_head head = {{5, 1}, NULL};
    size_t size = write_stream(&head, true, sizeof stream);
    now.frame.tick = 499;
    cr_assert_eq(decode(size, true), ARB_DECODE_ORDER);
}

Test(proto_delta, moving_straight_on_costs_an_update_three_bytes_at_most)
{
    rule.schema = &arb_schema_arena;
    for (uint32_t ticks = 2; ticks < 20; ticks += 2) {
        one_entity(500, 500 + ticks, 0);
        int32_t *from = before.entities[0].q, *to = now.entities[0].q;
        from[ARB_CHARACTER_VX] = to[ARB_CHARACTER_VX] = -391;
        to[ARB_CHARACTER_X] = -391 * 8 * (int32_t)ticks / 60;
        to[ARB_CHARACTER_HEADING] = 4096 - 200;
        bool changed;
        cr_assert_leq(write_record(0, &changed) + 1, 24);
        cr_assert(changed);
    }
}

Test(proto_delta, an_equal_state_has_no_record_and_another_body_has_one)
{
    rule.schema = &arb_schema_serpent;
    one_entity(500, 502, 0);
    add_point(&before, &before.entities[0], 5, 5);
    add_point(&now, &now.entities[0], 5, 5);
    bool changed;
    cr_assert_eq(write_record(0, &changed), 0);
    cr_assert_not(changed);
    now.points[0].y = 6;
    write_record(0, &changed);
    cr_assert(changed);
    now.points[0].y = 5;
    add_point(&now, &now.entities[0], 5, 5);
    write_record(0, &changed);
    cr_assert(changed);
}

/* A serpent of `count` points on a straight trail, cut `cut` in front of the next. */
static void straight(struct place *place, int32_t head, uint32_t count, int32_t cut)
{
    struct arb_published *entity = &place->entities[0];
    entity->body_count = 0;
    place->frame.point_count = 0;
    entity->q[ARB_HEAD_X] = head + 40;
    for (uint32_t i = 0; i < count; i++) {
        int32_t x = head - 256 * (int32_t)i;
        add_point(place, entity, i + 1 == count ? x + cut : x, 9);
    }
}

Test(proto_delta, bodies_that_move_grow_and_shrink_cost_their_new_points_only)
{
    rule.schema = &arb_schema_serpent;
    static const struct {
        int32_t head_before, head_now;
        uint32_t count_before, count_now;
        int32_t cut_before, cut_now;
        size_t bits;
    } cases[] = {
        {0, 0, 400, 400, 10, 50, 60},         /* within a stretch */
        {0, 256, 400, 400, 10, 10, 70},       /* one on */
        {0, 768, 400, 400, 10, 200, 90},      /* three on */
        {0, 256, 400, 402, 10, 10, 90},       /* and grown */
        {0, 256, 400, 380, 10, 0, 90},        /* and shrunk */
        {0, 0, 400, 1, 10, 0, 60},            /* nearly gone */
        {0, 0, 400, 0, 10, 0, 60},            /* gone */
        {0, 0, 0, 3, 0, 10, 150},             /* come */
        {0, 256 * 511, 512, 512, 0, 0, 8192}, /* further than its length */
        {0, 256 * 600, 512, 512, 0, 0, 8192}, /* elsewhere */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        one_entity(500, 506, 0);
        straight(&before, cases[i].head_before, cases[i].count_before, cases[i].cut_before);
        straight(&now, cases[i].head_now, cases[i].count_now, cases[i].cut_now);
        bool changed;
        size_t bits = write_record(0, &changed);
        cr_assert_leq(bits, cases[i].bits, "case %zu: %zu bits", i, bits);
        cr_assert_eq(one_update(), ARB_DECODE_OK, "case %zu", i);
    }
}

Test(proto_delta, an_id_that_is_there_enters_no_second_time)
{
    rule.schema = &arb_schema_serpent;
    clear(&before, 100);
    clear(&now, 102);
    for (uint16_t i = 0; i < 3; i++) {
        add(&before, (struct arb_key){(uint16_t)(10 * i), 4}, ARB_SERPENT_FOOD, 0);
    }
    base = (struct arb_delta_base){100, &before.frame, before.entries, ARB_KEY_NONE, NULL};
    struct arb_delta_head head = {ARB_KEY_NONE, NULL};
    memset(record, 0, 8);
    record[0] = ARB_SERPENT_FOOD;
    for (uint16_t id = 0; id < 25; id++) {
        struct arb_delta_writer writer;
        cr_assert(arb_delta_begin(&writer, &rule, &head, &head, 2, 3, stream, 64));
        arb_delta_unchanged(&writer, ARB_SERPENT_FOOD);
        arb_delta_gone(&writer, ARB_SERPENT_FOOD);
        arb_delta_left_out(&writer, 1);
        cr_assert(arb_delta_enter(&writer, (struct arb_key){id, 5}, record, 0, 1 + 8 + 22 + 22));
        size_t size = arb_delta_end(&writer);
        bool twice = id == 0 || id == 20;
        cr_assert_eq(decode(size, true), twice ? ARB_DECODE_ORDER : ARB_DECODE_OK, "id %u", id);
    }
}

Test(proto_delta, more_than_the_receiver_holds_is_refused)
{
    use_schema(1);
    struct arb_rng rng;
    arb_rng_seed(&rng, 25, 1);
    random_before(&rng, 40);
    random_now(&rng);
    struct arb_delta_head head = {base.controlled, &now.part};
    size_t size = write_stream(&head, true, sizeof stream);
    cr_assert_eq(decode(size, true), ARB_DECODE_OK);
    uint32_t count = got.frame.entity_count, point_count = got.frame.point_count;
    for (uint32_t less = 0; less < 2; less++) {
        out.entity_capacity = count - less;
        out.point_capacity = point_count;
        cr_assert_eq(arb_delta_decode(&rule, stream, size, now.frame.tick, &base, &out),
                     less == 0 ? ARB_DECODE_OK : ARB_DECODE_RANGE);
        out.entity_capacity = count;
        out.point_capacity = point_count - less;
        cr_assert_eq(arb_delta_decode(&rule, stream, size, now.frame.tick, &base, &out),
                     less == 0 ? ARB_DECODE_OK : ARB_DECODE_RANGE);
    }
    struct arb_delta_rule no_mover = rule;
    no_mover.own_fields = NULL;
    cr_assert_eq(arb_delta_decode(&no_mover, stream, size, now.frame.tick, &base, &out),
                 ARB_DECODE_RANGE, "an own part in a mode without one");
}

static void check_ranges(void)
{
    uint32_t points = 0;
    for (uint32_t i = 0; i < got.frame.entity_count; i++) {
        const struct arb_published *entity = &got.entities[i];
        cr_assert(i == 0 || entity->key.id > got.entities[i - 1].key.id);
        cr_assert_lt(entity->kind, rule.schema->kind_count);
        const struct arb_kind *kind = &rule.schema->kinds[entity->kind];
        for (int f = 0; f < kind->field_count; f++) {
            int32_t half = (int32_t)1 << (kind->fields[f].bits - 1);
            int32_t low = kind->fields[f].is_signed ? -half : 0;
            int32_t high = kind->fields[f].is_signed ? half - 1 : 2 * half - 1;
            cr_assert(entity->q[f] >= low && entity->q[f] <= high);
        }
        cr_assert_leq(entity->body_count, ARB_BODY_POINTS_MAX);
        cr_assert_leq(entity->body_first + entity->body_count, got.frame.point_count);
        points += entity->body_count;
    }
    cr_assert_eq(points, got.frame.point_count);
}

Test(proto_delta, no_bytes_break_the_decoder, .timeout = 1200)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 26, 1);
    uint32_t accepted = 0;
    for (int run = 0; run < 20000; run++) {
        if (run % 200 == 0) {
            use_schema(run / 200);
            random_before(&rng, 20);
            random_now(&rng);
        }
        struct arb_delta_head head = {base.controlled, run % 3 == 0 ? NULL : &now.part};
        size_t size = write_stream(&head, true, sizeof stream);
        uint32_t flips = arb_rng_below(&rng, 8);
        for (uint32_t i = 0; i < flips; i++) {
            stream[arb_rng_below(&rng, (uint32_t)size)] ^= (uint8_t)(1U << arb_rng_below(&rng, 8));
        }
        if (run % 4 == 0) size = arb_rng_below(&rng, (uint32_t)size + 1);
        if (run % 16 == 1) {
            for (size_t i = 0; i < size; i++)
                stream[i] = (uint8_t)arb_rng_next(&rng);
        }
        uint8_t *exact = malloc(size > 0 ? size : 1);
        memcpy(exact, stream, size);
        clear(&got, 0);
        out = (struct arb_delta_out){.frame = &got.frame,
                                     .entries = got.entries,
                                     .entity_capacity = ENTITIES / (1 + arb_rng_below(&rng, 3)),
                                     .point_capacity = POINTS / (1 + arb_rng_below(&rng, 9)),
                                     .own = &got.own};
        enum arb_decode reason = arb_delta_decode(&rule, exact, size, now.frame.tick, &base, &out);
        free(exact);
        cr_assert_leq(got.frame.entity_count, out.entity_capacity);
        cr_assert_leq(got.frame.point_count, out.point_capacity);
        if (reason != ARB_DECODE_OK) continue;
        accepted++;
        check_ranges();
    }
    cr_assert_gt(accepted, 500);
}
