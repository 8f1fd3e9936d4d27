#include "tools/bots/report.h"

#include "shared/client/arb_client_light.h"

#include <cjson/cJSON.h>

static void add_kind(struct arb_delta_kind_account *sum, const struct arb_delta_kind_account *one)
{
    sum->unchanged += one->unchanged;
    sum->left_out += one->left_out;
    sum->gone += one->gone;
    sum->updates += one->updates;
    sum->enters += one->enters;
    sum->said_bits += one->said_bits;
    sum->enter_bits += one->enter_bits;
    for (int i = 0; i < ARB_KIND_FIELDS_MAX; i++) {
        sum->field_bits[i] += one->field_bits[i];
    }
    sum->mask_bits += one->mask_bits;
    sum->body_bits += one->body_bits;
}

/* `sum` has in last_ns how long all of them heard the server. */
static void add_account(struct arb_client_account *sum, const struct arb_client_account *one)
{
    sum->last_ns += one->last_ns - one->first_ns;
    for (int type = 0; type < ARB_MESSAGE_TYPES; type++) {
        sum->types[type].messages += one->types[type].messages;
        sum->types[type].bytes += one->types[type].bytes;
    }
    sum->streams.streams += one->streams.streams;
    sum->streams.own_bits += one->streams.own_bits;
    for (int kind = 0; kind < ARB_KINDS_MAX; kind++) {
        add_kind(&sum->streams.kinds[kind], &one->streams.kinds[kind]);
    }
}

static void put_messages(cJSON *out, const struct arb_client_account *sum)
{
    for (int type = 0; type < ARB_MESSAGE_TYPES; type++) {
        if (sum->types[type].messages == 0) continue;
        const char *name = arb_message_name(type);
        cJSON *row = cJSON_AddObjectToObject(out, name != NULL ? name : "unknown");
        cJSON_AddNumberToObject(row, "messages", (double)sum->types[type].messages);
        cJSON_AddNumberToObject(row, "bytes", (double)sum->types[type].bytes);
    }
}

/* x stands for the place, vx for the speed: both values share their codes. */
static void put_update_bits(cJSON *out, const struct arb_kind *kind,
                            const struct arb_delta_kind_account *sum)
{
    for (int i = 0; i < kind->field_count; i++) {
        if (i == kind->y || (kind->vy >= 0 && i == kind->vy)) continue;
        cJSON_AddNumberToObject(out, kind->fields[i].name, (double)sum->field_bits[i]);
    }
    cJSON_AddNumberToObject(out, "others", (double)sum->mask_bits);
    if (kind->has_body) cJSON_AddNumberToObject(out, "body", (double)sum->body_bits);
}

static double bits_of(const struct arb_delta_kind_account *sum)
{
    uint64_t bits = sum->said_bits + sum->enter_bits + sum->mask_bits + sum->body_bits;
    for (int i = 0; i < ARB_KIND_FIELDS_MAX; i++) {
        bits += sum->field_bits[i];
    }
    return (double)bits;
}

/* `seconds` of all clients together. */
static void put_kind(cJSON *out, const struct arb_kind *kind,
                     const struct arb_delta_kind_account *sum, double seconds)
{
    cJSON *row = cJSON_AddObjectToObject(out, kind->name);
    double bytes = bits_of(sum) / 8.0;
    cJSON_AddNumberToObject(row, "bytes_per_s", seconds > 0.0 ? bytes / seconds : 0.0);
    cJSON_AddNumberToObject(row, "updates", (double)sum->updates);
    cJSON_AddNumberToObject(row, "unchanged", (double)sum->unchanged);
    cJSON_AddNumberToObject(row, "left_out", (double)sum->left_out);
    cJSON_AddNumberToObject(row, "gone", (double)sum->gone);
    cJSON_AddNumberToObject(row, "enters", (double)sum->enters);
    cJSON_AddNumberToObject(row, "said_bits", (double)sum->said_bits);
    cJSON_AddNumberToObject(row, "enter_bits", (double)sum->enter_bits);
    put_update_bits(cJSON_AddObjectToObject(row, "update_bits"), kind, sum);
}

void report_traffic(cJSON *totals, struct arbiter_client *const *clients, uint32_t count)
{
    struct arb_client_account sum = {0};
    const struct arb_schema *schema = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (schema == NULL) schema = arb_client_schema(clients[i]);
        if (arb_client_schema(clients[i]) == schema) {
            add_account(&sum, arb_client_account(clients[i]));
        }
    }
    put_messages(cJSON_AddObjectToObject(totals, "messages_down"), &sum);
    cJSON *streams = cJSON_AddObjectToObject(totals, "snapshot_streams");
    cJSON_AddNumberToObject(streams, "count", (double)sum.streams.streams);
    cJSON_AddNumberToObject(streams, "own_bits", (double)sum.streams.own_bits);
    cJSON *kinds = cJSON_AddObjectToObject(streams, "kinds");
    for (int kind = 0; schema != NULL && kind < schema->kind_count; kind++) {
        put_kind(kinds, &schema->kinds[kind], &sum.streams.kinds[kind], (double)sum.last_ns * 1e-9);
    }
}
