#include "tools/bots/report.h"

#include "shared/base/arb_input.h"

#include <cjson/cJSON.h>
#include <string.h>

/* name in the report, value of a client; all of them are summed in the totals */
#define COUNT_MAP(X)                                                                               \
    X("ticks", s->server_ticks)                                                                    \
    X("inputs_sent", s->inputs_sent)                                                               \
    X("inputs_consumed", s->inputs_consumed)                                                       \
    X("inputs_starved", s->inputs_starved)                                                         \
    X("inputs_late", s->inputs_late)                                                               \
    X("inputs_refused", s->inputs_refused)                                                         \
    X("snapshots", s->snapshots)                                                                   \
    X("snapshots_lost", s->snapshots_lost)                                                         \
    X("snapshots_undecodable", s->snapshots_undecodable)                                           \
    X("bad_snapshots", s->bad_snapshots)                                                           \
    X("bytes_up", s->bytes_up)                                                                     \
    X("bytes_down", s->bytes_down)                                                                 \
    X("resyncs", s->resyncs)                                                                       \
    X("bad_messages", s->bad_messages)                                                             \
    X("frozen_frames", s->frozen_frames)                                                           \
    X("sampled_frames", s->sampled_frames)                                                         \
    X("hits", b->hits)                                                                             \
    X("hits_taken", b->hits_taken)                                                                 \
    X("kills", b->kills)                                                                           \
    X("deaths", b->deaths)                                                                         \
    X("score", b->score)                                                                           \
    X("replayed", b->replayed)

/* name, value of a client; averaged in the totals */
#define MEASURE_MAP(X)                                                                             \
    X("rtt_ms", s->rtt_ms)                                                                         \
    X("jitter_ms", s->jitter_ms)                                                                   \
    X("lead_ticks", s->lead_ticks)                                                                 \
    X("interpolation_ms", s->interpolation_ms)                                                     \
    X("view_age_ms", s->view_age_ms)

/* Three decimals: what is measured is not better than that. */
static void add_measure(cJSON *object, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.3f", value);
    cJSON_AddRawToObject(object, name, text);
}

static void add_metres(cJSON *object, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6f", value);
    cJSON_AddRawToObject(object, name, text);
}

static void add_to(cJSON *object, const char *name, double value)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (item == NULL) {
        cJSON_AddNumberToObject(object, name, value);
    } else {
        cJSON_SetNumberValue(item, item->valuedouble + value);
    }
}

/* The fire bit is boost in `serpent`. */
static const char *button_name(int bit, const char *mode)
{
    if (bit == 0 && strcmp(mode, "serpent") == 0) {
        return "boost";
    }
    switch (bit) {
#define X(index, name, text)                                                                       \
    case index:                                                                                    \
        return text;
        ARB_BUTTON_MAP(X)
#undef X
    default:
        return NULL;
    }
}

static void add_edges(cJSON *object, cJSON *totals, const char *mode,
                      const struct arbiter_statistics *s)
{
    cJSON *taken = cJSON_AddObjectToObject(object, "edges");
    cJSON *sent = cJSON_AddObjectToObject(object, "edges_sent");
    cJSON *all_taken = cJSON_GetObjectItemCaseSensitive(totals, "edges");
    cJSON *all_sent = cJSON_GetObjectItemCaseSensitive(totals, "edges_sent");
    for (int bit = 0; bit < ARBITER_BUTTONS; bit++) {
        const char *name = button_name(bit, mode);
        if (name != NULL) {
            cJSON_AddNumberToObject(taken, name, (double)s->edges[bit]);
            cJSON_AddNumberToObject(sent, name, (double)s->edges_sent[bit]);
            add_to(all_taken, name, (double)s->edges[bit]);
            add_to(all_sent, name, (double)s->edges_sent[bit]);
        }
    }
}

struct correction_totals {
    double count, sum_m, max_m, outside, starved, jumped;
};

static void add_corrections(cJSON *object, const struct correction_totals *c)
{
    cJSON *out = cJSON_AddObjectToObject(object, "corrections");
    cJSON_AddNumberToObject(out, "count", c->count);
    add_metres(out, "mean_m", c->count > 0.0 ? c->sum_m / c->count : 0.0);
    add_metres(out, "max_m", c->max_m);
    cJSON_AddNumberToObject(out, "outside", c->outside);
    cJSON_AddNumberToObject(out, "starved", c->starved);
    cJSON_AddNumberToObject(out, "jumped", c->jumped);
}

