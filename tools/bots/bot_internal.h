/* A bot's inside, for the files of this folder. */
#ifndef BOT_INTERNAL_H
#define BOT_INTERNAL_H

#include "shared/base/arb_rng.h"
#include "tools/bots/bot.h"

enum bot_behaviour { BOT_IDLE, BOT_WANDER, BOT_AIM, BOT_REPLAY };

struct bot_policy {
    enum bot_behaviour behaviour;
    struct arbiter_input *records; /* of a recording, one per tick */
    uint32_t record_count;
};

/* What the bot has looked up once for its match. */
struct bot_tables {
    bool known, serpent;
    int character, pickup, head, food; /* kinds, -1: none */
    int team;                          /* field of a character */
    struct arbiter_rules rules;
};

struct bot {
    const struct bot_policy *policy;
    struct arb_rng rng;
    uint64_t seed;
    uint32_t index;
    uint32_t frames;
    bool resting;
    bool spectates;
    struct bot_tables tables;
    struct arbiter_view view;
    struct arbiter_input input;
    struct bot_counts counts;
    /* steering */
    float course;        /* rad, where it wants to go */
    uint32_t keep_until; /* frame at which it may change its mind */
    int8_t strafe;       /* -1 or 1 */
    /* replay */
    bool replay_started;
    uint32_t replay_next;
    bot_hands hands; /* NULL: none */
    void *hands_user;
};

/* Sets bot->input from bot->view. */
void bot_play_arena(struct bot *bot, const struct arbiter_client *client);
void bot_play_serpent(struct bot *bot, const struct arbiter_client *client);
/* Tells the client what to look at. */
void bot_look(struct bot *bot, struct arbiter_client *client);

/* Reads a recording into the policy; false and a text in `error`. */
bool bot_recording_load(struct bot_policy *policy, const char *path, char *error,
                        size_t error_bytes);

#endif
