/* Which past a shot meets (spec/lag-compensation.md "Validation"): the claimed view of each input
 * that fires is judged once, when it comes; what is applied replaces the claim in the input buffer,
 * so that the ticks know nothing of the network. Which states of others belong to an applied view
 * follows from what the client had acknowledged; nothing of that changes within a tick, so it is
 * looked up in stage 6, for those inputs alone whose weapon fires.
 *
 * Why this gains a liar nothing: a view must be one that the client can have drawn; it is no older
 * than the measured round trip (the least of a window, which a stall does not raise), the real wait
 * and the delay that the client announces all the time, and that one moves no faster than an honest
 * client's, nor does the lag of its views behind their inputs; and views only go forward. Nor
 * does standing still help: a client that has told of a snapshot does not draw as if it had not
 * come; where nothing newer came to be told of, others may stand for as long as its link is known
 * to be silent, and grow too old all the same. */
#include "server/match/match_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/move/arb_move.h"

#include <string.h>

enum {
    /* An honest client's view runs at most 8 % faster or slower than time and its estimate of the
     * server's time 4 % (arb_client_clocks_advance in shared/client/arbiter_client.c), so its
     * delay, the difference, changes by 12 % of the time that passes. A step of its estimate of the
     * round trip is a step of the announced delay alone: the tolerance has room for it, until the
     * delay that is believed has followed. */
    DELAY_PERCENT = 12,
    /* What a pause adds up to: a client that was silent for longer may not step further at once. */
    DELAY_PAUSE_S = 1,
    /* Deviations of arrival from their mean that count as the link's own; as in a retransmission
     * timer. */
    JITTER_DEVIATIONS = 4,
    DEVIATION_SHARE = 16, /* of the newest arrival in the running means */
    DELAY_STEPS = 16,     /* the announced delay is in 1/16 tick */
    /* For how long others may stand, past what they are carried on for: tenths of a ms for each
     * square ms of the deviation of arrival. Of 4 ms, as on a good link, 19 ms; of 12, as on a bad
     * one, 173. */
    FROZEN_PER_MS = 12,
    /* A view and its input are of two clocks of the client, so their difference changes as slowly
     * as the delay. A game that makes inputs between drawing and asking its player puts some of
     * them a tick later; one that always does the same has next to none of that. */
    LAG_SLACK_MS = 17,
    LAG_LEAST_MS = 2,
    LAG_DEVIATIONS = 2,
    LOST_S = 8, /* after time was dropped, until clients are right again */
    LOST_MOST_MS = 500,
    PICTURE_MS =
        67, /* inputs of one drawn frame share its picture: at 15 frames a second so long */
};

/* No claimed view is like these two: from == to == 0 with fraction 0 is "nothing drawn", and shots
 * meet the newest tick; with this fraction they meet nobody. */
enum { REFUSED_FRACTION = UINT16_MAX };
static const struct arb_view present_view = {0};
static const struct arb_view refused_view = {.fraction = REFUSED_FRACTION};

static bool is_present(const struct arb_view *view)
{
    return view->to_tick == 0 && view->fraction != REFUSED_FRACTION;
}

static bool is_refused(const struct arb_view *view)
{
    return view->to_tick == 0 && view->fraction == REFUSED_FRACTION;
}

const char *match_view_verdict_text(enum match_view_verdict verdict)
{
    static const char *const texts[] = {
#define X(name, text) text,
        MATCH_VIEW_MAP(X)
#undef X
    };
    ARB_ASSERT(verdict < MATCH_VIEW_VERDICTS);
    return texts[verdict];
}

static arb_fine fine(arb_tick tick)
{
    return (arb_fine)tick * ARB_FINE_TICK;
}

static arb_fine fine_of_ms(const struct match *match, int32_t ms)
{
    return (arb_fine)ms * match->config.tick_rate * ARB_FINE_TICK / 1000;
}

static arb_fine lesser(arb_fine a, arb_fine b)
{
    return a < b ? a : b;
}

