/* Chunks become snapshots, snapshots become the newest confirmed state. A group is checked as a
 * whole and then committed at once, or nothing changes (spec/replication.md "Chunks"). */
#include "shared/client/arbiter_client_internal.h"

#include "shared/base/arb_math.h"
#include "shared/proto/arb_delta.h"

#include <string.h>

/* ---- the own player ---- */

static int32_t jump_count(const struct arb_schema *schema, const struct arb_frame *frame,
                          struct arb_key key)
{
    const struct arb_published *entity = arb_frame_find(frame, key);
    int8_t field = entity == NULL ? -1 : schema->kinds[entity->kind].jump;
    return field < 0 ? -1 : entity->q[field];
}

enum cause { CAUSE_NONE, CAUSE_JUMP, CAUSE_OUTSIDE, CAUSE_STARVED, CAUSE_UNPREDICTED };

static void count_correction(struct arbiter_client *client, enum cause cause, float error_m)
{
    struct arbiter_corrections *out = &client->statistics.corrections;
    switch (cause) {
    case CAUSE_JUMP:
        out->jumped++;
        break;
    case CAUSE_OUTSIDE:
        out->outside++;
        client->outside_sum_m += (double)error_m;
        out->outside_mean_m = (float)(client->outside_sum_m / out->outside);
        out->outside_max_m = error_m > out->outside_max_m ? error_m : out->outside_max_m;
        break;
    case CAUSE_STARVED:
        out->starved++;
        break;
    case CAUSE_UNPREDICTED:
        break;
    case CAUSE_NONE:
        out->count++;
        client->correction_sum_m += (double)error_m;
        out->mean_m = (float)(client->correction_sum_m / (double)out->count);
        out->max_m = error_m > out->max_m ? error_m : out->max_m;
        break;
    }
}

struct commit {
    struct arb_snapshot_header header;
    arb_tick tick;
    arb_sequence consumed;
    struct arb_key controlled;
    struct arb_own own;
    struct arb_own_part own_part;
    bool has_own;
    int32_t own_jump;
};

/* Whether inputs that were forgotten here may steer ticks after the newest snapshot there. That
 * ends with their last tick, and with the first newer input that the server took: none before it
 * can come after it. */
static bool is_unsure(const struct arb_client_snapshots *newest)
{
    return newest->tick < newest->forgotten_tick && newest->consumed <= newest->forgotten;
}

/* The server may go back to before a snapshot whose tick is not confirmed, and take it from there
 * with inputs that came late. */
static bool is_settled(const struct arb_client_snapshots *newest)
{
    return newest->header.confirmed_tick == newest->header.tick;
}

/* Compared with the commit before, which may have been several snapshots ago. */
static enum cause find_cause(const struct arbiter_client *client, const struct commit *commit)
{
    const struct arb_client_snapshots *before = &client->snapshots;
    if (!before->has_own || commit->header.control != before->header.control ||
        !arb_key_equal(commit->controlled, before->controlled) || is_unsure(before) ||
        (before->own_jump >= 0 && commit->own_jump >= 0 && commit->own_jump != before->own_jump)) {
        return CAUSE_JUMP;
    }
    if (commit->own_part.outside_changes != before->own_part.outside_changes) {
        return CAUSE_OUTSIDE;
    }
    /* The input for that tick was not there, though the server may not know that there was one. */
    const struct arb_pending *due = arb_predict_at(&client->predict, commit->tick);
    if (commit->own_part.starved_ticks != before->own_part.starved_ticks || !is_settled(before) ||
        (due != NULL && due->input.sequence > commit->consumed)) {
        return CAUSE_STARVED;
    }
    return CAUSE_NONE;
}

static void correct(struct arbiter_client *client, enum cause cause, struct arb_vec2 before)
{
    struct arb_predict_shown shown;
    arb_client_own_shown(client, &shown);
    struct arb_vec2 offset = arb_client_offset(client, client->now_ns);
    struct arb_vec2 drawn = arb_vec2_add(before, offset);
    count_correction(client, cause, arb_vec2_distance(before, shown.position));
    struct arb_correction_limits limits = {client->config.correction_half_life_ms,
                                           client->config.correction_tolerance_m,
                                           client->config.hard_snap_m};
    offset = cause == CAUSE_JUMP ? (struct arb_vec2){0.0F, 0.0F}
                                 : arb_correction_offset(drawn, shown.position, &limits);
    arb_client_offset_set(client, offset);
}