static void sum_corrections(struct correction_totals *sum, const struct correction_totals *one)
{
    sum->count += one->count;
    sum->sum_m += one->sum_m;
    sum->max_m = one->max_m > sum->max_m ? one->max_m : sum->max_m;
    sum->outside += one->outside;
    sum->starved += one->starved;
    sum->jumped += one->jumped;
}

static struct correction_totals corrections_of(const struct arbiter_statistics *s)
{
    const struct arbiter_corrections *c = &s->corrections;
    return (struct correction_totals){
        .count = c->count,
        .sum_m = (double)c->mean_m * c->count,
        .max_m = (double)c->max_m,
        .outside = c->outside,
        .starved = c->starved,
        .jumped = c->jumped,
    };
}

static const char *reason_name(enum arbiter_reason reason)
{
    static const char *const names[] = {
        [ARBITER_REASON_NONE] = "none",         [ARBITER_REASON_ASKED] = "asked",
        [ARBITER_REASON_ADDRESS] = "address",   [ARBITER_REASON_NO_ANSWER] = "no_answer",
        [ARBITER_REASON_LOST] = "lost",         [ARBITER_REASON_VERSION] = "version",
        [ARBITER_REASON_FULL] = "full",         [ARBITER_REASON_ENDED] = "ended",
        [ARBITER_REASON_PROTOCOL] = "protocol", [ARBITER_REASON_SHUTDOWN] = "shutdown",
        [ARBITER_REASON_KICKED] = "kicked",     [ARBITER_REASON_BAD_SERVER] = "bad_server",
        [ARBITER_REASON_ROOM] = "room",
    };
    return names[reason];
}

static void add_client(cJSON *list, cJSON *totals, struct correction_totals *sum,
                       const struct arbiter_client *client, const struct bot *bot, uint32_t index,
                       const char *mode)
{
    struct arbiter_statistics statistics;
    struct arbiter_disconnect_info info;
    struct bot_counts counts = bot_counts(bot);
    const struct arbiter_statistics *s = &statistics;
    const struct bot_counts *b = &counts;
    arbiter_client_statistics(client, &statistics);
    arbiter_client_disconnect_info(client, &info);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(list, object);
    cJSON_AddNumberToObject(object, "id", index + 1);
    if (b->spectates) {
        cJSON_AddTrueToObject(object, "spectator");
        add_to(totals, "spectators", 1.0);
    }
#define X(name, value)                                                                             \
    cJSON_AddNumberToObject(object, name, (double)(value));                                        \
    add_to(totals, name, (double)(value));
    COUNT_MAP(X)
#undef X
#define X(name, value)                                                                             \
    add_measure(object, name, (double)(value));                                                    \
    add_to(totals, name, (double)(value));
    MEASURE_MAP(X)
#undef X
    add_edges(object, totals, mode, s);
    struct correction_totals own = corrections_of(s);
    add_corrections(object, &own);
    sum_corrections(sum, &own);
    cJSON_AddStringToObject(object, "disconnect", reason_name(info.reason));
}

static void average(cJSON *totals, uint32_t count)
{
#define X(name, value)                                                                             \
    {                                                                                              \
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(totals, name);                       \
        add_measure(totals, name, item == NULL ? 0.0 : item->valuedouble / (double)count);         \
        cJSON_Delete(item);                                                                        \
    }
    MEASURE_MAP(X)
#undef X
}

void report_print(FILE *out, struct arbiter_client *const *clients, struct bot *const *bots,
                  uint32_t count, const char *mode)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "mode", mode);
    cJSON *list = cJSON_AddArrayToObject(root, "clients");
    cJSON *totals = cJSON_AddObjectToObject(root, "totals");
    struct correction_totals sum = {0};
    cJSON_AddNumberToObject(totals, "clients", count);
    cJSON_AddObjectToObject(totals, "edges");
    cJSON_AddObjectToObject(totals, "edges_sent");
    for (uint32_t i = 0; i < count; i++) {
        add_client(list, totals, &sum, clients[i], bots[i], i, mode);
    }
    average(totals, count);
    add_corrections(totals, &sum);
    report_traffic(totals, clients, count);
    char *text = cJSON_PrintUnformatted(root);
    if (text != NULL) {
        fprintf(out, "%s\n", text);
        cJSON_free(text);
    }
    cJSON_Delete(root);
}
