/* Late inputs that are what had been assumed (spec/determinism.md, worked cases: nothing is run
 * again). They move nobody, but the state knows which input of a player was the newest real one,
 * for how long it has been held and where it was made. That is corrected in the states that are
 * kept, tick by tick, and in the match itself: no stage runs, nothing is drawn from a stream.
 *
 * Where it is not plain that nothing else could change (a shot, a press, a command, another
 * character), the ticks are run again. */
#include "server/match/match_past.h"
#include "server/match/match_save_internal.h"
#include "server/match/rollback_internal.h"
#include "server/rewind/rewind_save.h"
#include "shared/base/arb_assert.h"

#include <string.h>

/* A player who got such an input. */
struct follow {
    uint16_t slot;
    uint32_t count;                         /* of such inputs, up to the tick in hand */
    const struct match_record_input *newly; /* the one of this tick; NULL: none */
    bool stands;                            /* it has a character in this tick */
    struct arb_vec2 place;                  /* m, where that is then, with `newly` */
    bool holds;                             /* the newest of them is the newest real input */
    bool has_origin;                        /* origin records are not as they were */
    struct world_player line;               /* of S[tick] */
    struct rewind_record origin;
    uint8_t origin_control;
};

struct assumed {
    uint32_t window, players;
    uint16_t *slots;        /* [window][players] merged in this stage 1, by tick */
    uint32_t *counts;       /* [window] */
    struct follow *follows; /* [players] */
    uint32_t follow_count;
};

struct assumed *assumed_create(struct match *match, struct arb_arena *arena)
{
    struct assumed *assumed = arb_arena_take(arena, sizeof *assumed);
    assumed->window = (uint32_t)match->config.rollback_window_ticks;
    assumed->players = match->world.head->player_capacity;
    assumed->slots = arb_arena_take_array(arena, (size_t)assumed->window * assumed->players,
                                          sizeof assumed->slots[0]);
    assumed->counts = arb_arena_take_array(arena, assumed->window, sizeof assumed->counts[0]);
    assumed->follows = arb_arena_take_array(arena, assumed->players, sizeof assumed->follows[0]);
    return assumed;
}

void assumed_begin(struct assumed *assumed)
{
    memset(assumed->counts, 0, assumed->window * sizeof assumed->counts[0]);
}

void assumed_note(struct assumed *assumed, uint16_t slot, arb_tick target)
{
    uint32_t at = (uint32_t)(target % assumed->window);
    ARB_ASSERT(assumed->counts[at] < assumed->players);
    assumed->slots[at * assumed->players + assumed->counts[at]++] = slot;
}

/* ---- whether it is ---- */

static bool is_quiet(const struct match_record *record, uint16_t slot)
{
    for (uint32_t i = 0; i < record->stale_count; i++)
        if (record->stale[i].slot == slot) return false;
    for (uint32_t i = 0; i < record->late_count; i++)
        if (record->late[i].slot == slot) return false;
    for (uint32_t i = 0; i < record->view_count; i++)
        if (record->views[i].slot == slot) return false;
    return record->command_count == 0;
}

static bool is_same(const struct arb_input *input, const struct arb_input *last)
{
    return input->edges == 0 && input->buttons == last->buttons && input->move_x == last->move_x &&
           input->move_y == last->move_y && input->aim == last->aim &&
           input->muzzle_fraction == last->muzzle_fraction &&
           memcmp(&input->view, &last->view, sizeof input->view) == 0;
}

static bool is_neutral(const struct arb_input *input)
{
    return input->buttons == 0 && input->move_x == 0 && input->move_y == 0;
}

/* With S[tick] open: it is what was held then, and nothing else of its player happened since. */
static bool is_assumed(const struct match *match, uint16_t slot, arb_tick tick)
{
    const struct match_saved *saved = match->saved;
    const struct world_player *player = &saved->world.players[slot];
    const struct match_record_input *entry =
        match_record_input(match_past_record(match->past, tick), slot);
    bool fires = (entry->input.buttons & ARB_BUTTON_FIRE) != 0;
    bool is_new = saved->loaded_seats[slot].origin_control != player->control;
    if (fires || is_new || player->last.sequence == 0 || player->carried_edges != 0 ||
        entry->control != player->control || !is_same(&entry->input, &player->last)) {
        return false;
    }
    for (arb_tick at = tick; at < match->world.head->tick; at++) {
        if (!is_quiet(match_past_record(match->past, at), slot)) return false;
    }
    return true;
}

/* ---- what it corrects ---- */

static struct follow *follow_of(struct assumed *assumed, uint16_t slot)
{
    for (uint32_t i = 0; i < assumed->follow_count; i++) {
        if (assumed->follows[i].slot == slot) return &assumed->follows[i];
    }
    struct follow *follow = &assumed->follows[assumed->follow_count++];
    *follow = (struct follow){.slot = slot};
    return follow;
}

/* With S[tick] open. */
static void meet(struct assumed *assumed, const struct match *match, uint16_t slot, arb_tick tick)
{
    const struct world *world = &match->saved->world;
    struct follow *follow = follow_of(assumed, slot);
    follow->newly = match_record_input(match_past_record(match->past, tick), slot);
    follow->count++;
    follow->holds = true;
    follow->stands = world_find(world, world->players[slot].controlled) != NULL;
    if (!follow->stands) return;
    struct arb_own own = world->players[slot].own;
    struct arb_move_report report;
    arb_move_step(&own, &follow->newly->input, &match->move, match->geometry, &report);
    follow->place = (struct arb_vec2){own.x, own.y};
}

