/* What the view says, as a picture. One painter does for both modes, as it goes by what kinds of
 * entities are called and which fields they have. */
#include "tools/play/play.h"

#define GRID_M 4.0F
#define TURN 6.2831853F
#define EFFECT_S 0.3F

enum { SMALL, LARGE };                        /* fonts */
enum { LINE = 18, STRIP = 30, STUTTERS = 3 }; /* pixels; LINE: from line to line */
enum { GRAPH = 12 + (3 + STUTTERS) * LINE };  /* from where on there are strips */

static const SDL_Color white = {235, 240, 245, 255}, dim = {165, 175, 187, 255};
static const SDL_Color ground = {30, 35, 43, 255}, grid = {39, 45, 55, 255};
static const SDL_Color wall = {104, 116, 134, 255}, panel = {10, 12, 16, 190};
static const SDL_Color green = {90, 205, 125, 255}, red = {240, 90, 80, 255};
static const SDL_Color amber = {240, 200, 80, 255};

static SDL_Color faded(SDL_Color colour, float share)
{
    colour.a = (uint8_t)((float)colour.a * SDL_clamp(share, 0.0F, 1.0F));
    return colour;
}

static SDL_Color colour_of(uint32_t index)
{
    float hue = 0.6F + 2.399963F * (float)index; /* the golden angle: neighbours differ most */
    return (SDL_Color){(uint8_t)(158 + 92 * SDL_cosf(hue)),
                       (uint8_t)(158 + 92 * SDL_cosf(hue - 2.0944F)),
                       (uint8_t)(158 + 92 * SDL_cosf(hue + 2.0944F)), 255};
}

/* ---- shapes and text ---- */

static SDL_FPoint to_screen(const struct play *play, float x, float y)
{
    return (SDL_FPoint){(float)play->width / 2 + (x - play->camera_x) * play->scale,
                        (float)play->height / 2 - (y - play->camera_y) * play->scale};
}

struct arbiter_point play_to_world(const struct play *play, float x, float y)
{
    return (struct arbiter_point){play->camera_x + (x - (float)play->width / 2) / play->scale,
                                  play->camera_y - (y - (float)play->height / 2) / play->scale};
}

/* A circle, a capsule or a convex polygon with round corners, as arbiter_shape has them: to each
 * side the corner that lies farthest there. A rim of a pixel fades out, for soft edges. */
static void hull(const struct play *play, const struct arbiter_point *points, uint32_t count,
                 float radius, SDL_Color colour)
{
    enum { SIDES = 48 };
    SDL_Vertex vertices[2 * SIDES];
    int indices[SIDES][9];
    for (int i = 0; i < SIDES; i++) {
        float x = SDL_cosf(TURN * (float)i / SIDES);
        float y = SDL_sinf(TURN * (float)i / SIDES);
        const struct arbiter_point *far = points;
        for (const struct arbiter_point *other = points; other < points + count; other++) {
            if ((other->x - far->x) * x + (other->y - far->y) * y > 0) far = other;
        }
        int a = 2 * i, b = 2 * ((i + 1) % SIDES);
        for (int rim = 0; rim < 2; rim++) {
            float reach = radius + ((float)rim - 0.5F) / play->scale;
            vertices[a + rim].position = to_screen(play, far->x + reach * x, far->y + reach * y);
            vertices[a + rim].color = faded(colour, 1 - (float)rim);
        }
        SDL_memcpy(indices[i], (const int[]){0, a, b, a, a + 1, b, b, a + 1, b + 1},
                   sizeof indices[i]);
    }
    SDL_RenderGeometry(play->renderer, NULL, vertices, 2 * SIDES, indices[0], 9 * SIDES);
}

static void line(const struct play *play, struct arbiter_point from, struct arbiter_point to,
                 float radius, SDL_Color colour)
{
    hull(play, (struct arbiter_point[]){from, to}, 2, radius, colour);
}

/* Pixels from the upper left. */
static void box(const struct play *play, float x, float y, float w, float h, SDL_Color colour)
{
    SDL_SetRenderDrawColor(play->renderer, colour.r, colour.g, colour.b, colour.a);
    SDL_RenderFillRectF(play->renderer, &(SDL_FRect){x, y, w, h});
}