static arb_fine greater(arb_fine a, arb_fine b)
{
    return a > b ? a : b;
}

static arb_fine clamp(arb_fine value, arb_fine low, arb_fine high)
{
    return lesser(greater(value, low), high);
}

/* How far ahead an honest client may still draw: its estimate of the server's time comes from
 * pings of seconds, and its clocks go back no faster than they run. */
static arb_fine lost_time(const struct match *match)
{
    arb_tick most = (arb_tick)(LOST_S * match->config.tick_rate);
    return match->world.head->tick - match->lost_tick <= most ? match->lost_time : 0;
}

static bool is_compensated(const struct match *match)
{
    return match->config.lagcomp.max_rewind_ms > 0;
}

/* ---- time that the server dropped ---- */

void match_time_dropped(struct match *match, uint64_t ticks)
{
    arb_fine most = fine_of_ms(match, LOST_MOST_MS);
    arb_fine more = ticks < LOST_MOST_MS ? fine(ticks) : most;
    match->lost_time = lesser(lost_time(match) + more, most);
    match->lost_tick = match->world.head->tick;
}

/* ---- what is measured of a client ---- */

void views_create(struct match *match, struct arb_arena *arena)
{
    const struct match_config *config = &match->config;
    uint32_t players = match->world.head->player_capacity;
    if (config->rollback_window_ticks == 0 || match->rules->shoot == NULL) return;
    match->view_marks = (uint32_t)(config->rollback_window_ticks + config->input_buffer_ticks) + 1;
    for (uint32_t slot = 0; slot < players; slot++) {
        struct match_seat *seat = &match->seats[slot];
        seat->view_marks =
            arb_arena_take_array(arena, match->view_marks, sizeof seat->view_marks[0]);
    }
}

void views_reset(struct match *match, uint16_t slot)
{
    struct match_seat *seat = &match->seats[slot];
    memset(&seat->views, 0, sizeof seat->views);
    if (match->view_marks > 0) {
        memset(seat->view_marks, 0, match->view_marks * sizeof seat->view_marks[0]);
    }
}

static arb_fine least_round_trip(const struct view_track *track)
{
    uint32_t held = track->round_trips < VIEW_WINDOW ? track->round_trips : VIEW_WINDOW;
    arb_fine least = held > 0 ? track->round_trip[0] : 0;
    for (uint32_t i = 1; i < held; i++) {
        least = lesser(least, track->round_trip[i]);
    }
    return least;
}

/* From the step that published a snapshot to the step before which its acknowledgement was there:
 * the round trip, and what both ends waited for their next turn. */
static void measure_round_trip(struct match *match, uint16_t slot, arb_tick now)
{
    struct view_track *track = &match->seats[slot].views;
    uint32_t acked = replicate_newest_acked(match->replicate, slot);
    const struct replicate_sent *sent = replicate_sent(match->replicate, slot, acked);
    if (sent == NULL || acked == track->newest_acked) {
        return;
    }
    track->newest_acked = acked;
    track->round_trip[track->round_trips++ % VIEW_WINDOW] = fine(now - sent->tick);
}

/* By how much a delay of an honest client may have changed since then. */
static arb_fine most_change(const struct match *match, arb_tick since, arb_tick now)
{
    arb_tick pause = (arb_tick)(DELAY_PAUSE_S * match->config.tick_rate);
    if (now < since) return most_change(match, now, since); /* behind a newer one */
    return fine(now - since < pause ? now - since : pause) * DELAY_PERCENT / 100;
}

