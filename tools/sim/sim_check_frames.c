/* A client's committed frames against what the server published and showed. The server's side keeps
 * a copy of each published frame of which snapshots went out; nothing of what the checks compare
 * with comes from the modules that are checked. */
#include "tools/sim/sim_checks.h"

#include "shared/base/arb_assert.h"

#include <string.h>

/* ---- what was published ---- */

arb_tick sim_archive_newest(const struct sim_checks *checks)
{
    uint64_t count = checks->archive_count;
    return count == 0 ? 0 : checks->archive[(count - 1) % SIM_ARCHIVE_FRAMES].frame.tick;
}

arb_tick sim_archive_oldest(const struct sim_checks *checks)
{
    uint64_t count = checks->archive_count;
    uint64_t first = count > SIM_ARCHIVE_FRAMES ? count - SIM_ARCHIVE_FRAMES : 0;
    return count == 0 ? 0 : checks->archive[first % SIM_ARCHIVE_FRAMES].frame.tick;
}

const struct sim_published *sim_archive_at(const struct sim_checks *checks, arb_tick tick)
{
    arb_tick newest = sim_archive_newest(checks);
    arb_tick interval = (arb_tick)checks->sim->config.match.snapshot_interval_ticks;
    if (tick > newest || tick < sim_archive_oldest(checks) || (newest - tick) % interval != 0) {
        return NULL;
    }
    uint64_t back = (newest - tick) / interval;
    const struct sim_published *published =
        &checks->archive[(checks->archive_count - 1 - back) % SIM_ARCHIVE_FRAMES];
    return published->frame.tick == tick ? published : NULL;
}

static void copy_frame(struct arb_frame *to, const struct arb_frame *from)
{
    to->tick = from->tick;
    to->entity_count = from->entity_count;
    to->point_count = from->point_count;
    memcpy(to->entities, from->entities, from->entity_count * sizeof *from->entities);
    memcpy(to->points, from->points, from->point_count * sizeof *from->points);
}

/* Snapshots are of the state after the step, so are these. */
void sim_frames_publish(struct sim_checks *checks)
{
    const struct arb_frame *frame = rewind_newest(match_rewind(checks->sim->match));
    if (frame->tick % (arb_tick)checks->sim->config.match.snapshot_interval_ticks != 0) return;
    struct sim_published *published = &checks->archive[checks->archive_count % SIM_ARCHIVE_FRAMES];
    copy_frame(&published->frame, frame);
    const struct world *world = match_world(checks->sim->match);
    for (uint16_t slot = 0; slot < checks->players; slot++) {
        const struct world_player *player = &world->players[slot];
        published->own[slot] = (struct sim_own){.own = player->own,
                                                .controlled = player->controlled,
                                                .control = player->control,
                                                .has_own = !arb_key_is_none(player->controlled),
                                                .starved_ticks = player->starved_ticks,
                                                .outside_changes = player->outside_changes,
                                                .last_sequence = player->last_sequence};
    }
    checks->archive_count++;
}

/* ---- what was shown ---- */

void sim_frames_sight(struct sim_checks *checks, const struct match_sight *sight)
{
    struct sim_seat *seat = sim_seat_of_sight(checks, sight);
    if (seat == NULL) return;
    struct sim_sight *out = &seat->sights[seat->sight_count++ % SIM_ARCHIVE_FRAMES];
    *out = (struct sim_sight){sight->frame->tick, seat->key_count, sight->count};
    for (uint32_t i = 0; i < sight->count; i++) {
        seat->keys[seat->key_count++ % SIM_SIGHT_KEYS] =
            arb_key_order(sight->frame->entities[sight->visible[i]].key);
    }
}

static const struct sim_sight *sight_at(const struct sim_seat *seat, arb_tick tick)
{
    uint64_t kept = seat->sight_count < SIM_ARCHIVE_FRAMES ? seat->sight_count : SIM_ARCHIVE_FRAMES;
    for (uint64_t back = 1; back <= kept; back++) {
        const struct sim_sight *sight =
            &seat->sights[(seat->sight_count - back) % SIM_ARCHIVE_FRAMES];
        if (sight->tick == tick) return sight;
        if (sight->tick < tick) break;
    }
    return NULL;
}

/* ---- entity_life, entity_state ---- */

static bool equal(const struct arb_frame *a, const struct arb_published *x,
                  const struct arb_frame *b, const struct arb_published *y)
{
    return x->kind == y->kind && x->body_count == y->body_count &&
           memcmp(x->q, y->q, sizeof x->q) == 0 &&
           (x->body_count == 0 || memcmp(a->points + x->body_first, b->points + y->body_first,
                                         x->body_count * sizeof(struct arb_point)) == 0);
}

