/* What happened once and is seen for a moment. The library tells each event when the drawn world
 * reaches its tick, so nothing has to be delayed here. */
#include "tools/play/play.h"

static const SDL_Color tracer_colour = {255, 240, 170, 255};

static void add(struct play *play, enum play_effect_kind kind, struct arbiter_point from,
                struct arbiter_point to, SDL_Color colour)
{
    play->effects[play->effect_next++ % PLAY_EFFECTS] =
        (struct play_effect){kind, from.x, from.y, to.x, to.y, play->now_s, colour};
}

static void tell(struct play *play, const char *who, const char *what, const char *whom)
{
    SDL_memmove(play->news[1], play->news[0], sizeof play->news - sizeof play->news[0]);
    SDL_memmove(play->news_s + 1, play->news_s, sizeof play->news_s - sizeof play->news_s[0]);
    SDL_snprintf(play->news[0], sizeof play->news[0], "%s %s%s", who, what, whom);
    play->news_s[0] = play->now_s;
}

static struct arbiter_point place_of(const struct play *play, int32_t slot)
{
    return play->places[(uint32_t)slot % PLAY_SLOTS];
}

static void on_death(struct play *play, int32_t victim, int32_t killer)
{
    struct arbiter_point at = place_of(play, victim);
    add(play, PLAY_BURST, at, at, play_colour_of_slot((uint16_t)victim));
    const char *name = play_name_of(&play->view, victim);
    if (killer == ARBITER_NO_SLOT || killer == victim) {
        tell(play, name, "died", "");
    } else {
        tell(play, play_name_of(&play->view, killer), "got ", name);
    }
}

static void hear(struct play *play, const struct arbiter_event *event)
{
    static const char *const came_or_went[] = {"has left", "is here", "has lost its line"};
    struct arbiter_point at = {event->x, event->y};
    switch (event->kind) {
    case ARBITER_EVENT_HIT:
        add(play, PLAY_TRACER, place_of(play, event->a), at, tracer_colour);
        break;
    case ARBITER_EVENT_IMPACT:
        add(play, PLAY_BURST, at, at, tracer_colour);
        break;
    case ARBITER_EVENT_DEATH:
        on_death(play, event->a, event->b);
        break;
    case ARBITER_EVENT_PLAYER:
        tell(play, play_name_of(&play->view, event->a), came_or_went[(uint32_t)event->b % 3], "");
        break;
    default:
        break;
    }
}

/* The own shot is seen at once: its rounds are predicted, and one fewer is a shot. */
static void watch_magazine(struct play *play)
{
    const struct arbiter_own *own = &play->view.own;
    uint16_t rounds = own->magazine[own->weapon % ARBITER_WEAPONS_MAX];
    if (own->exists && rounds + 1 == play->rounds_before) {
        float x = SDL_cosf(own->heading);
        float y = SDL_sinf(own->heading);
        float reach = 1.8F * play->tables.rules.radius;
        struct arbiter_point muzzle = {own->x + x * reach, own->y + y * reach};
        add(play, PLAY_FLASH, muzzle, muzzle, tracer_colour);
    }
    play->rounds_before = rounds;
}

void play_effects_frame(struct play *play)
{
    const struct arbiter_view *view = &play->view;
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        bool is_body = entity->kind == play->tables.character || entity->kind == play->tables.head;
        if (is_body && entity->owner != ARBITER_NO_SLOT) {
            play->places[entity->owner % PLAY_SLOTS] = (struct arbiter_point){entity->x, entity->y};
        }
    }
    for (uint32_t i = 0; i < view->event_count; i++) {
        hear(play, &view->events[i]);
    }
    watch_magazine(play);
}
