/* The world as the view says it is: ground, walls, what lies about, who moves, what flies. */
#include "tools/play/play.h"

#define GRID_M 4.0F

static const SDL_Color white = {255, 255, 255, 255};
static const SDL_Color ground = {30, 35, 43, 255};
static const SDL_Color grid = {39, 45, 55, 255};
static const SDL_Color wall = {104, 116, 134, 255};
static const SDL_Color wall_side = {18, 20, 25, 110};

SDL_Color play_colour_of_slot(uint16_t slot)
{
    float hue = 0.6F + 2.399963F * (float)slot; /* the golden angle: neighbours differ most */
    return (SDL_Color){(uint8_t)(158 + 92 * SDL_cosf(hue)),
                       (uint8_t)(158 + 92 * SDL_cosf(hue - 2.0944F)),
                       (uint8_t)(158 + 92 * SDL_cosf(hue + 2.0944F)), 255};
}

static SDL_Color faded(SDL_Color colour, float share)
{
    colour.a = (uint8_t)((float)colour.a * SDL_clamp(share, 0.0F, 1.0F));
    return colour;
}

static SDL_Color shaded(SDL_Color colour, float share)
{
    return (SDL_Color){(uint8_t)((float)colour.r * share), (uint8_t)((float)colour.g * share),
                       (uint8_t)((float)colour.b * share), colour.a};
}

static SDL_Color colour_of(const struct play *play, const struct arbiter_entity *entity)
{
    int team = play->tables.team < 0 ? 0 : (int)entity->fields[play->tables.team];
    return play_colour_of_slot(team > 0 ? (uint16_t)(2 * team) : entity->owner);
}

static void draw_ground(const struct play *play)
{
    const struct play_paint *paint = &play->paint;
    struct arbiter_point low = play->tables.map.low;
    struct arbiter_point high = play->tables.map.high;
    const struct arbiter_point all[] = {low, {high.x, low.y}, high, {low.x, high.y}};
    play_paint_hull(paint, all, 4, 0.3F, wall);
    play_paint_hull(paint, all, 4, 0, ground);
    for (float x = SDL_ceilf(low.x / GRID_M) * GRID_M; x < high.x; x += GRID_M) {
        play_paint_line(paint, x, low.y, x, high.y, 0.08F, grid);
    }
    for (float y = SDL_ceilf(low.y / GRID_M) * GRID_M; y < high.y; y += GRID_M) {
        play_paint_line(paint, low.x, y, high.x, y, 0.08F, grid);
    }
}

/* All edges first: where two shapes make one wall, nothing is seen between them. */
static void draw_walls(const struct play *play)
{
    struct arbiter_shape shape;
    for (uint32_t i = 0; arbiter_client_shape(play->client, i, &shape); i++) {
        play_paint_hull(&play->paint, shape.points, shape.count, shape.radius + 0.22F, wall_side);
    }
    for (uint32_t i = 0; arbiter_client_shape(play->client, i, &shape); i++) {
        play_paint_hull(&play->paint, shape.points, shape.count, shape.radius + 0.02F, wall);
    }
}

static void draw_things(const struct play *play)
{
    static const SDL_Color colours[] = {
        {90, 220, 120, 255}, {240, 200, 80, 255}, {110, 170, 255, 255}};
    const struct play_tables *tables = &play->tables;
    for (uint32_t i = 0; i < play->view.entity_count; i++) {
        const struct arbiter_entity *entity = &play->view.entities[i];
        float x = entity->x;
        float y = entity->y;
        if (entity->kind == tables->food) {
            SDL_Color colour = play_colour_of_slot((uint16_t)(entity->key >> 16));
            play_paint_circle(&play->paint, x, y, 0.45F, faded(colour, 0.25F));
            play_paint_circle(&play->paint, x, y, 0.2F, colour);
        } else if (entity->kind == tables->pickup) {
            SDL_Color colour = colours[(int)entity->fields[tables->type] % 3];
            const struct arbiter_point square[] = {{x - 0.2F, y - 0.2F},
                                                   {x + 0.2F, y - 0.2F},
                                                   {x + 0.2F, y + 0.2F},
                                                   {x - 0.2F, y + 0.2F}};
            play_paint_circle(&play->paint, x, y, 0.65F, faded(colour, 0.2F));
            play_paint_hull(&play->paint, square, 4, 0.12F, colour);
        } else if (entity->kind == tables->projectile) {
            float tail = 0.05F; /* s of its way */
            play_paint_line(&play->paint, x - tail * entity->vx, y - tail * entity->vy, x, y, 0.16F,
                            faded(colours[1], 0.5F));
            play_paint_circle(&play->paint, x, y, 0.17F, white);
        }
    }
}

