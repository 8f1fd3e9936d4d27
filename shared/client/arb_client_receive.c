#include "shared/client/arbiter_client_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void arb_client_bad(struct arbiter_client *client)
{
    client->statistics.bad_messages++;
    if (client->statistics.bad_messages >= client->config.max_bad_messages) {
        arb_client_end(client, ARBITER_REASON_BAD_SERVER, "the server sends malformed messages");
    }
}

void arb_client_send_hello(struct arbiter_client *client)
{
    struct arb_hello hello = {.version = ARB_PROTOCOL_VERSION,
                              .schema_hash = arb_proto_schema_hash(),
                              .role =
                                  client->config.spectate ? ARB_ROLE_SPECTATOR : ARB_ROLE_PLAYER};
    memcpy(hello.name, client->config.name, sizeof hello.name);
    hello.resume = client->resumes;
    memcpy(hello.token, client->token, sizeof hello.token); /* zeros of a new player */
    client->info.client_version = hello.version;
    client->info.client_schema = hello.schema_hash;
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size =
        arb_message_encode(ARB_MESSAGE_HELLO, &arb_hello_fields, &hello, bytes, sizeof bytes);
    ARB_ASSERT(size > 0);
    arb_net_send(client->net, 0, ARB_NET_CHANNEL_RELIABLE, bytes, size);
}

/* ---- REFUSED ---- */

void arb_client_end_refused(struct arbiter_client *client, uint32_t refusal)
{
    static const struct {
        enum arbiter_reason reason;
        const char *text;
    } given[] = {
        [0] = {ARBITER_REASON_LOST, "the connection was lost"},
        [ARB_REFUSED_VERSION] = {ARBITER_REASON_VERSION, "the server speaks another version"},
        [ARB_REFUSED_FULL] = {ARBITER_REASON_FULL, "the match is full"},
        [ARB_REFUSED_ENDED] = {ARBITER_REASON_ENDED, "the match is over"},
        [ARB_REFUSED_PROTOCOL] = {ARBITER_REASON_PROTOCOL, "the server refused our messages"},
        [ARB_REFUSED_SHUTDOWN] = {ARBITER_REASON_SHUTDOWN, "the server stops"},
        [ARB_REFUSED_KICKED] = {ARBITER_REASON_KICKED, "the server removed this player"},
        [ARB_REFUSED_TOKEN] = {ARBITER_REASON_TOKEN, "the server keeps no place for this player"},
        [ARB_REFUSED_REPLACED] = {ARBITER_REASON_REPLACED,
                                  "this player has come on another connection"},
    };
#define X(value, name, text) +1
    _Static_assert(sizeof given / sizeof given[0] == 1 ARB_REFUSAL_MAP(X), "a row for each");
#undef X
    uint32_t index = refusal < sizeof given / sizeof given[0] ? refusal : 0;
    bool full_of_spectators = index == ARB_REFUSED_FULL && client->config.spectate;
    arb_client_end(client, given[index].reason,
                   full_of_spectators ? "the match has no place for another spectator"
                                      : given[index].text);
}

static void refused(struct arbiter_client *client, const uint8_t *bytes, size_t size)
{
    struct arb_refused message;
    if (arb_message_decode(ARB_MESSAGE_REFUSED, &arb_refused_fields, bytes, size, &message) !=
        ARB_DECODE_OK) {
        arb_client_bad(client);
        return;
    }
    client->info.server_version = message.server_version;
    client->info.server_schema = message.server_hash;
    if (message.reason != ARB_REFUSED_VERSION) {
        arb_client_end_refused(client, message.reason);
        return;
    }
    char text[ARBITER_TEXT_BYTES];
    snprintf(text, sizeof text,
             "the server speaks version %u (schema %016" PRIx64
             "), this client version %u (schema %016" PRIx64 ")",
             message.server_version, message.server_hash, (unsigned)ARB_PROTOCOL_VERSION,
             arb_proto_schema_hash());
    arb_client_end(client, ARBITER_REASON_VERSION, text);
}

/* ---- WELCOME ---- */

static const char *build_match(struct arbiter_client *client, const struct arb_shape *shapes)
{
    struct arb_client_match *match = &client->match;
    match->schema = arb_schema_find(match->welcome.mode);
    if (match->schema == NULL || match->schema->mover != match->params.mover ||
        match->params.tick_rate != match->welcome.tick_rate) {
        return "the server plays a mode that this client does not know";
    }
    if ((match->welcome.player_slot == ARB_NO_SLOT) != client->config.spectate) {
        return "the server took a player for a spectator, or the other way round";
    }
    match->own_fields = arb_own_fields((enum arb_mover)match->schema->mover);
    for (int kind = 0; kind < match->schema->kind_count; kind++) {
        for (int i = 0; i < match->schema->kinds[kind].field_count; i++) {
            match->units[kind][i] = match->schema->kinds[kind].fields[i].unit;
        }
    }
    for (uint32_t i = 0; i < match->welcome.shape_count; i++) {
        if (!arb_geometry_shape_valid(&shapes[i])) {
            return "the server's map has a shape that is none";
        }
    }
    match->geometry =
        arb_geometry_create(shapes, match->welcome.shape_count, match->welcome.bounds);
    if (match->geometry == NULL || arb_geometry_hash(match->geometry) != match->welcome.map_hash) {
        return "the server's map does not match its hash";
    }
    if (client->light) {
        arb_geometry_destroy(match->geometry);
        match->geometry = NULL;
    }
    return NULL;
}

