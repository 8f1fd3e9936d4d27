#define _GNU_SOURCE
#include "server/loop/loop.h"

#include "server/loop/clock.h"
#include "server/loop/rerun_budget.h"
#include "server/loop/scheduler.h"
#include "server/loop/timer.h"
#include "server/match/match_rollback.h"
#include "server/ops/log.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

static const uint64_t second_ns = 1000000000U;
static const uint64_t awake_ns = 2000000000U; /* ticks go on so long after a datagram */
static const uint64_t drain_ns = 2000000000U; /* for the last reliable messages */
static const uint64_t drain_step_ns = 10000000U;
static const uint64_t never_ns = UINT64_MAX / 4;

enum loop_state {
    LOOP_ASLEEP, /* nobody is there: no tick is due, the tick number stands still */
    LOOP_TICKING,
    LOOP_DRAINING, /* the match has ended for all, clients acknowledge and go */
    LOOP_DONE,
};

struct loop {
    struct loop_options options;
    uv_loop_t uv;
    uv_poll_t socket;
    uv_signal_t terminate, interrupt, hangup;
    struct loop_timer *timer;
    struct scheduler scheduler;
    struct rerun_budget budget;
    struct loop_report *report;
    enum loop_state state;
    bool somebody_came;
    bool decided;       /* the result was handed over */
    bool players_ended; /* the match has ended; only spectators are still there */
    uint32_t signals;
    uint64_t started_ns;
    uint64_t ticking_since_ns;
    uint64_t empty_since_ns; /* nobody is there since */
    uint64_t awake_until_ns;
    uint64_t drain_until_ns;
    uint64_t abort_at_ns; /* of the shutdown; never_ns: none */
    uint64_t stop_at_ns;
};

/* ---- asleep and awake ---- */

static bool is_deserted(const struct loop *loop)
{
    return net_session_count(loop->options.net) == 0 &&
           match_present_count(loop->options.match) == 0 &&
           match_phase(loop->options.match) == ARB_PHASE_WAITING;
}

/* When a match to which nobody came, or from which everyone left, ends. In real time, since no tick
 * passes while the loop sleeps. Who only connects does not put it off. */
static uint64_t desertion_end_ns(const struct loop *loop)
{
    if (loop->somebody_came) return loop->empty_since_ns + loop->options.idle_exit_s * second_ns;
    if (loop->options.join_timeout_s == 0) return never_ns;
    return loop->started_ns + loop->options.join_timeout_s * second_ns;
}

static void on_readable(uv_poll_t *poll, int status, int events);

/* The socket is watched only while nothing else wakes us. Ticks read it anyway, and the kernel says
 * when each datagram came: to be woken by every client's datagram would cost more than all the rest
 * of a tick. */
static void watch_socket(struct loop *loop)
{
    int failed = uv_poll_start(&loop->socket, UV_READABLE, on_readable);
    ARB_ASSERT(failed == 0);
}

static void fall_asleep(struct loop *loop)
{
    loop->state = LOOP_ASLEEP;
    watch_socket(loop);
    loop_timer_arm(loop->timer, desertion_end_ns(loop));
}

/* The deadlines count anew from here. */
static void wake(struct loop *loop, uint64_t now_ns)
{
    loop->state = LOOP_TICKING;
    uv_poll_stop(&loop->socket);
    loop->ticking_since_ns = now_ns;
    scheduler_start(&loop->scheduler, now_ns, loop->options.tick_rate,
                    loop->options.max_catchup_ticks);
    loop_timer_arm(loop->timer, scheduler_deadline_ns(&loop->scheduler));
}

static void end_match(struct loop *loop, enum arb_end_reason reason, uint64_t now_ns)
{
    match_abort(loop->options.match, reason);
    if (loop->state == LOOP_ASLEEP) wake(loop, now_ns);
}

/* ---- the end ---- */

static void stop(struct loop *loop)
{
    loop->state = LOOP_DONE;
    uv_stop(&loop->uv);
}

static void drain(struct loop *loop, uint64_t now_ns)
{
    net_receive(loop->options.net, now_ns, match_tick(loop->options.match), 0);
    if (net_session_count(loop->options.net) == 0 || now_ns >= loop->drain_until_ns ||
        now_ns >= loop->stop_at_ns) {
        stop(loop);
    } else {
        loop_timer_arm(loop->timer, now_ns + drain_step_ns);
    }
}

