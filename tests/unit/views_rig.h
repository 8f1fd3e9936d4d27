/* Rig of the tests of claimed views: a client that draws what it was sent, and claims what it drew,
 * truly or not. On top of match_rig.h.
 */
#ifndef VIEWS_RIG_H
#define VIEWS_RIG_H

#include "tests/unit/match_rig.h"

/* ---- a client that draws, acknowledges and shoots, on a line of whole ticks ---- */

static struct {
    uint32_t down, up; /* ticks under way */
    uint32_t wait;     /* ticks that its inputs wait at the server */
    arb_fine delay;    /* of drawing, on top of the round trip */
    arb_sequence sequence;
    struct arb_held got; /* sent to it and not lost */
    int16_t announce;    /* 1/16 tick; -1: its delay */
    uint16_t slot;
} client;

static inline void setup(void)
{
    defaults();
    memset(&client, 0, sizeof client);
    client.down = client.up = 3;
    client.delay = 4 * ARB_FINE_TICK;
    client.wait = 1;
    client.announce = -1;
    shot_range = 20;
}

static inline void run_tick(void)
{
    tick();
    for (uint32_t i = 0; i < sent_count; i++) {
        const struct arb_snapshot_header *header = &sent[i].chunk.header;
        uint32_t count = client.got.count;
        if (sent[i].type != ARB_MESSAGE_SNAPSHOT || sent[i].session != 0 ||
            (count > 0 && client.got.frames[count - 1].id == header->id)) {
            continue;
        }
        if (count == ARB_HELD_FRAMES) {
            memmove(client.got.frames, client.got.frames + 1,
                    (ARB_HELD_FRAMES - 1) * sizeof client.got.frames[0]);
            count--;
        }
        client.got.frames[count] =
            (struct arb_held_frame){.tick = match_tick(match) - 1, .id = header->id};
        client.got.count = count + 1;
    }
}

/* What had arrived there when the packet left that arrives now. */
static inline struct arb_held held_then(void)
{
    struct arb_held held = client.got;
    arb_tick now = match_tick(match);
    while (held.count > 0 && held.frames[held.count - 1].tick + client.down + client.up > now) {
        held.count--;
    }
    return held;
}

static inline arb_fine drawn_at(void)
{
    return (arb_fine)(match_tick(match) - client.down - client.up) * ARB_FINE_TICK - client.delay;
}

/* Says a packet of this client that arrives before the coming tick; its view is the honest one. */
static inline struct arb_input *say_input(uint16_t buttons)
{
    struct arb_held held = held_then();
    struct arb_input_packet *out = packet(0, player(client.slot)->control);
    if (held.count > 0) {
        out->has_ack = true;
        out->ack_snapshot = (uint16_t)held.frames[held.count - 1].id;
        out->ack_mask = ~0U;
        arb_fine sixteenths = client.delay / (ARB_FINE_TICK / 16);
        out->view_delay = (uint16_t)(client.announce >= 0 ? client.announce : sixteenths);
    }
    struct arb_input *input = add_input(out, ++client.sequence, match_tick(match) + client.wait);
    input->buttons = buttons;
    input->edges = buttons;
    arb_held_find(&held, drawn_at(), &input->view);
    return input;
}

static inline void open_live(void)
{
    open_match();
    join_live();
}

static inline void warm_up(uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        say_input(0);
        run_tick();
    }
}

/* As if its inputs had come so unevenly, ticks of deviation. */
static inline void uneven(float ticks)
{
    match->seats[client.slot].views.wait_deviation = (arb_fine)(ticks * (float)ARB_FINE_TICK);
}

static inline uint64_t claims(enum match_view_verdict verdict)
{
    return match_view_counts(match, 0).claims[verdict];
}

static inline uint64_t not_honoured(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < MATCH_VIEW_VERDICTS; i++) {
        sum += i != MATCH_VIEW_HONOURED ? claims((enum match_view_verdict)i) : 0;
    }
    return sum;
}

/* Ticks from what the newest shot was resolved against to the newest published one. */
static inline float rewound(void)
{
    arb_fine newest = (arb_fine)(match_tick(match) - 2) * ARB_FINE_TICK;
    return (float)(newest - arb_view_at(&shot_ray.view)) / (float)ARB_FINE_TICK;
}

#endif
