#include "server/match/news.h"

#include "shared/base/arb_assert.h"

enum { PRESENT_PER_TICK = 16 };

void news_create(struct news *news, struct arb_arena *arena, uint32_t capacity)
{
    *news = (struct news){.capacity = capacity};
    news->events = arb_arena_take_array(arena, capacity, sizeof *news->events);
    news->made = arb_arena_take_array(arena, NEWS_MADE, sizeof *news->made);
}

bool news_is_full(const struct news *news)
{
    return news->newest - news->told_to_all == news->capacity;
}

void news_all_told(struct news *news)
{
    news->told_to_all = news->newest;
}

void news_add(struct news *news, const struct arb_event *event)
{
    ARB_ASSERT(!news_is_full(news));
    news->events[news->newest++ % news->capacity] = *event;
}

/* The ring's end cuts a message, as its own length does. */
uint64_t news_message(struct news *news, uint64_t told, const uint8_t **bytes, size_t *size)
{
    ARB_ASSERT(told >= news->told_to_all && told < news->newest);
    struct news_message *made = &news->made[told % NEWS_MADE];
    if (made->used == 0 || made->from != told || made->newest != news->newest) {
        uint64_t place = told % news->capacity;
        uint64_t count = news->newest - told;
        if (count > news->capacity - place) count = news->capacity - place;
        made->from = told;
        made->newest = news->newest;
        made->size = (uint16_t)arb_events_encode(news->events + place, (uint32_t)count, made->bytes,
                                                 sizeof made->bytes, &made->used);
        ARB_ASSERT(made->used > 0);
    }
    *bytes = made->bytes;
    *size = made->size;
    return told + made->used;
}

bool news_is_due(uint32_t every, uint32_t interval, arb_tick published, uint32_t index)
{
    if (published % interval != 0) return false;
    uint32_t snapshots = every > interval ? every / interval : 1;
    return (published / interval + index) % snapshots == 0;
}

bool news_is_turn(uint32_t present, uint32_t tick_rate, uint32_t interval, arb_tick published,
                  uint32_t index)
{
    uint32_t every = (present + PRESENT_PER_TICK - 1) / PRESENT_PER_TICK;
    if (every > tick_rate) every = tick_rate;
    return every <= 1 || news_is_due(every, interval, published, index);
}