/* What is believed goes towards what is announced as fast as an honest client's delay may. */
static void follow_delay(struct match *match, uint16_t slot, uint16_t announced, arb_tick now)
{
    struct view_track *track = &match->seats[slot].views;
    arb_fine most = fine_of_ms(match, match->config.lagcomp.max_rewind_ms);
    arb_fine asked = lesser((arb_fine)announced * (ARB_FINE_TICK / DELAY_STEPS), most);
    track->announced = asked;
    if (track->delay_tick == 0) {
        track->delay = asked;
        track->delay_tick = announced > 0 ? now : 0; /* 0: it draws nothing yet */
        return;
    }
    arb_fine step = most_change(match, track->delay_tick, now);
    track->delay = clamp(asked, track->delay - step, track->delay + step);
    track->delay_tick = now;
}

void views_packet(struct match *match, uint16_t slot, const struct arb_input_packet *packet,
                  arb_tick now)
{
    struct view_track *track = &match->seats[slot].views;
    track->told = track->newest_acked;
    if (packet->has_ack) {
        measure_round_trip(match, slot, now);
    }
    follow_delay(match, slot, packet->view_delay, now);
}

/* How long an input waits for its tick says how long it was under way: the earliest ones of a
 * window came without being held up. */
static void measure_wait(struct view_track *track, arb_fine wait)
{
    if (track->waits == 0) {
        track->wait_mean = wait;
    }
    track->wait[track->waits++ % VIEW_WINDOW] = wait;
    arb_fine off = wait - track->wait_mean;
    track->wait_mean += off / DEVIATION_SHARE;
    track->wait_deviation += ((off < 0 ? -off : off) - track->wait_deviation) / DEVIATION_SHARE;
}

/* By how much this input was held up under way, as far as that is usual on its link. One that came
 * after its tick has no such excuse: holding inputs back is what a liar would do. */
static arb_fine held_up(const struct view_track *track, arb_fine wait)
{
    uint32_t held = track->waits < VIEW_WINDOW ? track->waits : VIEW_WINDOW;
    arb_fine longest = wait;
    for (uint32_t i = 0; i < held; i++) {
        longest = greater(longest, track->wait[i]);
    }
    return wait < 0 ? 0 : lesser(longest - wait, JITTER_DEVIATIONS * track->wait_deviation);
}

/* ---- between which inputs one stands ---- */

/* What other inputs say of a claim. They come in order but with a window, where one may fill a gap
 * behind newer ones: then it stands between those before and behind it, as if all had come in
 * order. */
struct order {
    bool behind;
    arb_fine earliest, latest; /* of the view's time: that of inputs before, and behind */
    arb_fine least;            /* of what may be applied in its place */
    uint32_t told;             /* newest snapshot that its client had told of before */
};

static struct order order_of(const struct match *match, uint16_t slot, arb_tick target)
{
    const struct match_seat *seat = &match->seats[slot];
    const struct view_track *track = &seat->views;
    struct order order = {.behind = target < seat->buffer.newest_target,
                          .earliest = track->newest_at,
                          .latest = INT64_MAX,
                          .least = track->applied_at,
                          .told = track->told};
    if (match->view_marks == 0 || !order.behind) return order;
    arb_tick before = 0;
    order.earliest = track->before_marks;
    order.told = 0;
    for (uint32_t i = 0; i < match->view_marks; i++) {
        const struct view_mark *mark = &seat->view_marks[i];
        if (mark->target > before && mark->target < target) {
            before = mark->target;
            order.told = mark->told;
        }
        if (mark->target == 0 || mark->at == VIEW_NONE) continue;
        if (mark->target < target) order.earliest = greater(order.earliest, mark->at);
        if (mark->target > target) order.latest = lesser(order.latest, mark->at);
    }
    order.least = order.earliest;
    return order;
}

static void note_order(struct match *match, uint16_t slot, arb_tick target, arb_fine at,
                       uint32_t told)
{
    struct match_seat *seat = &match->seats[slot];
    struct view_track *track = &seat->views;
    if (at != VIEW_NONE) track->newest_at = greater(track->newest_at, at);
    if (match->view_marks == 0) return;
    struct view_mark *mark = &seat->view_marks[target % match->view_marks];
    bool other = mark->target != 0 && mark->target != target;
    if (other) track->before_marks = greater(track->before_marks, mark->at);
    *mark = (struct view_mark){target, at, told};
}

