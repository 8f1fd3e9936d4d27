/* PROTOCOL.md's tables are those of the code. Each stands between `<!-- table: NAME -->` and `<!--
 * end -->`; here they are written anew and compared. Renew: ARBITER_RENEW=1 ctest --test-dir
 * build/debug -R unit/test_proto_document
 */
#include "shared/move/arb_own.h"
#include "shared/proto/arb_proto_internal.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT ARBITER_SOURCE_DIR "/shared/proto/PROTOCOL.md"

enum { DOCUMENT_BYTES_MAX = 256 * 1024, TABLE_BYTES_MAX = 16 * 1024 };

static char document[DOCUMENT_BYTES_MAX];
static char table[TABLE_BYTES_MAX];
static size_t table_size;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int wrote = vsnprintf(table + table_size, sizeof table - table_size, format, arguments);
    va_end(arguments);
    cr_assert(wrote >= 0 && (size_t)wrote < sizeof table - table_size);
    table_size += (size_t)wrote;
}

static void load(void)
{
    FILE *file = fopen(DOCUMENT, "rb");
    cr_assert_not_null(file, "%s", DOCUMENT);
    size_t size = fread(document, 1, sizeof document - 1, file);
    document[size] = 0;
    fclose(file);
}

static void renew(const char *start, const char *end)
{
    FILE *file = fopen(DOCUMENT, "wb");
    cr_assert_not_null(file);
    fwrite(document, 1, (size_t)(start - document), file);
    fwrite(table, 1, table_size, file);
    fwrite(end, 1, strlen(end), file);
    fclose(file);
}

/* Compares the table written by add() with the document's of that name. */
static void compare(const char *name)
{
    char marker[128];
    snprintf(marker, sizeof marker, "<!-- table: %s -->\n", name);
    load();
    char *start = strstr(document, marker);
    cr_assert_not_null(start, "PROTOCOL.md has no table %s", name);
    start += strlen(marker);
    char *end = strstr(start, "<!-- end -->");
    cr_assert_not_null(end);
    bool same = (size_t)(end - start) == table_size && memcmp(start, table, table_size) == 0;
    if (!same && getenv("ARBITER_RENEW") != NULL) {
        renew(start, end);
        same = true;
    }
    cr_assert(same, "PROTOCOL.md, table %s should be:\n%s", name, table);
    table_size = 0;
    table[0] = 0;
}

static void add_type(const struct arb_field *field)
{
    static const char *const names[] = {
        [ARB_FIELD_U8] = "u8",       [ARB_FIELD_U16] = "u16",   [ARB_FIELD_U32] = "u32",
        [ARB_FIELD_U64] = "u64",     [ARB_FIELD_I8] = "i8",     [ARB_FIELD_I16] = "i16",
        [ARB_FIELD_I32] = "i32",     [ARB_FIELD_F32] = "f32",   [ARB_FIELD_KEY] = "key",
        [ARB_FIELD_BYTES] = "bytes", [ARB_FIELD_TEXT] = "text",
    };
    add("| `%s` | %s | ", field->name, names[field->type]);
    switch (field->type) {
    case ARB_FIELD_BYTES:
        add("%d | any", field->size * 8);
        break;
    case ARB_FIELD_TEXT:
        add("8 + 8 n | n at most %d", field->size - 1);
        break;
    case ARB_FIELD_KEY:
        add("16 + 16 | any");
        break;
    case ARB_FIELD_U64:
        add("64 | any");
        break;
    default:
        if (arb_field_elements(field) > 1) {
            add("%u x ", (unsigned)arb_field_elements(field));
        }
        add("%d | %.10g..%.10g", field->type == ARB_FIELD_F32 ? 32 : field->bits, field->low,
            field->high);
        break;
    }
}

static void compare_fields(const struct arb_fields *fields)
{
    add("| field | type | bits | values | meaning |\n| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < fields->count; i++) {
        add_type(&fields->rows[i]);
        add(" | %s |\n", fields->rows[i].doc);
    }
    compare(fields->name);
}

