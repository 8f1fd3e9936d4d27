/* What the view says, as a picture. One painter does for both modes, as it goes by what kinds of
 * entities are called and which fields they have. */
#include "tools/play/play.h"

#define GRID_M 4.0F
#define TURN 6.2831853F
#define EFFECT_S 0.3F
#define MARGIN_M 8.0F /* around the map */

enum { SMALL, LARGE };                        /* fonts */
enum { LINE = 18, STRIP = 30, STUTTERS = 3 }; /* pixels; LINE: from line to line */

static const SDL_Color white = {235, 240, 245, 255};
static const SDL_Color dim = {165, 175, 187, 255};
static const SDL_Color panel = {10, 12, 16, 190};
static const SDL_Color ground = {30, 35, 43, 255};
static const SDL_Color grid = {39, 45, 55, 255};
static const SDL_Color wall = {104, 116, 134, 255};
static const SDL_Color green = {90, 205, 125, 255};
static const SDL_Color amber = {240, 200, 80, 255};
static const SDL_Color red = {240, 90, 80, 255};
static const SDL_Color blue = {110, 170, 255, 255};

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
    enum { SIDES_MAX = 64 };
    SDL_Vertex vertices[2 * SIDES_MAX];
    int indices[9 * SIDES_MAX];
    int sides = count > 1 ? SIDES_MAX : SDL_clamp((int)(radius * play->scale), 16, SIDES_MAX);
    for (int i = 0; i < sides; i++) {
        float angle = TURN * (float)i / (float)sides;
        float x = SDL_cosf(angle);
        float y = SDL_sinf(angle);
        const struct arbiter_point *far = points;
        for (const struct arbiter_point *other = points; other < points + count; other++) {
            if ((other->x - far->x) * x + (other->y - far->y) * y > 0) far = other;
        }
        for (int rim = 0; rim < 2; rim++) {
            float reach = radius + ((float)rim - 0.5F) / play->scale;
            vertices[2 * i + rim] =
                (SDL_Vertex){.position = to_screen(play, far->x + reach * x, far->y + reach * y),
                             .color = faded(colour, 1 - (float)rim)};
        }
        int a = 2 * i;
        int b = 2 * ((i + 1) % sides);
        const int corners[9] = {0, a, b, a, a + 1, b, b, a + 1, b + 1};
        SDL_memcpy(indices + 9 * i, corners, sizeof corners);
    }
    SDL_RenderGeometry(play->renderer, NULL, vertices, 2 * sides, indices, 9 * sides);
}

static void line(const struct play *play, float x0, float y0, float x1, float y1, float radius,
                 SDL_Color colour)
{
    hull(play, (struct arbiter_point[]){{x0, y0}, {x1, y1}}, 2, radius, colour);
}

static void circle(const struct play *play, float x, float y, float radius, SDL_Color colour)
{
    hull(play, &(struct arbiter_point){x, y}, 1, radius, colour);
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
    if (drawn == NULL) { /* no text */
        return;
    }
    SDL_Texture *texture = SDL_CreateTextureFromSurface(play->renderer, drawn);
    SDL_FRect place = {SDL_floorf(x - align * (float)drawn->w) + 1, y + 1, (float)drawn->w,
                       (float)drawn->h};
    SDL_SetTextureColorMod(texture, 0, 0, 0); /* a shadow first, so that it is read over all */
    SDL_RenderCopyF(play->renderer, texture, NULL, &place);
    place.x--;
    place.y--;
    SDL_SetTextureColorMod(texture, 255, 255, 255);
    SDL_RenderCopyF(play->renderer, texture, NULL, &place);
    SDL_DestroyTexture(texture);
    SDL_FreeSurface(drawn);
}

/* ---- the world ---- */

