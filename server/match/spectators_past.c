/* What was published `spectator.delay_s` ago. Without a delay the same paths hold one tick. */
#include "server/match/match_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

enum {
    /* Per player and second of delay: more are only in a tick that is full of them. */
    EVENTS_PER_S = 16,
    /* Baselines reach so many snapshots back behind what is shown, as in rewind's ring. */
    BASELINE_SCENES = REPLICATE_RING + 2,
};

static void create_scenes(struct spectators *spectators, struct arb_arena *arena, uint32_t entities,
                          uint32_t points)
{
    bool copies = spectators->delay > 0;
    spectators->scene_count =
        copies ? (uint32_t)(spectators->delay / spectators->interval) + BASELINE_SCENES : 1;
    spectators->scenes =
        arb_arena_take_array(arena, spectators->scene_count, sizeof *spectators->scenes);
    for (uint32_t i = 0; i < spectators->scene_count; i++) {
        struct spectator_scene *scene = &spectators->scenes[i];
        scene->slots = arb_arena_take_array(arena, spectators->players, sizeof *scene->slots);
        scene->always = arb_arena_take_array(arena, entities, sizeof *scene->always);
        if (!copies) continue;
        /* Touched only as far as frames are filled. */
        scene->copy.entities = arb_arena_take_array(arena, entities, sizeof *scene->copy.entities);
        scene->copy.points = arb_arena_take_array(arena, points, sizeof *scene->copy.points);
    }
}

void spectators_past_create(struct spectators *spectators, struct arb_arena *arena,
                            const struct match *match, uint32_t entities, uint32_t points)
{
    uint32_t players = spectators->players;
    create_scenes(spectators, arena, entities, points);
    spectators->eyes = arb_arena_take_array(arena, players, sizeof *spectators->eyes);
    spectators->has_eye = arb_arena_take_array(arena, players, sizeof *spectators->has_eye);
    scores_create(&spectators->scores, arena, (uint16_t)players);
    news_create(&spectators->news, arena, match_news_capacity(players));
    news_create(&spectators->standing, arena, players);
    spectators->lines = arb_arena_take_array(arena, players, sizeof *spectators->lines);
    uint64_t rate = (uint64_t)match->config.tick_rate;
    uint64_t waiting = spectators->delay * players * EVENTS_PER_S / rate;
    spectators->event_reserve = match->events.capacity;
    spectators->event_capacity = (uint32_t)waiting + 2 * match->events.capacity;
    spectators->events =
        arb_arena_take_array(arena, spectators->event_capacity, sizeof *spectators->events);
}

/* ---- keeping ---- */

static struct spectator_scene *place_of(const struct spectators *spectators, arb_tick tick)
{
    return &spectators->scenes[tick / spectators->interval % spectators->scene_count];
}

static void copy_frame(struct spectator_scene *scene, const struct arb_frame *frame)
{
    struct arb_frame *copy = &scene->copy;
    copy->tick = frame->tick;
    copy->entity_count = frame->entity_count;
    copy->point_count = frame->point_count;
    memcpy(copy->entities, frame->entities, frame->entity_count * sizeof *copy->entities);
    memcpy(copy->points, frame->points, frame->point_count * sizeof *copy->points);
    scene->frame = copy;
}

static void keep_scene(struct match *match, const struct arb_frame *frame)
{
    struct spectators *spectators = match->spectators;
    struct spectator_scene *scene = place_of(spectators, frame->tick);
    if (spectators->delay > 0) {
        copy_frame(scene, frame);
    } else {
        scene->frame = frame;
    }
    for (uint16_t slot = 0; slot < spectators->players; slot++) {
        const struct world_player *player = &match->world.players[slot];
        scene->slots[slot] = (struct spectator_slot){.controlled = player->controlled,
                                                     .present = player->presence == WORLD_PRESENT ||
                                                                player->presence == WORLD_AWAY};
    }
    scene->always_count = match->always_count[0];
    memcpy(scene->always, match->always[0], scene->always_count * sizeof *scene->always);
}

/* Full beyond what the configuration provides for, what a later one of its kind replaces or what
 * only passes by is lost, and counted; who is there, phases and the result never are. */
static void keep_event(struct spectators *spectators, const struct arb_event *event, arb_tick tick)
{
    bool passing = event->kind == ARB_EVENT_SCORE || event->kind == ARB_EVENT_DEATH ||
                   event->kind == ARB_EVENT_HIT || event->kind == ARB_EVENT_IMPACT;
    uint32_t room = spectators->event_capacity - (passing ? spectators->event_reserve : 0);
    if (spectators->event_count >= room) {
        spectators->events_dropped++;
        return;
    }
    uint32_t place =
        (spectators->event_first + spectators->event_count++) % spectators->event_capacity;
    spectators->events[place] = (struct spectator_event){tick, *event};
}