/* Where the server has it, until the caller says something. */
static void place_camera(struct arbiter_client *client)
{
    struct arb_spectate *wish = &client->spectating.wish;
    if (client->spectating.placed) {
        return;
    }
    struct arb_bounds bounds = client->match.welcome.bounds;
    wish->x = 0.5F * (bounds.low.x + bounds.high.x);
    wish->y = 0.5F * (bounds.low.y + bounds.high.y);
}

static void welcome(struct arbiter_client *client, const uint8_t *bytes, size_t size)
{
    struct arb_client_match *match = &client->match;
    if (client->connection != ARBITER_JOINING) {
        arb_client_bad(client);
        return;
    }
    /* A shape takes 14 bytes at least. */
    size_t capacity = size / 14 + 1;
    struct arb_shape *shapes = arb_mem_alloc(capacity * sizeof *shapes);
    const char *problem = "the server's welcome is malformed";
    if (arb_welcome_decode(bytes, size, &arb_move_param_fields, shapes, capacity, &match->params,
                           &match->welcome) == ARB_DECODE_OK) {
        problem = build_match(client, shapes);
    }
    arb_mem_free(shapes);
    match->welcome.shapes = NULL;
    match->welcome.params = &match->params;
    if (problem != NULL) {
        arb_client_end(client, ARBITER_REASON_BAD_SERVER, problem);
        return;
    }
    match->known = true;
    client->has_token = !client->config.spectate;
    memcpy(client->token, match->welcome.token, sizeof client->token);
    client->schema = match->schema;
    arb_client_make_room(client);
    arb_time_sync_reset(&client->clocks.sync, match->welcome.tick_rate);
    arb_predict_reset(&client->predict, &match->params, match->geometry);
    client->events.newest = match->welcome.tick;
    client->controls.edges_until = UINT64_MAX;
    client->controls.collected = 0;
    if (client->config.spectate) {
        place_camera(client);
        arb_client_spectate_begin(client);
    }
    client->connection = ARBITER_CONNECTED;
}

/* Hands out aligned pieces of one block; first counts (block NULL), then cuts. */
static void *cut(uint8_t *block, size_t *used, size_t count, size_t bytes)
{
    uint8_t *piece = block == NULL ? NULL : block + *used;
    *used += (count * bytes + 63) & ~(size_t)63;
    return piece;
}

static size_t lay_out(struct arbiter_client *client, uint8_t *block)
{
    const struct arbiter_config *config = &client->config;
    struct arb_client_snapshots *snapshots = &client->snapshots;
    struct arb_client_drawing *drawing = &client->drawing;
    size_t used = 0;
    const size_t places = ARB_HISTORY_PLACES;
    struct arb_published *entities =
        cut(block, &used, places * config->max_entities, sizeof *entities);
    struct arb_held_entry *entries =
        cut(block, &used, places * config->max_entities, sizeof *entries);
    struct arb_point *points = cut(block, &used, places * config->max_points, sizeof *points);
    uint8_t *storage = cut(block, &used, ARB_CHUNKS_MAX, ARB_NET_MESSAGE_MAX);
    uint8_t *stream = cut(block, &used, ARB_CHUNKS_MAX, ARB_NET_MESSAGE_MAX);
    drawing->entities = cut(block, &used, config->max_entities, sizeof *drawing->entities);
    drawing->points = cut(block, &used, config->max_points, sizeof *drawing->points);
    if (block != NULL) {
        arb_history_init(&snapshots->history, entities, entries, config->max_entities, points,
                         config->max_points);
        arb_assembly_init(&snapshots->assembly, storage, stream, ARB_NET_MESSAGE_MAX);
    }
    return used;
}

void arb_client_make_room(struct arbiter_client *client)
{
    client->room = arb_mem_alloc(lay_out(client, NULL));
    lay_out(client, client->room);
    struct arb_client_board *board = &client->board;
    uint32_t players = client->match.welcome.player_capacity;
    arb_client_events_make(client, client->light ? (uint32_t)ARB_CLIENT_EVENTS_LIGHT
                                                 : ARB_CLIENT_EVENTS + 2 * players);
    if (client->light) return; /* nobody looks at its scoreboard */
    board->capacity = players;
    board->players =
        arb_mem_alloc(board->capacity * (2 * sizeof *board->players + sizeof *board->known));
    board->out = board->players + board->capacity;
    board->known = (bool *)(board->out + board->capacity);
}