/* ---- judging a claim ---- */

/* An input that fires, at its arrival. */
struct claim {
    struct arb_view view;
    arb_fine at;
    arb_fine now;      /* S[now] is the server's present */
    arb_fine consumed; /* the step that will take it */
    arb_fine wait;     /* target - now; less than 0: late */
    arb_tick target;
    arb_fine moment; /* of the client's input clock when it drew the view */
    struct order order;
};

struct permitted {
    arb_fine low, high; /* of the view's time */
};

static arb_fine oldest_allowed(const struct match *match, arb_fine consumed)
{
    /* What is published when it is consumed is the tick before. */
    return consumed - ARB_FINE_TICK - fine_of_ms(match, match->config.lagcomp.max_rewind_ms);
}

/* The time that others are drawn at: past the newest snapshot they are carried on for a while and
 * then stand, however far the view's own time goes on. */
static arb_fine shown_at(const struct match *match, const struct arb_view *view)
{
    arb_fine at = arb_view_at(view);
    uint32_t cap = arb_move_extrapolation_cap((uint32_t)match->config.snapshot_interval_ticks);
    return view->from_tick < view->to_tick ? at : lesser(at, fine(view->from_tick + cap));
}

static bool is_too_old(const struct match *match, const struct arb_view *view, arb_fine consumed)
{
    return shown_at(match, view) < oldest_allowed(match, consumed);
}

/* Whether others stand for longer than this client's link explains. What the client does not tell
 * of may be lost, or be kept for as long as somebody stands in the open in an older picture:
 * nothing in its acknowledgements tells one from the other. So its own inputs are asked, which
 * cannot be held up without being late: who sends them evenly is rarely without snapshots for
 * long. */
static bool is_frozen(const struct match *match, const struct view_track *track,
                      const struct arb_view *view)
{
    arb_fine past = arb_view_at(view) - shown_at(match, view);
    arb_fine deviation = track->wait_deviation;
    return past - lost_time(match) >
           deviation * deviation * FROZEN_PER_MS / (10 * fine_of_ms(match, 1));
}

/* Whether these frames leave out a snapshot that the client had told of before it made the input:
 * inputs come here once, with the first packet that has them, so whatever came in a packet before
 * was sent when this input was not made yet. What it drew then may be a frame of its own older. */
static bool is_forgetful(const struct match *match, uint16_t slot, const struct claim *claim,
                         const struct arb_held *held)
{
    const struct replicate_sent *told = replicate_sent(match->replicate, slot, claim->order.told);
    arb_fine frame = fine_of_ms(match, match->config.lagcomp.view_tolerance_ms);
    return told != NULL && fine(told->tick) > fine(held->frames[held->count - 1].tick) + frame;
}

static struct permitted expected(const struct match *match, const struct view_track *track,
                                 const struct claim *claim, arb_fine delay)
{
    arb_fine tolerance = fine_of_ms(match, match->config.lagcomp.view_tolerance_ms);
    arb_fine middle = claim->now - least_round_trip(track) - delay;
    return (struct permitted){middle - tolerance - held_up(track, claim->wait),
                              middle + tolerance + lost_time(match)};
}

static bool is_within(arb_fine at, struct permitted permitted)
{
    return at >= permitted.low && at <= permitted.high;
}

/* Every state of the view is still there when the input is consumed. After a while without any
 * snapshot a client draws, frozen, from frames that are older than the ring. */
static bool is_remembered(const struct match *match, const struct arb_held_frame *frame,
                          arb_fine consumed)
{
    arb_tick oldest = frame->tick;
    for (uint32_t i = 0; i < frame->count; i++) {
        arb_tick tick = frame->tick - frame->entries[i].age;
        oldest = tick < oldest ? tick : oldest;
    }
    /* By then the ring has gone on by as many ticks. */
    arb_fine ahead = consumed - fine(match->world.head->tick);
    arb_tick wait = ahead > 0 ? (arb_tick)(ahead / ARB_FINE_TICK) : 0;
    return oldest >= wait && rewind_frame(match->rewind, oldest - wait) != NULL;
}

