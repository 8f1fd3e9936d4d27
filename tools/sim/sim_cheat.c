#include "tools/sim/sim_cheat.h"

#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_move.h"
#include "shared/view/arb_held.h"
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
        return look_recent(cheater, client, own);
    case SIM_CHEAT_lag:
        return cheater->lags ? look_back(cheater, client, own, SECOND, 0)
                             : look_recent(cheater, client, own);
    case SIM_CHEAT_future:
        return look_ahead(cheater, client, own, view->tick_rate);
    case SIM_CHEAT_stall:
        return look_back(cheater, client, own, SECOND / 2, 0);
    case SIM_CHEAT_honest: {
        /* Whose middle is just behind a corner may still be hit where it was. */
        struct choice choice = look_recent(cheater, client, own);
        choice.view = recall(cheater, 0)->view;
        return choice;
    }
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
    if (!cheater->pressed) return 0;
    struct choice choice = choose(cheater, client, view);
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

/* Only what it really has: a baseline that it lacks would harm itself. */
static void acknowledge_late(struct arb_input_packet *packet)
{
    for (uint32_t back = LAG_SNAPSHOTS; back < 32; back++) {
        if ((packet->ack_mask >> (back - 1) & 1) != 0) {
            packet->ack_snapshot = (uint16_t)(packet->ack_snapshot - back);
            packet->ack_mask >>= back;
            return;
        }
    }
}

void sim_cheater_packet(struct sim_cheater *cheater, struct arb_input_packet *packet)
{
    if (cheater->cheat == SIM_CHEAT_honest) return;
    cheater->lags = cheater->cheat == SIM_CHEAT_lag && cheater->frames / LAG_FRAMES % 2 == 0;
    packet->view_delay = (uint16_t)(packet->view_delay + 16 * cheater->extra_ticks);
    if (cheater->lags && packet->has_ack) acknowledge_late(packet);
}
