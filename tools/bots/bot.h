/* Players that are programs: a policy looks at what its client drew and moves the controls, as a
 * person would. A bot knows nothing that its client was not sent. Deterministic: the same seed and
 * the same views give the same controls; no libm function whose last bits vary. Used by
 * arbiter-bots, and by tests over the simulated network.
 */
#ifndef BOT_H
#define BOT_H

#include "shared/client/arbiter_client.h"

/* A policy as its text names it: "wander", "aim", "idle" or "replay:FILE" (a JSON line per tick:
 * tick, move [x, y], aim, buttons by name). Shared by any number of bots, never changed. */
struct bot_policy;

/* NULL and a text in `error` when there is no such policy, or the recording cannot be used. */
struct bot_policy *bot_policy_create(const char *text, char *error, size_t error_bytes);
void bot_policy_destroy(struct bot_policy *policy);

struct bot;

/* Index and seed give the bot its own random stream. The policy outlives the bot. */
struct bot *bot_create(const struct bot_policy *policy, uint64_t seed, uint32_t index);
void bot_destroy(struct bot *bot);

/* It watches instead of playing: three of four follow one player after the other, the fourth moves
 * a camera over the map. Before bot_configure. */
void bot_spectate(struct bot *bot);

/* Sets name, seed and tick function of the configuration with which its client is created. */
void bot_configure(struct bot *bot, struct arbiter_config *config);

/* One frame: poll, sample, decide, input. The view stays valid until the next call with the
 * client. */
const struct arbiter_view *bot_frame(struct bot *bot, struct arbiter_client *client,
                                     uint64_t now_ns);

/* Called in each frame with what was drawn and what the policy wants, before the client gets it. */
typedef void (*bot_hands)(void *user, const struct arbiter_view *view, struct arbiter_input *input);
void bot_set_hands(struct bot *bot, bot_hands hands, void *user);

/* One frame of a client that went light (arb_client_go_light): poll, glance, input. Nothing is
 * seen, so it goes at random, but for policy "idle". */
const struct arbiter_view *bot_frame_light(struct bot *bot, struct arbiter_client *client,
                                           uint64_t now_ns);

/* From now on all controls are let go, so that the server's counts catch up. */
void bot_rest(struct bot *bot);

struct bot_counts {
    uint32_t hits; /* shots of its own that hit */
    uint32_t hits_taken;
    uint64_t replayed;      /* records fed */
    uint64_t replay_length; /* of the recording; 0: none */
    int32_t score;          /* its newest line of the scoreboard */
    uint16_t kills, deaths;
    bool was_connected; /* all was there once */
    bool saw_result;
    bool spectates;
};
struct bot_counts bot_counts(const struct bot *bot);

#endif
