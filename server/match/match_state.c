/* What of a match is state beside its world: the one list of it, the way from the match's own
 * structs and back, and the checksum over all of S[t]. */
#include "server/match/match_save_internal.h"

#include "server/rewind/rewind_save.h"
#include "shared/base/arb_hash.h"

#include <string.h>

/* ---- tables ---- */

#define HEAD(member, kind, low, high) ARB_FORM(match_saved_head, member, kind, low, high)
static const struct arb_field head_rows[] = {
    HEAD(first_tick, U64, 0, 0),   HEAD(empty_since, U64, 0, 0),
    HEAD(decided_tick, U64, 0, 0), HEAD(ended_tick, U64, 0, 0),
    HEAD(archive_hash, U64, 0, 0), HEAD(archive_count, U32, 0, 0),
    HEAD(present, U32, 0, 0),      HEAD(anybody_came, U8, 0, 1),
    HEAD(decided, U8, 0, 1),       ARB_FORM_ZERO(match_saved_head, reserved, BYTES),
    HEAD(numbers_hash, U32, 0, 0),
};

#define SEAT(member, kind, low, high) ARB_FORM(match_saved_seat, member, kind, low, high)
static const struct arb_field seat_rows[] = {
    SEAT(applied.target_tick, U64, 0, 0),
    SEAT(applied.view.from_tick, U64, 0, 0),
    SEAT(applied.view.to_tick, U64, 0, 0),
    SEAT(applied.view.fraction, U16, 0, 0),
    SEAT(applied.view.held, U16, 0, 0),
    ARB_FORM_ZERO(match_saved_seat, applied.view.reserved, U16),
    SEAT(applied.sequence, U32, 0, 0),
    SEAT(applied.buttons, U16, 0, 0),
    SEAT(applied.edges, U16, 0, 0),
    SEAT(applied.move_x, I8, 0, 0),
    SEAT(applied.move_y, I8, 0, 0),
    SEAT(applied.aim, U16, 0, 0),
    SEAT(applied.muzzle_fraction, U8, 0, 0),
    ARB_FORM_ZERO(match_saved_seat, applied.reserved, BYTES),
    SEAT(away_until, U64, 0, 0),
    SEAT(token_hash, BYTES, 0, 0),
    SEAT(seated, U8, 0, 1),
    SEAT(has_session, U8, 0, 1),
    SEAT(played, U8, 0, 1),
    SEAT(origin_control, U8, 0, 0),
    ARB_FORM_ZERO(match_saved_seat, reserved, BYTES),
};

static const struct arb_field decision_rows[] = {
    ARB_FORM(match_saved_decision, ticks, U64, 0, 0),
    ARB_FORM(match_saved_decision, checksum, U64, 0, 0),
};

static const struct arb_field number_rows[] = {ARB_FORM(match_saved_number, value, U32, 0, 0)};

#define FIGURE(member) ARB_FORM(match_saved_figures, member, U64, 0, 0)
#define HISTOGRAM(member) FIGURE(member.counts), FIGURE(member.count), FIGURE(member.max_ms)
static const struct arb_field figure_rows[] = {
    HISTOGRAM(rewound_shots),
    HISTOGRAM(rewound_hits),
    HISTOGRAM(cover_hits),
    FIGURE(spared),
    FIGURE(slow_shots),
    FIGURE(slow_rewound_ms),
    FIGURE(claims),
    FIGURE(late),
    FIGURE(shots),
    FIGURE(unseen),
    FIGURE(unknown_origins),
    FIGURE(joins_refused),
    FIGURE(spectators_refused),
    FIGURE(events_dropped),
};

#define LINE(member, kind) ARB_FORM(match_saved_line, member, kind, 0, 0)
static const struct arb_field line_rows[] = {
    LINE(claims, U64),          LINE(late, U64),
    LINE(shots, U64),           LINE(unseen, U64),
    LINE(unknown_origins, U64), LINE(ticks, U32),
    LINE(inputs_consumed, U32), LINE(inputs_starved, U32),
    LINE(inputs_late, U32),     LINE(inputs_duplicate, U32),
    LINE(inputs_refused, U32),  LINE(edges, U32),
};