static void confirm_own(struct arbiter_client *client, const struct commit *commit)
{
    struct arb_predict *predict = &client->predict;
    if (client->light) {
        arb_predict_acknowledge(predict, commit->tick, commit->consumed);
        return;
    }
    if (!commit->has_own) {
        arb_predict_no_state(predict);
        arb_client_offset_set(client, (struct arb_vec2){0.0F, 0.0F});
        return;
    }
    struct arb_predict_shown before = {0};
    bool had_state = predict->has_state;
    if (had_state) {
        arb_client_own_shown(client, &before);
    }
    enum arb_predict_verdict verdict = arb_predict_confirm(
        predict, commit->tick, &commit->own, commit->header.control, commit->consumed);
    if (had_state && verdict != ARB_PREDICT_SAME) {
        enum cause cause = find_cause(client, commit);
        bool blank = verdict == ARB_PREDICT_UNKNOWN && cause == CAUSE_NONE;
        correct(client, blank ? CAUSE_UNPREDICTED : cause, before.position);
    }
}

/* ---- commit ---- */

static void count_ids(struct arbiter_client *client, uint16_t id)
{
    struct arb_client_snapshots *snapshots = &client->snapshots;
    uint16_t step = snapshots->any ? (uint16_t)(id - snapshots->header.id) : 1;
    snapshots->committed_mask = step < 64 ? snapshots->committed_mask << step : 0;
    snapshots->committed_mask |= 1;
    uint64_t seen = snapshots->ids_seen + step;
    snapshots->ids_seen = seen < 64 ? seen : 64;
    client->statistics.snapshots++;
    client->statistics.snapshots_lost += (uint64_t)step - 1;
}

/* How early the inputs came says what the lead should have been when they were made. */
static void measure_lead(struct arbiter_client *client, const struct commit *commit)
{
    if (commit->header.buffer_ticks == ARB_CLIENT_NO_MEASURE || client->predict.newest == 0) {
        return;
    }
    int32_t worst = commit->header.buffer_ticks;
    client->statistics.buffer_ticks = worst;
    arb_tick about = commit->tick + 1 + (arb_tick)(worst > 0 ? worst : 0);
    const struct arb_pending *pending = arb_predict_at(&client->predict, about);
    struct arb_client_clocks *clocks = &client->clocks;
    arb_fine lead = pending != NULL ? pending->lead : clocks->input.at - clocks->server.at;
    arb_fine spare = (arb_fine)arb_quantise(client->config.spare_ticks, 1.0F / 256.0F, 0, 1 << 16) *
                     (ARB_FINE_TICK / 256);
    arb_lead_add(&clocks->lead, lead, worst, spare);
}

static void measure_delay(struct arbiter_client *client, const struct commit *commit,
                          uint64_t received_ns)
{
    struct arb_client_clocks *clocks = &client->clocks;
    const struct arb_client_snapshots *snapshots = &client->snapshots;
    if (snapshots->any && clocks->server.running && !clocks->behind &&
        commit->tick > snapshots->tick) {
        arb_fine arrived = arb_slew_at(&clocks->server, received_ns, clocks->sync.rate);
        arb_fine age = arrived - (arb_fine)commit->tick * ARB_FINE_TICK;
        if (arb_delay_is_backlog(&clocks->delay, age, arb_time_sync_one_way(&clocks->sync),
                                 clocks->sync.rate, received_ns)) {
            return;
        }
        uint32_t lost = (uint16_t)(commit->header.id - snapshots->header.id - 1);
        arb_delay_add(&clocks->delay, arrived, snapshots->tick, commit->tick, lost);
    }
}

static void commit_snapshot(struct arbiter_client *client, const struct commit *commit,
                            uint64_t received_ns)
{
    struct arb_client_snapshots *snapshots = &client->snapshots;
    measure_delay(client, commit, received_ns);
    measure_lead(client, commit);
    confirm_own(client, commit);
    arb_history_commit(&snapshots->history);
    count_ids(client, commit->header.id);
    snapshots->header = commit->header;
    snapshots->tick = commit->tick;
    snapshots->consumed = commit->consumed;
    snapshots->controlled = commit->controlled;
    snapshots->has_own = commit->has_own;
    if (commit->has_own) {
        snapshots->own = commit->own;
        snapshots->own_part = commit->own_part;
        snapshots->own_jump = commit->own_jump;
    }
    snapshots->any = true;
    snapshots->unacknowledged = true;
    arb_client_projectiles_commit(client);
}

/* Ids only go up: the next after the newest that has these low bits. */
static uint32_t widen_id(const struct arb_history *history, uint16_t id)
{
    const struct arb_history_slot *newest = arb_history_newest(history);
    return newest == NULL ? id : newest->id + (uint16_t)(id - (uint16_t)newest->id);
}

enum verdict {
    GROUP_GOOD,
    GROUP_BAD,
    GROUP_NO_BASELINE, /* coded against a snapshot that is not held: nobody's fault, the next
                          acknowledgement tells the server */
    GROUP_UNCOUNTED,   /* the welcome stood at 2^32, where ticks begin anew for who comes: this
                          one lies before it, the next ones have numbers */
};