static const char *name_of(const struct play *play, int32_t slot)
{
    for (uint32_t i = 0; i < play->view.player_count; i++) {
        if (play->view.players[i].slot == slot) {
            return play->view.players[i].name;
        }
    }
    return "nobody";
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
    struct arbiter_point low = play->map.low;
    struct arbiter_point high = play->map.high;
    SDL_FPoint corner = to_screen(play, low.x, high.y);
    float wide = (high.x - low.x) * play->scale;
    float tall = (high.y - low.y) * play->scale;
    struct arbiter_shape shape;
    box(play, corner.x - 8, corner.y - 8, wide + 16, tall + 16, wall);
    box(play, corner.x, corner.y, wide, tall, ground);
    for (float at = GRID_M * play->scale; at < wide; at += GRID_M * play->scale) {
        box(play, corner.x + at, corner.y, 2, tall, grid);
    }
    for (float at = GRID_M * play->scale; at < tall; at += GRID_M * play->scale) {
        box(play, corner.x, corner.y + at, wide, 2, grid);
    }
    for (uint32_t i = 0; arbiter_client_shape(play->client, i, &shape); i++) {
        hull(play, shape.points, shape.count, shape.radius + 0.02F, wall);
    }
}

/* What lies about or flies: a spot with a glow. */
static void draw_thing(const struct play *play, const struct arbiter_entity *entity)
{
    const SDL_Color pickups[] = {green, amber, blue};
    int type = (int)field(play, entity, "type", -1);
    float radius = type < 0 ? 0.2F : 0.35F;
    SDL_Color colour = type >= 0                          ? pickups[type % 3]
                       : entity->owner != ARBITER_NO_SLOT ? amber
                                                          : colour_of(entity->key >> 16);
    circle(play, entity->x, entity->y, 2 * radius, faded(colour, 0.22F));
    circle(play, entity->x, entity->y, radius, colour);
}

/* Body from tail to head, pieces lighter and darker in turn; then the head, or all there is: a
 * circle or capsule with a nose. */
static void draw_player(const struct play *play, const struct arbiter_entity *entity)
{
    float x = entity->x;
    float y = entity->y;
    float radius = play->rules.radius;
    float half = play->rules.half_length;
    float nose_x = 1.6F * radius * SDL_cosf(entity->heading);
    float nose_y = 1.6F * radius * SDL_sinf(entity->heading);
    float team = field(play, entity, "team", 0);
    SDL_Color colour = colour_of(team > 0 ? 2 * (uint32_t)team : entity->owner);
    SDL_Color edge = entity->is_own ? white : panel;
    for (uint32_t i = entity->point_count; i-- > 1;) {
        hull(play, &entity->points[i - 1], 2, 0.85F * radius, colour);
        if (i % 4 < 2) hull(play, &entity->points[i - 1], 2, 0.85F * radius, faded(panel, 0.3F));
    }
    line(play, x - half, y, x + half, y, 1.14F * radius, edge);
    line(play, x, y, x + nose_x, y + nose_y, 0.24F * radius, edge);
    line(play, x - half, y, x + half, y, 0.94F * radius, colour);
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
            share > 0.6F   ? green
            : share > 0.3F ? amber
                           : red);
    }
    if (play->shadows && arbiter_client_newest(play->client, entity->key, &newest)) {
        circle(play, newest.x, newest.y, play->rules.radius, faded(white, 0.35F));
        line(play, newest.x, newest.y, entity->x, entity->y, 0.03F, white);
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
            SDL_Color colour = faded(amber, 1 - age);
            line(play, effect->from.x, effect->from.y, effect->to.x, effect->to.y, 0.05F, colour);
            circle(play, effect->to.x, effect->to.y, 0.2F + age, colour);
        }
    }
}

/* The camera shows little beyond the map, but never so little that what lies over the corners hides
 * the own character. */
static float near_map(float at, float low, float high, float shown)
{
    float edge = shown / 2 - MARGIN_M;
    return high - low < 2 * edge ? (low + high) / 2 : SDL_clamp(at, low + edge, high - edge);
}