static const struct arb_fields head_form = ARB_FIELDS("match", head_rows);
static const struct arb_fields seat_form = ARB_FIELDS("seat", seat_rows);
static const struct arb_fields decision_form = ARB_FIELDS("decision", decision_rows);
static const struct arb_fields number_form = ARB_FIELDS("number", number_rows);
static const struct arb_fields figure_form = ARB_FIELDS("figures", figure_rows);
static const struct arb_fields line_form = ARB_FIELDS("line", line_rows);

void match_forms(struct match_form forms[MATCH_FORMS])
{
    forms[0] = (struct match_form){&head_form, sizeof(struct match_saved_head)};
    forms[1] = (struct match_form){&seat_form, sizeof(struct match_saved_seat)};
    forms[2] = (struct match_form){&decision_form, sizeof(struct match_saved_decision)};
    forms[3] = (struct match_form){&figure_form, sizeof(struct match_saved_figures)};
    forms[4] = (struct match_form){&line_form, sizeof(struct match_saved_line)};
    forms[5] = (struct match_form){&number_form, sizeof(struct match_saved_number)};
}

/* ---- lists ---- */

uint32_t match_state_parts(const struct match *match, bool loaded,
                           struct arb_form_part parts[MATCH_PARTS])
{
    struct match_saved *saved = match->saved;
    uint32_t players = match->world.head->player_capacity;
    parts[0] =
        (struct arb_form_part){"match", &head_form, 1, loaded ? &saved->loaded_head : &saved->head};
    parts[1] = (struct arb_form_part){"seats", &seat_form, players,
                                      loaded ? saved->loaded_seats : saved->seats};
    parts[2] = rewind_origins(match->rewind);
    if (loaded) parts[2].memory = saved->loaded_origins;
    parts[3] = (struct arb_form_part){"decision", &decision_form, 1,
                                      loaded ? &saved->loaded_decision : &saved->decision};
    parts[4] = (struct arb_form_part){"numbers", &number_form, match->numbers.count,
                                      loaded ? saved->loaded_numbers : saved->numbers};
    return 5 + world_parts(loaded ? &saved->world : &match->world, parts + 5);
}

uint32_t match_figure_parts(const struct match *match, bool loaded,
                            struct arb_form_part parts[MATCH_FIGURE_PARTS])
{
    struct match_figures *figures = loaded ? &match->saved->loaded_figures : &match->saved->figures;
    parts[0] = (struct arb_form_part){"figures", &figure_form, 1, &figures->totals};
    parts[1] = (struct arb_form_part){"lines", &line_form, match->world.head->player_capacity,
                                      figures->lines};
    return MATCH_FIGURE_PARTS;
}

/* ---- state ---- */

void match_state_collect(const struct match *match)
{
    struct match_saved *saved = match->saved;
    saved->head = (struct match_saved_head){.first_tick = match->first_tick,
                                            .empty_since = match->empty_since,
                                            .decided_tick = match->decided_tick,
                                            .ended_tick = match->ended_tick,
                                            .archive_hash = match->archive_hash,
                                            .archive_count = match->archive_count,
                                            .present = match->present,
                                            .anybody_came = match->anybody_came,
                                            .decided = match->decided,
                                            .numbers_hash = match->numbers.hash};
    saved->decision = (struct match_saved_decision){match->decided_ticks, match->decided_checksum};
    for (uint32_t i = 0; i < match->numbers.count; i++) {
        saved->numbers[i].value = match->numbers.list[i];
    }
    for (uint32_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        const struct match_seat *seat = &match->seats[slot];
        struct match_saved_seat *out = &saved->seats[slot];
        *out = (struct match_saved_seat){.away_until = seat->away_until,
                                         .played = seat->played,
                                         .seated = seat->seated,
                                         .has_session = seat->has_session,
                                         .origin_control = match->origin_control[slot]};
        memcpy(out->token_hash, seat->token_hash, sizeof out->token_hash);
        if (seat->seated && !seat->has_session) {
            out->applied = match->applied[slot];
            memset(out->applied.reserved, 0, sizeof out->applied.reserved);
            memset(out->applied.view.reserved, 0, sizeof out->applied.view.reserved);
        }
    }
}

/* Mostly they are the same. */
static void apply_numbers(struct match *match)
{
    const struct match_saved *saved = match->saved;
    uint32_t numbers[MATCH_NUMBERS_MAX];
    bool same = true;
    for (uint32_t i = 0; i < match->numbers.count; i++) {
        numbers[i] = saved->numbers[i].value;
        same = same && numbers[i] == match->numbers.list[i];
    }
    if (!same) numbers_apply(match, numbers);
}

