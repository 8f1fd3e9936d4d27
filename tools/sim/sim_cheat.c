#include "tools/sim/sim_cheat.h"

#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_move.h"
#include "shared/view/arb_drawn.h"
#include "tools/sim/sim_internal.h"

#include <string.h>

enum {
    STREAM_CHEAT = 950,
    MEMORIES = 128, /* pictures, two seconds at 60 a second */
    TARGETS = 32,   /* of one picture */
    SECOND = 60,    /* frames back that it chooses from */
    RHYTHM = 8,     /* frames from one press to the next */
    STALL_EVERY = 60,
    STALL_US = 220000,
    LAG_FRAMES = 120, /* it acknowledges late for so long, then not for so long */
    LAG_SNAPSHOTS = 10,
    AHEAD_TICKS = 12, /* how far a client claims to see into the future, at most */
    EARLY_TICKS = 18, /* that the inputs of `ahead` have to spare */
    OLDER_MS = 100,   /* how much older a set of snapshots it claims than it has told of */
    FREEZE_MS = 300,  /* for so long it lets nothing newer be known than a picture that it likes */
    TELLINGS = 64,    /* remembered, for packets that are still under way */
};

struct target {
    struct arb_vec2 position, velocity;
};

/* A picture as it was drawn. */
struct memory {
    struct arb_view view; /* in the client's ticks */
    struct target targets[TARGETS];
    uint32_t count;
};

struct sim_cheater {
    enum sim_cheat cheat;
    struct arb_rng rng;
    struct memory memories[MEMORIES]; /* ring */
    uint64_t count;
    uint64_t frames, presses;
    uint64_t in_sight; /* presses with somebody exposed in the true picture */
    bool pressed;      /* in this frame */
    /* With the claim: how much later than the truth it is, ticks; acknowledgements held back. */
    uint16_t extra_ticks;
    bool lags;
    uint32_t told; /* newest snapshot that it lets be known */
    struct told {
        uint32_t newest, told; /* what packets that would tell of `newest` tell of instead */
    } tellings[TELLINGS];      /* by newest */
};

const char *sim_cheat_name(enum sim_cheat cheat)
{
    static const char *const names[] = {
#define X(name, text) #name,
        SIM_CHEAT_MAP(X)
#undef X
    };
    return names[cheat];
}

struct sim_cheater *sim_cheater_create(enum sim_cheat cheat, uint64_t seed)
{
    if (cheat == SIM_CHEAT_none) return NULL;
    struct sim_cheater *cheater = arb_mem_alloc(sizeof *cheater);
    cheater->cheat = cheat;
    arb_rng_seed(&cheater->rng, seed, STREAM_CHEAT);
    return cheater;
}

void sim_cheater_count(const struct sim_cheater *cheater, uint64_t *presses, uint64_t *in_sight)
{
    *presses = cheater->presses;
    *in_sight = cheater->in_sight;
}

void sim_cheater_destroy(struct sim_cheater *cheater)
{
    arb_mem_free(cheater);
}

void sim_cheater_configure(const struct sim_cheater *cheater, struct arbiter_config *config)
{
    if (cheater != NULL && cheater->cheat == SIM_CHEAT_ahead) {
        config->lead_min_ticks = EARLY_TICKS;
    }
}

void sim_cheater_hands(void *user, const struct arbiter_view *view, struct arbiter_input *input)
{
    struct sim_cheater *cheater = user;
    bool rests = !view->own.exists || view->phase != ARBITER_MATCH_LIVE;
    cheater->pressed = !rests && cheater->frames % RHYTHM == 0;
    cheater->frames++;
    input->buttons &= (uint16_t)~ARBITER_BUTTON_FIRE;
    if (cheater->pressed) input->buttons |= ARBITER_BUTTON_FIRE;
}

/* ---- what it remembers ---- */

static void remember(struct sim_cheater *cheater, const struct arb_view *drawn,
                     const struct arbiter_view *view, int character)
{
    struct memory *memory = &cheater->memories[cheater->count++ % MEMORIES];
    memory->view = *drawn;
    memory->count = 0;
    for (uint32_t i = 0; i < view->entity_count && memory->count < TARGETS; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        if (entity->is_own || entity->kind != character) continue;
        memory->targets[memory->count++] =
            (struct target){{entity->x, entity->y}, {entity->vx, entity->vy}};
    }
}

