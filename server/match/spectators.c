/* Who watches, what each looks at, and what it is sent. Those who follow the same player look with
 * the same eye, so the visible set is found once for all of them, and the snapshots' pieces, mostly
 * the snapshots as wholes, are encoded once. */
#include "server/match/match_internal.h"
#include "server/match/match_rollback.h"

#include "shared/base/arb_assert.h"
#include "shared/view/arb_drawn.h"

#include <string.h>

enum { NOBODY = UINT16_MAX };

uint32_t match_spectator_delay_ticks(const struct match_config *config)
{
    uint32_t interval = (uint32_t)config->snapshot_interval_ticks;
    uint32_t ticks = (uint32_t)config->spectator_delay_s * (uint32_t)config->tick_rate;
    return (ticks + interval - 1) / interval * interval;
}

uint32_t spectators_viewers(const struct match_config *config)
{
    bool any = config->spectator_max > 0 && config->spectator_delay_s == 0;
    return any ? (uint32_t)(config->max_players + config->spectator_max) : 0;
}

uint32_t spectators_clients(const struct match_config *config)
{
    return config->spectator_delay_s == 0 ? (uint32_t)config->spectator_max : 0;
}

/* ---- creation ---- */

/* With a delay they have an interest and a replicate of their own, over the frames of the past. */
static void create_parts(struct spectators *spectators, struct match *match,
                         struct arb_arena *arena, const struct interest_config *interest,
                         const struct replicate_config *replicate)
{
    uint32_t viewers = spectators->players + spectators->capacity;
    if (spectators->delay == 0) {
        spectators->interest = match->interest;
        spectators->replicate = match->replicate;
        spectators->first_viewer = spectators->first_client = spectators->players;
        return;
    }
    struct interest_config seen = *interest;
    seen.viewer_capacity = viewers;
    spectators->interest = interest_create(arena, &seen);
    struct replicate_config sent = *replicate;
    sent.frames = (struct replicate_frames){spectators_frame, spectators};
    sent.client_capacity = spectators->capacity;
    spectators->replicate = replicate_create(arena, &sent);
}

struct spectators *spectators_create(struct match *match, struct arb_arena *arena,
                                     const struct interest_config *interest,
                                     const struct replicate_config *replicate)
{
    const struct match_config *config = &match->config;
    if (config->spectator_max == 0) return NULL;
    struct spectators *spectators = arb_arena_take(arena, sizeof *spectators);
    uint32_t players = match->world.head->player_capacity;
    uint32_t entities = interest->entity_capacity;
    spectators->capacity = (uint32_t)config->spectator_max;
    spectators->players = (uint16_t)players;
    spectators->delay = match_spectator_delay_ticks(config);
    spectators->interval = (arb_tick)config->snapshot_interval_ticks;
    spectators->first_tick = match->first_tick;
    spectators->list = arb_arena_take_array(arena, spectators->capacity, sizeof *spectators->list);
    spectators->of_session =
        arb_arena_take_array(arena, MATCH_SESSIONS_MAX, sizeof *spectators->of_session);
    uint32_t viewers = players + spectators->capacity;
    spectators->always = arb_arena_take_array(arena, entities + 1, sizeof *spectators->always);
    spectators->first_of = arb_arena_take_array(arena, viewers, sizeof *spectators->first_of);
    spectators->order =
        arb_arena_take_array(arena, spectators->capacity, sizeof *spectators->order);
    spectators->viewed = arb_arena_take_array(arena, viewers, sizeof *spectators->viewed);
    create_parts(spectators, match, arena, interest, replicate);
    spectators_past_create(spectators, arena, match, entities, interest->point_capacity);
    return spectators;
}

/* ---- stage 1 ---- */

static struct spectator *find(const struct spectators *spectators, struct port_session session)
{
    ARB_ASSERT(session.index < MATCH_SESSIONS_MAX);
    struct spectator *spectator = &spectators->list[spectators->of_session[session.index]];
    bool here = spectator->seated && spectator->session.index == session.index &&
                spectator->session.epoch == session.epoch;
    return here ? spectator : NULL;
}

static uint16_t place_of(const struct spectators *spectators, const struct spectator *spectator)
{
    return (uint16_t)(spectator - spectators->list);
}

static struct spectator *free_place(const struct spectators *spectators)
{
    for (uint32_t i = 0; i < spectators->capacity; i++) {
        if (!spectators->list[i].seated) return &spectators->list[i];
    }
    return NULL;
}