void match_state_apply(struct match *match)
{
    const struct match_saved *saved = match->saved;
    const struct match_saved_head *head = &saved->head;
    match->first_tick = head->first_tick;
    match->empty_since = head->empty_since;
    match->decided_tick = head->decided_tick;
    match->ended_tick = head->ended_tick;
    match->archive_hash = head->archive_hash;
    match->archive_count = head->archive_count;
    match->present = head->present;
    match->anybody_came = head->anybody_came != 0;
    match->decided = head->decided != 0;
    match->decided_ticks = saved->decision.ticks;
    match->decided_checksum = saved->decision.checksum;
    apply_numbers(match);
    for (uint32_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        const struct match_saved_seat *in = &saved->seats[slot];
        struct match_seat *seat = &match->seats[slot];
        seat->away_until = in->away_until;
        memcpy(seat->token_hash, in->token_hash, sizeof seat->token_hash);
        seat->played = in->played != 0;
        seat->seated = in->seated != 0;
        seat->has_session = in->has_session != 0;
        match->origin_control[slot] = in->origin_control;
        match->applied[slot] = in->applied;
        match->consumed[slot] = false;
        match->shot_edges_carried[slot] = 0;
    }
}

uint64_t match_archive_hash_add(uint64_t hash, const struct world_player *line)
{
    uint8_t bytes[sizeof *line];
    struct world_player copy = *line;
    struct arb_form_part part = {"line", world_player_fields(), 1, &copy};
    return arb_hash(bytes, arb_form_put(&part, bytes), hash);
}

uint64_t match_archive_hash(const struct world_player *lines, uint32_t count)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < count; i++) {
        hash = match_archive_hash_add(hash, &lines[i]);
    }
    return hash;
}

size_t match_state_form_bytes(const struct match *match)
{
    struct arb_form_part parts[MATCH_PARTS];
    size_t bytes = 0;
    match_state_parts(match, false, parts);
    for (uint32_t i = 0; i < MATCH_OWN_PARTS; i++) {
        bytes += (size_t)parts[i].count * arb_form_bytes(parts[i].fields);
    }
    return bytes;
}

uint64_t match_state_sum(const struct match *match, bool loaded)
{
    struct arb_form_part parts[MATCH_PARTS];
    size_t bytes = 0;
    match_state_parts(match, loaded, parts);
    for (uint32_t i = 0; i < MATCH_OWN_PARTS; i++) {
        bytes += arb_form_put(&parts[i], match->saved->form + bytes);
    }
    const struct world *world = loaded ? &match->saved->world : &match->world;
    return arb_hash(match->saved->form, bytes, world_checksum(world));
}

uint64_t match_state_checksum(const struct match *match)
{
    match_state_collect(match);
    return match_state_sum(match, false);
}

/* ---- figures ---- */

static void collect_histogram(struct match_saved_histogram *out,
                              const struct match_histogram *histogram)
{
    memcpy(out->counts, histogram->counts, sizeof out->counts);
    out->count = histogram->count;
    out->max_ms = histogram->max_ms;
}

static void apply_histogram(struct match_histogram *histogram,
                            const struct match_saved_histogram *in)
{
    memcpy(histogram->counts, in->counts, sizeof in->counts);
    histogram->count = in->count;
    histogram->max_ms = (uint32_t)in->max_ms;
}

static void collect_line(struct match_saved_line *out, const struct match_seat *seat)
{
    const struct match_view_counts *views = &seat->view_counts;
    *out = (struct match_saved_line){.late = views->late,
                                     .shots = views->shots,
                                     .unseen = views->unseen,
                                     .unknown_origins = views->unknown_origins,
                                     .ticks = seat->counts.ticks,
                                     .inputs_consumed = seat->counts.inputs_consumed,
                                     .inputs_starved = seat->counts.inputs_starved,
                                     .inputs_late = seat->counts.inputs_late,
                                     .inputs_duplicate = seat->counts.inputs_duplicate,
                                     .inputs_refused = seat->counts.inputs_refused};
    memcpy(out->claims, views->claims, sizeof out->claims);
    memcpy(out->edges, seat->counts.edges, sizeof out->edges);
}

