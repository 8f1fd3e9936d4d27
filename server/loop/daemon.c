#define _GNU_SOURCE
#include "server/loop/daemon.h"

#include "server/loop/clock.h"
#include "server/loop/loop.h"
#include "server/loop/loop_check.h"
#include "server/loop/loop_effects.h"
#include "server/loop/loop_journal.h"
#include "server/loop/loop_log.h"
#include "server/loop/loop_reload.h"
#include "server/loop/loop_trace.h"
#include "server/loop/loop_traffic.h"
#include "server/match/match_past.h"
#include "server/ops/log.h"
#include "server/ops/result.h"

#include "shared/base/arb_assert.h"
#include "shared/move/arb_geometry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    SPARE_SESSIONS = 16,     /* beside those who have a place: those who are told that it is full */
    BAD_MESSAGES_MAX = 32,   /* then a session is cut */
    RELIABLE_BYTES = 262144, /* that a client may leave unacknowledged, beside its welcome */
    SHAPE_BYTES = 160, /* of a static shape in the welcome, in parts and counted by the transport */
};

_Static_assert((int)CONFIG_SESSIONS_MAX <= (int)ARB_NET_PEERS_MAX &&
                   2 * (int)ARB_PLAYERS_MAX + (int)SPARE_SESSIONS <= (int)ARB_NET_PEERS_MAX,
               "whatever is configured, the transport has places for it");

/* The choices of shutdown.on_term. */
enum { ON_TERM_FINISH, ON_TERM_ABORT };

/* What lives as long as the process. */
struct daemon {
    const struct config *config;
    const struct map *map;
    const struct loop_serving *serving;
    uint8_t match_id[16];
    struct arb_geometry *geometry;
    struct arb_carrier *carrier; /* NULL once the transport owns it */
    struct net *net;
    struct match *match;
    bool diverged; /* by the synctest: whatever follows is worth nothing */
    struct loop *loop;
    struct ops_trace *trace;      /* NULL: shots are not written down */
    struct loop_journal *journal; /* NULL: the match is not */
    struct loop_reload *reload;
    struct loop_log_observer observer;
    struct loop_resumed resumed; /* path NULL: it is a match of this process */
    struct journal_ledger *ledger;
    const struct match_result *result; /* while it is handed out */
    enum arb_result result_written;
    char result_error[OPS_ERROR_BYTES];
};

/* ---- start ---- */

static enum arb_result draw(void *bytes, size_t count, char *error)
{
    if (getrandom(bytes, count, 0) == (ssize_t)count) return ARB_OK;
    snprintf(error, LOOP_ERROR_BYTES, "the system gives no random bytes");
    return ARB_NO_RESULT;
}

/* The system's source was asked at the start already: it does not run dry. */
static void draw_token(void *owner, uint8_t *bytes, size_t count)
{
    (void)owner;
    ssize_t got = getrandom(bytes, count, 0);
    ARB_ASSERT(got == (ssize_t)count);
}

static uint64_t read_clock(void *owner)
{
    (void)owner;
    return loop_now_ns();
}

static enum arb_result open_net(struct daemon *daemon, struct arb_arena *arena, char *error)
{
    const struct config *config = daemon->config;
    enum arb_result result = arb_udp_open(config->net.address, (uint16_t)config->net.port,
                                          &daemon->carrier, error, LOOP_ERROR_BYTES);
    if (result != ARB_OK) return result;
    uint32_t sessions = config->net.max_sessions > 0
                            ? (uint32_t)config->net.max_sessions
                            : (uint32_t)config->match.max_players +
                                  (uint32_t)config->match.spectator_max + SPARE_SESSIONS;
    struct arb_net_options options = {
        .peer_capacity = sessions,
        .reliable_bytes_max = RELIABLE_BYTES + daemon->map->shape_count * SHAPE_BYTES,
        .full_queue_data = ARB_REFUSED_KICKED,
        .no_place_data = ARB_REFUSED_FULL,
    };
    result = draw(&options.seed, sizeof options.seed, error);
    if (result != ARB_OK) return result;
    struct arb_net *transport = arb_net_create(daemon->carrier, &options, loop_now_ns());
    daemon->carrier = NULL; /* it owns it, and has closed it where there is none */
    if (transport == NULL) {
        snprintf(error, LOOP_ERROR_BYTES, "out of memory for %u sessions", sessions);
        return ARB_MEMORY;
    }
    struct net_config net = {
        .session_capacity = sessions,
        .messages_per_tick = (uint32_t)config->net.messages_per_tick,
        .bad_messages_max = BAD_MESSAGES_MAX,
        .hello_timeout_ms = (uint32_t)config->auth.timeout_ms,
        .tick_rate = (uint32_t)config->match.tick_rate,
        .player_joins_per_tick = (uint32_t)config->match.max_players,
        .clock = read_clock,
        .spectator_delay_ticks = match_spectator_delay_ticks(&config->match),
        .random = draw_token,
        .notice = loop_log_notice,
        .observer = &daemon->observer,
    };
    daemon->net = net_create(arena, &net, transport);
    daemon->observer.net = daemon->net;
    return ARB_OK;
}