static const struct memory *recall(const struct sim_cheater *cheater, uint64_t back)
{
    uint64_t kept = cheater->count < MEMORIES ? cheater->count : MEMORIES;
    return back < kept ? &cheater->memories[(cheater->count - 1 - back) % MEMORIES] : NULL;
}

/* The picture of time `at`, had only the oldest `count` of its snapshots come. False: there is
 * none. */
static bool paint(const struct arbiter_client *client, uint32_t count, arb_fine at,
                  struct memory *memory)
{
    const struct arb_history *history = &client->snapshots.history;
    const struct arb_welcome *welcome = &client->match.welcome;
    struct arb_drawn_rule rule = {welcome->snapshot_interval_ticks, welcome->tick_rate};
    struct arb_held held = history->held;
    struct arb_held_place place;
    held.count = count;
    memory->count = 0;
    if (!arb_held_find(&held, at, &memory->view) || !arb_held_place(&held, &memory->view, &place)) {
        return false;
    }
    const struct arb_held_frame *frame = &held.frames[place.from];
    for (uint32_t i = 0; i < frame->count && memory->count < TARGETS; i++) {
        struct arb_held_states states;
        arb_held_states_of(&held, &place, i, &states);
        bool two = states.to_tick > states.from_tick;
        const struct arb_history_slot *from = arb_history_at(history, states.from_frame);
        const struct arb_history_slot *to = arb_history_at(history, two ? states.to_frame : 0);
        struct arb_drawn_pair pair = {&from->frame.entities[states.from_entry],
                                      two ? &to->frame.entities[states.to_entry] : NULL,
                                      states.from_tick, states.to_tick, place.at};
        const struct arb_kind *kind = &client->match.schema->kinds[pair.from->kind];
        if (pair.from->kind != ARB_ARENA_CHARACTER ||
            pair.from->q[kind->owner] == welcome->player_slot + 1) {
            continue;
        }
        memory->targets[memory->count++] = (struct target){arb_drawn_position(kind, &pair, &rule),
                                                           arb_drawn_velocity(kind, &pair, &rule)};
    }
    return true;
}

/* ---- what it aims at ---- */

struct choice {
    struct arb_view view;
    struct arb_vec2 at;
    bool any, exposed;
};

static struct arb_vec2 own_of(const struct arbiter_view *view)
{
    return (struct arb_vec2){view->own.x, view->own.y};
}

/* The nearest that no wall hides, else the nearest; `ahead`: seconds that all of them move on. */
static struct choice look(const struct arbiter_client *client, const struct memory *memory,
                          struct arb_vec2 own, float ahead)
{
    struct choice choice = {.view = memory->view};
    float best = 1e9F;
    for (uint32_t i = 0; i < memory->count; i++) {
        const struct target *target = &memory->targets[i];
        struct arb_vec2 at = arb_vec2_mul_add(target->position, ahead, target->velocity);
        struct arb_vec2 delta = arb_vec2_sub(at, own);
        float wall, distance = arb_vec2_length(delta);
        bool exposed = !arbiter_client_ray(client, own.x, own.y, delta.x, delta.y, &wall);
        bool better = exposed == choice.exposed ? distance < best : exposed;
        if (choice.any && !better) continue;
        choice.any = true;
        choice.exposed = exposed;
        choice.at = at;
        best = distance;
    }
    return choice;
}

/* The oldest memory, down to `newest`, in which somebody was exposed. */
static struct choice look_back(const struct sim_cheater *cheater,
                               const struct arbiter_client *client, struct arb_vec2 own,
                               uint64_t oldest, uint64_t newest)
{
    for (uint64_t back = oldest; back > newest; back--) {
        const struct memory *memory = recall(cheater, back);
        if (memory == NULL) continue;
        struct choice choice = look(client, memory, own, 0.0F);
        if (choice.exposed) return choice;
    }
    return look(client, recall(cheater, newest), own, 0.0F);
}

/* The newest in which somebody was exposed. */
static struct choice look_recent(const struct sim_cheater *cheater,
                                 const struct arbiter_client *client, struct arb_vec2 own)
{
    for (uint64_t back = 0; back < SECOND && recall(cheater, back) != NULL; back++) {
        struct choice choice = look(client, recall(cheater, back), own, 0.0F);
        if (choice.exposed) return choice;
    }
    return look(client, recall(cheater, 0), own, 0.0F);
}

