#include "shared/proto/arb_schema.h"

#include "shared/base/arb_hash.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

static const struct arb_schema *const schemas[] = {&arb_schema_arena, &arb_schema_serpent};

enum { SCHEMAS = sizeof schemas / sizeof schemas[0] };

const struct arb_published *arb_frame_find(const struct arb_frame *frame, struct arb_key key)
{
    uint32_t wanted = arb_key_order(key);
    uint32_t low = 0;
    uint32_t high = frame->entity_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (arb_key_order(frame->entities[middle].key) < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < frame->entity_count && arb_key_equal(frame->entities[low].key, key);
    return found ? &frame->entities[low] : NULL;
}

const struct arb_schema *arb_schema_find(const char *name)
{
    for (int i = 0; i < SCHEMAS; i++) {
        if (strcmp(schemas[i]->name, name) == 0) {
            return schemas[i];
        }
    }
    return NULL;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return arb_hash(text, strlen(text), hash);
}

static uint64_t hash_kind(uint64_t hash, const struct arb_kind *kind)
{
    hash = hash_text(hash, kind->name);
    hash = arb_hash_mix(hash, kind->field_count);
    hash = arb_hash_mix(hash, kind->has_body);
    hash = arb_hash_mix(hash, kind->has_path);
    for (int i = 0; i < kind->field_count; i++) {
        const struct arb_kind_field *field = &kind->fields[i];
        uint32_t unit;
        memcpy(&unit, &field->unit, sizeof unit);
        hash = hash_text(hash, field->name);
        hash = arb_hash_mix(hash, field->bits);
        hash = arb_hash_mix(hash, field->is_signed);
        hash = arb_hash_mix(hash, unit);
    }
    return hash;
}

static uint64_t hash_messages(uint64_t hash)
{
#define X(value, name, sender, channel, text)                                                      \
    hash = arb_hash_mix(hash_text(hash, #name), (value) << 16 | (sender) << 8 | (channel));
    ARB_MESSAGE_MAP(X)
#undef X
#define X(value, name, suffix, text) hash = arb_hash_mix(hash_text(hash, #name), value);
    ARB_EVENT_MAP(X)
#undef X
    return hash;
}

uint64_t arb_proto_schema_hash(void)
{
    uint64_t hash = arb_hash_mix(ARB_PROTOCOL_VERSION, ARB_PROTO_MOVE_TABLES_HASH);
    hash = hash_messages(hash);
    for (size_t i = 0; i < arb_proto_table_count; i++) {
        hash = arb_proto_fields_hash(hash, arb_proto_tables[i]);
    }
    for (int i = 0; i < SCHEMAS; i++) {
        hash = arb_hash_mix(hash_text(hash, schemas[i]->name), schemas[i]->mover);
        for (int k = 0; k < schemas[i]->kind_count; k++) {
            hash = hash_kind(hash, &schemas[i]->kinds[k]);
        }
    }
    return hash;
}
