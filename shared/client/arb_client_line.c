#include "shared/client/arb_client_line.h"

#include "shared/client/arbiter_client_internal.h"

#include <string.h>

static const uint64_t ms_ns = 1000000;

enum {
    WORD_MS = 250,          /* the server's word of a late step may be lost once and sent again */
    FALLING_BACK_MS = 3000, /* at 4 % of the rate, of what is not made good at once */
    AFTERMATH_MS = 100,     /* after a late poll the world catches up over some frames */
};

/* ---- stutters ---- */

static void add(struct arb_line *line, uint64_t begin_ns, uint64_t end_ns,
                enum arbiter_stutter_cause cause)
{
    float ms = (float)((end_ns - begin_ns) / 1000) * 1e-3F;
    line->ring[line->stutters++ % ARBITER_STUTTERS] =
        (struct arbiter_stutter){.at_ns = begin_ns, .ms = ms, .cause = cause};
    line->counts[cause]++;
    line->sums_ms[cause] += ms;
}

void arb_line_late(struct arb_line *line, uint32_t tick, uint32_t ms, uint64_t now_ns)
{
    uint32_t place = line->late_count++ % ARB_LINE_LATE;
    line->late[place].tick = tick;
    line->late[place].ms = ms;
    line->late[place].told_ns = now_ns;
}

/* The server was late between the two snapshots. Where it dropped that time, the drawn world had
 * run ahead by it and falls back at a twelfth of the clock's rate: the stutter is longer than its
 * cause, and smaller ones may follow for a while. */
static bool server_was_late(const struct arb_line *line, const struct arb_hitch *hitch)
{
    uint32_t held = line->late_count < ARB_LINE_LATE ? line->late_count : ARB_LINE_LATE;
    uint64_t ms = (hitch->end_ns - hitch->begin_ns) / ms_ns;
    for (uint32_t i = 0; i < held; i++) {
        arb_tick tick = arb_widen32(line->late[i].tick, hitch->after);
        bool between = tick > hitch->before && tick <= hitch->after;
        bool before = tick <= hitch->before &&
                      line->late[i].told_ns + FALLING_BACK_MS * ms_ns >= hitch->begin_ns;
        if ((between && line->late[i].ms * UINT64_C(12) >= ms) ||
            (before && line->late[i].ms >= ms)) {
            return true;
        }
    }
    return false;
}

static void decide(struct arb_line *line, const struct arb_hitch *hitch)
{
    enum arbiter_stutter_cause cause = server_was_late(line, hitch) ? ARBITER_STUTTER_SERVER
                                       : hitch->lost                ? ARBITER_STUTTER_LOSS
                                                                    : ARBITER_STUTTER_JITTER;
    add(line, hitch->begin_ns, hitch->end_ns, cause);
}

static void decide_first(struct arb_line *line)
{
    decide(line, &line->waiting[0]);
    line->waiting_count--;
    memmove(line->waiting, line->waiting + 1, line->waiting_count * sizeof line->waiting[0]);
}

void arb_line_judge(struct arb_line *line, uint64_t now_ns)
{
    while (line->waiting_count > 0 && now_ns >= line->waiting[0].end_ns + WORD_MS * ms_ns) {
        decide_first(line);
    }
}

void arb_line_poll(struct arb_line *line, uint64_t now_ns, uint32_t late_poll_ms)
{
    if (now_ns > line->poll_ns + late_poll_ms * ms_ns) {
        add(line, line->poll_ns, now_ns, ARBITER_STUTTER_PROCESS);
        line->late_poll_ns = now_ns;
    }
    line->poll_ns = now_ns;
}

void arb_line_ran_out(struct arb_line *line, uint64_t since_ns, arb_tick newest, uint64_t lost)
{
    if (line->open) {
        return;
    }
    line->open = true;
    line->lost_before = lost;
    line->hitch = (struct arb_hitch){.begin_ns = since_ns, .before = newest};
}