/* On the own character, or the one that is watched; where it was while it is dead. */
static void aim_camera(struct play *play)
{
    const struct arbiter_view *view = &play->view;
    uint32_t key = view->own.exists ? view->own.key : view->followed_key;
    struct arbiter_point low = play->map.low;
    struct arbiter_point high = play->map.high;
    play->scale = SDL_sqrtf((float)(play->width * play->height)) / 33; /* as much in any shape */
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        if (entity->key == key && key != 0) {
            play->camera_x = near_map(entity->x, low.x, high.x, (float)play->width / play->scale);
            play->camera_y = near_map(entity->y, low.y, high.y, (float)play->height / play->scale);
        }
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
    struct arbiter_point at = {event->x, event->y};
    struct arbiter_point from = at;
    for (uint32_t i = 0; event->kind == ARBITER_EVENT_HIT && i < play->view.entity_count; i++) {
        const struct arbiter_entity *shooter = &play->view.entities[i];
        if (shooter->owner == event->a && is_player(play, shooter)) {
            from = (struct arbiter_point){shooter->x, shooter->y};
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
    if (own->exists && rounds + 1 == play->rounds) {
        struct arbiter_point muzzle = {own->x + play->rules.radius * SDL_cosf(own->heading) * 2,
                                       own->y + play->rules.radius * SDL_sinf(own->heading) * 2};
        add_effect(play, muzzle, muzzle);
    }
    play->rounds = rounds;
}

/* ---- scores and words ---- */

static int by_score(const void *a, const void *b)
{
    const struct arbiter_player *one = a;
    const struct arbiter_player *two = b;
    int more = (two->score > one->score) - (two->score < one->score);
    return more != 0 ? more : (int)one->slot - (int)two->slot;
}

static void draw_scores(const struct play *play)
{
    enum { ROWS = 12, PLAYERS = 1024 };
    static struct arbiter_player order[PLAYERS];
    uint32_t count = SDL_min(play->view.player_count, PLAYERS);
    uint32_t rows = SDL_min(count, ROWS);
    float x = (float)play->width - 320;
    SDL_memcpy(order, play->view.players, count * sizeof order[0]);
    SDL_qsort(order, count, sizeof order[0], by_score);
    for (uint32_t i = rows; i < count; i++) { /* the own line is always seen */
        if (order[i].slot == play->view.own_slot) order[rows - 1] = order[i];
    }
    box(play, x - 10, 8, 320, (float)(LINE * (rows + 1)) + 10, panel);
    say(play, SMALL, x, 12, 0, dim, "score   k   d  player");
    for (uint32_t i = 0; i < rows; i++) {
        bool is_here = order[i].present && !order[i].away;
        float y = 12 + (float)(LINE * (i + 1));
        bool is_own = order[i].slot == play->view.own_slot;
        if (is_own) box(play, x - 10, y, 320, LINE, faded(white, 0.15F));
        say(play, SMALL, x, y, 0, is_here ? colour_of(order[i].slot) : dim, "%5d %3u %3u  %s",
            (int)order[i].score, (unsigned)order[i].kills, (unsigned)order[i].deaths,
            order[i].name);
    }
}

static void draw_words(const struct play *play)
{
    static const char *const games[] = {
        /* in the order of enum arbiter_game */
        "connecting", "connecting", "back in a moment", "", "the end", "no connection", ""};
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
    say(play, LARGE, middle, top, 0.5F, white, "%s",
        view->connection != ARBITER_CONNECTED    ? games[view->game]
        : view->silent_ms > 0                    ? "nothing is heard from the server"
        : view->phase == ARBITER_MATCH_WAITING   ? "waiting for players"
        : view->phase == ARBITER_MATCH_COUNTDOWN ? "get ready"
                                                 : games[view->game]);
    if (play->reason[0] != '\0') {
        say(play, SMALL, middle, top + 50, 0.5F, white, "%s", play->reason);
        say(play, SMALL, middle, top + 75, 0.5F, dim, "return: connect again   escape: leave");
    }
    if (view->phase_end_tick != 0) {
        say(play, LARGE, middle, 8, 0.5F, white, "%d:%02d", (int)view->phase_left_s / 60,
            (int)view->phase_left_s % 60);
    }
    box(play, 0, bottom - 6, (float)play->width, 38, panel);
    say(play, SMALL, 20, bottom, 0, dim, "%s   tab: network   C: confirmed   escape: leave",
        view->game == ARBITER_GAME_SPECTATING ? "click: next player"
        : play_steers(play)                   ? "mouse or A D: steer   click or space: boost"
                            : "WASD: move   mouse: aim, fire   space: dash   R: reload");
    if (own->exists && play->rules.weapon_count > 0) {
        unsigned weapon = own->weapon % ARBITER_WEAPONS_MAX;
        say(play, LARGE, (float)play->width - 20, bottom - 5, 1, white,
            own->reload_ticks > 0 ? "reloading" : "%u / %u", (unsigned)own->magazine[weapon],
            (unsigned)own->reserve[weapon]);
    }
}

/* ---- the network graph: the library's own figures, and its verdict on the newest stutters ---- */

/* A column more in each strip; below 0: bad. */
static void draw_strips(struct play *play)
{
    float y = 12 + (3 + STUTTERS) * LINE;
    const struct arbiter_statistics *now = &play->statistics;
    const struct arbiter_statistics *before = &play->before;
    float frame_ms = (float)(play->now_s - play->last_s) * 1000;
    bool is_lost = now->snapshots_lost > before->snapshots_lost;
    float arrived = (float)(now->snapshots - SDL_min(now->snapshots, before->snapshots));
    const struct {
        const char *name;
        float value, full; /* full: as high as the strip */
    } strips[PLAY_STRIPS] = {
        {"snapshots that arrived; red: lost", is_lost ? -3 : arrived, 3},
        {"ticks that inputs are early, to 6; red: late", (float)now->buffer_ticks, 6},
        {"age of what is drawn, to 250 ms", now->view_age_ms, 250},
        {"frame, to 50 ms; red: above 40", frame_ms > 40 ? -frame_ms : frame_ms, 50},
    };
    for (int i = 0; i < PLAY_STRIPS; i++, y += STRIP + LINE) {
        play->strips[i][play->frames % PLAY_FRAMES] = strips[i].value / strips[i].full;
        for (uint32_t k = 1; play->graph && k <= PLAY_FRAMES; k++) {
            float value = play->strips[i][(play->frames + k) % PLAY_FRAMES];
            float high = STRIP * SDL_min(SDL_fabsf(value), 1.0F);
            if (high > 0) {
                box(play, 14 + 2 * (float)k, y + STRIP - high, 2, high, value < 0 ? red : green);
            }
        }
        say(play, SMALL, 16, y + STRIP, 0, dim, "%s", play->graph ? strips[i].name : "");
    }
    play->frames++;
    play->before = *now;
}

static void draw_figures(const struct play *play)
{
    static const char *const causes[] = {"the server was late", "snapshots were lost",
                                         "snapshots came late",
                                         "this program was late"}; /* in the order of the enum */
    const struct arbiter_statistics *s = &play->statistics;
    const struct arbiter_corrections *c = &s->corrections;
    struct arbiter_stutter stutters[STUTTERS];
    uint32_t count = arbiter_client_stutters(play->client, stutters, STUTTERS);
    box(play, 8, 8, 2 * PLAY_FRAMES + 16, (3 + STUTTERS) * LINE + PLAY_STRIPS * (STRIP + LINE) + 8,
        panel);
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
    if (play->graph) draw_figures(play);
    draw_strips(play);
    SDL_RenderPresent(play->renderer);
}
