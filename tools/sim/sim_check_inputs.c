/* inputs, edges: from the hand to the tick. A second, simple account of stage 3
 * (spec/simulation.md, clarifications "State, inputs, identity") is kept of what arrived, and the
 * match must come to the same. */
#include "tools/sim/sim_checks.h"

#include <string.h>

/* ---- the client's hand ---- */

/* The presses since the last input was made are in the next one, and only there. */
static void check_made(struct sim_checks *checks, struct sim_player *player,
                       const struct arb_input *input)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    bool own_logic = player->client->config.on_tick != NULL; /* a recording presses by itself */
    if (!own_logic && input->edges != witness->collected) {
        sim_violated(checks, SIM_INVARIANT_edges, "client %u pressed %#x, its input %u says %#x",
                     player->index, witness->collected, input->sequence, input->edges);
    }
    witness->collected = 0;
}

void sim_inputs_made(struct sim_checks *checks, struct sim_player *player)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    if (!witness->known || player->client->net == NULL) return;
    const struct arb_predict *predict = &player->client->predict;
    if (player->client->statistics.resyncs != witness->resyncs) {
        witness->resyncs = player->client->statistics.resyncs;
        if (witness->newest_target > witness->forgotten_tick) {
            witness->forgotten_tick = witness->newest_target;
        }
    }
    while (witness->newest < predict->newest) {
        arb_sequence sequence = ++witness->newest;
        const struct arb_pending *pending = &predict->pending[sequence % ARB_PREDICT_TICKS];
        struct arb_input *made = &witness->made[sequence % SIM_MADE];
        *made = pending->input;
        made->target_tick += witness->base;
        if (made->view.to_tick != 0) {
            made->view.from_tick += witness->base;
            made->view.to_tick += witness->base;
        }
        witness->newest_target = made->target_tick;
        check_made(checks, player, &pending->input);
    }
    /* The bot's hand moved after the inputs of this frame were made. */
    uint16_t held = player->client->controls.now.buttons;
    witness->collected |= (uint16_t)(held & ~witness->held);
    witness->held = held;
}

/* ---- what arrived ---- */

static bool same_view(const struct arb_input *a, const struct arb_input *b)
{
    bool fires = ((a->buttons | a->edges) & ARB_BUTTON_FIRE) != 0;
    return !fires || memcmp(&a->view, &b->view, sizeof a->view) == 0;
}

static void count(struct sim_seat *seat, uint16_t edges)
{
    for (int bit = 0; bit < ARB_BUTTON_COUNT; bit++) {
        seat->edges[bit] += (uint32_t)(edges >> bit & 1);
    }
}

/* Its tick is over, but not settled: it is run again with it. */
static bool acts_late(const struct sim_checks *checks, const struct sim_seat *seat,
                      const struct arb_input *input)
{
    return input->target_tick >= match_settled(checks->sim->match) &&
           input->target_tick >= seat->joined_tick;
}

/* Behind a newer one, and yet nothing is there for its tick, and sequences still ascend with ticks.
 */
static bool fills_gap(const struct sim_checks *checks, const struct sim_seat *seat,
                      const struct arb_input *input)
{
    if (checks->sim->config.match.rollback_window_ticks == 0 || !acts_late(checks, seat, input)) {
        return false;
    }
    for (uint32_t i = 0; i < SIM_WAITING; i++) {
        const struct arb_input *known = &seat->waiting[i].input;
        if (known->sequence == 0 || !acts_late(checks, seat, known)) continue;
        bool before = known->target_tick < input->target_tick;
        if (known->target_tick == input->target_tick ||
            before != (known->sequence < input->sequence)) {
            return false;
        }
    }
    return true;
}

/* All but the view: the match judges that one. */
static bool same_input(const struct arb_input *a, const struct arb_input *b)
{
    return a->target_tick == b->target_tick && a->buttons == b->buttons && a->edges == b->edges &&
           a->move_x == b->move_x && a->move_y == b->move_y && a->aim == b->aim &&
           a->muzzle_fraction == b->muzzle_fraction;
}

/* Those that wait since a step up to that of `tick`: its input takes them, now that it is run
 * again. Of a button the newest counts: one that waits longer goes before it, or is dropped for it.
 */
static void uncarry(struct sim_seat *seat, arb_tick tick)
{
    for (int bit = 0; bit < ARB_BUTTON_COUNT; bit++) {
        if (tick >= seat->carried_tick[bit]) seat->carried &= (uint16_t) ~(1U << bit);
    }
}

