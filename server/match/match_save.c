/* A match as bytes and back. Everything of a block from outside is read beside the match first, and
 * taken over only when all of it is good. */
#include "server/match/match_save_internal.h"

#include "server/match/match_past.h"
#include "server/match/rollback_internal.h"
#include "server/rewind/rewind_save.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC = 0x53425241 }; /* "ARBS" */

struct block_head {
    uint32_t magic, version;
    uint32_t bytes; /* of the whole block */
    uint32_t parts; /* enum match_save_parts */
    uint64_t configuration;
    arb_tick tick;
    uint64_t checksum;
    uint32_t state_bytes, frame_bytes, line_count, reserved;
    uint64_t hash; /* of all the bytes before and behind it */
};
_Static_assert(sizeof(struct block_head) == 64, "no padding");

#define HEAD(member, kind) ARB_FORM(block_head, member, kind, 0, 0)
static const struct arb_field head_rows[] = {
    HEAD(magic, U32),
    HEAD(version, U32),
    HEAD(bytes, U32),
    HEAD(parts, U32),
    HEAD(configuration, U64),
    HEAD(tick, U64),
    HEAD(checksum, U64),
    HEAD(state_bytes, U32),
    HEAD(frame_bytes, U32),
    HEAD(line_count, U32),
    ARB_FORM_ZERO(block_head, reserved, U32),
    HEAD(hash, U64),
};
static const struct arb_fields head_form = ARB_FIELDS("block", head_rows);
enum { HEAD_BYTES = sizeof(struct block_head), HASHED_HEAD_BYTES = HEAD_BYTES - 8 };

/* ---- sizes ---- */

static uint32_t parts_bytes(const struct arb_form_part *parts, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += (uint64_t)parts[i].count * arb_form_bytes(parts[i].fields);
    }
    ARB_ASSERT(bytes <= UINT32_MAX);
    return (uint32_t)bytes;
}

static uint32_t state_bytes(const struct match *match)
{
    struct arb_form_part parts[MATCH_PARTS];
    return parts_bytes(parts, match_state_parts(match, false, parts));
}

static uint32_t figure_bytes(const struct match *match)
{
    struct arb_form_part parts[MATCH_FIGURE_PARTS];
    return parts_bytes(parts, match_figure_parts(match, false, parts));
}

static struct arb_form_part archive_part(struct world_player *lines, uint32_t count)
{
    return (struct arb_form_part){"archive", world_player_fields(), count, lines};
}

/* Only shots ask the past. */
static bool has_past(const struct match *match)
{
    return match->rules->shoot != NULL;
}

uint32_t match_save_bytes(const struct match *match, enum match_save_parts parts)
{
    uint64_t bytes = HEAD_BYTES + (uint64_t)state_bytes(match);
    if (parts == MATCH_SAVE_WHOLE) {
        bytes += figure_bytes(match);
        bytes += (uint64_t)match->archive_capacity * arb_form_bytes(world_player_fields());
        bytes += has_past(match) ? rewind_frames_bytes(match->rewind) : 0;
    }
    ARB_ASSERT(bytes <= UINT32_MAX);
    return (uint32_t)bytes;
}

void match_save_create(struct match *match, struct arb_arena *arena)
{
    uint32_t players = match->world.head->player_capacity;
    struct match_saved *saved = arb_arena_take(arena, sizeof *saved);
    struct arb_form_part origins = rewind_origins(match->rewind);
    match->saved = saved;
    saved->seats = arb_arena_take_array(arena, players, sizeof saved->seats[0]);
    match_figures_create(match, arena, &saved->figures);
    saved->form = arb_arena_take(arena, match_state_form_bytes(match));
    saved->loaded_seats = arb_arena_take_array(arena, players, sizeof saved->loaded_seats[0]);
    match_figures_create(match, arena, &saved->loaded_figures);
    saved->loaded_origins = arb_arena_take(arena, parts_bytes(&origins, 1));
    uint32_t numbers = match->numbers.count;
    saved->numbers = arb_arena_take_array(arena, numbers, sizeof saved->numbers[0]);
    saved->loaded_numbers = arb_arena_take_array(arena, numbers, sizeof saved->loaded_numbers[0]);
    saved->loaded_archive =
        arb_arena_take_array(arena, match->archive_capacity, sizeof saved->loaded_archive[0]);
    world_view(&saved->world, &match->world, arb_arena_take(arena, match->world.head->block_bytes));
    saved->world.form = match->world.form; /* nothing of it outlives a checksum */
}

