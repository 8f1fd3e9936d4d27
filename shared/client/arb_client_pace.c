#include "shared/client/arb_client_pace.h"

#include <string.h>

/* What came later than that was held up by an outage; a lead that would have covered it helps
 * nobody afterwards. */
enum { WORST_TICKS = -4 };

static arb_fine clamp(arb_fine value, arb_fine low, arb_fine high)
{
    return value < low ? low : value > high ? high : value;
}

static uint32_t held_count(uint32_t count)
{
    return count < ARB_PACE_WINDOW ? count : ARB_PACE_WINDOW;
}

void arb_delay_add(struct arb_delay *delay, arb_fine arrived, arb_tick previous, arb_tick tick)
{
    uint32_t place = delay->count % ARB_PACE_WINDOW;
    delay->age[place] = arrived - (arb_fine)tick * ARB_FINE_TICK;
    delay->need[place] = arrived - (arb_fine)previous * ARB_FINE_TICK;
    delay->count++;
}

struct arb_delay_state arb_delay_now(const struct arb_delay *delay, uint32_t interval_ticks,
                                     arb_fine low, arb_fine high)
{
    uint32_t held = held_count(delay->count);
    if (held == 0) {
        arb_fine two = 2 * (arb_fine)interval_ticks * ARB_FINE_TICK;
        return (struct arb_delay_state){0, clamp(two, low, high), 0};
    }
    arb_fine youngest = delay->age[0];
    arb_fine oldest = delay->age[0];
    arb_fine need = delay->need[0];
    for (uint32_t i = 1; i < held; i++) {
        youngest = delay->age[i] < youngest ? delay->age[i] : youngest;
        oldest = delay->age[i] > oldest ? delay->age[i] : oldest;
        need = delay->need[i] > need ? delay->need[i] : need;
    }
    /* A quarter tick more, so that the clock's small wanderings do not run out of snapshots. */
    arb_fine interpolation = need - youngest + ARB_FINE_TICK / 4;
    return (struct arb_delay_state){youngest, clamp(interpolation, low, high), oldest - youngest};
}

void arb_lead_add(struct arb_lead *lead, arb_fine lead_then, int32_t worst_ticks, arb_fine spare)
{
    int32_t worst = worst_ticks < WORST_TICKS ? WORST_TICKS : worst_ticks;
    lead->wanted[lead->count % ARB_PACE_WINDOW] =
        lead_then + spare - (arb_fine)worst * ARB_FINE_TICK;
    lead->count++;
}

/* The highest want of the window; older ones are forgotten slowly (a tenth of the distance per
 * second): jitter that was seen once comes again, and a lost tick costs more than a tick of lead.
 */
static arb_fine sink(struct arb_lead *lead, uint64_t now_ns, arb_fine highest)
{
    if (lead->held_ns == 0 || highest >= lead->held) {
        lead->held = highest;
    } else if (now_ns > lead->held_ns) {
        uint64_t passed_ms = (now_ns - lead->held_ns) / 1000000;
        if (passed_ms == 0) {
            return lead->held;
        }
        arb_fine bounded_ms = passed_ms < 1000 ? (arb_fine)passed_ms : 1000;
        lead->held -= (lead->held - highest) * bounded_ms / 10000;
    }
    lead->held_ns = now_ns;
    return lead->held;
}

arb_fine arb_lead_now(struct arb_lead *lead, uint64_t now_ns, arb_fine first, arb_fine low,
                      arb_fine high)
{
    uint32_t held = held_count(lead->count);
    if (held == 0) {
        return clamp(first, low, high);
    }
    arb_fine highest = lead->wanted[0];
    for (uint32_t i = 1; i < held; i++) {
        highest = lead->wanted[i] > highest ? lead->wanted[i] : highest;
    }
    return clamp(sink(lead, now_ns, highest), low, high);
}
