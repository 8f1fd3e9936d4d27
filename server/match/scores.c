#include "server/match/scores.h"

#include "shared/base/arb_assert.h"

enum {
    LINE_BYTES_MAX = 14,        /* 106 bits */
    MESSAGE_BYTES_LEAST = 1100, /* that are lines when there are more */
};

void scores_create(struct scores *scores, struct arb_arena *arena, uint16_t players)
{
    *scores = (struct scores){.players = players};
    scores->lines = arb_arena_take_array(arena, players, sizeof *scores->lines);
    scores->player_ids = arb_arena_take_array(arena, players, sizeof *scores->player_ids);
    scores->changed = arb_arena_take_array(arena, players, sizeof *scores->changed);
    scores->due = arb_arena_take_array(arena, players, sizeof *scores->due);
    scores->message_capacity = players * (uint32_t)LINE_BYTES_MAX / MESSAGE_BYTES_LEAST + 1;
    scores->messages = arb_arena_take_array(arena, scores->message_capacity, ARB_MESSAGE_BYTES_MAX);
    scores->sizes = arb_arena_take_array(arena, scores->message_capacity, sizeof *scores->sizes);
}

void scores_begin(struct scores *scores)
{
    scores->is_open = false;
}

static bool same_line(const struct arb_event_score *a, const struct arb_event_score *b)
{
    return a->score == b->score && a->kills == b->kills && a->deaths == b->deaths &&
           a->deaths_by_nobody == b->deaths_by_nobody;
}

void scores_set(struct scores *scores, uint64_t player_id, const struct arb_event_score *line)
{
    uint16_t slot = line->slot;
    ARB_ASSERT(slot < scores->players);
    /* Receivers begin another player's line with zeros, whatever was there before. */
    static const struct arb_event_score zeros;
    bool is_same = scores->player_ids[slot] == player_id;
    bool is_news = !same_line(is_same ? &scores->lines[slot] : &zeros, line);
    scores->player_ids[slot] = player_id;
    scores->lines[slot] = *line;
    if (!is_news) return;
    if (!scores->is_open) scores->newest++;
    scores->is_open = true;
    scores->changed[slot] = scores->newest;
}

static void make(struct scores *scores, uint32_t count, uint32_t tick)
{
    scores->message_count = 0;
    for (uint32_t done = 0; done < count;) {
        uint32_t i = scores->message_count++, used;
        ARB_ASSERT(i < scores->message_capacity);
        size_t size = arb_scores_encode(tick, scores->due + done, count - done,
                                        scores->messages + (size_t)i * ARB_MESSAGE_BYTES_MAX,
                                        ARB_MESSAGE_BYTES_MAX, &used);
        ARB_ASSERT(size > 0);
        scores->sizes[i] = (uint16_t)size;
        done += used;
    }
}

/* Those whose turn is in one tick were mostly told last in one tick: the messages are the same. */
uint32_t scores_since(struct scores *scores, uint32_t told, uint32_t tick)
{
    if (told == scores->newest) return 0;
    if (scores->made_after == told && scores->made_newest == scores->newest &&
        scores->made_tick == tick) {
        return scores->message_count;
    }
    uint32_t count = 0;
    for (uint16_t slot = 0; slot < scores->players; slot++) {
        if (scores->changed[slot] > told) scores->due[count++] = scores->lines[slot];
    }
    make(scores, count, tick);
    scores->made_after = told;
    scores->made_newest = scores->newest;
    scores->made_tick = tick;
    return scores->message_count;
}

const uint8_t *scores_message(const struct scores *scores, uint32_t index, size_t *size)
{
    ARB_ASSERT(index < scores->message_count);
    *size = scores->sizes[index];
    return scores->messages + (size_t)index * ARB_MESSAGE_BYTES_MAX;
}