static void carry(struct sim_seat *seat, arb_tick now, uint16_t edges)
{
    for (int bit = 0; bit < ARB_BUTTON_COUNT; bit++) {
        if ((edges >> bit & 1) != 0) seat->carried_tick[bit] = now;
    }
    seat->carried |= edges;
}

static void take(struct sim_checks *checks, struct sim_seat *seat, const struct arb_input *input,
                 uint8_t control, arb_tick now)
{
    const struct sim_witness *witness = sim_witness_of(checks, seat);
    if (input->sequence > seat->newest) {
        seat->newest = input->sequence;
        seat->newest_target = input->target_tick;
    }
    if (witness != NULL) {
        const struct arb_input *made = &witness->made[input->sequence % SIM_MADE];
        if (input->sequence > witness->newest ||
            (made->sequence == input->sequence &&
             !(same_input(made, input) && same_view(made, input)))) {
            sim_violated(checks, SIM_INVARIANT_inputs,
                         "input %u of player %llu is not as it was made", input->sequence,
                         (unsigned long long)seat->player_id);
        }
    }
    if (input->target_tick < now && !acts_late(checks, seat, input)) {
        seat->late++;
        return;
    }
    if (input->target_tick < now) {
        count(seat, input->edges);
        uncarry(seat, input->target_tick);
    }
    seat->waiting[input->target_tick % SIM_WAITING].input = *input;
    seat->waiting[input->target_tick % SIM_WAITING].control = control;
}

void sim_inputs_taken(struct sim_checks *checks, const struct port_message *message)
{
    const struct sim_session *session = &checks->sessions[message->session.index];
    if (session->player_id == 0 || session->id.epoch != message->session.epoch) return;
    struct sim_seat *seat = &checks->seats[session->slot];
    if (!seat->seated || seat->player_id != session->player_id) return;
    arb_tick now = match_tick(checks->sim->match);
    arb_tick size = (arb_tick)checks->sim->config.match.input_buffer_ticks + 1;
    for (uint32_t i = 0; i < message->inputs.count; i++) {
        const struct arb_input *input = &message->inputs.inputs[i];
        uint8_t older = i < message->inputs.older_count ? 1 : 0;
        bool behind = input->sequence <= seat->newest ||
                      (seat->newest != 0 && input->target_tick <= seat->newest_target);
        if (behind && !fills_gap(checks, seat, input)) continue;
        if (input->target_tick >= now + size) break;
        take(checks, seat, input, (uint8_t)(message->inputs.control - older), now);
    }
}

/* ---- what the match made of it ---- */

void sim_inputs_late(struct sim_checks *checks, uint16_t slot, const struct arb_input *input,
                     uint8_t control)
{
    struct sim_seat *seat = &checks->seats[slot];
    arb_tick now = match_tick(checks->sim->match);
    if (seat->late == 0 || input->target_tick >= now || input->sequence > seat->newest ||
        input->sequence <= seat->consumed) {
        sim_violated(checks, SIM_INVARIANT_inputs, "input %u of slot %u was called late",
                     input->sequence, slot);
    }
    seat->consumed = input->sequence;
    seat->late -= seat->late > 0;
    if (now - input->target_tick > (arb_tick)checks->sim->config.match.input_buffer_ticks) return;
    count(seat, input->edges);
    if (control == match_world(checks->sim->match)->players[slot].control) {
        carry(seat, now, input->edges);
    }
    checks->sim->totals.inputs_late++;
}

/* What only a shot reads is applied only with one. */
static bool as_due(const struct sim_checks *checks, const struct arb_input *input,
                   const struct arb_input *due)
{
    struct arb_input expected = *due;
    bool fires = ((due->buttons | due->edges) & ARB_BUTTON_FIRE) != 0;
    if (!fires || sim_rules(checks->sim)->shoot == NULL) expected.muzzle_fraction = 0;
    return same_input(input, &expected);
}