/* ---- save ---- */

static uint8_t *put_parts(const struct arb_form_part *parts, uint32_t count, uint8_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        out += arb_form_put(&parts[i], out);
    }
    return out;
}

static uint64_t hash_of(const uint8_t *block, uint32_t bytes)
{
    uint64_t head = arb_hash(block, HASHED_HEAD_BYTES, 0);
    return arb_hash(block + HEAD_BYTES, bytes - HEAD_BYTES, head);
}

static void put_head(const struct block_head *head, uint8_t *out)
{
    struct block_head copy = *head;
    struct arb_form_part part = {"head", &head_form, 1, &copy};
    arb_form_put(&part, out);
}

uint32_t match_save(const struct match *match, enum match_save_parts parts, uint8_t *out,
                    uint32_t capacity)
{
    ARB_ASSERT(capacity >= match_save_bytes(match, parts));
    struct arb_form_part state[MATCH_PARTS], figures[MATCH_FIGURE_PARTS];
    struct block_head head = {.magic = MAGIC,
                              .version = MATCH_SAVE_VERSION,
                              .parts = parts,
                              .configuration = match->configuration_hash,
                              .tick = match->world.head->tick,
                              .checksum = match->checksum};
    match_state_collect(match);
    uint8_t *at = put_parts(state, match_state_parts(match, false, state), out + HEAD_BYTES);
    head.state_bytes = (uint32_t)(at - out) - HEAD_BYTES;
    if (parts == MATCH_SAVE_WHOLE) {
        match_figures_collect(match, &match->saved->figures);
        at = put_parts(figures, match_figure_parts(match, false, figures), at);
        head.line_count = match->archive_count;
        struct arb_form_part archive = archive_part(match->archive, match->archive_count);
        at = put_parts(&archive, 1, at);
        head.frame_bytes = has_past(match) ? rewind_put_frames(match->rewind, at) : 0;
        at += head.frame_bytes;
    }
    head.bytes = (uint32_t)(at - out);
    put_head(&head, out);
    head.hash = hash_of(out, head.bytes);
    put_head(&head, out);
    return head.bytes;
}

/* ---- going back ---- */

static const uint8_t *get_parts(const struct arb_form_part *parts, uint32_t count,
                                const uint8_t *bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        bytes += arb_form_get(&parts[i], bytes);
    }
    return bytes;
}

static void get_head(const uint8_t *block, struct block_head *head)
{
    struct arb_form_part part = {"head", &head_form, 1, head};
    arb_form_get(&part, block);
}

void match_go_back(struct match *match, const uint8_t *block)
{
    struct arb_form_part parts[MATCH_PARTS];
    struct block_head head;
    get_head(block, &head);
    ARB_ASSERT(head.magic == MAGIC && head.configuration == match->configuration_hash);
    ARB_ASSERT(head.tick <= match->world.head->tick);
    get_parts(parts, match_state_parts(match, false, parts), block + HEAD_BYTES);
    match_state_apply(match);
    rewind_origins_changed(match->rewind);
    rewind_go_back(match->rewind, head.tick);
    collide_forget_bodies(match->collide);
    match->checksum = head.checksum;
}

/* ---- correcting ---- */

void match_open_block(struct match *match, const uint8_t *block)
{
    struct arb_form_part parts[MATCH_PARTS];
    *match->saved->world.head = *match->world.head; /* the parts are of our sizes */
    get_parts(parts, match_state_parts(match, true, parts), block + HEAD_BYTES);
}

uint64_t match_close_block(struct match *match, uint8_t *block)
{
    struct arb_form_part parts[MATCH_PARTS];
    struct block_head head;
    get_head(block, &head);
    put_parts(parts, match_state_parts(match, true, parts), block + HEAD_BYTES);
    head.checksum = match_state_sum(match, true);
    put_head(&head, block);
    head.hash = hash_of(block, head.bytes);
    put_head(&head, block);
    return head.checksum;
}

/* ---- restore ---- */

static enum arb_result refuse(struct match_save_error *error, const char *text)
{
    snprintf(error->text, sizeof error->text, "%s", text);
    return ARB_DATA;
}