/* What is drawn carried on, under a view that nobody can have drawn yet. */
static struct choice look_ahead(struct sim_cheater *cheater, const struct arbiter_client *client,
                                struct arb_vec2 own, uint32_t tick_rate)
{
    const struct memory *now = recall(cheater, 0);
    uint32_t ticks = 1 + arb_rng_below(&cheater->rng, AHEAD_TICKS);
    struct choice choice = look(client, now, own, (float)ticks / (float)tick_rate);
    choice.view.from_tick = now->view.to_tick;
    choice.view.to_tick = now->view.to_tick;
    choice.view.fraction = (uint16_t)(ticks * 256);
    if (arb_rng_below(&cheater->rng, 2) == 0) {
        choice.view.from_tick += ticks;
        choice.view.to_tick += ticks;
        choice.view.fraction = 0;
    }
    return choice;
}

/* The true picture. Whose middle is just behind a corner may still be hit where it was. */
static struct choice look_honestly(const struct sim_cheater *cheater,
                                   const struct arbiter_client *client, struct arb_vec2 own)
{
    struct choice choice = look_recent(cheater, client, own);
    choice.view = recall(cheater, 0)->view;
    return choice;
}

/* At the true time, the fullest set of snapshots with which somebody was exposed: without the
 * newest ones whoever turned off is carried on straight. */
static struct choice look_with_less(const struct sim_cheater *cheater,
                                    const struct arbiter_client *client, struct arb_vec2 own)
{
    const struct arb_held *held = &client->snapshots.history.held;
    const struct memory *now = recall(cheater, 0);
    arb_tick older = (arb_tick)(OLDER_MS * client->match.welcome.tick_rate / 1000);
    for (uint32_t count = held->count; count > 0; count--) {
        struct memory memory;
        if (held->frames[count - 1].tick + older < held->frames[held->count - 1].tick ||
            !paint(client, count, arb_view_at(&now->view), &memory)) {
            break;
        }
        struct choice choice = look(client, &memory, own, 0.0F);
        if (choice.exposed) return choice;
    }
    return look_honestly(cheater, client, own);
}

/* What is newer than the newest known snapshot is not known to be here: nobody can say that it was
 * not lost. In each frame it tells of what is too old to be of use. */
static void tell(struct sim_cheater *cheater, const struct arbiter_client *client)
{
    const struct arb_held *held = &client->snapshots.history.held;
    arb_tick most = (arb_tick)(FREEZE_MS * client->match.welcome.tick_rate / 1000);
    const struct arb_held_frame *newest = &held->frames[held->count - 1];
    for (uint32_t i = 0; i < held->count && held->frames[i].tick + most < newest->tick; i++) {
        if (held->frames[i].id > cheater->told) cheater->told = held->frames[i].id;
    }
    cheater->tellings[newest->id % TELLINGS] = (struct told){newest->id, cheater->told};
}

/* The true time, as if the newest snapshots had not come: the most of them with which somebody was
 * in sight. Those must be told of; of the others it will be silent, until they are of use. */
static struct choice look_frozen(struct sim_cheater *cheater, const struct arbiter_client *client,
                                 struct arb_vec2 own)
{
    const struct arb_held *held = &client->snapshots.history.held;
    struct choice choice = {.any = false};
    uint32_t count = held->count;
    for (; count > 0 && !choice.exposed; count--) {
        struct memory memory;
        const struct arb_held_frame *newest = &held->frames[count - 1];
        if (newest->id < cheater->told ||
            !paint(client, count, arb_view_at(&recall(cheater, 0)->view), &memory)) {
            break;
        }
        choice = look(client, &memory, own, 0.0F);
        if (choice.exposed) cheater->told = newest->id;
    }
    return choice.exposed ? choice : look_honestly(cheater, client, own);
}