static void begin_draining(struct loop *loop, uint64_t now_ns)
{
    loop->report->match_ended = true;
    loop->report->ticking_ns += now_ns - loop->ticking_since_ns;
    loop->state = LOOP_DRAINING;
    loop->drain_until_ns = now_ns + drain_ns;
    net_close_door(loop->options.net, ARB_REFUSED_ENDED);
    net_end_all(loop->options.net, ARB_REFUSED_ENDED);
    drain(loop, now_ns);
}

/* ---- ticks ---- */

/* Whatever came in keeps us awake for a while. */
static void receive(struct loop *loop, uint64_t now_ns)
{
    struct net *net = loop->options.net;
    const struct arb_net_counters *counters = arb_net_counters(net_transport(net));
    uint64_t before = counters->datagrams_in;
    net_receive(net, now_ns, match_tick(loop->options.match),
                scheduler_fraction(&loop->scheduler, now_ns));
    if (counters->datagrams_in != before) loop->awake_until_ns = now_ns + awake_ns;
}

/* Told once: the numbers are in the line `rollback` at the end. */
static void limit_rerun(struct loop *loop)
{
    struct match *match = loop->options.match;
    uint64_t before = match_rollback_counts(match).short_ticks;
    match_limit_rerun(match, rerun_budget_ticks(&loop->budget));
    if (before == 0 && match_rollback_counts(match).short_ticks > 0) {
        ops_log(OPS_WARN, "rollback_short",
                OPS_TEXT("text", "running ticks again takes longer than there is time for: late "
                                 "inputs of the window's oldest ticks are refused"));
    }
}

static void run_one(struct loop *loop)
{
    struct loop_report *report = loop->report;
    struct match *match = loop->options.match;
    uint64_t start_ns = loop_now_ns();
    uint64_t deadline_ns = scheduler_deadline_ns(&loop->scheduler);
    uint64_t allocated = arb_mem_count();
    bool live = match_phase(match) == ARB_PHASE_LIVE;
    uint64_t again = match_rollback_counts(match).rerun_ticks;
    limit_rerun(loop);
    receive(loop, start_ns);
    tick_run(match, TICK_LIVE);
    loop->options.ticked(loop->options.owner);
    scheduler_ran(&loop->scheduler);
    loop_histogram_add(&report->lateness, start_ns > deadline_ns ? start_ns - deadline_ns : 0);
    uint64_t work_ns = loop_now_ns() - start_ns;
    loop_histogram_add(&report->work, work_ns);
    rerun_budget_ran(&loop->budget, work_ns, match_rollback_counts(match).rerun_ticks - again);
    if (live) report->allocations += arb_mem_count() - allocated;
}

/* What no tick decides: ends that are counted in real time. */
static void check_deadlines(struct loop *loop, uint64_t now_ns)
{
    struct match *match = loop->options.match;
    bool deserted = is_deserted(loop);
    if (match_present_count(match) > 0) loop->somebody_came = true;
    if (!deserted) loop->empty_since_ns = now_ns;
    if (now_ns >= loop->abort_at_ns) {
        loop->abort_at_ns = never_ns;
        match_abort(match, ARB_END_ABORTED);
    } else if (!loop->somebody_came && now_ns >= desertion_end_ns(loop)) {
        match_abort(match, ARB_END_NOBODY);
    }
}

/* As soon as it is final: nobody plays any more, so the disk may take its time, and whatever
 * happens to the process while the result stands on the players' screens, it is not lost. */
static void hand_over_result(struct loop *loop)
{
    if (!loop->decided && match_decided(loop->options.match)) {
        loop->decided = true;
        loop->options.decided(loop->options.owner);
    }
}

/* Who watches with a delay has yet to see the end; the players need not wait for that. A process
 * that is to stop does not wait either. */