static void forget(struct spectators *spectators, struct spectator *spectator)
{
    spectator->seated = false;
    spectators->count--;
}

static struct arb_vec2 middle_of(const struct arb_bounds *bounds)
{
    return (struct arb_vec2){0.5F * (bounds->low.x + bounds->high.x),
                             0.5F * (bounds->low.y + bounds->high.y)};
}

void spectators_join(struct match *match, const struct port_message *message)
{
    struct spectators *spectators = match->spectators;
    struct spectator *spectator = spectators == NULL ? NULL : free_place(spectators);
    if (spectator == NULL || match_ended(match) || message->resume) {
        match->spectators_refused++;
        match->port.refuse(match->port.owner, message->session,
                           message->resume     ? ARB_REFUSED_TOKEN /* nobody's: it has no place */
                           : spectator == NULL ? ARB_REFUSED_FULL
                                               : ARB_REFUSED_ENDED);
        return;
    }
    struct arb_vec2 middle = middle_of(&match->map->bounds);
    *spectator = (struct spectator){.seated = true,
                                    .needs_welcome = true,
                                    .session = message->session,
                                    .follow = ARB_NO_SLOT,
                                    .camera = middle,
                                    .eye = middle};
    spectators->count++;
    spectators->came++;
    if (spectators->count > spectators->most) spectators->most = spectators->count;
    uint16_t place = place_of(spectators, spectator);
    spectators->of_session[message->session.index] = place;
    replicate_reset(spectators->replicate, (uint16_t)(spectators->first_client + place));
    spectators->viewed[spectators->players + place] = 0;
}

bool spectators_leave(struct match *match, struct port_session session)
{
    struct spectators *spectators = match->spectators;
    struct spectator *spectator = spectators == NULL ? NULL : find(spectators, session);
    if (spectator == NULL) return false;
    forget(spectators, spectator);
    return true;
}

void spectators_wish(struct match *match, struct port_session session,
                     const struct arb_spectate *wish)
{
    struct spectators *spectators = match->spectators;
    struct spectator *spectator = spectators == NULL ? NULL : find(spectators, session);
    if (spectator == NULL) return;
    if (wish->has_ack) {
        uint16_t client = (uint16_t)(spectators->first_client + place_of(spectators, spectator));
        replicate_ack(spectators->replicate, client, wish->ack_snapshot, wish->ack_mask,
                      match->world.head->tick);
    }
    if (spectator->has_wish && !arb_newer16(wish->number, spectator->number)) return;
    spectator->has_wish = true;
    spectator->number = wish->number;
    spectator->follow = wish->follow;
    spectator->camera = (struct arb_vec2){wish->x, wish->y};
}

/* ---- stage 9: messages ---- */

static void put(struct match *match, const struct spectator *spectator, const uint8_t *bytes,
                size_t size)
{
    struct spectators *spectators = match->spectators;
    ARB_ASSERT(size > 0);
    match->port.put(match->port.owner, spectator->session, PORT_CHANNEL_RELIABLE, bytes, size);
    replicate_spend(spectators->replicate,
                    (uint16_t)(spectators->first_client + place_of(spectators, spectator)), size);
}

static void put_event(struct match *match, const struct spectator *spectator,
                      const struct arb_event *event)
{
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    put(match, spectator, bytes, arb_event_encode(event, bytes, sizeof bytes));
}

void spectators_put_late(struct match *match, const struct arb_late *late)
{
    struct spectators *spectators = match->spectators;
    if (spectators == NULL) return;
    struct arb_late shown = *late;
    shown.tick -= (uint32_t)spectators->delay; /* wraps as the time that pings are told does */
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size =
        arb_message_encode(ARB_MESSAGE_LATE, &arb_late_fields, &shown, bytes, sizeof bytes);
    for (uint32_t i = 0, left = spectators->count; left > 0; i++) {
        if (!spectators->list[i].seated) continue;
        left--;
        if (!spectators->list[i].needs_welcome) put(match, &spectators->list[i], bytes, size);
    }
}

static void put_scores(struct match *match, struct spectator *spectator, uint32_t tick)
{
    struct spectators *spectators = match->spectators;
    uint32_t count = scores_since(&spectators->scores, spectator->scores_told, tick);
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        const uint8_t *bytes = scores_message(&spectators->scores, i, &size);
        put(match, spectator, bytes, size);
    }
    spectator->scores_told = spectators->scores.newest;
}