static struct choice choose(struct sim_cheater *cheater, const struct arbiter_client *client,
                            const struct arbiter_view *view)
{
    struct arb_vec2 own = own_of(view);
    switch (cheater->cheat) {
    case SIM_CHEAT_random: {
        const struct memory *memory = recall(cheater, arb_rng_below(&cheater->rng, SECOND));
        return look(client, memory != NULL ? memory : recall(cheater, 0), own, 0.0F);
    }
    case SIM_CHEAT_old:
        return look_back(cheater, client, own, SECOND, 0);
    case SIM_CHEAT_alternating:
        return cheater->presses % 2 == 0 ? look_back(cheater, client, own, SECOND, 0)
                                         : look(client, recall(cheater, 0), own, 0.0F);
    case SIM_CHEAT_recent:
    case SIM_CHEAT_ahead:
        return look_recent(cheater, client, own);
    case SIM_CHEAT_lag:
        return cheater->lags ? look_back(cheater, client, own, SECOND, 0)
                             : look_recent(cheater, client, own);
    case SIM_CHEAT_future:
        return look_ahead(cheater, client, own, view->tick_rate);
    case SIM_CHEAT_stall:
        return look_back(cheater, client, own, SECOND / 2, 0);
    case SIM_CHEAT_held:
        return look_with_less(cheater, client, own);
    case SIM_CHEAT_freeze:
        return look_frozen(cheater, client, own);
    case SIM_CHEAT_honest:
        return look_honestly(cheater, client, own);
    case SIM_CHEAT_none:
    case SIM_CHEATS:
        break;
    }
    return look(client, recall(cheater, 0), own, 0.0F);
}

uint64_t sim_cheater_claim(struct sim_cheater *cheater, struct sim_player *player,
                           const struct arbiter_view *view)
{
    struct arbiter_client *client = player->client;
    struct arb_client_controls *controls = &client->controls;
    if (client->net == NULL || view->time.to_tick == 0) return 0;
    remember(cheater, &controls->drawn, view, arbiter_client_kind(client, "character"));
    struct choice choice = {.any = false};
    if (cheater->pressed) choice = choose(cheater, client, view);
    tell(cheater, client);
    if (!cheater->pressed) return 0;
    cheater->presses++;
    cheater->in_sight += look(client, recall(cheater, 0), own_of(view), 0.0F).exposed;
    if (choice.any) {
        struct arb_vec2 delta = arb_vec2_sub(choice.at, own_of(view));
        controls->now.aim = arbiter_aim(arb_move_angle(delta));
        controls->fire_aim = controls->now.aim;
        controls->fire_view = choice.view;
        controls->drawn = choice.view;
        arb_fine late = arb_view_at(&recall(cheater, 0)->view) - arb_view_at(&choice.view);
        cheater->extra_ticks = (uint16_t)(late > 0 ? late / ARB_FINE_TICK : 0);
    }
    bool stalls = cheater->cheat == SIM_CHEAT_stall && cheater->presses % STALL_EVERY == 0;
    return stalls ? STALL_US : 0;
}

/* At least so many ids less. Only what it really has: a baseline that it lacks would harm itself.
 */
static void acknowledge_less(struct arb_input_packet *packet, uint32_t least)
{
    for (uint32_t back = least > 0 ? least : 1; back < 32; back++) {
        if ((packet->ack_mask >> (back - 1) & 1) != 0) {
            packet->ack_snapshot = (uint16_t)(packet->ack_snapshot - back);
            packet->ack_mask >>= back;
            return;
        }
    }
}

static void keep_silent(const struct sim_cheater *cheater, struct arb_input_packet *packet)
{
    const struct told *telling = &cheater->tellings[packet->ack_snapshot % TELLINGS];
    bool known = (uint16_t)telling->newest == packet->ack_snapshot;
    uint32_t told = known ? telling->told : cheater->told;
    uint16_t back = (uint16_t)(packet->ack_snapshot - told);
    if (back > 0 && back < 32) acknowledge_less(packet, back);
}

void sim_cheater_packet(struct sim_cheater *cheater, struct arb_input_packet *packet)
{
    if (cheater->cheat == SIM_CHEAT_honest) return;
    cheater->lags = cheater->cheat == SIM_CHEAT_lag && cheater->frames / LAG_FRAMES % 2 == 0;
    packet->view_delay = (uint16_t)(packet->view_delay + 16 * cheater->extra_ticks);
    if (cheater->lags && packet->has_ack) acknowledge_less(packet, LAG_SNAPSHOTS);
    if (cheater->cheat == SIM_CHEAT_freeze && packet->has_ack) keep_silent(cheater, packet);
}