/* `align` 0: x is left, 0.5: middle, 1: right. */
static void say(const struct play *play, int font, float x, float y, float align, SDL_Color colour,
                const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    SDL_vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    SDL_Surface *drawn = TTF_RenderUTF8_Blended_Wrapped(play->fonts[font], text, colour, 0);
    if (drawn == NULL) return; /* no text */
    SDL_Texture *texture = SDL_CreateTextureFromSurface(play->renderer, drawn);
    SDL_FRect place = {SDL_floorf(x - align * (float)drawn->w), y, (float)drawn->w,
                       (float)drawn->h};
    SDL_RenderCopyF(play->renderer, texture, NULL, &place);
    SDL_DestroyTexture(texture);
    SDL_FreeSurface(drawn);
}

/* ---- the world ---- */

static const char *name_of(const struct play *play, uint16_t slot)
{
    const struct arbiter_player *player = arbiter_view_player(&play->view, slot);
    return player == NULL ? "nobody" : player->name;
}

/* Kinds and fields go by name, so that a mode may have more of them than this game knows. */
static bool is_player(const struct play *play, const struct arbiter_entity *entity)
{
    return entity->kind == arbiter_client_kind(play->client, "character") ||
           entity->kind == arbiter_client_kind(play->client, "head");
}

static float field(const struct play *play, const struct arbiter_entity *entity, const char *name,
                   float otherwise)
{
    int index = arbiter_client_field(play->client, entity->kind, name);
    return index < 0 ? otherwise : entity->fields[index];
}

static void draw_map(const struct play *play)
{
    SDL_FPoint corner = to_screen(play, play->map.low.x, play->map.high.y);
    float wide = (play->map.high.x - play->map.low.x) * play->scale;
    float tall = (play->map.high.y - play->map.low.y) * play->scale;
    struct arbiter_shape shape;
    box(play, corner.x - 8, corner.y - 8, wide + 16, tall + 16, wall);
    box(play, corner.x, corner.y, wide, tall, ground);
    for (float at = 0; at < SDL_max(wide, tall); at += GRID_M * play->scale) {
        if (at < wide) box(play, corner.x + at, corner.y, 2, tall, grid);
        if (at < tall) box(play, corner.x, corner.y + at, wide, 2, grid);
    }
    for (uint32_t i = 0; arbiter_client_shape(play->client, i, &shape); i++) {
        hull(play, shape.points, shape.count, shape.radius + 0.02F, wall);
    }
}

/* What lies about or flies: a spot with a glow. */
static void draw_thing(const struct play *play, const struct arbiter_entity *entity)
{
    float type = field(play, entity, "type", -1); /* of a pickup */
    float radius = type < 0 ? 0.2F : 0.35F;
    struct arbiter_point at = {entity->x, entity->y};
    SDL_Color colour = entity->owner != ARBITER_NO_SLOT
                           ? amber /* it was fired */
                           : colour_of(type < 0 ? entity->key >> 16 : (uint32_t)type);
    line(play, at, at, 2 * radius, faded(colour, 0.22F));
    line(play, at, at, radius, colour);
}

/* Body from tail to head, pieces lighter and darker in turn; then the head, or all there is: a
 * circle or capsule with a nose. */
static void draw_player(const struct play *play, const struct arbiter_entity *entity)
{
    float radius = play->rules.radius;
    struct arbiter_point at = {entity->x, entity->y};
    struct arbiter_point left = {at.x - play->rules.half_length, at.y};
    struct arbiter_point right = {at.x + play->rules.half_length, at.y};
    struct arbiter_point nose = {at.x + 1.6F * radius * SDL_cosf(entity->heading),
                                 at.y + 1.6F * radius * SDL_sinf(entity->heading)};
    float team = field(play, entity, "team", 0);
    SDL_Color colour = colour_of(team > 0 ? 2 * (uint32_t)team : entity->owner);
    SDL_Color edge = entity->is_own ? white : panel;
    for (uint32_t i = entity->point_count; i-- > 1;) {
        hull(play, &entity->points[i - 1], 2, 0.85F * radius, colour);
        if (i % 4 < 2) hull(play, &entity->points[i - 1], 2, 0.85F * radius, faded(panel, 0.3F));
    }
    line(play, left, right, 1.14F * radius, edge);
    line(play, at, nose, 0.24F * radius, edge);
    line(play, left, right, 0.94F * radius, colour);
}