static bool is_same_picture(const struct match *match, const struct view_track *track,
                            const struct claim *claim)
{
    if (claim->at != track->picture_at) return false;
    arb_tick first = claim->target, last = claim->target;
    if (track->picture_target < first) first = track->picture_target;
    if (track->picture_last > last) last = track->picture_last;
    bool in_order = claim->target >= track->picture_target || claim->order.behind;
    return in_order && fine(last - first) <= fine_of_ms(match, PICTURE_MS);
}

/* However packets are held up, lost or sent ahead: the clocks of inputs and of drawing both run on
 * evenly, so a view lags behind the moment of its input as the views before did. A client that
 * chooses how early its inputs come, or another picture each time, as it suits, leaves that. */
static struct permitted steady(const struct match *match, const struct view_track *track,
                               const struct claim *claim)
{
    if (claim->wait < 0 || track->lag_target == 0 || is_same_picture(match, track, claim)) {
        return (struct permitted){INT64_MIN, INT64_MAX};
    }
    arb_fine middle = claim->moment - track->lag;
    arb_fine slack = fine_of_ms(match, LAG_LEAST_MS) + LAG_DEVIATIONS * track->lag_deviation;
    arb_fine most = lesser(slack, fine_of_ms(match, LAG_SLACK_MS)) +
                    most_change(match, track->lag_target, claim->target) + lost_time(match);
    /* A held trigger: what was drawn at the end of a tick may get into the input of the next. */
    arb_fine held = claim->target == track->lag_target + 1 ? ARB_FINE_TICK : 0;
    return (struct permitted){middle - most - held, middle + most};
}

/* Goes towards what is claimed as fast as an honest client's lag may. */
static void follow_lag(const struct match *match, struct view_track *track,
                       const struct claim *claim)
{
    if (is_same_picture(match, track, claim)) {
        if (claim->target < track->picture_target) track->picture_target = claim->target;
        if (claim->target > track->picture_last) track->picture_last = claim->target;
        return;
    }
    /* Behind a newer one it says nothing of how the lag goes on. */
    if (claim->target < track->lag_target) {
        return;
    }
    if (claim->at != track->picture_at) {
        track->picture_at = claim->at;
        track->picture_target = track->picture_last = claim->target;
    }
    arb_fine lag = claim->moment - claim->at, most = fine_of_ms(match, LAG_SLACK_MS);
    if (track->lag_target == 0) {
        track->lag_deviation = most / LAG_DEVIATIONS; /* not known yet */
    } else {
        arb_fine off = lag < track->lag ? track->lag - lag : lag - track->lag;
        track->lag_deviation += (lesser(off, most) - track->lag_deviation) / DEVIATION_SHARE;
        arb_fine step = most_change(match, track->lag_target, claim->target);
        lag = clamp(lag, track->lag - step, track->lag + step);
    }
    track->lag = lag;
    track->lag_target = claim->target;
}

static enum match_view_verdict judge(const struct match *match, uint16_t slot,
                                     const struct claim *claim)
{
    const struct view_track *track = &match->seats[slot].views;
    struct arb_held held;
    struct arb_held_place place;
    if (replicate_held(match->replicate, slot, claim->view.held, &held) == 0 ||
        is_forgetful(match, slot, claim, &held) || !arb_held_place(&held, &claim->view, &place)) {
        return MATCH_VIEW_NOT_SENT;
    }
    if (claim->at > claim->now + lost_time(match)) {
        return MATCH_VIEW_FUTURE;
    }
    if (is_too_old(match, &claim->view, claim->consumed) ||
        !is_remembered(match, &held.frames[place.from], claim->consumed)) {
        return MATCH_VIEW_TOO_OLD;
    }
    if (claim->at < claim->order.earliest - lost_time(match) ||
        claim->at - lost_time(match) > claim->order.latest) {
        return MATCH_VIEW_BACKWARD;
    }
    if (is_frozen(match, track, &claim->view)) {
        return MATCH_VIEW_FROZEN;
    }
    if (is_within(claim->at, expected(match, track, claim, track->delay))) {
        return is_within(claim->at, steady(match, track, claim)) ? MATCH_VIEW_HONOURED
                                                                 : MATCH_VIEW_RATE;
    }
    return is_within(claim->at, expected(match, track, claim, track->announced))
               ? MATCH_VIEW_RATE
               : MATCH_VIEW_UNEXPECTED;
}