static void compare_messages(void)
{
    add("| type | name | from | channel | meaning |\n| --- | --- | --- | --- | --- |\n");
#define X(value, name, sender, channel, text)                                                      \
    add("| %d | %s | %s | %s | %s |\n", value, #name, (sender) == 'c' ? "client" : "server",       \
        (channel) == 'r' ? "0, reliable" : "1, unsequenced", text);
    ARB_MESSAGE_MAP(X)
#undef X
    compare("messages");
}

static void compare_lists(void)
{
    add("| reason | name | meaning |\n| --- | --- | --- |\n");
#define X(value, name, text) add("| %d | %s | %s |\n", value, #name, text);
    ARB_REFUSAL_MAP(X)
#undef X
    compare("refusals");
    add("| kind | name | meaning |\n| --- | --- | --- |\n");
#define X(value, name, suffix, text) add("| %d | %s | %s |\n", value, #name, text);
    ARB_EVENT_MAP(X)
#undef X
    compare("events");
    add("| bit | name |\n| --- | --- |\n");
#define X(bit, name, text) add("| %d | %s |\n", bit, text);
    ARB_BUTTON_MAP(X)
#undef X
    compare("buttons");
}

static void compare_limits(void)
{
    add("| limit | value |\n| --- | --- |\n");
    add("| protocol version | %d |\n", ARB_PROTOCOL_VERSION);
    add("| schema hash | 0x%016llx |\n", (unsigned long long)arb_proto_schema_hash());
    add("| bytes of a message | %d |\n", ARB_MESSAGE_BYTES_MAX);
    add("| bytes of a long message | %d |\n", ARB_LONG_MESSAGE_BYTES_MAX);
    add("| payload bytes of a PART | %d |\n", ARB_PART_PAYLOAD_MAX);
    add("| payload bytes of a SNAPSHOT chunk | %d |\n", ARB_CHUNK_PAYLOAD_MAX);
    add("| chunks of a snapshot | %d |\n", ARB_CHUNKS_MAX);
    add("| entities of a snapshot | %d |\n", ARB_ENTITIES_MAX);
    add("| points of a body | %d |\n", ARB_BODY_POINTS_MAX);
    add("| inputs of an INPUT | %d |\n", ARB_INPUTS_PER_PACKET_MAX);
    compare("limits");
}

static void add_small(const char *name, const struct arb_small *code)
{
    add("| %s | %d | %d | %d | %d |\n", name, code->widths[0], code->widths[1], code->widths[2],
        code->widths[3]);
}

static void compare_small_values(void)
{
    add("| value | width 0 | width 1 | width 2 | width 3 |\n| --- | --- | --- | --- | --- |\n");
    add_small("id step", &arb_small_id);
    add_small("generation", &arb_small_generation);
    add_small("point count", &arb_small_points);
    add_small("view gap", &arb_small_gap);
    add_small("view delay", &arb_small_delay);
    add_small("view held", &arb_small_held);
    add_small("added", &arb_small_added);
    add_small("explicit", &arb_small_explicit);
    add_small("own count", &arb_small_counts);
    add_small("score", &arb_small_score);
    add_small("tally", &arb_small_tally);
    compare("small values");
}

static void add_step(const char *name, const struct arb_step *code)
{
    add("| %s | %d | %d | %d |\n", name, code->widths[0], code->widths[1], code->widths[2]);
}

static void compare_differences(void)
{
    add("| difference | width 0 | width 1 | width 2 |\n| --- | --- | --- | --- |\n");
    add_step("speed", &arb_step_speed);
    add_step("place", &arb_step_place);
    add_step("moved", &arb_step_moved);
    add_step("heading", &arb_step_turn);
    add_step("other", &arb_step_other);
    add_step("count", &arb_step_count);
    add_step("cut", &arb_step_cut);
    add_step("float", &arb_step_float);
    add_step("own", &arb_step_own);
    compare("differences");
}