/* Name and health; and, where wanted, the place in the newest snapshot. Others are ahead of what is
 * drawn of them, which lies between two older snapshots; the own character is behind, as the inputs
 * under way are not in it. */
static void draw_label(const struct play *play, const struct arbiter_entity *entity)
{
    struct arbiter_point newest;
    float share = field(play, entity, "health", 0) / 100;
    SDL_FPoint over = to_screen(play, entity->x, entity->y + play->rules.radius);
    say(play, SMALL, over.x, over.y - 36, 0.5F, entity->is_own ? white : dim, "%s",
        name_of(play, entity->owner));
    if (share > 0) {
        box(play, over.x - 22, over.y - 15, 44, 6, panel);
        box(play, over.x - 21, over.y - 14, 42 * SDL_min(share, 1.0F), 4,
            share > 0.5F ? green : red);
    }
    if (play->shadows && arbiter_client_newest(play->client, entity->key, &newest)) {
        line(play, newest, newest, play->rules.radius, faded(white, 0.35F));
        line(play, newest, (struct arbiter_point){entity->x, entity->y}, 0.03F, white);
    }
}

static void draw_world(const struct play *play)
{
    draw_map(play);
    for (int layer = 0; layer < 3; layer++) { /* things, players, what is said of them */
        for (uint32_t i = 0; i < play->view.entity_count; i++) {
            const struct arbiter_entity *entity = &play->view.entities[i];
            bool player = is_player(play, entity);
            if (layer == 0 && !player) draw_thing(play, entity);
            if (layer == 1 && player) draw_player(play, entity);
            if (layer == 2 && player) draw_label(play, entity);
        }
    }
    for (int i = 0; i < PLAY_EFFECTS; i++) {
        const struct play_effect *effect = &play->effects[i];
        float age = (float)(play->now_s - effect->born_s) / EFFECT_S;
        if (age < 1) {
            line(play, effect->from, effect->to, 0.05F, faded(amber, 1 - age));
            line(play, effect->to, effect->to, 0.2F + age, faded(amber, 1 - age));
        }
    }
}

/* On the own character, or the one that is watched; where it was while it is dead. */
static void aim_camera(struct play *play)
{
    const struct arbiter_view *view = &play->view;
    const struct arbiter_entity *seen =
        arbiter_view_entity(view, view->own.exists ? view->own.key : view->followed_key);
    play->scale = SDL_sqrtf((float)(play->width * play->height)) / 33; /* as much in any shape */
    if (seen != NULL) {
        play->camera_x = seen->x;
        play->camera_y = seen->y;
    }
}

/* ---- what happened ---- */

static void add_effect(struct play *play, struct arbiter_point from, struct arbiter_point to)
{
    play->effects[play->next_effect++ % PLAY_EFFECTS] = (struct play_effect){from, to, play->now_s};
}

/* The library tells each event when the drawn world reaches its tick, so nothing has to be delayed
 * here. A shot comes from where its shooter is seen. */
static void hear(struct play *play, const struct arbiter_event *event)
{
    struct arbiter_point at = {event->x, event->y}, from = at;
    for (uint32_t i = 0; event->kind == ARBITER_EVENT_HIT && i < play->view.entity_count; i++) {
        const struct arbiter_entity *entity = &play->view.entities[i];
        if (entity->owner == event->a && is_player(play, entity)) {
            from = (struct arbiter_point){entity->x, entity->y};
        }
    }
    if (event->kind == ARBITER_EVENT_HIT || event->kind == ARBITER_EVENT_IMPACT) {
        add_effect(play, from, at);
    }
}