static void apply_line(struct match_seat *seat, const struct match_saved_line *in)
{
    seat->view_counts = (struct match_view_counts){.late = in->late,
                                                   .shots = in->shots,
                                                   .unseen = in->unseen,
                                                   .unknown_origins = in->unknown_origins};
    memcpy(seat->view_counts.claims, in->claims, sizeof in->claims);
    seat->counts = (struct arb_counts){.ticks = in->ticks,
                                       .inputs_consumed = in->inputs_consumed,
                                       .inputs_starved = in->inputs_starved,
                                       .inputs_late = in->inputs_late,
                                       .inputs_duplicate = in->inputs_duplicate,
                                       .inputs_refused = in->inputs_refused};
    memcpy(seat->counts.edges, in->edges, sizeof in->edges);
}

void match_figures_create(const struct match *match, struct arb_arena *arena,
                          struct match_figures *out)
{
    out->lines =
        arb_arena_take_array(arena, match->world.head->player_capacity, sizeof out->lines[0]);
}

void match_figures_collect(const struct match *match, struct match_figures *figures)
{
    struct match_saved_figures *out = &figures->totals;
    const struct match_fairness *fairness = &match->fairness;
    const struct match_view_counts *views = &match->view_totals;
    collect_histogram(&out->rewound_shots, &fairness->rewound_shots);
    collect_histogram(&out->rewound_hits, &fairness->rewound_hits);
    collect_histogram(&out->cover_hits, &fairness->cover_hits);
    out->spared = fairness->spared;
    out->slow_shots = fairness->slow_shots;
    out->slow_rewound_ms = fairness->slow_rewound_ms;
    memcpy(out->claims, views->claims, sizeof out->claims);
    out->late = views->late;
    out->shots = views->shots;
    out->unseen = views->unseen;
    out->unknown_origins = views->unknown_origins;
    out->joins_refused = match->joins_refused;
    out->spectators_refused = match->spectators_refused;
    out->events_dropped = match->events.dropped;
    for (uint32_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        collect_line(&figures->lines[slot], &match->seats[slot]);
    }
}

void match_figures_apply(struct match *match, const struct match_figures *figures)
{
    const struct match_saved_figures *in = &figures->totals;
    struct match_fairness *fairness = &match->fairness;
    apply_histogram(&fairness->rewound_shots, &in->rewound_shots);
    apply_histogram(&fairness->rewound_hits, &in->rewound_hits);
    apply_histogram(&fairness->cover_hits, &in->cover_hits);
    fairness->spared = in->spared;
    fairness->slow_shots = in->slow_shots;
    fairness->slow_rewound_ms = in->slow_rewound_ms;
    match->view_totals = (struct match_view_counts){.late = in->late,
                                                    .shots = in->shots,
                                                    .unseen = in->unseen,
                                                    .unknown_origins = in->unknown_origins};
    memcpy(match->view_totals.claims, in->claims, sizeof in->claims);
    match->joins_refused = in->joins_refused;
    match->spectators_refused = in->spectators_refused;
    match->events.dropped = (uint32_t)in->events_dropped;
    for (uint32_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        apply_line(&match->seats[slot], &figures->lines[slot]);
    }
}

void match_figures_take_shots(const struct match *match, struct match_figures *to,
                              const struct match_figures *from)
{
    struct match_saved_figures *out = &to->totals;
    const struct match_saved_figures *in = &from->totals;
    out->rewound_shots = in->rewound_shots;
    out->rewound_hits = in->rewound_hits;
    out->cover_hits = in->cover_hits;
    out->spared = in->spared;
    out->slow_shots = in->slow_shots;
    out->slow_rewound_ms = in->slow_rewound_ms;
    out->shots = in->shots;
    out->unseen = in->unseen;
    out->unknown_origins = in->unknown_origins;
    for (uint32_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        to->lines[slot].shots = from->lines[slot].shots;
        to->lines[slot].unseen = from->lines[slot].unseen;
        to->lines[slot].unknown_origins = from->lines[slot].unknown_origins;
    }
}

void match_figures_merge(struct match_figures *figures, uint16_t slot,
                         const struct arb_input *input)
{
    struct match_saved_line *line = &figures->lines[slot];
    for (int bit = 0; bit < ARB_BUTTON_COUNT; bit++) {
        line->edges[bit] += (uint32_t)(input->edges >> bit & 1);
    }
    line->inputs_consumed++;
    line->inputs_starved -= line->inputs_starved > 0;
}