static void put_news(struct match *match, const struct spectator *spectator, struct news *news,
                     uint64_t told)
{
    while (told < news->newest) {
        const uint8_t *bytes;
        size_t size;
        told = news_message(news, told, &bytes, &size);
        put(match, spectator, bytes, size);
    }
}

static void catch_up(struct match *match, struct spectator *spectator)
{
    if (!spectator->seated || spectator->needs_welcome) return;
    struct spectators *spectators = match->spectators;
    put_news(match, spectator, &spectators->news, spectator->news_told);
    spectator->news_told = spectators->news.newest;
}

static void catch_up_all(struct match *match)
{
    struct spectators *spectators = match->spectators;
    for (uint32_t i = 0; i < spectators->capacity; i++) {
        catch_up(match, &spectators->list[i]);
    }
    news_all_told(&spectators->news);
}

/* Those who see a death are told at once. */
static void hurry(struct match *match, struct arb_key victim)
{
    struct spectators *spectators = match->spectators;
    for (uint32_t i = 0; i < spectators->capacity && spectators->count > 0; i++) {
        uint16_t client = (uint16_t)(spectators->first_client + i);
        if (replicate_shows(spectators->replicate, client, victim)) {
            catch_up(match, &spectators->list[i]);
        }
    }
}

static void tell_scores(struct match *match, struct spectator *spectator, arb_tick shown)
{
    if (spectator->seated && !spectator->needs_welcome) {
        put_scores(match, spectator, (uint32_t)shown);
    }
}

static void put_to_all(struct match *match, const struct arb_event *event)
{
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size = arb_event_encode(event, bytes, sizeof bytes);
    struct spectators *spectators = match->spectators;
    for (uint32_t i = 0; i < spectators->capacity && spectators->count > 0; i++) {
        struct spectator *spectator = &spectators->list[i];
        if (spectator->seated && !spectator->needs_welcome) put(match, spectator, bytes, size);
    }
}

static void tell_event(struct match *match, const struct arb_event *event, arb_tick shown)
{
    struct spectators *spectators = match->spectators;
    bool at_once = news_cannot_wait(event);
    /* An impact players only get when they see it: it cannot wait either. */
    if (event->kind == ARB_EVENT_IMPACT || (at_once && !news_comes_last(event))) {
        put_to_all(match, event);
        return;
    }
    if (at_once || news_is_full(&spectators->news)) catch_up_all(match);
    for (uint32_t i = 0; at_once && i < spectators->capacity; i++) {
        tell_scores(match, &spectators->list[i], shown);
    }
    news_add(&spectators->news, event);
    if (at_once) catch_up_all(match);
    if (event->kind == ARB_EVENT_DEATH) hurry(match, event->death.victim);
}

static void tell_events(struct match *match, arb_tick shown)
{
    struct spectators *spectators = match->spectators;
    const struct arb_event *event;
    scores_begin(&spectators->scores);
    while ((event = spectators_next_event(spectators, shown)) != NULL) {
        if (event->kind != ARB_EVENT_SCORE) tell_event(match, event, shown); /* is added up */
    }
    uint32_t rate = (uint32_t)match->config.tick_rate;
    uint32_t interval = (uint32_t)spectators->interval;
    for (uint32_t i = 0; i < spectators->capacity && spectators->count > 0; i++) {
        if (!news_is_turn(match->present, rate, interval, shown, i)) continue;
        catch_up(match, &spectators->list[i]);
        tell_scores(match, &spectators->list[i], shown);
    }
}

/* What the delivered events added up to, as of the tick that is shown. */
static void list_standing(struct spectators *spectators, uint32_t tick)
{
    struct arb_event event = {.kind = ARB_EVENT_PLAYER, .tick = tick};
    news_all_told(&spectators->standing);
    for (uint16_t slot = 0; slot < spectators->players; slot++) {
        const struct spectator_line *line = &spectators->lines[slot];
        if (!line->known) continue;
        event.player = line->player;
        news_add(&spectators->standing, &event);
    }
}

static void put_standing(struct match *match, struct spectator *spectator, uint32_t tick)
{
    struct spectators *spectators = match->spectators;
    struct arb_event event = {.kind = ARB_EVENT_PHASE, .tick = tick};
    put_news(match, spectator, &spectators->standing, spectators->standing.told_to_all);
    put_scores(match, spectator, tick);
    event.phase = spectators->phase;
    put_event(match, spectator, &event);
    if (!spectators->has_result) return;
    event.kind = ARB_EVENT_RESULT;
    event.result = spectators->result;
    put_event(match, spectator, &event);
}