static void compare_message_tables(void)
{
    for (size_t i = 0; i < arb_proto_table_count; i++) {
        compare_fields(arb_proto_tables[i]);
    }
}

static void compare_move_tables(void)
{
    static const struct {
        const char *name;
        const struct arb_fields *fields;
    } tables[] = {{"own arena", &arb_own_fields_arena},
                  {"own serpent", &arb_own_fields_serpent},
                  {"parameters", &arb_move_param_fields}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct arb_fields named = *tables[i].fields;
        named.name = tables[i].name;
        compare_fields(&named);
    }
}

static void compare_kind(const struct arb_schema *schema, int index)
{
    const struct arb_kind *kind = &schema->kinds[index];
    add("| field | bits | signed | unit | meaning |\n| --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < kind->field_count; i++) {
        const struct arb_kind_field *field = &kind->fields[i];
        add("| `%s` | %d | %s | %.9g | %s |\n", field->name, field->bits,
            field->is_signed ? "yes" : "no", (double)field->unit, field->doc);
    }
    if (kind->has_body) {
        add("| body | | | | points, as `x` and `y` |\n");
    }
    char name[64];
    snprintf(name, sizeof name, "kind %s %d %s", schema->name, index, kind->name);
    compare(name);
}

static void compare_kinds(void)
{
    static const char *const modes[] = {"arena", "serpent"};
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        const struct arb_schema *schema = arb_schema_find(modes[m]);
        cr_assert_not_null(schema);
        for (int k = 0; k < schema->kind_count; k++) {
            compare_kind(schema, k);
        }
    }
}

/* One test, since Criterion runs tests side by side and renewing rewrites the document. */
Test(proto_document, every_table_is_that_of_the_code)
{
    compare_messages();
    compare_lists();
    compare_limits();
    compare_small_values();
    compare_differences();
    compare_message_tables();
    compare_move_tables();
    compare_kinds();
}

Test(proto_document, schema_hash_covers_the_tables_of_own_state_and_parameters)
{
    uint64_t hash = arb_proto_fields_hash(0, &arb_own_fields_arena);
    hash = arb_proto_fields_hash(hash, &arb_own_fields_serpent);
    hash = arb_proto_fields_hash(hash, &arb_move_param_fields);
    cr_assert_eq(hash, ARB_PROTO_MOVE_TABLES_HASH,
                 "shared/move's tables changed: ARB_PROTO_MOVE_TABLES_HASH is now 0x%016llXULL",
                 (unsigned long long)hash);
    cr_assert_eq((int)arb_schema_arena.mover, (int)ARB_MOVER_ARENA);
    cr_assert_eq((int)arb_schema_serpent.mover, (int)ARB_MOVER_SERPENT);
}

Test(proto_document, an_unknown_mode_has_no_schema)
{
    cr_assert_null(arb_schema_find("chess"));
}

/* What code that draws or aims at any kind relies on. */
Test(proto_document, kinds_name_their_fields_by_meaning)
{
    static const char *const modes[] = {"arena", "serpent"};
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        const struct arb_schema *schema = arb_schema_find(modes[m]);
        for (int k = 0; k < schema->kind_count; k++) {
            const struct arb_kind *kind = &schema->kinds[k];
            const struct {
                int8_t index;
                const char *name;
            } meanings[] = {{kind->x, "x"},
                            {kind->y, "y"},
                            {kind->vx, "vx"},
                            {kind->vy, "vy"},
                            {kind->jump, "jump"},
                            {kind->owner, "owner"},
                            {kind->heading, "heading"}};
            cr_assert(kind->x >= 0 && kind->y >= 0);
            for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
                if (meanings[i].index >= 0) {
                    cr_assert_str_eq(kind->fields[meanings[i].index].name, meanings[i].name);
                }
            }
        }
    }
}