static enum arb_result check_head(const struct match *match, const uint8_t *block, uint32_t bytes,
                                  struct block_head *head, struct match_save_error *error)
{
    if (bytes < HEAD_BYTES) return refuse(error, "too short for a saved match");
    get_head(block, head);
    if (head->magic != MAGIC) return refuse(error, "not a saved match");
    if (head->version != MATCH_SAVE_VERSION) {
        snprintf(error->text, sizeof error->text,
                 "saved in version %" PRIu32 ", this program reads version %d", head->version,
                 MATCH_SAVE_VERSION);
        return ARB_DATA;
    }
    if (head->bytes != bytes) return refuse(error, "not all of a saved match, or more than that");
    if (head->hash != hash_of(block, bytes)) return refuse(error, "damaged: its hash is another");
    if (head->parts != MATCH_SAVE_WHOLE) {
        return refuse(error, "holds a state without its past, which only its own match can use");
    }
    if (head->configuration != match->configuration_hash) {
        return refuse(error, "saved with other numbers, another mode, map or seed");
    }
    return ARB_OK;
}

static bool sizes_fit(const struct match *match, const struct block_head *head)
{
    uint64_t lines = head->line_count;
    uint64_t archive = lines * arb_form_bytes(world_player_fields());
    uint64_t bytes = HEAD_BYTES + (uint64_t)state_bytes(match) + figure_bytes(match) + archive +
                     head->frame_bytes;
    return head->state_bytes == state_bytes(match) && lines <= match->archive_capacity &&
           bytes == head->bytes && head->reserved == 0 && head->tick > 0;
}

static bool seat_is_good(const struct match_saved_seat *seat, const struct world_player *player)
{
    bool present = player->presence == WORLD_PRESENT || player->presence == WORLD_AWAY;
    return (seat->seated != 0) == present && seat->has_session <= seat->seated;
}

/* Its own part: seats that agree with the players, counts that agree with the seats. */
static bool own_part_is_good(const struct match *match, const struct block_head *block)
{
    struct match_saved *saved = match->saved;
    const struct match_saved_head *head = &saved->loaded_head;
    struct arb_form_part parts[MATCH_PARTS], archive;
    uint32_t seated = 0;
    match_state_parts(match, true, parts);
    for (uint32_t slot = 0; slot < parts[1].count; slot++) {
        const struct match_saved_seat *seat = &saved->loaded_seats[slot];
        if (!seat_is_good(seat, &saved->world.players[slot])) return false;
        seated += seat->seated;
    }
    archive = archive_part(saved->loaded_archive, block->line_count);
    for (uint32_t i = 0; i < archive.count; i++) {
        if (!arb_proto_name_valid(saved->loaded_archive[i].name)) return false;
    }
    return arb_form_check_all(&parts[0]) && arb_form_check_all(&parts[1]) &&
           arb_form_check_all(&parts[2]) && arb_form_check_all(&archive) &&
           head->present == seated && head->archive_count == block->line_count &&
           head->first_tick <= block->tick &&
           head->archive_hash == match_archive_hash(saved->loaded_archive, archive.count) &&
           saved->world.head->tick == block->tick;
}

/* The numbers that were in force, and the mode's params with them; NULL: no match has them. */
static const void *loaded_params(struct match *match, struct match_save_error *error)
{
    struct match_saved *saved = match->saved;
    uint32_t numbers[MATCH_NUMBERS_MAX];
    char sentence[MATCH_NUMBERS_ERROR_BYTES];
    for (uint32_t i = 0; i < match->numbers.count; i++) {
        numbers[i] = saved->loaded_numbers[i].value;
    }
    uint32_t hash = numbers_hash(match, numbers);
    if (saved->loaded_head.numbers_hash != hash) {
        refuse(error, "its numbers of the game are not those of its state");
        return NULL;
    }
    if (hash != 0 && !match_numbers_check(match, numbers, sentence)) {
        snprintf(error->text, sizeof error->text, "its numbers of the game: %.100s", sentence);
        return NULL;
    }
    return numbers_try(match, numbers);
}

