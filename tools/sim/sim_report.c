/* The report: what happened, nothing that depends on the machine. */
#include "server/match/match_rollback.h"
#include "tools/sim/sim_command.h"
#include "tools/sim/sim_rewind.h"

#include "shared/transport/arb_net.h"

#include <inttypes.h>

static void print_violations(FILE *out, const struct sim *sim)
{
    fprintf(out, "\"violations\":{");
    for (int i = 0; i < SIM_INVARIANTS; i++) {
        fprintf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "",
                sim_invariant_name((enum sim_invariant)i),
                sim_violations(sim, (enum sim_invariant)i));
    }
    fprintf(out, "},");
}

static void print_faults(FILE *out, const struct sim_command *command,
                         const struct sim_totals *totals)
{
    const char *comma = "";
    fprintf(out, "\"faults\":{");
    for (int i = 0; i < SIM_FAULTS; i++) {
        if ((command->faults >> i & 1) == 0) continue;
        fprintf(out, "%s\"%s\":%" PRIu64, comma, sim_fault_name((enum sim_fault)i),
                totals->faults[i]);
        comma = ",";
    }
    fprintf(out, "},");
}

static void print_network(FILE *out, const struct arb_simnet_counters *counters)
{
    fprintf(out, "\"network\":{\"delivered\":%" PRIu64, counters->delivered);
#define X(name, text) fprintf(out, ",\"%s\":%" PRIu64, #name, counters->name);
    ARB_LINK_COUNTER_MAP(X)
#undef X
    fprintf(out, "},");
}

static void print_rollback(FILE *out, const struct sim *sim)
{
    struct match_rollback_counts counts = match_rollback_counts(sim->match);
    fprintf(out,
            "\"rollback\":{\"merged\":%" PRIu64 ",\"assumed\":%" PRIu64 ",\"refused\":%" PRIu64
            ",\"reruns\":%" PRIu64 ",\"rerun_ticks\":%" PRIu64
            ",\"length_p95\":%u,\"length_p99\":%u,\"astray\":%" PRIu64 "},",
            counts.merged, counts.assumed, counts.refused, counts.reruns, counts.rerun_ticks,
            match_rollback_length(&counts, 95), match_rollback_length(&counts, 99), counts.astray);
}

void sim_report_print(FILE *out, const struct sim_command *command, const struct sim *sim)
{
    struct sim_totals t;
    sim_get_totals(sim, &t);
    double rate = sim_config(sim)->match.tick_rate;
    double client_seconds = (double)t.client_ticks / rate;
    fprintf(out,
            "{\"seed\":%" PRIu64 ",\"ticks\":%" PRIu64 ",\"clients\":%u,\"profile\":\"%s\","
            "\"mode\":\"%s\",\"first_tick\":%" PRIu64 ",",
            command->seed, sim_ticks(sim), command->clients, command->profile,
            sim_config(sim)->mode, sim_first_tick(sim));
    print_violations(out, sim);
    sim_rewind_print(out, sim);
    fprintf(out,
            "\"corrections\":{\"count\":%" PRIu64 ",\"mean_m\":%.6g,\"max_m\":%.6g,"
            "\"outside\":%" PRIu64 ",\"outside_mean_m\":%.6g,\"outside_max_m\":%.6g,"
            "\"starved\":%" PRIu64 ",\"jumped\":%" PRIu64 "},",
            t.corrections, t.corrections == 0 ? 0.0 : t.correction_sum_m / (double)t.corrections,
            (double)t.correction_max_m, t.corrections_outside,
            t.corrections_outside == 0 ? 0.0 : t.outside_sum_m / (double)t.corrections_outside,
            (double)t.outside_max_m, t.corrections_starved, t.corrections_jumped);
    fprintf(out,
            "\"inputs\":%" PRIu64 ",\"inputs_starved\":%" PRIu64 ",\"inputs_late\":%" PRIu64
            ",\"shots_fired\":%" PRIu64 ",",
            t.inputs, t.inputs_starved, t.inputs_late, t.shots);
    print_rollback(out, sim);
    fprintf(out,
            "\"frames_drawn\":%" PRIu64 ",\"between_two_percent\":%.3f,"
            "\"interpolation_ms\":%.1f,",
            t.frames_drawn,
            t.frames_drawn == 0 ? 0.0 : 100.0 * (double)t.frames_between / (double)t.frames_drawn,
            t.interpolations == 0 ? 0.0 : t.interpolation_sum_ms / (double)t.interpolations);
    fprintf(out, "\"bytes_per_second_per_client\":%.1f,",
            client_seconds > 0.0 ? (double)t.bytes_down / client_seconds : 0.0);
    fprintf(out,
            "\"connections\":%" PRIu64 ",\"connections_lost\":%" PRIu64 ",\"returns\":%" PRIu64
            ",\"dropped_ticks\":%" PRIu64 ",\"frames_unchecked\":%" PRIu64 ",",
            t.connections, t.connections_lost, t.returns, t.dropped_ticks, t.frames_unchecked);
    print_faults(out, command, &t);
    print_network(out, sim_network_counters(sim));
    fprintf(out, "\"checksum\":\"%016" PRIx64 "\"}\n", sim_checksum(sim));
}