/* The whole group, decoded into the free place of the history. */
static enum verdict decode_group(struct arbiter_client *client, arb_tick tick,
                                 struct arb_history_slot *slot)
{
    const struct arb_history *history = &client->snapshots.history;
    const struct arb_assembly *assembly = &client->snapshots.assembly;
    const struct arb_client_match *match = &client->match;
    struct arb_delta_rule rule = {match->schema, match->own_fields, match->welcome.tick_rate};
    struct arb_delta_base base = {0};
    struct arb_own_part base_own = {0};
    uint8_t back = assembly->header.baseline;
    if (back != 0) {
        uint32_t index = arb_history_index(history, slot->id - back);
        if (index == history->count) {
            return GROUP_NO_BASELINE;
        }
        const struct arb_history_slot *from = arb_history_at(history, index);
        base_own = from->own_part;
        base_own.own = &from->own;
        base = (struct arb_delta_base){from->frame.tick, &from->frame, from->entries,
                                       from->controlled, from->has_own ? &base_own : NULL};
    }
    struct arb_delta_out out = {
        .frame = &slot->frame,
        .entries = slot->entries,
        .entity_capacity = history->entity_capacity,
        .point_capacity = history->point_capacity,
        .own = &slot->own,
        .account = &client->account.streams,
    };
    if (arb_delta_decode(&rule, assembly->bytes, assembly->size, tick, back != 0 ? &base : NULL,
                         &out) != ARB_DECODE_OK) {
        return GROUP_BAD;
    }
    slot->frame.tick = tick;
    slot->controlled = out.controlled;
    slot->has_own = out.has_own;
    slot->own_part = out.own_part;
    return GROUP_GOOD;
}

/* Decodes the group and checks it against what is held. */
static enum verdict check_group(struct arbiter_client *client, struct commit *commit)
{
    struct arb_client_snapshots *snapshots = &client->snapshots;
    struct arb_history_slot *slot = arb_history_next(&snapshots->history);
    commit->header = snapshots->assembly.header;
    arb_tick near = snapshots->any ? snapshots->tick : (arb_tick)client->match.welcome.tick;
    commit->tick = arb_widen16(commit->header.tick, near);
    if ((int64_t)commit->tick < 0 && !snapshots->any) return GROUP_UNCOUNTED;
    slot->id = widen_id(&snapshots->history, commit->header.id);
    enum verdict verdict = decode_group(client, commit->tick, slot);
    uint64_t consumed = arb_widen16(commit->header.last_sequence, client->predict.newest);
    if (verdict != GROUP_GOOD) {
        return verdict;
    }
    if (consumed > client->predict.newest || commit->tick > (arb_tick)1 << 40 ||
        !arb_history_accepts(&snapshots->history, &slot->frame, is_settled(snapshots))) {
        return GROUP_BAD;
    }
    commit->consumed = (arb_sequence)consumed;
    commit->controlled = slot->controlled;
    commit->own = slot->own;
    commit->own_part = slot->own_part;
    commit->has_own = slot->has_own;
    commit->own_jump = jump_count(client->match.schema, &slot->frame, slot->controlled);
    return GROUP_GOOD;
}

void arb_client_chunk(struct arbiter_client *client, const uint8_t *bytes, size_t size,
                      uint64_t received_ns)
{
    struct arb_assembly *assembly = &client->snapshots.assembly;
    struct arb_chunk chunk;
    if (arb_chunk_decode(bytes, size, &chunk) != ARB_DECODE_OK) {
        arb_client_bad(client);
        return;
    }
    switch (arb_assembly_add(assembly, &chunk)) {
    case ARB_ASSEMBLY_WAITING:
    case ARB_ASSEMBLY_DUPLICATE:
    case ARB_ASSEMBLY_STALE:
        return;
    case ARB_ASSEMBLY_CONFLICT:
        client->statistics.bad_snapshots++;
        arb_client_bad(client);
        return;
    case ARB_ASSEMBLY_COMPLETE:
        break;
    }
    struct commit commit;
    enum verdict verdict = check_group(client, &commit);
    switch (verdict) {
    case GROUP_GOOD:
        commit_snapshot(client, &commit, received_ns);
        break;
    case GROUP_BAD:
        client->statistics.bad_snapshots++;
        arb_client_bad(client);
        break;
    case GROUP_NO_BASELINE:
        client->statistics.snapshots_undecodable++;
        break;
    case GROUP_UNCOUNTED:
        break;
    }
    arb_assembly_finish(assembly, verdict == GROUP_GOOD);
}

bool arb_client_frame(const struct arbiter_client *client, struct arb_frame *frame)
{
    const struct arb_history_slot *newest = arb_history_newest(&client->snapshots.history);
    if (newest == NULL) {
        return false;
    }
    *frame = newest->frame;
    return true;
}

bool arb_client_predicted(const struct arbiter_client *client, arb_tick tick, struct arb_own *own)
{
    const struct arb_predict *predict = &client->predict;
    if (!predict->has_state || tick < predict->confirmed_tick || tick > predict->predicted_tick) {
        return false;
    }
    *own = predict->states[tick % ARB_PREDICT_TICKS];
    return true;
}