static void part(struct arbiter_client *client, const uint8_t *bytes, size_t size)
{
    struct arb_part message;
    if (client->connection != ARBITER_JOINING ||
        arb_part_decode(bytes, size, &message) != ARB_DECODE_OK) {
        arb_client_bad(client);
        return;
    }
    switch (arb_parts_add(&client->parts, &message)) {
    case ARB_PARTS_WAITING:
        break;
    case ARB_PARTS_COMPLETE:
        if (arb_message_type(client->parts.bytes, client->parts.size) == ARB_MESSAGE_WELCOME) {
            welcome(client, client->parts.bytes, client->parts.size);
        } else {
            arb_client_bad(client);
        }
        break;
    case ARB_PARTS_BROKEN:
        arb_client_end(client, ARBITER_REASON_BAD_SERVER, "the server's parts do not fit together");
        break;
    case ARB_PARTS_TOO_LONG:
        arb_client_end(client, ARBITER_REASON_ROOM, "the server's map is larger than the room");
        break;
    }
    if (client->connection == ARBITER_CONNECTED) {
        arb_mem_free(client->parts_bytes);
        client->parts_bytes = NULL;
    }
}

/* ---- all others ---- */

static void pong(struct arbiter_client *client, const uint8_t *bytes, size_t size,
                 uint64_t received_ns)
{
    struct arb_pong message;
    if (arb_message_decode(ARB_MESSAGE_PONG, &arb_pong_fields, bytes, size, &message) ==
        ARB_DECODE_OK) {
        arb_client_pong(client, &message, received_ns);
    } else {
        arb_client_bad(client);
    }
}

static void counts(struct arbiter_client *client, const uint8_t *bytes, size_t size)
{
    struct arb_counts message;
    if (arb_message_decode(ARB_MESSAGE_COUNTS, &arb_counts_fields, bytes, size, &message) !=
        ARB_DECODE_OK) {
        arb_client_bad(client);
        return;
    }
    struct arbiter_statistics *out = &client->statistics;
    out->counts_received++;
    out->server_ticks = message.ticks;
    out->inputs_consumed = message.inputs_consumed;
    out->inputs_starved = message.inputs_starved;
    out->inputs_late = message.inputs_late;
    out->inputs_duplicate = message.inputs_duplicate;
    out->inputs_refused = message.inputs_refused;
    memcpy(out->edges, message.edges, sizeof out->edges);
}

static void late(struct arbiter_client *client, const uint8_t *bytes, size_t size)
{
    struct arb_late message;
    if (arb_message_decode(ARB_MESSAGE_LATE, &arb_late_fields, bytes, size, &message) ==
        ARB_DECODE_OK) {
        arb_line_late(&client->line, message.tick, message.late_ms, client->now_ns);
    } else {
        arb_client_bad(client);
    }
}

void arb_client_message(struct arbiter_client *client, const uint8_t *bytes, size_t size,
                        uint64_t received_ns)
{
    bool known = client->match.known;
    int type = arb_message_type(bytes, size);
    if (client->account.first_ns == 0) {
        client->account.first_ns = received_ns;
    }
    client->account.last_ns = received_ns;
    client->account.types[type].messages++;
    client->account.types[type].bytes += size;
    switch (type) {
    case ARB_MESSAGE_REFUSED:
        refused(client, bytes, size);
        return;
    case ARB_MESSAGE_WELCOME:
        welcome(client, bytes, size);
        return;
    case ARB_MESSAGE_PART:
        part(client, bytes, size);
        return;
    case ARB_MESSAGE_SNAPSHOT:
        /* The unreliable ones may overtake the welcome. */
        if (known) {
            arb_client_chunk(client, bytes, size, received_ns);
        }
        return;
    case ARB_MESSAGE_PONG:
        if (known) {
            pong(client, bytes, size, received_ns);
        }
        return;
    case ARB_MESSAGE_EVENT:
        if (known) {
            arb_client_event(client, bytes, size);
            return;
        }
        break;
    case ARB_MESSAGE_EVENTS:
        if (known) {
            arb_client_event_list(client, bytes, size);
            return;
        }
        break;
    case ARB_MESSAGE_SCORES:
        if (known) {
            arb_client_scores(client, bytes, size);
            return;
        }
        break;
    case ARB_MESSAGE_COUNTS:
        if (known) {
            counts(client, bytes, size);
            return;
        }
        break;
    case ARB_MESSAGE_LATE:
        if (known) {
            late(client, bytes, size);
            return;
        }
        break;
    default:
        break;
    }
    arb_client_bad(client);
}