static void welcome(struct match *match)
{
    struct spectators *spectators = match->spectators;
    bool is_listed = false;
    /* Wraps in a match that is younger than the delay, as the time that pings are told does. */
    uint32_t next = (uint32_t)(match->world.head->tick - spectators->delay);
    for (uint32_t i = 0; i < spectators->capacity; i++) {
        struct spectator *spectator = &spectators->list[i];
        if (!spectator->seated || !spectator->needs_welcome) continue;
        if (!is_listed) list_standing(spectators, next - 1);
        is_listed = true;
        put(match, spectator, match->scratch, announce_welcome(match, ARB_NO_SLOT, next));
        put_standing(match, spectator, next - 1);
        spectator->news_told = spectators->news.newest;
        spectator->needs_welcome = false;
    }
}

/* ---- stage 9: what is looked at ---- */

static void find_eyes(struct spectators *spectators, const struct spectator_scene *scene,
                      const struct arb_schema *schema)
{
    for (uint16_t slot = 0; slot < spectators->players; slot++) {
        struct arb_key key = scene->slots[slot].controlled;
        const struct arb_published *entity =
            arb_key_is_none(key) ? NULL : arb_frame_find(scene->frame, key);
        if (entity == NULL) continue;
        const struct arb_kind *kind = &schema->kinds[entity->kind];
        spectators->eyes[slot] = (struct arb_vec2){arb_published_value(kind, entity, kind->x),
                                                   arb_published_value(kind, entity, kind->y)};
        spectators->has_eye[slot] = true;
    }
}

/* The slot itself, or the next after it with somebody there; ARB_NO_SLOT: nobody is. */
static uint16_t present_from(const struct spectators *spectators,
                             const struct spectator_scene *scene, uint16_t slot)
{
    uint16_t at = slot < spectators->players ? slot : 0;
    for (uint16_t i = 0; i < spectators->players; i++) {
        if (scene->slots[at].present) return at;
        at = (uint16_t)((at + 1) % spectators->players);
    }
    return ARB_NO_SLOT;
}

static void look(struct spectators *spectators, const struct spectator_scene *scene,
                 struct spectator *spectator)
{
    uint16_t slot = ARB_NO_SLOT;
    spectator->watched = ARB_KEY_NONE;
    if (spectator->follow != ARB_NO_SLOT) {
        slot = present_from(spectators, scene, spectator->follow);
    } else {
        spectator->eye = spectator->camera;
    }
    if (slot != ARB_NO_SLOT && spectators->has_eye[slot]) {
        spectator->eye = spectators->eyes[slot];
        spectator->watched = scene->slots[slot].controlled;
        spectator->viewer = slot;
    } else {
        spectator->viewer = spectators->players + place_of(spectators, spectator);
    }
}

/* One visible set for all who follow the same player, whose turns come one behind the other; a
 * camera has one of its own. */
static void find_visible(struct spectators *spectators, const struct spectator_scene *scene,
                         const struct spectator *spectator)
{
    uint32_t viewer = spectator->viewer;
    arb_tick tick = scene->frame->tick;
    if (spectators->viewed[viewer] == tick) return;
    uint32_t index = spectators->first_viewer + viewer;
    /* Nobody looked in the snapshot before: nothing is retained. */
    if (spectators->viewed[viewer] + spectators->interval != tick) {
        interest_forget(spectators->interest, index);
    }
    uint32_t count =
        match_merge_key(scene->always, scene->always_count, spectator->watched, spectators->always);
    spectators->visible = interest_update(spectators->interest, index, spectator->eye,
                                          spectators->always, count, &spectators->visible_count);
    spectators->viewed[viewer] = tick;
}

/* ---- stage 9: snapshots ---- */

static void send_snapshot(struct match *match, const struct spectator_scene *scene,
                          struct spectator *spectator)
{
    struct spectators *spectators = match->spectators;
    const uint32_t *visible = spectators->visible;
    uint32_t count = spectators->visible_count;
    if (match->observer.snapshot != NULL) {
        /* Walls hide nothing from them. */
        struct match_sight sight = {.session = spectator->session,
                                    .slot = ARB_NO_SLOT,
                                    .frame = scene->frame,
                                    .eye = spectator->eye,
                                    .near = visible,
                                    .near_count = count,
                                    .visible = visible,
                                    .count = count};
        match->observer.snapshot(match->observer.owner, &sight);
    }
    struct replicate_client client = {
        .session = spectator->session,
        .client = (uint16_t)(spectators->first_client + place_of(spectators, spectator)),
        .controlled = spectator->watched,
        .buffer_ticks = MATCH_NO_LEAD,
        .shares_view = spectator->viewer < spectators->players,
    };
    arb_tick confirmed = match_settled(match) - 1; /* what is shown, where there is a delay */
    confirmed = confirmed < scene->frame->tick ? confirmed : scene->frame->tick;
    replicate_send(spectators->replicate, &client, scene->frame, confirmed, spectator->eye, visible,
                   count, &match->port);
    if (!replicate_in_vain(spectators->replicate, client.client)) return;
    match->port.refuse(match->port.owner, spectator->session, ARB_REFUSED_PROTOCOL);
    forget(spectators, spectator);
}