/* The view of the frames that the client holds whose time is nearest to `at`; present when it holds
 * none, or nothing young enough. */
static struct arb_view nearest_drawable(const struct match *match, uint16_t slot, arb_fine at,
                                        arb_fine consumed)
{
    struct arb_held held;
    struct arb_view view = present_view;
    uint32_t newest = replicate_newest_acked(match->replicate, slot);
    replicate_held(match->replicate, slot, (uint16_t)newest, &held);
    /* In a tick that is run again what came later is none of it. */
    while (held.count > 0 && held.frames[held.count - 1].tick >= match->world.head->tick)
        held.count--;
    struct arb_held_place place;
    if (held.count == 0 || !arb_held_find(&held, greater(at, fine(held.frames[0].tick)), &view) ||
        !arb_held_place(&held, &view, &place)) {
        return present_view;
    }
    bool usable = !is_too_old(match, &view, consumed) &&
                  is_remembered(match, &held.frames[place.from], consumed);
    return usable ? view : present_view;
}

static struct arb_view replaced(const struct match *match, uint16_t slot, const struct claim *claim,
                                enum match_view_verdict verdict)
{
    const struct view_track *track = &match->seats[slot].views;
    if (match->config.lagcomp.view_violation == MATCH_VIEW_REFUSE) {
        return refused_view;
    }
    if (match->config.lagcomp.view_violation == MATCH_VIEW_PRESENT ||
        verdict == MATCH_VIEW_FUTURE) {
        return present_view;
    }
    struct permitted even = steady(match, track, claim);
    struct permitted permitted = expected(match, track, claim, track->delay);
    arb_fine at = clamp(claim->at, even.low, even.high);
    at = clamp(at, permitted.low, permitted.high);
    at = greater(at, oldest_allowed(match, claim->consumed));
    at = lesser(greater(at, claim->order.least), claim->order.latest);
    at = lesser(at, claim->now);
    struct arb_view view = nearest_drawable(match, slot, at, claim->consumed);
    return is_frozen(match, track, &view) ? present_view : view;
}