/* Reads the block beside the match. */
static enum arb_result load(struct match *match, const uint8_t *block,
                            const struct block_head *head, const uint8_t **frames,
                            struct match_save_error *error)
{
    struct match_saved *saved = match->saved;
    struct arb_form_part state[MATCH_PARTS], figures[MATCH_FIGURE_PARTS];
    struct arb_form_part archive = archive_part(saved->loaded_archive, head->line_count);
    const char *wrong;
    const uint8_t *at = block + HEAD_BYTES;
    *saved->world.head = *match->world.head; /* the parts are of our sizes */
    at = get_parts(state, match_state_parts(match, true, state), at);
    at = get_parts(figures, match_figure_parts(match, true, figures), at);
    *frames = get_parts(&archive, 1, at);
    if (!world_check(&saved->world, &match->world, match->rules->schema->kind_count, &wrong)) {
        snprintf(error->text, sizeof error->text, "its state %s", wrong);
        return ARB_DATA;
    }
    const void *params = loaded_params(match, error);
    if (params == NULL) return ARB_DATA;
    if (match->rules->check_state != NULL &&
        !match->rules->check_state(params, match->map, &saved->world)) {
        return refuse(error, "its state is none of this mode");
    }
    if (!own_part_is_good(match, head)) {
        return refuse(error, "its seats and its players do not belong together");
    }
    bool past = has_past(match)
                    ? rewind_check_frames(match->rewind, *frames, head->frame_bytes, head->tick - 1)
                    : head->frame_bytes == 0;
    return past ? ARB_OK : refuse(error, "its published frames cannot be read");
}

/* Whoever played is not connected here. */
static void forget_connections(struct match *match)
{
    for (uint32_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        struct match_seat *seat = &match->seats[slot];
        seat->detached = seat->has_session;
        seat->needs_welcome = false;
        views_reset(match, (uint16_t)slot);
        inputs_reset(&seat->buffer);
    }
}

enum arb_result match_restore(struct match *match, const uint8_t *block, uint32_t bytes,
                              struct match_save_error *error)
{
    struct match_saved *saved = match->saved;
    struct block_head head;
    const uint8_t *frames;
    enum arb_result result = check_head(match, block, bytes, &head, error);
    if (result != ARB_OK) return result;
    if (!sizes_fit(match, &head)) return refuse(error, "its parts are of impossible sizes");
    result = load(match, block, &head, &frames, error);
    if (result != ARB_OK) return result;

    uint32_t players = match->world.head->player_capacity;
    memcpy(match->world.block, saved->world.block, match->world.head->block_bytes);
    saved->head = saved->loaded_head;
    saved->decision = saved->loaded_decision;
    memcpy(saved->seats, saved->loaded_seats, players * sizeof saved->seats[0]);
    memcpy(saved->numbers, saved->loaded_numbers, match->numbers.count * sizeof saved->numbers[0]);
    memcpy(match->archive, saved->loaded_archive, head.line_count * sizeof match->archive[0]);
    struct arb_form_part origins = rewind_origins(match->rewind);
    memcpy(origins.memory, saved->loaded_origins, parts_bytes(&origins, 1));
    match_state_apply(match);
    match_figures_apply(match, &saved->loaded_figures);
    rewind_origins_changed(match->rewind);
    if (has_past(match)) {
        rewind_get_frames(match->rewind, frames, head.frame_bytes, head.tick - 1);
    } else {
        rewind_forget(match->rewind);
    }
    collide_forget_bodies(match->collide);
    forget_connections(match);
    if (match->past != NULL) match_past_forget(match->past);
    if (match->rollback != NULL) rollback_forget(match);
    match->checksum = head.checksum;
    return ARB_OK;
}

/* ---- looking at blocks ---- */

bool match_save_differs(const struct match *match, const uint8_t *a, const uint8_t *b, char *text,
                        size_t size)
{
    struct arb_form_part parts[MATCH_PARTS];
    struct arb_form_place place;
    uint32_t count = match_state_parts(match, false, parts);
    if (!arb_form_difference(parts, count, a + HEAD_BYTES, b + HEAD_BYTES, &place)) return false;
    arb_form_tell(parts, &place, a + HEAD_BYTES, b + HEAD_BYTES, text, size);
    return true;
}

bool match_save_about(const uint8_t *block, uint32_t bytes, struct match_save_about *out)
{
    struct block_head head;
    if (bytes < HEAD_BYTES) return false;
    get_head(block, &head);
    if (head.magic != MAGIC || head.version != MATCH_SAVE_VERSION || head.bytes != bytes ||
        head.parts > MATCH_SAVE_WHOLE || head.hash != hash_of(block, bytes)) {
        return false;
    }
    *out = (struct match_save_about){.parts = (enum match_save_parts)head.parts,
                                     .tick = head.tick,
                                     .checksum = head.checksum,
                                     .configuration = head.configuration};
    return true;
}