static enum arb_result open_match(struct daemon *daemon, struct arb_arena *arena, char *error)
{
    struct match_config numbers = daemon->config->match;
    if (!numbers.seed.set) {
        enum arb_result result = draw(&numbers.seed.value, sizeof numbers.seed.value, error);
        if (result != ARB_OK) return result;
        numbers.seed.set = 1;
    }
    enum arb_result result = draw(daemon->match_id, sizeof daemon->match_id, error);
    if (result != ARB_OK) return result;
    struct loop_resume *resume = daemon->serving->resume;
    if (resume != NULL) {
        memcpy(daemon->match_id, loop_resume_head(resume)->match_id, sizeof daemon->match_id);
    }
    numbers.back_ticks = (int32_t)daemon->serving->synctest_ticks;
    struct match_port port = net_port(daemon->net);
    daemon->match =
        match_create(arena, &numbers, loop_rules(daemon->config), loop_params(daemon->config),
                     daemon->map, daemon->geometry, daemon->match_id, &port);
    if (resume != NULL) {
        result = loop_resume_play(resume, daemon->match, arena, error);
        if (result != ARB_OK) return result;
        daemon->resumed = loop_resume_take(resume);
    }
    return ARB_OK;
}

static void on_shots(void *owner, const struct rules_shot *shots, uint32_t count)
{
    const struct daemon *daemon = owner;
    loop_trace_shots(daemon->trace, daemon->match, shots, count);
}

static void on_flown(void *owner, const struct rules_shot *shots,
                     const struct rules_flights *flights)
{
    const struct daemon *daemon = owner;
    loop_trace_flown(daemon->trace, daemon->match, shots, flights);
}

static enum arb_result open_trace(struct daemon *daemon, struct arb_arena *arena, char *error)
{
    enum arb_result result = loop_trace_open(&daemon->trace, daemon->config, daemon->map,
                                             daemon->match_id, arena, error);
    if (daemon->trace == NULL) return result;
    if (!ops_trace_start(daemon->trace)) {
        snprintf(error, LOOP_ERROR_BYTES, "debug.rewind_trace: no thread is to be had for it");
        return ARB_MEMORY;
    }
    match_observe(daemon->match,
                  &(struct match_observer){.owner = daemon, .shots = on_shots, .flown = on_flown});
    return ARB_OK;
}

/* ---- end ---- */

static bool write_result(void *owner)
{
    struct daemon *daemon = owner;
    const char *path = daemon->config->result_path;
    if (path[0] != '\0') {
        daemon->result_written =
            ops_result_write(path, daemon->result, daemon->config->map, daemon->result_error);
    }
    return daemon->result_written == ARB_OK;
}

static void on_decided(void *owner)
{
    struct daemon *daemon = owner;
    static struct match_result result; /* large, and once per process */
    match_get_result(daemon->match, &result);
    const char *path = daemon->config->result_path;
    struct loop_effects effects = {daemon->ledger, daemon->journal};
    daemon->result_written = ARB_OK;
    daemon->result = &result;
    if (loop_effects_deliver(&effects, LOOP_RESULT_KEY, write_result, daemon) ==
        LOOP_EFFECT_HAD_LEFT) {
        return; /* by the process before */
    }
    char id[MATCH_ID_TEXT_BYTES];
    match_id_text(result.match_id, id);
    ops_log(OPS_INFO, "match_ended", OPS_TEXT("match_id", id),
            OPS_TEXT("end_reason", arb_end_reason_text(result.end_reason)),
            OPS_UINT("ticks", result.ticks), OPS_UINT("players", result.player_count),
            OPS_TEXT("result_path", path));
    loop_log_lagcomp(&result);
}

