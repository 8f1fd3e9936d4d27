/* What differs between two states, in the order of suspicion (spec/determinism.md "Replay and
 * journal"): inputs first, since everything follows from them; then draws of the random streams;
 * then which entities there are; then fields. */
#include "tools/replay/replay.h"

#include "server/match/match_save.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 40 };

struct listing {
    const char *here, *there;
    FILE *out;
    uint32_t lines;
};

static void print_numbers(struct listing *list, const char *what, uint32_t index, const char *field,
                          uint64_t a, uint64_t b)
{
    if (a == b || list->lines++ >= LINES_MAX) return;
    fprintf(list->out, "  %s %u: %s: %s %" PRIu64 ", %s %" PRIu64 "\n", what, index, field,
            list->here, a, list->there, b);
}

static void print_float(struct listing *list, const char *what, uint32_t index, const char *field,
                        float a, float b)
{
    uint32_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a_bits);
    memcpy(&b_bits, &b, sizeof b_bits);
    if (a_bits == b_bits || list->lines++ >= LINES_MAX) return;
    fprintf(list->out, "  %s %u: %s: %s %.9g (%08" PRIx32 "), %s %.9g (%08" PRIx32 ")\n", what,
            index, field, list->here, (double)a, a_bits, list->there, (double)b, b_bits);
}

static void compare_inputs(struct listing *list, const struct world *a, const struct world *b)
{
    for (uint32_t slot = 0; slot < a->head->player_capacity; slot++) {
        const struct world_player *left = &a->players[slot], *right = &b->players[slot];
        print_numbers(list, "player", slot, "presence", left->presence, right->presence);
        print_numbers(list, "player", slot, "newest input", left->last_sequence,
                      right->last_sequence);
        print_numbers(list, "player", slot, "tick of its input", left->last.target_tick,
                      right->last.target_tick);
        print_numbers(list, "player", slot, "ticks without input", left->hold_ticks,
                      right->hold_ticks);
        print_numbers(list, "player", slot, "starved ticks", left->starved_ticks,
                      right->starved_ticks);
    }
}

static void compare_streams(struct listing *list, const struct world *a, const struct world *b)
{
    static const char *const names[WORLD_STREAMS] = {"spawn", "combat", "loot"};
    for (uint32_t i = 0; i < WORLD_STREAMS; i++) {
        print_numbers(list, "random stream", i, names[i], a->head->streams[i].state,
                      b->head->streams[i].state);
    }
}

static void compare_lists(struct listing *list, const struct world *a, const struct world *b)
{
    print_numbers(list, "entities", 0, "count", a->head->entity_count, b->head->entity_count);
    for (uint32_t id = 0; id < a->head->entity_capacity; id++) {
        const struct world_entity *left = &a->entities[id], *right = &b->entities[id];
        print_numbers(list, "entity", id, "alive", left->alive, right->alive);
        print_numbers(list, "entity", id, "generation", left->generation, right->generation);
        if (left->alive && right->alive) {
            print_numbers(list, "entity", id, "kind", left->kind, right->kind);
            print_numbers(list, "entity", id, "owner", left->owner, right->owner);
        }
    }
}

static void compare_entities(struct listing *list, const struct world *a, const struct world *b)
{
    for (uint32_t id = 0; id < a->head->entity_capacity; id++) {
        const struct world_entity *left = &a->entities[id], *right = &b->entities[id];
        if (!left->alive || !right->alive) continue;
        print_float(list, "entity", id, "x", left->x, right->x);
        print_float(list, "entity", id, "y", left->y, right->y);
        print_float(list, "entity", id, "vx", left->vx, right->vx);
        print_float(list, "entity", id, "vy", left->vy, right->vy);
        print_float(list, "entity", id, "heading", left->heading, right->heading);
        for (uint32_t i = 0; i < WORLD_VALUES; i++) {
            print_numbers(list, "entity", id, "value of the mode", (uint64_t)left->values[i],
                          (uint64_t)right->values[i]);
        }
    }
}

/* Whatever else the state holds: the first field by the tables. */
static void compare_rest(struct listing *list, const struct match *a, const struct match *b)
{
    uint32_t bytes = match_save_bytes(a, MATCH_SAVE_STATE);
    uint8_t *left = calloc(1, bytes), *right = calloc(1, bytes);
    char text[MATCH_REPLAY_TEXT_BYTES];
    if (left != NULL && right != NULL) {
        match_save(a, MATCH_SAVE_STATE, left, bytes);
        match_save(b, MATCH_SAVE_STATE, right, bytes);
        if (match_save_differs(a, left, right, text, sizeof text)) {
            list->lines++;
            fprintf(list->out, "  first field of all (%s, %s): %s\n", list->here, list->there,
                    text);
        }
    }
    free(left);
    free(right);
}

uint32_t replay_print_differences(const struct match *a, const struct match *b, const char *here,
                                  const char *there, FILE *out)
{
    struct listing list = {.here = here, .there = there, .out = out};
    const struct world *left = match_world(a), *right = match_world(b);
    compare_inputs(&list, left, right);
    compare_streams(&list, left, right);
    compare_lists(&list, left, right);
    compare_entities(&list, left, right);
    if (list.lines > LINES_MAX) {
        fprintf(out, "  and %u more\n", list.lines - LINES_MAX);
    }
    compare_rest(&list, a, b);
    return list.lines;
}