/* The own shot is seen at once: the rounds are predicted, and one fewer is a shot. */
static void watch_magazine(struct play *play)
{
    const struct arbiter_own *own = &play->view.own;
    uint16_t rounds = own->magazine[own->weapon % ARBITER_WEAPONS_MAX];
    struct arbiter_point muzzle = {own->x + 2 * play->rules.radius * SDL_cosf(own->heading),
                                   own->y + 2 * play->rules.radius * SDL_sinf(own->heading)};
    if (own->exists && rounds + 1 == play->rounds) add_effect(play, muzzle, muzzle);
    play->rounds = rounds;
}

/* ---- scores and words ---- */

static void draw_scores(const struct play *play)
{
    enum { ROWS = 12 };
    const struct arbiter_player *best[ROWS];
    uint32_t rows = arbiter_view_ranking(&play->view, best, ROWS);
    const struct arbiter_player *own = arbiter_view_player(&play->view, play->view.own_slot);
    bool is_there = own == NULL;
    float x = (float)play->width - 320;
    box(play, x - 10, 8, 320, (float)(LINE * (rows + 1)) + 10, panel);
    say(play, SMALL, x, 12, 0, dim, "score   k   d  player");
    for (uint32_t i = 0; i < rows; i++) {
        is_there |= best[i] == own;
        const struct arbiter_player *who = i + 1 == rows && !is_there ? own : best[i];
        float y = 12 + (float)(LINE * (i + 1));
        if (who == own) box(play, x - 10, y, 320, LINE, faded(white, 0.15F));
        say(play, SMALL, x, y, 0, who->present && !who->away ? colour_of(who->slot) : dim,
            "%5d %3u %3u  %s", (int)who->score, (unsigned)who->kills, (unsigned)who->deaths,
            who->name);
    }
}

/* How it stands, in a word or two; "" while one plays. */
static const char *state_of(const struct arbiter_view *view)
{
    static const char *const games[] = {
        /* in the order of enum arbiter_game */
        "connecting", "connecting", "back in a moment", "", "the end", "no connection", ""};
    if (view->connection == ARBITER_CONNECTED) {
        if (view->silent_ms > 0) return "nothing is heard from the server";
        if (view->phase == ARBITER_MATCH_WAITING) return "waiting for players";
        if (view->phase == ARBITER_MATCH_COUNTDOWN) return "get ready";
    }
    return games[view->game];
}

static void draw_words(const struct play *play)
{
    const struct arbiter_view *view = &play->view;
    const struct arbiter_own *own = &view->own;
    float middle = (float)play->width / 2;
    float top = (float)play->height * 0.7F;
    float bottom = (float)play->height - 32;
    if (view->has_result) {
        bool draw = view->result_winner == ARBITER_NO_SLOT;
        say(play, LARGE, middle, top - 50, 0.5F, white, draw ? "a draw" : "%s wins",
            name_of(play, view->result_winner));
    }
    say(play, LARGE, middle, top, 0.5F, white, "%s", state_of(view));
    if (play->reason[0] != '\0') {
        say(play, SMALL, middle, top + 50, 0.5F, white, "%s\nreturn: connect again   escape: leave",
            play->reason);
    }
    if (view->phase_end_tick != 0) {
        say(play, LARGE, middle, 8, 0.5F, white, "%d:%02d", (int)view->phase_left_s / 60,
            (int)view->phase_left_s % 60);
    }
    box(play, 0, bottom - 6, (float)play->width, 38, panel);
    say(play, SMALL, 20, bottom, 0, dim, "%s   tab: network   C: confirmed   escape: leave",
        view->game == ARBITER_GAME_SPECTATING ? "click: next player"
        : play->steers                        ? "mouse or A D: steer   click or space: boost"
                       : "WASD: move   mouse: aim, fire   space: dash   R: reload");
    if (own->exists && play->rules.weapon_count > 0) {
        unsigned weapon = own->weapon % ARBITER_WEAPONS_MAX;
        say(play, LARGE, (float)play->width - 20, bottom - 5, 1, white,
            own->reload_ticks > 0 ? "reloading" : "%u / %u", (unsigned)own->magazine[weapon],
            (unsigned)own->reserve[weapon]);
    }
}