/* What was decided in this tick stands; a match on another course is not to be gone on with. */
static void run_again(struct daemon *daemon)
{
    char text[256];
    uint32_t ticks = daemon->serving->synctest_ticks;
    if (ticks == 0 || daemon->diverged) return;
    if (match_repeats(daemon->match, ticks, text, sizeof text)) return;
    daemon->diverged = true;
    ops_log(OPS_ERROR, "diverged", OPS_TEXT("text", text));
    match_abort(daemon->match, ARB_END_ABORTED);
}

static void on_ticked(void *owner)
{
    struct daemon *daemon = owner;
    loop_journal_tick(daemon->journal, daemon->match);
    run_again(daemon);
    loop_reload_look(daemon->reload, daemon->match);
}

static void on_hangup(void *owner)
{
    struct daemon *daemon = owner;
    loop_reload_begin(daemon->reload);
}

static enum arb_result open_loop(struct daemon *daemon, char *error)
{
    const struct match_config *numbers = &daemon->config->match;
    struct loop_options options = {
        .match = daemon->match,
        .net = daemon->net,
        .tick_rate = (uint32_t)numbers->tick_rate,
        .max_catchup_ticks = (uint32_t)numbers->max_catchup_ticks,
        .join_timeout_s = (uint32_t)numbers->join_timeout_s,
        .idle_exit_s = (uint32_t)numbers->idle_exit_s,
        .grace_s = (uint32_t)daemon->config->shutdown.grace_s,
        .abort_on_signal = daemon->config->shutdown.on_term == ON_TERM_ABORT,
        .ticked = on_ticked,
        .hangup = on_hangup,
        .decided = on_decided,
        .owner = daemon,
    };
    daemon->loop = loop_create(&options, error, LOOP_ERROR_BYTES);
    return daemon->loop != NULL ? ARB_OK : ARB_FILES;
}

/* What is not in view is not hit, however far a weapon reaches. */
static void warn_of_reach(const struct config *config)
{
    const struct rules *rules = loop_rules(config);
    float reach = rules->reach != NULL ? rules->reach(loop_params(config)) : 0.0F;
    if (reach > config->match.interest_enter_m) {
        ops_log(OPS_WARN, "configuration",
                OPS_TEXT("text", "weapons reach farther than interest.enter_m: they meet nobody "
                                 "whom the shooter has not in view"),
                OPS_NUMBER("reach_m", (double)reach),
                OPS_NUMBER("enter_m", (double)config->match.interest_enter_m));
    }
}

/* Whoever plays may watch beside it. */
static void warn_of_watchers(const struct config *config)
{
    if (config->match.interest_line_of_sight && config->match.spectator_max > 0 &&
        config->match.spectator_delay_s == 0) {
        ops_log(OPS_WARN, "configuration",
                OPS_TEXT("text",
                         "interest.line_of_sight hides nothing from a player who also comes "
                         "as a spectator: set spectator.delay_s, or spectator.max to 0"));
    }
}

static void log_ready(const struct daemon *daemon)
{
    char id[MATCH_ID_TEXT_BYTES];
    char seed[24];
    match_id_text(daemon->match_id, id);
    snprintf(seed, sizeof seed, "%" PRIu64, match_world(daemon->match)->head->seed);
    const struct arb_carrier *carrier = arb_net_carrier(net_transport(daemon->net));
    double ready_ms = (double)(loop_now_ns() - daemon->serving->started_ns) / 1e6;
    ops_log(OPS_INFO, "ready", OPS_UINT("port", arb_carrier_port(carrier)),
            OPS_NUMBER("ready_ms", ready_ms), OPS_TEXT("address", daemon->config->net.address),
            OPS_TEXT("match_id", id), OPS_TEXT("seed", seed),
            OPS_TEXT("mode", daemon->config->mode), OPS_TEXT("map", daemon->config->map),
            OPS_UINT("receive_buffer_bytes", arb_carrier_receive_buffer(carrier)));
}

static void log_drops(const struct match *match)
{
    struct match_drops drops = match_drops(match);
    bool lost = drops.events > 0 || drops.contacts > 0 || drops.spectator_events > 0;
    ops_log(lost ? OPS_WARN : OPS_INFO, "drops", OPS_UINT("events", drops.events),
            OPS_UINT("contacts", drops.contacts), OPS_UINT("joins_refused", drops.joins),
            OPS_UINT("spectators_refused", drops.spectators),
            OPS_UINT("spectator_events", drops.spectator_events));
}

