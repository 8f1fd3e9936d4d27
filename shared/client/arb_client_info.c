/* What a game may ask beside the view: map, tables, figures. */
#include "shared/client/arbiter_client_internal.h"

#include <string.h>

/* ---- the map ---- */

bool arbiter_client_map(const struct arbiter_client *client, struct arbiter_map *map)
{
    if (!client->match.known) {
        return false;
    }
    struct arb_bounds bounds = arb_geometry_bounds(client->match.geometry);
    *map = (struct arbiter_map){
        .low = {bounds.low.x, bounds.low.y},
        .high = {bounds.high.x, bounds.high.y},
        .shape_count = client->match.welcome.shape_count,
        .hash = client->match.welcome.map_hash,
    };
    return true;
}

bool arbiter_client_shape(const struct arbiter_client *client, uint32_t index,
                          struct arbiter_shape *shape)
{
    if (!client->match.known || index >= client->match.welcome.shape_count) {
        return false;
    }
    const struct arb_shape *from = arb_geometry_shape(client->match.geometry, index);
    memset(shape, 0, sizeof *shape);
    shape->type = from->type;
    shape->count = from->count;
    shape->radius = from->radius;
    for (uint32_t i = 0; i < from->count; i++) {
        shape->points[i] = (struct arbiter_point){from->points[i].x, from->points[i].y};
    }
    return true;
}

bool arbiter_client_ray(const struct arbiter_client *client, float x, float y, float dx, float dy,
                        float *fraction)
{
    return client->match.known && arb_geometry_ray(client->match.geometry, (struct arb_vec2){x, y},
                                                   (struct arb_vec2){dx, dy}, fraction);
}

/* ---- tables ---- */

const char *arbiter_client_mode(const struct arbiter_client *client)
{
    return client->match.known ? client->match.welcome.mode : "";
}

int arbiter_client_kind(const struct arbiter_client *client, const char *name)
{
    for (int i = 0; client->match.known && i < client->match.schema->kind_count; i++) {
        if (strcmp(client->match.schema->kinds[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int arbiter_client_field(const struct arbiter_client *client, int kind, const char *name)
{
    if (!client->match.known || kind < 0 || kind >= client->match.schema->kind_count) {
        return -1;
    }
    const struct arb_kind *table = &client->match.schema->kinds[kind];
    for (int i = 0; i < table->field_count; i++) {
        if (strcmp(table->fields[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

bool arbiter_client_rules(const struct arbiter_client *client, struct arbiter_rules *rules)
{
    const struct arb_client_match *match = &client->match;
    if (!match->known) {
        return false;
    }
    *rules = (struct arbiter_rules){
        .radius = match->params.radius,
        .half_length = match->params.half_length,
        .max_speed = match->params.max_speed,
        .dash_speed = match->params.dash_speed,
        .base_speed = match->params.base_speed,
        .boost_speed = match->params.boost_speed,
        .turn_rate = match->params.turn_rate,
        .tick_rate = match->welcome.tick_rate,
        .snapshot_interval_ticks = match->welcome.snapshot_interval_ticks,
        .input_delay_ticks = match->welcome.input_delay_ticks,
        .weapon_count = match->params.weapon_count,
    };
    return true;
}

/* ---- in a view ---- */

const struct arbiter_player *arbiter_view_player(const struct arbiter_view *view, uint16_t slot)
{
    for (uint32_t i = 0; i < view->player_count; i++) {
        if (view->players[i].slot == slot) {
            return &view->players[i];
        }
    }
    return NULL;
}

const struct arbiter_entity *arbiter_view_entity(const struct arbiter_view *view, uint32_t key)
{
    for (uint32_t i = 0; key != 0 && i < view->entity_count; i++) {
        if (view->entities[i].key == key) {
            return &view->entities[i];
        }
    }
    return NULL;
}

static bool is_before(const struct arbiter_player *a, const struct arbiter_player *b)
{
    return a->score != b->score ? a->score > b->score : a->slot < b->slot;
}

uint32_t arbiter_view_ranking(const struct arbiter_view *view, const struct arbiter_player **out,
                              uint32_t capacity)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->player_count && capacity > 0; i++) {
        const struct arbiter_player *player = &view->players[i];
        if (count == capacity && !is_before(player, out[count - 1])) {
            continue;
        }
        uint32_t place = count < capacity ? count++ : count - 1;
        for (; place > 0 && is_before(player, out[place - 1]); place--) {
            out[place] = out[place - 1];
        }
        out[place] = player;
    }
    return count;
}

/* ---- figures ---- */

void arbiter_client_disconnect_info(const struct arbiter_client *client,
                                    struct arbiter_disconnect_info *info)
{
    *info = client->info;
}

static float in_ticks(arb_fine value)
{
    return (float)value / (float)ARB_FINE_TICK;
}

static float lost_share(const struct arb_client_snapshots *snapshots)
{
    uint32_t seen = (uint32_t)snapshots->ids_seen;
    if (seen == 0) {
        return 0.0F;
    }
    uint32_t lost = 0; /* each round takes a lost one away: there are few */
    for (uint64_t left = ~snapshots->committed_mask << (64 - seen); left != 0; left &= left - 1) {
        lost++;
    }
    return (float)lost / (float)seen;
}

void arb_client_note_clocks(struct arbiter_client *client)
{
    const struct arb_client_clocks *clocks = &client->clocks;
    const struct arb_time_sample *best = arb_time_sync_best(&clocks->sync);
    if (best == NULL) {
        return;
    }
    struct arbiter_statistics *out = &client->statistics;
    float tick_ms = 1000.0F / (float)clocks->sync.rate;
    out->rtt_ms = clocks->rtt_ms;
    out->rtt_min_ms = (float)best->rtt_ns * 1e-6F;
    out->jitter_ms = in_ticks(clocks->delay_now.jitter) * tick_ms;
    out->interpolation_ms = in_ticks(clocks->delay_now.interpolation) * tick_ms;
    out->view_age_ms = in_ticks(clocks->server.at - clocks->view.at) * tick_ms;
    out->lead_ticks = in_ticks(clocks->input.at - clocks->server.at);
    out->loss = lost_share(&client->snapshots);
}

const struct arb_client_account *arb_client_account(const struct arbiter_client *client)
{
    return &client->account;
}

const struct arb_schema *arb_client_schema(const struct arbiter_client *client)
{
    return client->schema;
}

void arbiter_client_statistics(const struct arbiter_client *client,
                               struct arbiter_statistics *statistics)
{
    *statistics = client->statistics;
}
