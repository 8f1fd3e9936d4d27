/* What all are told of, and how far each receiver was told. An event to everybody is, with a
 * thousand players, a thousand messages; so each receiver gets what happened since its last turn in
 * one, encoded once for all whose turns come together.
 *
 * Owns the newest events and the messages made of them; how far a receiver was told is one number
 * that the receiver keeps. Called by stage 9 (announce.c, spectators.c). Never part of the state.
 */
#ifndef MATCH_NEWS_H
#define MATCH_NEWS_H

#include "shared/base/arb_arena.h"
#include "shared/proto/arb_proto.h"

enum { NEWS_MADE = 64 };

struct news_message {
    uint64_t from, newest; /* it holds events from + 1 ... from + used, when `newest` was that */
    uint32_t used;         /* 0: none */
    uint16_t size;
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
};

struct news {
    struct arb_event *events; /* [capacity] the newest; event n, counted from 1, at (n - 1) % it */
    uint32_t capacity;
    uint64_t newest;
    uint64_t told_to_all;      /* all receivers were told up to here */
    struct news_message *made; /* [NEWS_MADE] by `from` */
};

void news_create(struct news *news, struct arb_arena *arena, uint32_t capacity);

/* Whether it has no room before everybody is told; the caller then does so and says it. */
bool news_is_full(const struct news *news);
void news_all_told(struct news *news);
/* Ticks ascending; there is room. */
void news_add(struct news *news, const struct arb_event *event);

/* A message of what comes after `told` (below `newest`), as much as fits; valid until the next
 * call. Returns up to where it tells. */
uint64_t news_message(struct news *news, uint64_t told, const uint8_t **bytes, size_t *size);

/* Whether it is the turn of receiver `index`, of many, with the tick that is `published`: the more
 * are present, the longer each waits, a second at most. Whoever waits at all does so for a tick
 * with a snapshot (each `interval` ticks), whose datagram the news then shares. */
bool news_is_turn(uint32_t present, uint32_t tick_rate, uint32_t interval, arb_tick published,
                  uint32_t index);

/* The same for what is due each `every` ticks. */
bool news_is_due(uint32_t every, uint32_t interval, arb_tick published, uint32_t index);

/* Everybody is told of this at once. */
static inline bool news_cannot_wait(const struct arb_event *event)
{
    return event->kind == ARB_EVENT_PHASE || event->kind == ARB_EVENT_RESULT;
}

/* And with all that came before it, final scores included. What begins can be told alone: a crowd
 * that has just come, and begins, has much to be told of. */
static inline bool news_comes_last(const struct arb_event *event)
{
    return event->kind == ARB_EVENT_RESULT ||
           (event->kind == ARB_EVENT_PHASE && event->phase.phase >= ARB_PHASE_RESULT);
}

#endif