static bool is_over(struct loop *loop)
{
    struct match *match = loop->options.match;
    if (!match_ended(match)) return false;
    if (loop->signals > 0 || !match_is_watched(match)) return true;
    if (!loop->players_ended) {
        loop->players_ended = true;
        net_close_door(loop->options.net, ARB_REFUSED_ENDED);
        net_end_players(loop->options.net, ARB_REFUSED_ENDED);
    }
    return false;
}

static void run_due(struct loop *loop)
{
    uint64_t now_ns = loop_now_ns();
    uint64_t dropped = loop->scheduler.dropped_ticks;
    uint64_t deadline_ns = scheduler_deadline_ns(&loop->scheduler);
    uint32_t due = scheduler_due(&loop->scheduler, now_ns);
    if (due > 1) match_was_late(loop->options.match, (uint32_t)((now_ns - deadline_ns) / 1000000));
    loop->report->dropped_ticks += loop->scheduler.dropped_ticks - dropped;
    if (loop->scheduler.dropped_ticks > dropped) {
        match_time_dropped(loop->options.match, loop->scheduler.dropped_ticks - dropped);
        ops_log(OPS_WARN, "time_dropped",
                OPS_UINT("ticks", loop->scheduler.dropped_ticks - dropped));
    }
    check_deadlines(loop, now_ns);
    for (; due > 0 && !is_over(loop); due--) {
        run_one(loop);
        hand_over_result(loop);
    }
    if (is_over(loop)) {
        hand_over_result(loop); /* of a match that had ended before it was resumed */
        begin_draining(loop, loop_now_ns());
    } else if (now_ns >= loop->stop_at_ns) {
        stop(loop);
    } else if (is_deserted(loop) && now_ns >= loop->awake_until_ns && loop->signals == 0) {
        loop->report->ticking_ns += now_ns - loop->ticking_since_ns;
        fall_asleep(loop);
    } else {
        loop_timer_arm(loop->timer, scheduler_deadline_ns(&loop->scheduler));
    }
}

/* ---- what libuv reports ---- */