void arb_line_goes_on(struct arb_line *line, uint64_t now_ns, arb_tick newest, uint64_t lost,
                      uint64_t least_ns)
{
    if (!line->open) {
        return;
    }
    struct arb_hitch *hitch = &line->hitch;
    line->open = false;
    hitch->end_ns = now_ns;
    hitch->after = newest;
    hitch->lost = lost > line->lost_before;
    /* What a late poll did is told already. */
    bool own =
        line->late_poll_ns != 0 && line->late_poll_ns + AFTERMATH_MS * ms_ns >= hitch->begin_ns;
    if (own || now_ns < hitch->begin_ns + least_ns) {
        return;
    }
    if (line->waiting_count == ARB_LINE_WAITING) {
        decide_first(line);
    }
    line->waiting[line->waiting_count++] = *hitch;
}

uint32_t arb_line_silent_ms(const struct arb_line *line, uint64_t now_ns)
{
    return line->silent && now_ns > line->heard_ns ? (uint32_t)((now_ns - line->heard_ns) / ms_ns)
                                                   : 0;
}

/* ---- the client's ---- */

void arb_client_news(struct arbiter_client *client, enum arbiter_line what)
{
    struct arb_client_events *events = &client->events;
    if (events->news_count == ARB_CLIENT_NEWS) {
        events->news_count--;
        memmove(events->news, events->news + 1, events->news_count * sizeof events->news[0]);
        client->statistics.events_lost++;
    }
    uint64_t silent_ms = (client->now_ns - client->line.heard_ns) / ms_ns;
    events->news[events->news_count++] = (struct arbiter_event){
        .kind = ARBITER_EVENT_LINE,
        .a = (int32_t)what,
        .b = what == ARBITER_LINE_ENDED ? (int32_t)client->info.reason : 0,
        .c = silent_ms < INT32_MAX ? (int32_t)silent_ms : INT32_MAX,
    };
}

/* Whatever the transport reads counts, not only what is for us. Before the welcome nothing is said
 * of silence: the connect has a deadline of its own. */
static void listen(struct arbiter_client *client, uint64_t now_ns)
{
    struct arb_line *line = &client->line;
    uint64_t datagrams = arb_net_counters(client->net)->datagrams_in;
    bool heard = datagrams != line->datagrams;
    if (heard && line->silent) {
        arb_client_news(client, ARBITER_LINE_BACK);
        line->silent = false;
    }
    line->datagrams = datagrams;
    if (heard || client->connection != ARBITER_CONNECTED) {
        line->heard_ns = now_ns;
    } else if (!line->silent && now_ns >= line->heard_ns + client->config.silence_ms * ms_ns) {
        line->silent = true;
        arb_client_news(client, ARBITER_LINE_SILENT);
    }
}

static void note_stutters(struct arbiter_client *client)
{
    memcpy(client->statistics.stutters, client->line.counts, sizeof client->line.counts);
    memcpy(client->statistics.stutter_ms, client->line.sums_ms, sizeof client->line.sums_ms);
}

void arb_client_line_poll(struct arbiter_client *client, uint64_t now_ns)
{
    struct arb_line *line = &client->line;
    listen(client, now_ns);
    if (client->clocks.view.running) {
        arb_line_poll(line, now_ns, client->config.late_poll_ms);
        arb_line_judge(line, now_ns);
        note_stutters(client);
    }
    line->poll_ns = now_ns;
}

void arb_client_line_drawn(struct arbiter_client *client, const struct arb_view *view)
{
    struct arb_line *line = &client->line;
    uint64_t tick_ns = 1000 * ms_ns / client->match.welcome.tick_rate;
    uint64_t lost = client->statistics.snapshots_lost;
    if (view->from_tick == view->to_tick && view->fraction > 0) {
        uint64_t past_ns = view->fraction * tick_ns / 256;
        uint64_t since_ns = client->now_ns > past_ns ? client->now_ns - past_ns : 0;
        arb_line_ran_out(line, since_ns, view->to_tick, lost);
    } else {
        arb_line_goes_on(line, client->now_ns, client->snapshots.tick, lost, tick_ns);
    }
}

uint32_t arbiter_client_stutters(const struct arbiter_client *client, struct arbiter_stutter *out,
                                 uint32_t capacity)
{
    const struct arb_line *line = &client->line;
    uint32_t held = line->stutters < ARBITER_STUTTERS ? line->stutters : ARBITER_STUTTERS;
    uint32_t count = held < capacity ? held : capacity;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = line->ring[(line->stutters - 1 - i) % ARBITER_STUTTERS];
    }
    return count;
}
