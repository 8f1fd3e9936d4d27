#include "server/loop/loop_log.h"

#include "server/match/match_rollback.h"
#include "server/ops/log.h"

#include "shared/base/arb_assert.h"

static const char *refusal_text(enum arb_refusal reason)
{
    switch (reason) {
    case ARB_REFUSED_VERSION:
        return "version";
    case ARB_REFUSED_FULL:
        return "full";
    case ARB_REFUSED_ENDED:
        return "ended";
    case ARB_REFUSED_PROTOCOL:
        return "protocol";
    case ARB_REFUSED_SHUTDOWN:
        return "shutdown";
    case ARB_REFUSED_KICKED:
        return "kicked";
    case ARB_REFUSED_TOKEN:
        return "token";
    case ARB_REFUSED_REPLACED:
        return "replaced";
    }
    return "unknown";
}

void loop_log_notice(void *observer, const struct net_notice *notice)
{
    const struct loop_log_observer *self = observer;
    ARB_ASSERT(self->net != NULL);
    char address[ARB_NET_ADDRESS_TEXT];
    net_session_address(self->net, notice->session, address);
    struct ops_field session = OPS_UINT("session", notice->session.index);
    struct ops_field epoch = OPS_UINT("epoch", notice->session.epoch);
    struct ops_field from = OPS_TEXT("address", address);
    struct ops_field role =
        OPS_TEXT("role", notice->role == ARB_ROLE_SPECTATOR ? "spectator" : "player");
    switch (notice->type) {
    case NET_CONNECTED:
        ops_log(OPS_DEBUG, "connected", session, epoch, from);
        break;
    case NET_HELLO:
        ops_log(OPS_INFO, "hello", session, epoch, from, OPS_TEXT("name", notice->name), role,
                OPS_UINT("resume", notice->resume));
        break;
    case NET_ENDED:
        ops_log(OPS_INFO, "session_ended", session, epoch);
        break;
    case NET_REFUSED:
        /* At the end of a match everybody is told that it is over: no news. */
        ops_log(notice->reason == ARB_REFUSED_ENDED ? OPS_DEBUG : OPS_INFO, "refused", session,
                epoch, from, OPS_TEXT("reason", refusal_text(notice->reason)), role);
        break;
    case NET_CUT_SILENT:
        ops_log(OPS_INFO, "cut_silent", session, epoch);
        break;
    }
}

static void log_ticks(const struct loop_report *report)
{
    const struct loop_histogram *late = &report->lateness;
    const struct loop_histogram *work = &report->work;
    double within = late->count == 0
                        ? 100.0
                        : 100.0 * (double)loop_histogram_within_ms(late) / (double)late->count;
    ops_log(OPS_INFO, "ticks", OPS_UINT("run", late->count),
            OPS_NUMBER("ticking_s", (double)report->ticking_ns / 1e9),
            OPS_UINT("dropped", report->dropped_ticks), OPS_NUMBER("within_1ms_percent", within),
            OPS_UINT("late_p50_us", loop_histogram_us(late, 500)),
            OPS_UINT("late_p99_us", loop_histogram_us(late, 990)),
            OPS_UINT("late_max_us", late->max_ns / 1000),
            OPS_UINT("work_p50_us", loop_histogram_us(work, 500)),
            OPS_UINT("work_p99_us", loop_histogram_us(work, 990)),
            OPS_UINT("work_max_us", work->max_ns / 1000),
            OPS_UINT("live_allocations", report->allocations));
}

static void log_messages(const struct net_counters *counters)
{
    ops_log(OPS_INFO, "messages", OPS_UINT("received", counters->messages),
            OPS_UINT("empty", counters->refused[ARB_DECODE_EMPTY]),
            OPS_UINT("unknown", counters->refused[ARB_DECODE_UNKNOWN]),
            OPS_UINT("short", counters->refused[ARB_DECODE_SHORT]),
            OPS_UINT("long", counters->refused[ARB_DECODE_LONG]),
            OPS_UINT("range", counters->refused[ARB_DECODE_RANGE]),
            OPS_UINT("order", counters->refused[ARB_DECODE_ORDER]),
            OPS_UINT("over_limit", counters->over_limit),
            OPS_UINT("versions_refused", counters->versions_refused),
            OPS_UINT("cut_offenders", counters->cut_offenders),
            OPS_UINT("cut_silent", counters->cut_silent));
}

void loop_log_report(const struct loop_report *report, struct net *net)
{
    log_ticks(report);
    log_messages(net_counters(net));
    const struct arb_net_counters *counters = arb_net_counters(net_transport(net));
#define X(name, text) OPS_UINT(#name, counters->name),
    const struct ops_field fields[] = {ARB_NET_COUNTER_MAP(X)};
#undef X
    ops_log_fields(OPS_INFO, "datagrams", fields, sizeof fields / sizeof fields[0]);
}

void loop_log_rollback(const struct match *match)
{
    struct match_rollback_counts counts = match_rollback_counts(match);
    if (counts.ticks == 0) return;
    double ticks = (double)counts.ticks;
    ops_log(OPS_INFO, "rollback", OPS_UINT("merged", counts.merged),
            OPS_UINT("assumed", counts.assumed), OPS_UINT("refused", counts.refused),
            OPS_UINT("reruns", counts.reruns),
            OPS_NUMBER("reruns_per_tick", (double)counts.reruns / ticks),
            OPS_NUMBER("ticks_per_tick", (double)counts.rerun_ticks / ticks),
            OPS_UINT("length_p95", match_rollback_length(&counts, 95)),
            OPS_UINT("length_p99", match_rollback_length(&counts, 99)),
            OPS_UINT("astray", counts.astray), OPS_UINT("short_ticks", counts.short_ticks));
}

void loop_log_lagcomp(const struct match_result *result)
{
    const struct match_fairness *fairness = &result->fairness;
    const struct match_histogram *shots = &fairness->rewound_shots;
    if (shots->count == 0) return;
    ops_log(OPS_INFO, "rewound", OPS_UINT("shots", shots->count),
            OPS_UINT("p50_ms", match_histogram_ms(shots, 500)),
            OPS_UINT("p90_ms", match_histogram_ms(shots, 900)),
            OPS_UINT("p99_ms", match_histogram_ms(shots, 990)), OPS_UINT("max_ms", shots->max_ms),
            OPS_UINT("hits", fairness->rewound_hits.count),
            OPS_UINT("cover_p99_ms", match_histogram_ms(&fairness->cover_hits, 990)),
            OPS_UINT("cover_max_ms", fairness->cover_hits.max_ms),
            OPS_UINT("spared", fairness->spared), OPS_UINT("unseen", result->views.unseen));
    struct ops_field fields[MATCH_VIEW_VERDICTS];
    for (int i = 0; i < MATCH_VIEW_VERDICTS; i++) {
        fields[i] =
            OPS_UINT(match_view_verdict_text((enum match_view_verdict)i), result->views.claims[i]);
    }
    ops_log_fields(OPS_INFO, "claimed_views", fields, MATCH_VIEW_VERDICTS);
    if (match_fairness_idle(fairness)) {
        ops_log(OPS_WARN, "rewind_idle",
                OPS_TEXT("text", "lag compensation is on, but the shots of players with a round "
                                 "trip of 100 ms or more were hardly rewound"),
                OPS_UINT("max_rewind_ms", fairness->max_rewind_ms),
                OPS_UINT("shots", fairness->slow_shots),
                OPS_UINT("mean_ms", fairness->slow_rewound_ms / fairness->slow_shots));
    }
}
