/* arbiter-replay render: one page of HTML that plays the match, with all that it needs inside. The
 * match is played here and what is seen is written as numbers; the page only draws (render_page.c).
 */
#include "tools/replay/render_page.h"

#include "server/match/observe.h"
#include "shared/base/arb_mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    FRAMES_PER_S = 20,
    UNITS = 100,      /* of a metre in the page: centimetres */
    TURN = 256,       /* units of a turn */
    BODY_POINTS = 64, /* of a body; longer ones leave some out */
    SHOTS_MAX = 4096, /* between two frames; more are left out */
};

/* What the page has of an entity already. */
struct shown {
    uint16_t generation; /* 0: nothing */
    int32_t x, y, heading;
};

struct shot_line {
    int32_t from_x, from_y, to_x, to_y;
    uint16_t slot;
};

struct page {
    FILE *out;
    struct replay *replay;
    struct shown *shown;        /* [entity_capacity] */
    struct world_player *lines; /* [player_capacity] as told */
    struct shot_line shots[SHOTS_MAX];
    uint32_t shot_count;
    uint32_t frames;
    uint8_t phase;
};

static int32_t units(float metres)
{
    float scaled = metres * (float)UNITS;
    return (int32_t)(scaled < 0 ? scaled - 0.5F : scaled + 0.5F);
}

static int32_t turn(float heading)
{
    float scaled = heading * (float)TURN / 6.2831853F;
    return (int32_t)(scaled < 0 ? scaled - 0.5F : scaled + 0.5F) & (TURN - 1);
}

static void on_shots(void *owner, const struct rules_shot *shots, uint32_t count)
{
    struct page *page = owner;
    for (uint32_t i = 0; i < count; i++) {
        for (uint8_t p = 0; p < shots[i].pellet_count && page->shot_count < SHOTS_MAX; p++) {
            const struct rewind_ray *ray = &shots[i].rays[p];
            float reach = shots[i].pellets[p].reach;
            page->shots[page->shot_count++] =
                (struct shot_line){units(ray->origin.x), units(ray->origin.y),
                                   units(ray->origin.x + reach * ray->direction.x),
                                   units(ray->origin.y + reach * ray->direction.y), shots[i].slot};
        }
    }
}

/* ---- what does not change ---- */

static void print_shape(const struct arb_shape *shape, FILE *out)
{
    static const char *const types[] = {[ARB_SHAPE_CIRCLE] = "circle",
                                        [ARB_SHAPE_CAPSULE] = "capsule",
                                        [ARB_SHAPE_POLYGON] = "polygon"};
    fprintf(out, "[\"%s\",%d,[", types[shape->type], units(shape->radius));
    for (uint8_t i = 0; i < shape->count; i++) {
        fprintf(out, "%s%d,%d", i > 0 ? "," : "", units(shape->points[i].x),
                units(shape->points[i].y));
    }
    fprintf(out, "]]");
}

static void print_still(const struct page *page)
{
    const struct replay *replay = page->replay;
    const struct map *map = &replay->map;
    FILE *out = page->out;
    char id[MATCH_ID_TEXT_BYTES];
    match_id_text(replay->head->match_id, id);
    fprintf(out, "{\"id\":\"%s\",\"mode\":", id);
    replay_print_html(replay->head->mode, out);
    fprintf(out, ",\"map\":");
    replay_print_html(replay->head->map, out);
    fprintf(out, ",\"rate\":%u,\"units\":%d,\"turn\":%d,\"bounds\":[%d,%d,%d,%d],\"shapes\":[",
            replay->head->tick_rate, (int)UNITS, (int)TURN, units(map->bounds.low.x),
            units(map->bounds.low.y), units(map->bounds.high.x), units(map->bounds.high.y));
    for (uint32_t i = 0; i < map->shape_count; i++) {
        if (i > 0) fputc(',', out);
        print_shape(&map->shapes[i], out);
    }
    fprintf(out, "],\"frames\":[\n");
}

/* ---- frames ---- */

static void print_body(const struct world *world, const struct world_entity *entity, FILE *out)
{
    uint32_t count = world_body_count(world, entity->body);
    uint32_t step = 1 + count / BODY_POINTS;
    struct arb_vec2 head = {entity->x, entity->y};
    fprintf(out, ",[");
    for (uint32_t i = 0; i < count; i += step) {
        struct arb_vec2 point = world_body_point(world, entity->body, i, head);
        fprintf(out, "%s%d,%d", i > 0 ? "," : "", units(point.x), units(point.y));
    }
    fputc(']', out);
}

