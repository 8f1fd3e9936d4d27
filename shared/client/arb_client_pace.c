#include "shared/client/arb_client_pace.h"

#include <string.h>

/* What came later than that was held up by an outage; a lead that would have covered it helps
 * nobody afterwards. */
enum { WORST_TICKS = -4 };

/* What waited is that much older than the line makes it, and has come that soon after its first. */
enum { BACKLOG_AGE_NS = 250000000, BACKLOG_NS = 333000000 };

static arb_fine clamp(arb_fine value, arb_fine low, arb_fine high)
{
    return value < low ? low : value > high ? high : value;
}

static uint32_t held_count(uint32_t count)
{
    return count < ARB_PACE_WINDOW ? count : ARB_PACE_WINDOW;
}

/* What was wanted most of late: rises at once, and sinks by `percent` of the distance in a second.
 * Less than a millisecond waits for the next call, or what is lost in rounding would never sink. */
static void sink(arb_fine *held, uint64_t *held_ns, uint64_t now_ns, arb_fine wanted,
                 uint32_t percent)
{
    if (*held_ns == 0 || wanted >= *held) {
        *held = wanted;
    } else if (now_ns > *held_ns) {
        uint64_t passed_ms = (now_ns - *held_ns) / 1000000;
        if (passed_ms == 0) return;
        arb_fine bounded_ms = passed_ms < 1000 ? (arb_fine)passed_ms : 1000;
        *held -= (*held - wanted) * bounded_ms * (arb_fine)percent / 100000;
    }
    *held_ns = now_ns;
}

/* ---- behind ---- */

static struct arb_delay_spread spread_of(const struct arb_delay *delay)
{
    uint32_t held = held_count(delay->count);
    struct arb_delay_spread out = {delay->age[0], delay->age[0], 0, delay->need[0]};
    arb_fine sum = 0;
    for (uint32_t i = 0; i < held; i++) {
        out.youngest = delay->age[i] < out.youngest ? delay->age[i] : out.youngest;
        out.oldest = delay->age[i] > out.oldest ? delay->age[i] : out.oldest;
        out.need = delay->need[i] > out.need ? delay->need[i] : out.need;
        sum += delay->age[i];
    }
    out.mean = sum / (arb_fine)held;
    return out;
}

bool arb_delay_is_backlog(struct arb_delay *delay, arb_fine age, arb_fine one_way, uint32_t rate,
                          uint64_t now_ns)
{
    if (delay->count > 0 || age <= one_way + arb_fine_from_ns(BACKLOG_AGE_NS, rate)) return false;
    if (delay->backlog_ns == 0) delay->backlog_ns = now_ns;
    return now_ns - delay->backlog_ns < BACKLOG_NS;
}

void arb_delay_add(struct arb_delay *delay, arb_fine arrived, arb_tick previous, arb_tick tick,
                   uint32_t lost)
{
    uint32_t place = delay->count % ARB_PACE_WINDOW;
    uint32_t block = delay->count / ARB_LOSS_BLOCK % ARB_LOSS_BLOCKS;
    if (delay->count % ARB_LOSS_BLOCK == 0) delay->lost[block] = 0;
    /* An outage is no rate of loss: no delay would have bridged it. */
    delay->lost[block] =
        (uint8_t)(delay->lost[block] + (lost < ARB_LOSS_RUN ? lost : ARB_LOSS_RUN));
    delay->age[place] = arrived - (arb_fine)tick * ARB_FINE_TICK;
    delay->need[place] = arrived - (arb_fine)previous * ARB_FINE_TICK;
    delay->step = (arb_fine)(tick - previous) * ARB_FINE_TICK / ((arb_fine)lost + 1);
    delay->count++;
    delay->spread = spread_of(delay);
}

/* How much later than the youngest they are in the mean: half of an even jitter. */
static arb_fine lateness(const struct arb_delay *delay)
{
    return delay->spread.mean - delay->spread.youngest;
}

/* Who has just come has seen no loss yet. Where arrivals vary, something queues, and what queues
 * gets lost: a view that is drawn later than it need be for some seconds shows less than one that
 * stands still with the first loss. */
static bool is_doubted(const struct arb_delay *delay)
{
    return delay->count <= ARB_LOSS_BLOCK * ARB_LOSS_DOUBTED &&
           lateness(delay) > ARB_FINE_TICK / ARB_LOSS_EVEN;
}

uint32_t arb_delay_run(const struct arb_delay *delay)
{
    uint32_t lost = is_doubted(delay);
    for (uint32_t i = 0; i < ARB_LOSS_BLOCKS; i++) {
        lost += delay->lost[i];
    }
    return lost >= ARB_LOSS_FREQUENT ? ARB_LOSS_RUN : lost > 0;
}

struct arb_delay_state arb_delay_now(struct arb_delay *delay, uint64_t now_ns,
                                     uint32_t interval_ticks, arb_fine low, arb_fine high)
{
    if (delay->count == 0) {
        arb_fine first = (arb_fine)interval_ticks * ARB_FINE_TICK + ARB_FINE_TICK * 7 / 16;
        return (struct arb_delay_state){0, clamp(first, low, high), 0};
    }
    struct arb_delay_spread spread = delay->spread;
    arb_fine wanted = spread.need - spread.youngest;
    uint32_t run = arb_delay_run(delay);
    if (run > 0) {
        /* Twice the mean lateness: all of an even jitter, and not the rare peak, which seldom meets
         * a loss. */
        arb_fine bridge = (arb_fine)(run + 1) * delay->step + 2 * lateness(delay);
        wanted = bridge > wanted ? bridge : wanted;
    }
    sink(&delay->held, &delay->held_ns, now_ns, wanted, 50);
    /* A quarter tick more, so that the clock's small wanderings do not run out of snapshots. */
    return (struct arb_delay_state){spread.youngest,
                                    clamp(delay->held + ARB_FINE_TICK / 4, low, high),
                                    spread.oldest - spread.youngest};
}

/* ---- ahead ---- */

void arb_lead_add(struct arb_lead *lead, arb_fine lead_then, int32_t worst_ticks, arb_fine spare)
{
    int32_t worst = worst_ticks < WORST_TICKS ? WORST_TICKS : worst_ticks;
    lead->wanted[lead->count % ARB_PACE_WINDOW] =
        lead_then + spare - (arb_fine)worst * ARB_FINE_TICK;
    lead->count++;
    uint32_t held = held_count(lead->count);
    lead->highest = lead->wanted[0];
    for (uint32_t i = 1; i < held; i++) {
        lead->highest = lead->wanted[i] > lead->highest ? lead->wanted[i] : lead->highest;
    }
}

/* The highest want of the window; older ones are forgotten slowly: jitter that was seen once comes
 * again, and a lost tick costs more than a tick of lead. */
arb_fine arb_lead_now(struct arb_lead *lead, uint64_t now_ns, arb_fine first, arb_fine low,
                      arb_fine high)
{
    if (lead->count == 0) {
        return clamp(first, low, high);
    }
    sink(&lead->held, &lead->held_ns, now_ns, lead->highest, 10);
    return clamp(lead->held, low, high);
}