static void on_due(void *owner)
{
    struct loop *loop = owner;
    switch (loop->state) {
    case LOOP_ASLEEP:
        end_match(loop, loop->somebody_came ? ARB_END_EMPTY : ARB_END_NOBODY, loop_now_ns());
        break;
    case LOOP_TICKING:
        run_due(loop);
        break;
    case LOOP_DRAINING:
        drain(loop, loop_now_ns());
        break;
    case LOOP_DONE:
        break;
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct loop *loop = poll->data;
    uint64_t now_ns = loop_now_ns();
    (void)status;
    (void)events;
    if (loop->state != LOOP_ASLEEP) return;
    wake(loop, now_ns);
    receive(loop, now_ns);
    loop->awake_until_ns = now_ns + awake_ns;
}

/* First signal: as configured; a further one: at once. A match that is not live yet has nothing to
 * finish. */
static void on_signal(uv_signal_t *handle, int number)
{
    struct loop *loop = handle->data;
    if (loop->state == LOOP_DRAINING || loop->state == LOOP_DONE) return;
    uint64_t now_ns = loop_now_ns();
    enum arb_phase phase = match_phase(loop->options.match);
    bool under_way = phase == ARB_PHASE_LIVE || phase == ARB_PHASE_RESULT;
    bool at_once = loop->options.abort_on_signal || !under_way || loop->signals > 0;
    ops_log(OPS_INFO, "shutdown", OPS_INT("signal", number),
            OPS_TEXT("match", at_once ? "aborted" : "goes_on"),
            OPS_UINT("grace_s", loop->options.grace_s));
    if (loop->signals++ == 0) {
        uint64_t grace_ns = loop->options.grace_s * second_ns;
        uint64_t reserve_ns = grace_ns / 2 < drain_ns ? grace_ns / 2 : drain_ns;
        loop->stop_at_ns = now_ns + grace_ns;
        loop->abort_at_ns = now_ns + grace_ns - reserve_ns;
        net_close_door(loop->options.net, ARB_REFUSED_SHUTDOWN);
    }
    if (at_once) {
        loop->abort_at_ns = never_ns;
        end_match(loop, ARB_END_ABORTED, now_ns);
    }
}

/* What it asks for is done between ticks, so there have to be some. */
static void on_hangup(uv_signal_t *handle, int number)
{
    struct loop *loop = handle->data;
    uint64_t now_ns = loop_now_ns();
    (void)number;
    if (loop->state == LOOP_DRAINING || loop->state == LOOP_DONE) return;
    loop->options.hangup(loop->options.owner);
    if (loop->state == LOOP_ASLEEP) wake(loop, now_ns);
    loop->awake_until_ns = now_ns + awake_ns;
}

/* ---- life ---- */

static int open_handles(struct loop *loop)
{
    uv_loop_t *uv = &loop->uv;
    int fd = arb_carrier_fd(arb_net_carrier(net_transport(loop->options.net)));
    int error = uv_poll_init(uv, &loop->socket, fd);
    if (error == 0) error = uv_signal_init(uv, &loop->terminate);
    if (error == 0) error = uv_signal_init(uv, &loop->interrupt);
    if (error == 0) error = uv_signal_init(uv, &loop->hangup);
    if (error == 0) loop->timer = loop_timer_create(uv, on_due, loop, &error);
    loop->socket.data = loop;
    loop->terminate.data = loop;
    loop->interrupt.data = loop;
    loop->hangup.data = loop;
    if (error == 0) error = uv_signal_start(&loop->terminate, on_signal, SIGTERM);
    if (error == 0) error = uv_signal_start(&loop->interrupt, on_signal, SIGINT);
    if (error == 0) error = uv_signal_start(&loop->hangup, on_hangup, SIGHUP);
    return error;
}

/* What the event loop takes, and what is opened later: the result and its folder, a configuration
 * that is read again. libuv aborts where it gets no pipe for signals, and a match whose result
 * cannot be written had better not begin. 0: there is room, else the error. */
static int no_room_for_files(void)
{
    enum { NEEDED = 12 };
    int held[NEEDED];
    int count = 0, failed = 0;
    while (count < NEEDED && failed == 0) {
        held[count] = open("/", O_RDONLY | O_CLOEXEC);
        if (held[count] < 0) {
            failed = uv_translate_sys_error(errno);
        } else {
            count++;
        }
    }
    while (count > 0)
        close(held[--count]);
    return failed;
}

struct loop *loop_create(const struct loop_options *options, char *error, size_t error_bytes)
{
    ARB_ASSERT(options->tick_rate > 0 && options->max_catchup_ticks > 0);
    ARB_ASSERT(options->decided != NULL && options->hangup != NULL);
    uv_replace_allocator(arb_mem_malloc, arb_mem_realloc, arb_mem_calloc, arb_mem_free);
    signal(SIGPIPE, SIG_IGN);
    struct loop *loop = arb_mem_alloc(sizeof *loop);
    loop->options = *options;
    loop->abort_at_ns = never_ns;
    loop->stop_at_ns = never_ns;
    int failed = no_room_for_files();
    if (failed == 0) failed = uv_loop_init(&loop->uv);
    if (failed == 0) failed = open_handles(loop);
    if (failed == 0) return loop;
    /* The process ends now; what was opened goes with it. */
    snprintf(error, error_bytes, "event loop: %s", uv_strerror(failed));
    arb_mem_free(loop);
    return NULL;
}

void loop_run(struct loop *loop, struct loop_report *report)
{
    *report = (struct loop_report){0};
    loop->report = report;
    uint64_t now_ns = loop_now_ns();
    loop->started_ns = now_ns;
    loop->empty_since_ns = now_ns;
    loop->awake_until_ns = now_ns;
    rerun_budget_begin(&loop->budget, loop->options.tick_rate);
    if (is_deserted(loop)) {
        fall_asleep(loop);
    } else {
        wake(loop, now_ns);
    }
    while (loop->state != LOOP_DONE) {
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    }
}

void loop_destroy(struct loop *loop)
{
    uv_close((uv_handle_t *)&loop->socket, NULL);
    uv_close((uv_handle_t *)&loop->terminate, NULL);
    uv_close((uv_handle_t *)&loop->interrupt, NULL);
    uv_close((uv_handle_t *)&loop->hangup, NULL);
    loop_timer_destroy(loop->timer);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int failed = uv_loop_close(&loop->uv);
    ARB_ASSERT(failed == 0);
    arb_mem_free(loop);
}