/* New: id, kind, owner, radius as well. Moved: id and where it is. */
static bool print_entity(struct page *page, const struct world *world, uint32_t id, bool first)
{
    const struct world_entity *entity = &world->entities[id];
    struct shown *shown = &page->shown[id];
    struct shown now = {entity->generation, units(entity->x), units(entity->y),
                        turn(entity->heading)};
    bool is_new = shown->generation != entity->generation;
    bool same = !is_new && shown->x == now.x && shown->y == now.y && shown->heading == now.heading;
    if (same) return false;
    *shown = now;
    fprintf(page->out, "%s[%u,%d,%d,%d", first ? "" : ",", id, now.x, now.y, now.heading);
    if (is_new) {
        fprintf(page->out, ",%u,%d,%d", (unsigned)entity->kind,
                entity->owner == ARB_NO_SLOT ? -1 : (int)entity->owner, units(entity->radius));
    }
    if (entity->body != WORLD_NO_BODY) print_body(world, entity, page->out);
    fputc(']', page->out);
    return true;
}

static void print_entities(struct page *page, const struct world *world)
{
    bool first = true;
    fprintf(page->out, "[");
    for (uint32_t id = 0; id < world->head->entity_capacity; id++) {
        if (world->entities[id].alive && print_entity(page, world, id, first)) first = false;
    }
    fprintf(page->out, "],[");
    first = true;
    for (uint32_t id = 0; id < world->head->entity_capacity; id++) {
        if (world->entities[id].alive || page->shown[id].generation == 0) continue;
        page->shown[id].generation = 0;
        fprintf(page->out, "%s%u", first ? "" : ",", id);
        first = false;
    }
    fprintf(page->out, "]");
}

static void print_shots(struct page *page)
{
    fprintf(page->out, ",[");
    for (uint32_t i = 0; i < page->shot_count; i++) {
        const struct shot_line *shot = &page->shots[i];
        fprintf(page->out, "%s%u,%d,%d,%d,%d", i > 0 ? "," : "", (unsigned)shot->slot, shot->from_x,
                shot->from_y, shot->to_x, shot->to_y);
    }
    fprintf(page->out, "]");
    page->shot_count = 0;
}

static bool same_line(const struct world_player *a, const struct world_player *b)
{
    return a->player_id == b->player_id && a->score == b->score && a->kills == b->kills &&
           a->deaths == b->deaths && a->presence == b->presence;
}

static void print_lines(struct page *page, const struct world *world)
{
    bool first = true;
    fprintf(page->out, ",[");
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        if (same_line(&page->lines[slot], player)) continue;
        page->lines[slot] = *player;
        fprintf(page->out, "%s[%u,", first ? "" : ",", (unsigned)slot);
        replay_print_html(player->name, page->out);
        fprintf(page->out, ",%u,%u,%" PRId32 ",%u,%u]", (unsigned)player->presence,
                (unsigned)player->team, player->score, (unsigned)player->kills,
                (unsigned)player->deaths);
        first = false;
    }
    fprintf(page->out, "]");
}

static void print_frame(struct page *page)
{
    const struct world *world = match_world(page->replay->match);
    fprintf(page->out, "%s[%" PRIu64 ",%u,", page->frames++ > 0 ? ",\n" : "", world->head->tick,
            (unsigned)world->head->phase);
    print_entities(page, world);
    print_shots(page);
    print_lines(page, world);
    fputc(']', page->out);
}

/* ---- the whole ---- */

/* How the journal ended. */
static struct match_replay_step print_frames(struct page *page)
{
    struct match_replay_step step;
    uint32_t every = page->replay->head->tick_rate / FRAMES_PER_S;
    every = every > 0 ? every : 1;
    do {
        match_replay_next(page->replay->steps, &step);
        bool due = step.status == MATCH_REPLAY_TICK && step.tick % every == 0;
        if (due) print_frame(page);
    } while (step.status < MATCH_REPLAY_DIVERGED);
    return step;
}

static enum arb_result print_page(struct page *page)
{
    struct replay *replay = page->replay;
    const struct world_head *head = match_world(replay->match)->head;
    page->shown = arb_mem_alloc(head->entity_capacity * sizeof page->shown[0]);
    page->lines = arb_mem_alloc(head->player_capacity * sizeof page->lines[0]);
    match_observe(replay->match, &(struct match_observer){.owner = page, .shots = on_shots});
    fputs(render_page_before, page->out);
    print_still(page);
    struct match_replay_step step = print_frames(page);
    fprintf(page->out, "\n]}");
    fputs(render_page_after, page->out);
    arb_mem_free(page->shown);
    arb_mem_free(page->lines);
    if (replay_is_whole(&step)) return ARB_OK;
    replay_print_end(replay, &step, stderr);
    return step.status == MATCH_REPLAY_DIVERGED ? ARB_NO_RESULT : ARB_DATA;
}

enum arb_result replay_render(const char *path, FILE *out)
{
    struct replay replay;
    enum arb_result result = replay_open(&replay, path);
    if (result != ARB_OK) return result;
    struct page *page = arb_mem_alloc(sizeof *page);
    page->out = out;
    page->replay = &replay;
    result = print_page(page);
    arb_mem_free(page);
    replay_close(&replay);
    return result;
}