/* As it was published; what is shown with a delay, as it was settled. */
static const struct arb_frame *frame_shown(const struct sim_checks *checks,
                                           const struct sim_player *player, arb_tick tick)
{
    const struct match_config *config = &checks->sim->config.match;
    const struct sim_published *published = sim_archive_at(checks, tick);
    bool delayed = player->is_spectator && config->spectator_delay_s > 0;
    if (published == NULL || !delayed || config->rollback_window_ticks == 0) {
        return published != NULL ? &published->frame : NULL;
    }
    return rewind_frame(match_rewind(checks->sim->match), tick);
}

/* Whatever it has of a tick, the server published just so of that tick: of the snapshot's own, or
 * of an earlier one if it was left out since. `tick` is the server's name for the snapshot's. */
static void check_entity_state(struct sim_checks *checks, const struct sim_player *player,
                               arb_tick tick, const struct arb_history_slot *slot)
{
    const struct arb_frame *whole = frame_shown(checks, player, tick);
    uint32_t client = player->index;
    for (uint32_t i = 0; i < slot->frame.entity_count; i++) {
        const struct arb_published *entity = &slot->frame.entities[i];
        arb_tick of = tick - slot->entries[i].age;
        const struct arb_frame *shown = of == tick ? whole : frame_shown(checks, player, of);
        if (shown == NULL &&
            (of < sim_archive_oldest(checks) || sim_archive_at(checks, of) != NULL)) {
            continue; /* nobody has it any more */
        }
        const struct arb_published *sent =
            shown == NULL ? NULL : arb_frame_find(shown, entity->key);
        if (sent == NULL) {
            sim_violated(checks, SIM_INVARIANT_entity_life,
                         "client %u has (%u, %u) of tick %llu, when it did not exist", client,
                         entity->key.id, entity->key.generation, (unsigned long long)of);
        } else if (!equal(&slot->frame, entity, shown, sent)) {
            sim_violated(checks, SIM_INVARIANT_entity_state,
                         "client %u has (%u, %u) of tick %llu otherwise than it was published",
                         client, entity->key.id, entity->key.generation, (unsigned long long)of);
        }
    }
}

/* What came into view may wait for room in a snapshot, but not for ever. */
static void check_wait(struct sim_checks *checks, const struct sim_player *player, uint32_t order,
                       arb_tick tick)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    struct sim_wait *wait = &witness->waits[order >> 16];
    bool goes_on = wait->order == order && wait->tick == witness->newest_tick;
    *wait = (struct sim_wait){order, goes_on ? wait->frames + 1 : 1, tick};
    if (wait->frames == SIM_WAIT_FRAMES) {
        sim_violated(checks, SIM_INVARIANT_visible_sets,
                     "client %u waits for (%u, %u) since %u snapshots", player->index, order >> 16,
                     order & 0xFFFF, wait->frames);
    }
}

/* Nothing that was not in its view at that tick, and no generation after a newer one. `tick` is the
 * server's name for the frame's. */
static void check_entity_life(struct sim_checks *checks, const struct sim_player *player,
                              arb_tick tick, const struct arb_frame *frame)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    const struct sim_seat *seat = sim_seat_of(checks, player);
    const struct sim_sight *sight = seat == NULL ? NULL : sight_at(seat, tick);
    bool kept = sight != NULL && seat->key_count - sight->first <= SIM_SIGHT_KEYS;
    /* With a window what has the newer generation may never have been. */
    bool is_final = checks->sim->config.match.rollback_window_ticks == 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        struct arb_key key = frame->entities[i].key;
        uint32_t order = arb_key_order(key);
        ARB_ASSERT(key.id < checks->entities);
        if (witness->generations[key.id] != 0 && is_final &&
            arb_newer16(witness->generations[key.id], key.generation)) {
            sim_violated(checks, SIM_INVARIANT_entity_life,
                         "client %u got (%u, %u) after generation %u", player->index, key.id,
                         key.generation, witness->generations[key.id]);
        }
        witness->generations[key.id] = key.generation;
        if (!kept) continue;
        for (; at < sight->count; at++) {
            uint32_t shown = seat->keys[(sight->first + at) % SIM_SIGHT_KEYS];
            if (shown >= order) break;
            check_wait(checks, player, shown, tick);
        }
        if (at == sight->count || seat->keys[(sight->first + at++) % SIM_SIGHT_KEYS] != order) {
            sim_violated(checks, SIM_INVARIANT_entity_life,
                         "client %u has (%u, %u) of tick %llu, which it was not shown",
                         player->index, key.id, key.generation, (unsigned long long)tick);
        }
    }
    for (; kept && at < sight->count; at++) {
        check_wait(checks, player, seat->keys[(sight->first + at) % SIM_SIGHT_KEYS], tick);
    }
}