static bool had_result(const struct daemon *daemon)
{
    return journal_ledger_has(daemon->ledger, LOOP_RESULT_KEY, strlen(LOOP_RESULT_KEY));
}

static void log_resumed(const struct daemon *daemon)
{
    const struct loop_resumed *resumed = &daemon->resumed;
    if (resumed->path == NULL) return;
    ops_log(OPS_INFO, "resumed", OPS_TEXT("path", resumed->path), OPS_UINT("tick", resumed->tick),
            OPS_UINT("replayed_ticks", resumed->tick - resumed->from),
            OPS_UINT("torn_bytes", resumed->torn_bytes),
            OPS_UINT("players", match_present_count(daemon->match)),
            OPS_TEXT("result", had_result(daemon) ? "was handed out"
                               : resumed->ended   ? "is handed out now"
                                                  : "is to come"));
}

static void play(struct daemon *daemon, char *error, enum arb_result *result)
{
    static struct loop_report report;
    log_resumed(daemon);
    warn_of_reach(daemon->config);
    warn_of_watchers(daemon->config);
    log_ready(daemon);
    loop_run(daemon->loop, &report);
    loop_log_report(&report, daemon->net);
    loop_log_rollback(daemon->match);
    loop_log_traffic(daemon->match, loop_rules(daemon->config)->schema, daemon->net);
    log_drops(daemon->match);
    loop_destroy(daemon->loop);
    *result =
        match_decided(daemon->match) && !daemon->diverged ? daemon->result_written : ARB_NO_RESULT;
    if (daemon->diverged) {
        snprintf(error, LOOP_ERROR_BYTES, "the synctest found another course, see above");
    } else if (*result == ARB_NO_RESULT) {
        snprintf(error, LOOP_ERROR_BYTES, "the grace was over before the match had a result");
    } else if (*result != ARB_OK) {
        snprintf(error, LOOP_ERROR_BYTES, "%s", daemon->result_error);
    }
}

static void close_trace(struct daemon *daemon)
{
    if (daemon->trace == NULL) return;
    struct ops_trace_counts counts = ops_trace_close(daemon->trace);
    ops_log(counts.error != 0 || counts.dropped > 0 ? OPS_WARN : OPS_INFO, "rewind_trace",
            OPS_TEXT("path", daemon->config->rewind_trace), OPS_UINT("shots", counts.written),
            OPS_UINT("dropped", counts.dropped),
            OPS_TEXT("error", counts.error != 0 ? strerror(counts.error) : ""));
}

static void close_all(struct daemon *daemon)
{
    close_trace(daemon);
    loop_journal_close(daemon->journal);
    if (daemon->match != NULL) match_destroy(daemon->match);
    if (daemon->net != NULL) net_destroy(daemon->net);
    arb_carrier_close(daemon->carrier);
    if (daemon->geometry != NULL) arb_geometry_destroy(daemon->geometry);
}

enum arb_result loop_serve(const struct config *config, struct arb_arena *arena,
                           const struct map *map, const struct loop_serving *serving,
                           char error[LOOP_ERROR_BYTES])
{
    struct daemon daemon = {.config = config, .map = map, .serving = serving};
    enum arb_result result = loop_check_files(config, serving->resume != NULL, error);
    if (result == ARB_OK) result = open_net(&daemon, arena, error);
    if (result == ARB_OK) {
        daemon.geometry = arb_geometry_create(map->shapes, map->shape_count, map->bounds);
        result = open_match(&daemon, arena, error);
    }
    daemon.ledger = daemon.resumed.path != NULL ? daemon.resumed.ledger
                                                : journal_ledger_create(arena, LOOP_EFFECTS_MAX);
    if (result == ARB_OK && had_result(&daemon) && match_ended(daemon.match)) {
        log_resumed(&daemon);
        close(daemon.resumed.fd);
        close_all(&daemon);
        return ARB_OK;
    }
    if (result == ARB_OK) result = open_trace(&daemon, arena, error);
    if (result == ARB_OK) {
        result =
            loop_journal_open(&daemon.journal, config, daemon.match,
                              daemon.resumed.path != NULL ? &daemon.resumed : NULL, arena, error);
    }
    daemon.reload =
        loop_reload_create(arena, &serving->reload, config, map, daemon.resumed.path != NULL);
    if (result == ARB_OK) result = open_loop(&daemon, error);
    if (result == ARB_OK) {
        arb_arena_seal(arena);
        play(&daemon, error, &result);
    }
    close_all(&daemon);
    return result;
}