static void check_input(struct sim_checks *checks, uint16_t slot, const struct arb_input *input,
                        uint8_t control)
{
    struct sim_seat *seat = &checks->seats[slot];
    arb_tick now = match_tick(checks->sim->match);
    struct arb_input *due = &seat->waiting[now % SIM_WAITING].input;
    bool is_due = due->sequence != 0 && due->target_tick == now;
    if (is_due != (input != NULL)) {
        sim_violated(checks, SIM_INVARIANT_inputs, "slot %u: an input %s", slot,
                     is_due ? "that was there was not applied" : "was applied that was not there");
    } else if (is_due && (input->sequence != due->sequence || input->sequence <= seat->consumed ||
                          !as_due(checks, input, due) ||
                          control != seat->waiting[now % SIM_WAITING].control)) {
        sim_violated(checks, SIM_INVARIANT_inputs, "slot %u: input %u was applied, %u was due",
                     slot, input->sequence, due->sequence);
    }
    if (input != NULL) seat->consumed = input->sequence;
    seat->had_input = input != NULL;
}

static void check_edges(struct sim_checks *checks, uint16_t slot, const struct arb_input *input,
                        uint8_t control, const struct arb_input *applied)
{
    struct sim_seat *seat = &checks->seats[slot];
    const struct world_player *player = &match_world(checks->sim->match)->players[slot];
    uint16_t expected = 0;
    if (input != NULL) {
        expected = (uint16_t)((control == player->control ? input->edges : 0) | seat->carried);
        seat->carried = 0;
        count(seat, input->edges);
    }
    if (seat->late > 0) {
        sim_violated(checks, SIM_INVARIANT_edges, "slot %u: %u late inputs were left out", slot,
                     seat->late);
        seat->late = 0;
    }
    if (applied->edges != expected) {
        sim_violated(checks, SIM_INVARIANT_edges, "slot %u: presses %#x were applied for %#x", slot,
                     applied->edges, expected);
    }
}

void sim_inputs_applied(struct sim_checks *checks, uint16_t slot, const struct arb_input *input,
                        uint8_t control, const struct arb_input *applied)
{
    const struct world_player *player = &match_world(checks->sim->match)->players[slot];
    struct sim_totals *totals = &checks->sim->totals;
    totals->inputs += input != NULL;
    totals->inputs_starved += input == NULL && player->last.sequence != 0;
    check_input(checks, slot, input, control);
    check_edges(checks, slot, input, control, applied);
}

/* What came, on time or within the window, is in it, and nothing else. */
static void check_settled(struct sim_checks *checks, arb_tick tick)
{
    const struct match_record *record = match_settled_record(checks->sim->match, tick);
    for (uint16_t slot = 0; slot < checks->players; slot++) {
        const struct sim_seat *seat = &checks->seats[slot];
        if (!seat->seated || seat->joined_tick > tick) continue;
        const struct arb_input *due = &seat->waiting[tick % SIM_WAITING].input;
        const struct match_record_input *is = match_record_input(record, slot);
        arb_sequence expected = due->target_tick == tick ? due->sequence : 0;
        if ((is != NULL ? is->input.sequence : 0) == expected) continue;
        sim_violated(checks, SIM_INVARIANT_inputs, "slot %u: tick %llu settled without input %u",
                     slot, (unsigned long long)tick, expected);
    }
}

/* A rebind forgets what was carried over. */
void sim_inputs_after_tick(struct sim_checks *checks)
{
    const struct world *world = match_world(checks->sim->match);
    arb_tick settled = match_settled(checks->sim->match);
    if (checks->settled == 0) checks->settled = settled - 1;
    for (; checks->settled < settled; checks->settled++)
        check_settled(checks, checks->settled);
    for (uint16_t slot = 0; slot < checks->players; slot++) {
        struct sim_seat *seat = &checks->seats[slot];
        if (world->players[slot].control != seat->control) seat->carried = 0;
    }
}

/* The server's account, which it tells the client, is the same; it ends with the match. */
void sim_inputs_look(struct sim_checks *checks)
{
    uint8_t phase = match_world(checks->sim->match)->head->phase;
    bool may_be_decided =
        phase == ARB_PHASE_RESULT && checks->sim->config.match.rollback_window_ticks > 0;
    if (phase == ARB_PHASE_ENDED || may_be_decided || match_decided(checks->sim->match)) return;
    for (uint16_t slot = 0; slot < checks->players; slot++) {
        const struct sim_seat *seat = &checks->seats[slot];
        if (!seat->seated) continue;
        struct arb_counts counts;
        match_get_counts(checks->sim->match, slot, &counts);
        if (memcmp(counts.edges, seat->edges, sizeof counts.edges) != 0) {
            sim_violated(checks, SIM_INVARIANT_edges, "slot %u: other presses counted than came",
                         slot);
        }
    }
}