/* Into lists by viewer, each in order of place, and these one behind the other: followers of one
 * player follow each other, so that what was encoded for one is at hand for the next. */
static uint32_t order(struct spectators *spectators, const struct spectator_scene *scene)
{
    uint32_t viewers = spectators->players + spectators->capacity;
    for (uint32_t viewer = 0; viewer < viewers; viewer++) {
        spectators->first_of[viewer] = NOBODY;
    }
    for (uint32_t i = spectators->capacity; i > 0; i--) {
        struct spectator *spectator = &spectators->list[i - 1];
        if (!spectator->seated) continue;
        look(spectators, scene, spectator);
        spectator->next = spectators->first_of[spectator->viewer];
        spectators->first_of[spectator->viewer] = (uint16_t)(i - 1);
    }
    uint32_t count = 0;
    for (uint32_t viewer = 0; viewer < viewers; viewer++) {
        for (uint16_t place = spectators->first_of[viewer]; place != NOBODY;) {
            spectators->order[count++] = place;
            place = spectators->list[place].next;
        }
    }
    return count;
}

/* The client that comes at `index` of the order. */
static uint16_t client_at(const struct spectators *spectators, uint32_t index, uint32_t count)
{
    if (index >= count) return NOBODY;
    return (uint16_t)(spectators->first_client + spectators->order[index]);
}

static void send_to_all(struct match *match, const struct spectator_scene *scene)
{
    struct spectators *spectators = match->spectators;
    uint32_t count = order(spectators, scene);
    for (uint32_t i = 0; i < count; i++) {
        struct spectator *spectator = &spectators->list[spectators->order[i]];
        uint16_t next[] = {client_at(spectators, i + 1, count), client_at(spectators, i + 2, count),
                           client_at(spectators, i + 3, count)};
        replicate_expect(spectators->replicate, next);
        find_visible(spectators, scene, spectator);
        send_snapshot(match, scene, spectator);
    }
}

static void show(struct match *match, arb_tick tick)
{
    struct spectators *spectators = match->spectators;
    const struct spectator_scene *scene = spectators_scene(spectators, tick);
    if (scene == NULL) return;
    if (spectators->delay > 0) {
        /* Without a delay the players' stage has done so. */
        interest_build(spectators->interest, scene->frame);
        replicate_begin(spectators->replicate, scene->frame);
    }
    find_eyes(spectators, scene, match->rules->schema);
    send_to_all(match, scene);
}

void spectators_publish(struct match *match, const struct arb_frame *frame)
{
    struct spectators *spectators = match->spectators;
    if (spectators == NULL) return;
    spectators_keep(match, frame);
    arb_tick shown;
    bool any = spectators_shown(spectators, match->world.head->tick - 1, &shown);
    if (any) tell_events(match, shown);
    if (spectators->count == 0) return;
    welcome(match);
    if (any && shown % spectators->interval == 0) show(match, shown);
}

/* ---- what is asked ---- */

uint32_t match_spectator_count(const struct match *match)
{
    return match->spectators == NULL ? 0 : match->spectators->count;
}

struct match_spectators_seen match_spectators_seen(const struct match *match)
{
    const struct spectators *spectators = match->spectators;
    struct match_spectators_seen seen = {.refused = match->spectators_refused};
    if (spectators == NULL) return seen;
    seen.came = spectators->came;
    seen.most = spectators->most;
    seen.events_dropped = spectators->events_dropped;
    seen.replicate = spectators->replicate;
    return seen;
}

bool match_is_watched(const struct match *match)
{
    const struct spectators *spectators = match->spectators;
    if (spectators == NULL || spectators->count == 0 || !match_ended(match)) return false;
    return match->world.head->tick <= match->ended_tick + spectators->delay;
}