enum match_view_verdict views_judge(struct match *match, uint16_t slot, struct arb_input *input,
                                    arb_tick now, arb_tick acts)
{
    struct match_seat *seat = &match->seats[slot];
    struct view_track *track = &seat->views;
    measure_wait(track, fine(input->target_tick) - fine(now));
    arb_fine wait = fine(input->target_tick) - fine(acts);
    bool fires = ((input->buttons | input->edges) & ARB_BUTTON_FIRE) != 0;
    struct order order = order_of(match, slot, input->target_tick);
    if (!fires || match->rules->shoot == NULL || !is_compensated(match) ||
        match->config.lagcomp.view_source == MATCH_VIEW_ROUND_TRIP) {
        input->view = present_view;
        /* A place inside of a tick is of shots alone, and the state and its record hold each input.
         */
        if (!fires || match->rules->shoot == NULL) input->muzzle_fraction = 0;
        if (wait >= 0) note_order(match, slot, input->target_tick, VIEW_NONE, order.told);
        return MATCH_VIEW_HONOURED;
    }
    memset(input->view.reserved, 0, sizeof input->view.reserved);
    struct claim claim = {.view = input->view,
                          .at = arb_view_at(&input->view),
                          .now = fine(acts),
                          .consumed = wait > 0 ? fine(input->target_tick) : fine(acts),
                          .wait = wait,
                          .target = input->target_tick,
                          .moment = fine(input->target_tick) +
                                    (arb_fine)input->muzzle_fraction * (ARB_FINE_TICK / 256),
                          .order = order};
    enum match_view_verdict verdict = judge(match, slot, &claim);
    if (verdict != MATCH_VIEW_HONOURED) {
        input->view = replaced(match, slot, &claim, verdict);
    }
    if (wait >= 0 && (verdict == MATCH_VIEW_HONOURED || verdict == MATCH_VIEW_RATE ||
                      verdict == MATCH_VIEW_UNEXPECTED)) {
        follow_lag(match, track, &claim);
    }
    /* What a late press got in place of its claim is younger than the honest views that follow. */
    if (wait >= 0) {
        bool drawn = !is_present(&input->view) && !is_refused(&input->view);
        arb_fine at = drawn ? arb_view_at(&input->view) : VIEW_NONE;
        track->applied_at = greater(track->applied_at, at);
        note_order(match, slot, input->target_tick, lesser(at, claim.at), order.told);
    }
    seat->view_counts.claims[verdict]++;
    match->view_totals.claims[verdict]++;
    bool late = input->target_tick < now;
    seat->view_counts.late += late;
    match->view_totals.late += late;
    return verdict;
}

/* ---- the past of one shot ---- */

arb_tick views_round_trip_tick(arb_tick published, arb_fine round_trip, arb_fine delay,
                               arb_fine most)
{
    arb_fine back = clamp(round_trip + delay, 0, most);
    arb_tick ticks = (arb_tick)((back + ARB_FINE_TICK / 2) / ARB_FINE_TICK);
    return ticks < published ? published - ticks : 0;
}

/* Somewhere that is not NULL: a list of nobody. */
static const struct rewind_pair nobody[1];

static bool fires_projectiles(const struct match *match, uint16_t slot)
{
    uint8_t weapon = match->world.players[slot].own.weapon;
    return weapon < match->move.weapon_count && match->move.weapons[weapon].projectiles > 0;
}

/* As in struct rewind_ray. */
static uint64_t later_of(const struct match *match, const struct arb_held *held,
                         const struct arb_view *view)
{
    uint64_t later = 0;
    for (uint32_t i = 0; i < held->count; i++) {
        arb_tick tick = held->frames[i].tick;
        arb_tick after = tick > view->to_tick ? (tick - view->to_tick) /
                                                    (arb_tick)match->config.snapshot_interval_ticks
                                              : 0;
        later |= after > 0 && after <= 64 ? UINT64_C(1) << (after - 1) : 0;
    }
    return later;
}

/* Everything that the client drew in that view, each between its own two states. False: the
 * acknowledged snapshots of the view are no longer remembered. */
static bool find_pairs(struct match *match, uint16_t slot, struct view_past *past)
{
    struct arb_held held;
    struct arb_held_place place;
    replicate_held(match->replicate, slot, past->view.held, &held);
    if (!arb_held_place(&held, &past->view, &place)) {
        return false;
    }
    const struct arb_held_frame *frame = &held.frames[place.from];
    struct rewind_pair *pairs = record_pairs(match, frame->count);
    for (uint32_t i = 0; i < frame->count; i++) {
        struct arb_held_states states;
        arb_held_states_of(&held, &place, i, &states);
        pairs[i] = (struct rewind_pair){frame->entries[i].key, states.from_tick, states.to_tick};
    }
    past->pairs = pairs;
    past->pair_count = frame->count;
    past->later = fires_projectiles(match, slot) ? later_of(match, &held, &past->view) : 0;
    return true;
}