/* ---- the network graph: the library's own figures, and its verdict on the newest stutters ---- */

static void draw_figures(const struct play *play)
{
    static const char *const causes[] = {"the server was late", "snapshots were lost",
                                         "snapshots came late",
                                         "this program was late"}; /* in the order of the enum */
    const struct arbiter_statistics *s = &play->statistics;
    const struct arbiter_corrections *c = &s->corrections;
    struct arbiter_stutter stutters[STUTTERS];
    uint32_t count = arbiter_client_stutters(play->client, stutters, STUTTERS);
    box(play, 8, 8, 2 * PLAY_FRAMES + 16, GRAPH + PLAY_STRIPS * (STRIP + LINE), panel);
    say(play, SMALL, 16, 12, 0, white,
        "rtt %.0f ms   jitter %.1f ms   loss %.1f %%\n"
        "inputs %.1f ticks ahead, %u starved\n"
        "corrections %u, with a cause %u",
        (double)s->rtt_ms, (double)s->jitter_ms, 100 * (double)s->loss, (double)s->lead_ticks,
        (unsigned)s->inputs_starved, (unsigned)c->count,
        (unsigned)(c->outside + c->starved + c->jumped));
    for (uint32_t i = 0; i < count; i++) {
        say(play, SMALL, 16, 12 + (float)(i + 3) * LINE, 0, amber, "%.0f s ago %.0f ms: %s",
            play->now_s - (double)stutters[i].at_ns / 1e9, (double)stutters[i].ms,
            causes[stutters[i].cause % SDL_arraysize(causes)]);
    }
}

/* Each frame a column more in each strip, whether they are shown or not; below 0: bad. */
static void draw_network(struct play *play)
{
    const struct arbiter_statistics *now = &play->statistics;
    bool is_lost = now->snapshots_lost > play->before.snapshots_lost;
    float arrived = (float)(now->snapshots - SDL_min(now->snapshots, play->before.snapshots));
    float frame_ms = (float)(play->now_s - play->last_s) * 1000;
    const struct {
        const char *name;
        float value, full; /* full: as high as the strip */
    } strips[PLAY_STRIPS] = {
        {"snapshots that arrived; red: lost", is_lost ? -3 : arrived, 3},
        {"ticks that inputs are early, to 6; red: late", (float)now->buffer_ticks, 6},
        {"age of what is drawn, to 250 ms", now->view_age_ms, 250},
        {"frame, to 50 ms; red: above 40", frame_ms > 40 ? -frame_ms : frame_ms, 50},
    };
    if (play->graph) draw_figures(play);
    for (int i = 0; i < PLAY_STRIPS; i++) {
        float bottom = GRAPH + STRIP + (float)i * (STRIP + LINE);
        play->strips[i][play->frames % PLAY_FRAMES] = strips[i].value / strips[i].full;
        for (uint32_t k = 1; play->graph && k <= PLAY_FRAMES; k++) {
            float value = play->strips[i][(play->frames + k) % PLAY_FRAMES];
            float high = STRIP * SDL_min(SDL_fabsf(value), 1.0F);
            box(play, 14 + 2 * (float)k, bottom - high, 2, high, value < 0 ? red : green);
        }
        if (play->graph) say(play, SMALL, 16, bottom, 0, dim, "%s", strips[i].name);
    }
    play->frames++;
    play->before = *now;
}

void play_draw(struct play *play)
{
    SDL_GetRendererOutputSize(play->renderer, &play->width, &play->height);
    SDL_SetRenderDrawColor(play->renderer, 14, 16, 20, 255);
    SDL_RenderClear(play->renderer);
    for (uint32_t i = 0; i < play->view.event_count; i++) {
        hear(play, &play->view.events[i]);
    }
    watch_magazine(play);
    if (arbiter_client_map(play->client, &play->map) &&
        arbiter_client_rules(play->client, &play->rules)) {
        aim_camera(play);
        draw_world(play);
    }
    if (play->view.player_count > 0) draw_scores(play); /* beyond the connection, with a result */
    draw_words(play);
    draw_network(play);
    SDL_RenderPresent(play->renderer);
}
