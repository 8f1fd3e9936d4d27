/* A generator of delivery opportunities. Fitted by hand to recorded LTE drives (README.md): the
 * rate wanders over a ladder, holding each rung for some hundred milliseconds; between rungs the
 * link is often silent, mostly briefly, sometimes for long.
 */
#include "tools/net/trace.h"

#include "shared/base/arb_mem.h"

enum {
    RUNGS = 12,
    HOLD_MIN_MS = 60,
    HOLD_SPAN_MS = 340,
    STEP_MOST = 2,         /* rungs */
    CALM_PERCENT = 40,     /* steps that go towards the middle */
    SILENCES = 16,         /* equally likely spans of lengths */
    BYTES_PER_MS_BITS = 8, /* kbit/s are bits per ms */
    OPPORTUNITY_BITS = ARB_TRACE_BYTES * BYTES_PER_MS_BITS,
};

struct shape {
    uint32_t rung_kbps[RUNGS];
    uint32_t pause_percent;   /* rungs that end with a pause of 15 to 50 ms */
    uint32_t silence_percent; /* and with a silence */
};

static const struct shape shapes[] = {
    [TRACE_UP] = {{150, 350, 700, 1000, 1400, 1800, 2300, 3000, 4000, 5500, 8000, 12000}, 90, 32},
    [TRACE_DOWN] = {{300, 700, 1200, 2000, 3000, 4200, 5500, 7000, 9500, 13000, 16000, 20000},
                    50,
                    30},
};

/* Silences in ms: P(longer than x) falls with x^-1.3 from 50 ms on, and ends at a second. */
static const uint32_t silence_ms[SILENCES + 1] = {50, 52,  55,  59,  62,  67,  72,  78,  85,
                                                  95, 106, 122, 145, 181, 248, 422, 1000};

struct generator {
    struct arb_rng rng;
    const struct shape *shape;
    uint32_t rung;
    uint32_t bits; /* of the next opportunity, already there */
};

static uint32_t draw_silence(struct arb_rng *rng)
{
    uint32_t span = arb_rng_below(rng, SILENCES);
    uint32_t low = silence_ms[span], high = silence_ms[span + 1];
    return low + arb_rng_below(rng, high - low + 1);
}

/* Time until the next rung. */
static uint32_t draw_pause(struct generator *generator)
{
    struct arb_rng *rng = &generator->rng;
    uint32_t pause = 0;
    if (arb_rng_below(rng, 100) < generator->shape->pause_percent) {
        pause += 15 + arb_rng_below(rng, 36);
    }
    if (arb_rng_below(rng, 100) < generator->shape->silence_percent) {
        pause += draw_silence(rng);
    }
    return pause;
}

static void step_rung(struct generator *generator)
{
    struct arb_rng *rng = &generator->rng;
    uint32_t by = arb_rng_below(rng, STEP_MOST + 1);
    bool up = arb_rng_below(rng, 2) == 0;
    if (arb_rng_below(rng, 100) < CALM_PERCENT) up = generator->rung < RUNGS / 2;
    if (up) {
        generator->rung = generator->rung + by < RUNGS ? generator->rung + by : RUNGS - 1;
    } else {
        generator->rung = generator->rung > by ? generator->rung - by : 0;
    }
}

/* Opportunities of one millisecond; they clump, since radio blocks carry several. */
static uint32_t draw_opportunities(struct generator *generator)
{
    uint32_t rate = generator->shape->rung_kbps[generator->rung];
    generator->bits += arb_rng_below(&generator->rng, 2 * rate + 1);
    if (arb_rng_below(&generator->rng, 2) == 0) return 0;
    uint32_t count = generator->bits / OPPORTUNITY_BITS;
    generator->bits %= OPPORTUNITY_BITS;
    return count;
}

static void add(struct trace *trace, uint32_t capacity, uint32_t time_ms, uint32_t count)
{
    for (uint32_t i = 0; i < count && trace->link.count < capacity; i++) {
        trace->time_ms[trace->link.count++] = time_ms;
    }
}

void trace_generate(struct trace *trace, enum trace_direction direction, uint32_t length_ms,
                    uint64_t seed)
{
    const struct shape *shape = &shapes[direction];
    struct generator generator = {.shape = shape, .rung = RUNGS / 2};
    arb_rng_seed(&generator.rng, seed, direction);
    uint32_t per_ms = 2 * shape->rung_kbps[RUNGS - 1] / OPPORTUNITY_BITS + 1;
    uint32_t capacity = length_ms * per_ms + 1;
    *trace = (struct trace){.time_ms = arb_mem_alloc(capacity * sizeof *trace->time_ms)};
    for (uint32_t now_ms = 0; now_ms < length_ms;) {
        uint32_t hold_ms = HOLD_MIN_MS + arb_rng_below(&generator.rng, HOLD_SPAN_MS);
        for (uint32_t i = 0; i < hold_ms && now_ms < length_ms; i++, now_ms++) {
            add(trace, capacity - 1, now_ms, draw_opportunities(&generator));
        }
        now_ms += draw_pause(&generator);
        step_rung(&generator);
    }
    /* The last one tells where the list begins again. */
    add(trace, capacity, length_ms, 1);
    trace->link.period_ms = length_ms;
    trace->link.time_ms = trace->time_ms;
}
