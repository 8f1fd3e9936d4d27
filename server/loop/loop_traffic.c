#include "server/loop/loop_traffic.h"

#include "server/ops/log.h"
#include "server/replicate/replicate.h"

static void log_messages(const char *event, const struct net_traffic *traffic)
{
    for (int type = 0; type < ARB_MESSAGE_TYPES; type++) {
        if (traffic[type].messages == 0) continue;
        const char *name = arb_message_name(type);
        ops_log(OPS_INFO, event, OPS_TEXT("type", name != NULL ? name : "unknown"),
                OPS_UINT("count", traffic[type].messages), OPS_UINT("bytes", traffic[type].bytes));
    }
}

static double per(uint64_t sum, uint64_t count)
{
    return count == 0 ? 0.0 : (double)sum / (double)count;
}

static void log_snapshots(const char *event, const struct replicate *replicate)
{
    struct replicate_counts counts = replicate_totals(replicate);
    const struct replicate_traffic *traffic = replicate_traffic(replicate);
    ops_log(OPS_INFO, event, OPS_UINT("sent", counts.snapshots), OPS_UINT("chunks", counts.chunks),
            OPS_UINT("parities", counts.parities), OPS_UINT("bytes", counts.bytes),
            OPS_UINT("full", counts.full), OPS_UINT("deferred", counts.deferred),
            OPS_UINT("dropped", counts.dropped), OPS_UINT("held", counts.held),
            OPS_UINT("slowed", counts.slowed), OPS_UINT("bad_acks", counts.bad_acks),
            OPS_UINT("reduced", counts.reduced),
            OPS_NUMBER("stream_bits_each", per(traffic->stream_bits, traffic->snapshots)),
            OPS_NUMBER("own_bits_each", per(traffic->own_bits, traffic->snapshots)));
}

static void log_kind(const struct arb_kind *kind, const struct replicate_kind_traffic *of,
                     uint64_t snapshots)
{
    uint64_t seen = of->unchanged + of->updates + of->left_out + of->enters;
    ops_log(OPS_INFO, "snapshot_kind", OPS_TEXT("kind", kind->name),
            OPS_NUMBER("in_view", per(seen, snapshots)), OPS_UINT("updates", of->updates),
            OPS_NUMBER("update_bits_each", per(of->update_bits, of->updates)),
            OPS_UINT("enters", of->enters),
            OPS_NUMBER("enter_bits_each", per(of->enter_bits, of->enters)),
            OPS_UINT("unchanged", of->unchanged), OPS_UINT("left_out", of->left_out),
            OPS_UINT("gone", of->gone));
}

/* Who watched; with a delay what they were sent is no part of the players' snapshots. */
static void log_spectators(const struct match *match)
{
    struct match_spectators_seen seen = match_spectators_seen(match);
    if (seen.came == 0 && seen.refused == 0) return;
    ops_log(OPS_INFO, "spectators", OPS_UINT("came", seen.came), OPS_UINT("most", seen.most),
            OPS_UINT("now", match_spectator_count(match)), OPS_UINT("refused", seen.refused),
            OPS_UINT("events_dropped", seen.events_dropped));
    if (seen.replicate != match_replicate(match)) {
        log_snapshots("spectator_snapshots", seen.replicate);
    }
}

void loop_log_traffic(const struct match *match, const struct arb_schema *schema,
                      const struct net *net)
{
    const struct replicate *replicate = match_replicate(match);
    const struct replicate_traffic *traffic = replicate_traffic(replicate);
    log_snapshots("snapshots", replicate);
    for (int kind = 0; kind < schema->kind_count; kind++) {
        log_kind(&schema->kinds[kind], &traffic->kinds[kind], traffic->snapshots);
    }
    log_spectators(match);
    log_messages("messages_down", net_counters(net)->out);
    log_messages("messages_up", net_counters(net)->in);
}