/* False: one of the tick's changes something. */
static bool meet_all(struct assumed *assumed, const struct match *match, arb_tick tick)
{
    uint32_t at = (uint32_t)(tick % assumed->window);
    const uint16_t *slots = assumed->slots + at * assumed->players;
    for (uint32_t i = 0; i < assumed->counts[at]; i++) {
        if (!is_assumed(match, slots[i], tick)) return false;
    }
    for (uint32_t i = 0; i < assumed->counts[at]; i++)
        meet(assumed, match, slots[i], tick);
    return true;
}

static struct rewind_record *origins_of(const struct match *match)
{
    return (struct rewind_record *)(void *)match->saved->loaded_origins;
}

/* With S[tick] open, before S[tick + 1] takes its place. */
static void look_before(const struct match *match, struct follow *follow)
{
    follow->line = match->saved->world.players[follow->slot];
    follow->origin = origins_of(match)[follow->slot];
    follow->origin_control = match->saved->loaded_seats[follow->slot].origin_control;
}

static void correct_origin(struct match *match, struct follow *follow, arb_tick tick)
{
    struct rewind_record *origin = &origins_of(match)[follow->slot];
    bool is_other =
        match->saved->loaded_seats[follow->slot].origin_control != follow->origin_control;
    bool follows = follow->origin.sequence != 0 && follow->origin.tick + 1 == tick;
    if (is_other) {
        follow->has_origin = false; /* nothing of before counts for another character */
    } else if (follow->newly != NULL && follow->stands) {
        *origin =
            (struct rewind_record){.sequence = follow->newly->input.sequence,
                                   .tick = tick,
                                   .origin = follow->place,
                                   .previous = follows ? follow->origin.origin : follow->place};
        follow->has_origin = true;
    } else if (follow->has_origin && origin->sequence != 0 && origin->tick == tick) {
        origin->previous = follows ? follow->origin.origin : origin->origin;
    } else if (follow->has_origin) {
        *origin = follow->origin;
    }
}

/* With S[tick + 1] open, as it was without these inputs. */
static void correct(struct match *match, struct follow *follow, arb_tick tick)
{
    struct world_player *line = &match->saved->world.players[follow->slot];
    const struct match_record_input *taken =
        match_record_input(match_past_record(match->past, tick), follow->slot);
    correct_origin(match, follow, tick);
    if (taken != NULL) match->seats[follow->slot].taken = *taken;
    line->starved_ticks -= follow->count;
    if (follow->newly != NULL) {
        line->last = inputs_as_state(&follow->newly->input);
        line->last_sequence = line->last.sequence;
        line->hold_ticks = 0;
    } else if (taken != NULL) {
        follow->holds = false;
    } else if (follow->holds) {
        line->last = follow->line.last;
        line->last_sequence = follow->line.last_sequence;
        line->hold_ticks = follow->line.hold_ticks + 1;
    }
    follow->newly = NULL;
}

/* With S[tick + 1] open, as it was: what was held for too long was let go of in this tick, and
 * would still be held with the newer input. */
static bool is_held_on(const struct match *match, const struct follow *follow)
{
    const struct world_player *line = &match->saved->world.players[follow->slot];
    uint32_t limit = (uint32_t)match->config.input_hold_ticks;
    uint32_t held = follow->newly != NULL ? 0 : follow->line.hold_ticks + 1;
    return line->hold_ticks > limit && held <= limit && !is_neutral(&line->last);
}

/* From S[tick], which is open, to S[tick + 1]. False: that is another one, and as it was. */
static bool correct_next(struct assumed *assumed, struct match *match, arb_tick tick)
{
    uint64_t *checksum;
    uint8_t *block = match_past_state(match->past, tick + 1, &checksum);
    for (uint32_t i = 0; i < assumed->follow_count; i++)
        look_before(match, &assumed->follows[i]);
    match_open_block(match, block);
    for (uint32_t i = 0; i < assumed->follow_count; i++) {
        if (is_held_on(match, &assumed->follows[i])) return false;
    }
    for (uint32_t i = 0; i < assumed->follow_count; i++)
        correct(match, &assumed->follows[i], tick);
    *checksum = match_close_block(match, block);
    return true;
}

/* With S[now] open. */
static void correct_match(const struct assumed *assumed, struct match *match)
{
    struct rewind_record *origins = rewind_origins(match->rewind).memory;
    for (uint32_t i = 0; i < assumed->follow_count; i++) {
        uint16_t slot = assumed->follows[i].slot;
        match->world.players[slot] = match->saved->world.players[slot];
        origins[slot] = origins_of(match)[slot];
    }
    rewind_origins_changed(match->rewind);
    match->checksum = match_past_checksum(match->past, match->world.head->tick);
}

arb_tick assumed_correct(struct assumed *assumed, struct match *match, arb_tick from,
                         uint32_t *count)
{
    uint64_t *checksum;
    arb_tick now = match->world.head->tick, tick = from;
    *count = assumed->follow_count = 0;
    if (match->decided) return from; /* what the decision was is kept beside the states */
    match_open_block(match, match_past_state(match->past, from, &checksum));
    for (; tick < now; tick++) {
        if (!meet_all(assumed, match, tick) || !correct_next(assumed, match, tick)) return tick;
        *count += assumed->counts[tick % assumed->window];
    }
    correct_match(assumed, match);
    return now;
}