static void draw_head(const struct play *play, const struct arbiter_entity *entity)
{
    const struct play_paint *paint = &play->paint;
    SDL_Color colour = colour_of(play, entity);
    float radius = play->tables.rules.radius;
    for (uint32_t i = entity->point_count; i-- > 1;) {
        /* Scales: each piece of the body a little lighter or darker than the next. */
        SDL_Color scale = i % 4 < 2 ? colour : shaded(colour, 0.86F);
        play_paint_hull(paint, &entity->points[i - 1], 2, 0.85F * radius, scale);
    }
    play_paint_circle(paint, entity->x, entity->y, radius, colour);
    for (int side = -1; side <= 1; side += 2) {
        float angle = entity->heading + 0.6F * (float)side;
        float x = entity->x + 0.62F * radius * SDL_cosf(angle);
        float y = entity->y + 0.62F * radius * SDL_sinf(angle);
        play_paint_circle(paint, x, y, 0.3F * radius, white);
        play_paint_circle(paint, x + 0.1F * radius * SDL_cosf(entity->heading),
                          y + 0.1F * radius * SDL_sinf(entity->heading), 0.16F * radius, ground);
    }
}

static void draw_character(const struct play *play, const struct arbiter_entity *entity)
{
    const struct play_paint *paint = &play->paint;
    float radius = play->tables.rules.radius;
    float half = play->tables.rules.half_length;
    float x = entity->x;
    float y = entity->y;
    SDL_Color colour = colour_of(play, entity);
    SDL_Color edge = entity->is_own ? white : ground;
    const struct arbiter_point ends[] = {{x - half, y}, {x + half, y}};
    uint32_t count = half > 0 ? 2 : 1;
    play_paint_hull(paint, ends, count, 1.12F * radius, edge);
    play_paint_line(paint, x, y, x + 1.7F * radius * SDL_cosf(entity->heading),
                    y + 1.7F * radius * SDL_sinf(entity->heading), 0.5F * radius, edge);
    play_paint_hull(paint, ends, count, 0.94F * radius, colour);
    if (play->tables.health >= 0) {
        float share = SDL_clamp(entity->fields[play->tables.health] / 100, 0.0F, 1.0F);
        SDL_Color left = {(uint8_t)(235 - 155 * share), (uint8_t)(70 + 150 * share), 80, 255};
        SDL_FPoint bar = play_paint_to_screen(paint, x - 0.7F, y + radius + 0.5F);
        play_paint_box(paint, bar.x, bar.y, 1.4F * paint->scale, 5, wall_side);
        play_paint_box(paint, bar.x, bar.y, 1.4F * share * paint->scale, 5, left);
    }
}

static void draw_players(const struct play *play)
{
    for (uint32_t i = 0; i < play->view.entity_count; i++) {
        const struct arbiter_entity *entity = &play->view.entities[i];
        bool is_head = entity->kind == play->tables.head;
        if (is_head || entity->kind == play->tables.character) {
            (is_head ? draw_head : draw_character)(play, entity);
            SDL_FPoint at = play_paint_to_screen(&play->paint, entity->x,
                                                 entity->y + play->tables.rules.radius);
            play_paint_text(&play->paint, at.x, at.y - 38, 2, 0.5F,
                            faded(white, entity->is_own ? 1 : 0.6F),
                            play_name_of(&play->view, entity->owner));
        }
    }
}

/* Where everybody is in the newest snapshot. Others are ahead of what is drawn of them, which lies
 * between two older snapshots; the own character is behind, as the inputs under way are not in it.
 */
static void draw_shadows(const struct play *play)
{
    float radius = play->tables.rules.radius;
    struct arbiter_point at;
    for (uint32_t i = 0; play->shadows && i < play->view.entity_count; i++) {
        const struct arbiter_entity *entity = &play->view.entities[i];
        bool is_player =
            entity->kind == play->tables.head || entity->kind == play->tables.character;
        if (is_player && arbiter_client_newest(play->client, entity->key, &at)) {
            play_paint_circle(&play->paint, at.x, at.y, radius, faded(white, 0.35F));
            play_paint_line(&play->paint, at.x, at.y, entity->x, entity->y, 0.06F, white);
        }
    }
}

static void draw_effects(const struct play *play)
{
    static const float life_s[] = {[PLAY_TRACER] = 0.2F, [PLAY_BURST] = 0.5F, [PLAY_FLASH] = 0.07F};
    for (uint32_t i = 0; i < PLAY_EFFECTS; i++) {
        const struct play_effect *effect = &play->effects[i];
        float age =
            effect->born_s > 0 ? (float)(play->now_s - effect->born_s) / life_s[effect->kind] : 1;
        if (age >= 1) {
            continue;
        }
        SDL_Color colour = faded(effect->colour, 1 - age);
        if (effect->kind == PLAY_TRACER) {
            play_paint_line(&play->paint, effect->x, effect->y, effect->to_x, effect->to_y, 0.09F,
                            colour);
            play_paint_circle(&play->paint, effect->to_x, effect->to_y, 0.25F, colour);
        } else if (effect->kind == PLAY_BURST) {
            play_paint_circle(&play->paint, effect->x, effect->y, 0.4F + 1.6F * age, colour);
        } else {
            play_paint_circle(&play->paint, effect->x, effect->y, 0.3F, colour);
        }
    }
}

void play_scene_draw(const struct play *play)
{
    draw_ground(play);
    draw_things(play);
    draw_walls(play);
    draw_shadows(play);
    draw_players(play);
    draw_effects(play);
}