/* ---- own_state ---- */

static void check_own_state(struct sim_checks *checks, const struct sim_player *player,
                            const struct sim_published *published)
{
    const struct arb_client_snapshots *client = &player->client->snapshots;
    const struct sim_seat *seat = sim_seat_of(checks, player);
    static const struct sim_own none = {.has_own = false};
    if (seat == NULL || published->frame.tick < seat->joined_tick) return;
    const struct sim_own *server =
        player->is_spectator ? &none : &published->own[checks->witnesses[player->index].slot];
    bool same = client->has_own == server->has_own && client->header.control == server->control &&
                (player->is_spectator || arb_key_equal(client->controlled, server->controlled)) &&
                client->header.last_sequence == (uint16_t)server->last_sequence;
    if (same && server->has_own) {
        same = memcmp(&client->own, &server->own, sizeof client->own) == 0 &&
               (uint16_t)client->own_part.starved_ticks == (uint16_t)server->starved_ticks &&
               (uint16_t)client->own_part.outside_changes == (uint16_t)server->outside_changes;
    }
    if (!same) {
        sim_violated(checks, SIM_INVARIANT_own_state,
                     "client %u has another own state of tick %llu", player->index,
                     (unsigned long long)published->frame.tick);
    }
}

/* ---- a client's new frames ---- */

static void look_at_frame(struct sim_checks *checks, struct sim_player *player,
                          const struct arb_history_slot *slot)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    arb_tick tick = slot->frame.tick + witness->base;
    const struct sim_published *published = sim_archive_at(checks, tick);
    bool newest = slot->frame.tick == player->client->snapshots.tick;
    if (tick <= witness->newest_tick) {
        sim_violated(checks, SIM_INVARIANT_entity_life,
                     "client %u went back from tick %llu to %llu", player->index,
                     (unsigned long long)witness->newest_tick, (unsigned long long)tick);
    }
    if (player->is_spectator && !sim_spectator_may_know(checks, tick)) {
        sim_violated(checks, SIM_INVARIANT_entity_state,
                     "client %u watches tick %llu before the delay has passed", player->index,
                     (unsigned long long)tick);
    }
    check_entity_life(checks, player, tick, &slot->frame);
    witness->newest_tick = tick;
    witness->heard_us = checks->sim->now_us;
    if (published != NULL) {
        check_entity_state(checks, player, tick, slot);
        if (newest) check_own_state(checks, player, published);
    } else if (tick < sim_archive_oldest(checks)) {
        checks->sim->totals.frames_unchecked++;
    } else {
        sim_violated(checks, SIM_INVARIANT_entity_state,
                     "client %u names tick %llu, of which nothing was sent", player->index,
                     (unsigned long long)tick);
    }
}

/* What is drawn is among what it was given, and not long since; or an own projectile ahead of the
 * server's word. */
static void look_at_drawn(struct sim_checks *checks, const struct sim_player *player,
                          const struct arbiter_view *view)
{
    const struct arb_history *history = &player->client->snapshots.history;
    for (uint32_t i = 0; i < view->entity_count; i++) {
        struct arb_key key = {(uint16_t)(view->entities[i].key >> 16),
                              (uint16_t)view->entities[i].key};
        const struct arbiter_entity *drawn = &view->entities[i];
        bool found =
            drawn->key == 0 && drawn->drawn == ARBITER_PREDICTED && drawn->owner == view->own_slot;
        for (uint32_t back = history->count; back-- > 0 && !found;) {
            struct arb_frame frame = arb_history_frame(history, back);
            found = arb_frame_find(&frame, key) != NULL;
        }
        if (!found) {
            sim_violated(checks, SIM_INVARIANT_entity_life,
                         "client %u draws (%u, %u) out of nothing", player->index, key.id,
                         key.generation);
        }
    }
}

void sim_frames_look(struct sim_checks *checks, struct sim_player *player,
                     const struct arbiter_view *view)
{
    if (player->client->net == NULL) return;
    const struct sim_witness *witness = &checks->witnesses[player->index];
    const struct arb_history *history = &player->client->snapshots.history;
    uint32_t first = history->count;
    while (first > 0 &&
           arb_history_frame(history, first - 1).tick + witness->base > witness->newest_tick) {
        first--;
    }
    for (uint32_t i = first; i < history->count; i++) {
        look_at_frame(checks, player, arb_history_at(history, i));
    }
    if (checks->close_look) look_at_drawn(checks, player, view);
}