/* Lines that changed in this tick, behind the players that they are of. */
static void keep_scores(struct match *match, arb_tick tick)
{
    const struct scores *scores = &match->scores;
    if (!scores->is_open) return;
    struct arb_event event = {.kind = ARB_EVENT_SCORE, .tick = (uint32_t)tick};
    for (uint16_t slot = 0; slot < scores->players; slot++) {
        if (scores->changed[slot] != scores->newest) continue;
        event.score = scores->lines[slot];
        keep_event(match->spectators, &event, tick);
    }
}

void spectators_keep(struct match *match, const struct arb_frame *frame)
{
    struct spectators *spectators = match->spectators;
    bool wanted = spectators->delay > 0 || spectators->count > 0;
    if (wanted && frame->tick % spectators->interval == 0) keep_scene(match, frame);
}

void spectators_keep_events(struct match *match, const struct match_outcome *outcome)
{
    struct spectators *spectators = match->spectators;
    bool kept = false;
    for (uint32_t i = 0; i < outcome->event_count; i++) {
        const struct rules_event *event = &outcome->events[i];
        if (event->to != ARB_NO_SLOT && !rules_event_is_about_some(event)) continue;
        if (news_cannot_wait(&event->event) && !kept) {
            keep_scores(match, outcome->tick);
            kept = true;
        }
        keep_event(spectators, &event->event, outcome->tick);
    }
    if (!kept) keep_scores(match, outcome->tick);
}

void spectators_told(struct match *match)
{
    struct spectators *spectators = match->spectators;
    const struct world_head *head = match->world.head;
    if (spectators == NULL) return;
    arb_tick tick = head->tick - 1;
    for (uint16_t slot = 0; slot < spectators->players; slot++) {
        if (match->world.players[slot].presence == WORLD_ABSENT) continue;
        struct arb_event event = announce_player_event(match, slot);
        event.tick = (uint32_t)tick;
        keep_event(spectators, &event, tick);
    }
    struct arb_event phase = {.kind = ARB_EVENT_PHASE, .tick = (uint32_t)tick};
    phase.phase =
        (struct arb_event_phase){head->phase, head->round, (uint32_t)head->phase_end_tick};
    keep_event(spectators, &phase, tick);
    if (!match->decided) return;
    struct arb_event result = life_result(match);
    result.tick = (uint32_t)tick;
    keep_event(spectators, &result, tick);
}

/* ---- showing ---- */

bool spectators_shown(const struct spectators *spectators, arb_tick published, arb_tick *shown)
{
    if (published < spectators->first_tick + spectators->delay) return false;
    *shown = published - spectators->delay;
    return true;
}

const struct spectator_scene *spectators_scene(const struct spectators *spectators, arb_tick tick)
{
    const struct spectator_scene *scene = place_of(spectators, tick);
    return scene->frame != NULL && scene->frame->tick == tick ? scene : NULL;
}

const struct arb_frame *spectators_frame(const void *spectators, arb_tick tick)
{
    const struct spectator_scene *scene = spectators_scene(spectators, tick);
    return scene == NULL ? NULL : scene->frame;
}

static void add_up(struct spectators *spectators, const struct arb_event *event)
{
    struct spectator_line *line;
    switch ((enum arb_event_kind)event->kind) {
    case ARB_EVENT_PLAYER:
        line = &spectators->lines[event->player.slot];
        if (!line->known || line->player.player_id != event->player.player_id) {
            struct arb_event_score zeros = {.slot = event->player.slot};
            scores_set(&spectators->scores, event->player.player_id, &zeros);
        }
        line->known = true;
        line->player = event->player;
        break;
    case ARB_EVENT_SCORE:
        line = &spectators->lines[event->score.slot];
        scores_set(&spectators->scores, line->player.player_id, &event->score);
        break;
    case ARB_EVENT_PHASE:
        spectators->phase = event->phase;
        break;
    case ARB_EVENT_RESULT:
        spectators->result = event->result;
        spectators->has_result = true;
        break;
    case ARB_EVENT_REBIND:
    case ARB_EVENT_DEATH:
    case ARB_EVENT_HIT:
    case ARB_EVENT_IMPACT:
        break;
    }
}

const struct arb_event *spectators_next_event(struct spectators *spectators, arb_tick shown)
{
    const struct spectator_event *next = &spectators->events[spectators->event_first];
    if (spectators->event_count == 0 || next->tick > shown) return NULL;
    spectators->event_first = (spectators->event_first + 1) % spectators->event_capacity;
    spectators->event_count--;
    add_up(spectators, &next->event);
    return &next->event;
}