/* A claim that waited for the player's next input grew older; one that is repeated because nothing
 * came moves on with time. Both go to the nearest view that can be drawn from what the client has
 * acknowledged: the server's own time decides nothing but how far. */
static struct arb_view moved_on(const struct match *match, uint16_t slot,
                                const struct arb_view *view)
{
    arb_tick now = match->world.head->tick;
    bool repeated = !match->consumed[slot];
    arb_fine passed = repeated ? fine(match->world.players[slot].hold_ticks) : 0;
    arb_fine at = arb_view_at(view);
    arb_fine wanted = greater(at + passed, oldest_allowed(match, fine(now)));
    bool stays = wanted == at && !is_too_old(match, view, fine(now));
    return stays ? *view : nearest_drawable(match, slot, lesser(wanted, fine(now)), fine(now));
}

static void find_past(struct match *match, uint16_t slot, const struct arb_view *view,
                      struct view_past *past)
{
    const struct match_seat *seat = &match->seats[slot];
    const struct view_track *track = &seat->views;
    const struct match_lagcomp *lagcomp = &match->config.lagcomp;
    *past = (struct view_past){.view = rewind_present(match->rewind)};
    if (!is_compensated(match)) {
        return;
    }
    if (!seat->has_session) {
        /* A bench's player draws everyone in every tick. */
        past->view = is_present(view) ? past->view : *view;
    } else if (lagcomp->view_source == MATCH_VIEW_ROUND_TRIP) {
        arb_tick tick =
            views_round_trip_tick(past->view.to_tick, least_round_trip(track), track->delay,
                                  fine_of_ms(match, lagcomp->max_rewind_ms));
        past->view.from_tick = past->view.to_tick = tick;
    } else if (is_refused(view)) {
        past->pairs = nobody;
    } else if (!is_present(view)) {
        struct arb_view newest = past->view;
        past->view = moved_on(match, slot, view);
        if (is_present(&past->view) || !find_pairs(match, slot, past)) {
            past->view = newest;
        }
    }
}

static void recorded_past(const struct match *match, const struct match_record_view *view,
                          struct view_past *past)
{
    *past = (struct view_past){.view = view->view,
                               .pair_count = view->pair_count,
                               .later = view->later,
                               .slow = view->slow};
    if (!view->everyone) {
        past->pairs = view->pair_count > 0 ? match->record.pairs + view->pair_first : nobody;
    }
}

static bool is_slow(const struct match *match, uint16_t slot)
{
    return least_round_trip(&match->seats[slot].views) >= fine_of_ms(match, FAIRNESS_SLOW_MS);
}

void views_past(struct match *match, uint16_t slot, const struct arb_view *view,
                struct view_past *past)
{
    const struct match_record_view *known = match->plays ? record_view_of(match, slot) : NULL;
    if (known != NULL) {
        recorded_past(match, known, past);
    } else {
        find_past(match, slot, view, past);
        past->slow = is_slow(match, slot);
        record_view(match, slot, past);
    }
}

/* ---- counts ---- */

void views_count_shot(struct match *match, uint16_t slot, const struct rules_shot *shot,
                      bool origin_known)
{
    struct match_view_counts *both[] = {&match->seats[slot].view_counts, &match->view_totals};
    for (uint32_t i = 0; i < 2; i++) {
        both[i]->shots++;
        both[i]->unknown_origins += !origin_known;
    }
    for (uint32_t p = 0; p < shot->pellet_count; p++) {
        views_count_unseen(match, slot, shot->pellets[p].unseen);
    }
}

void views_count_unseen(struct match *match, uint16_t slot, uint32_t count)
{
    match->seats[slot].view_counts.unseen += count;
    match->view_totals.unseen += count;
}

struct match_view_counts match_view_totals(const struct match *match)
{
    return match->view_totals;
}

struct match_view_counts match_view_counts(const struct match *match, uint16_t slot)
{
    ARB_ASSERT(slot < match->world.head->player_capacity);
    return match->seats[slot].view_counts;
}
