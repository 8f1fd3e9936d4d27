#include "tools/bots/bot_internal.h"

#include "shared/base/arb_mem.h"
#include "shared/client/arb_client_light.h"

#include <stdio.h>
#include <string.h>

/* ---- policies ---- */

struct bot_policy *bot_policy_create(const char *text, char *error, size_t error_bytes)
{
    static const struct {
        const char *name;
        enum bot_behaviour behaviour;
    } names[] = {{"idle", BOT_IDLE}, {"wander", BOT_WANDER}, {"aim", BOT_AIM}};
    struct bot_policy *policy = arb_mem_alloc(sizeof *policy);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].name) == 0) {
            policy->behaviour = names[i].behaviour;
            return policy;
        }
    }
    if (strncmp(text, "replay:", 7) == 0 || strncmp(text, "replay ", 7) == 0) {
        policy->behaviour = BOT_REPLAY;
        if (bot_recording_load(policy, text + 7, error, error_bytes)) {
            return policy;
        }
    } else {
        snprintf(error, error_bytes, "no policy '%s': wander, aim, idle or replay:FILE", text);
    }
    bot_policy_destroy(policy);
    return NULL;
}

void bot_policy_destroy(struct bot_policy *policy)
{
    if (policy != NULL) {
        arb_mem_free(policy->records);
        arb_mem_free(policy);
    }
}

/* ---- bots ---- */

struct bot *bot_create(const struct bot_policy *policy, uint64_t seed, uint32_t index)
{
    struct bot *bot = arb_mem_alloc(sizeof *bot);
    bot->policy = policy;
    bot->seed = seed;
    bot->index = index;
    arb_rng_seed(&bot->rng, seed, index);
    bot->course = arb_rng_range(&bot->rng, -3.0F, 3.0F);
    bot->strafe = arb_rng_below(&bot->rng, 2) == 0 ? -1 : 1;
    bot->counts.replay_length = policy->record_count;
    return bot;
}

void bot_destroy(struct bot *bot)
{
    arb_mem_free(bot);
}

void bot_set_hands(struct bot *bot, bot_hands hands, void *user)
{
    bot->hands = hands;
    bot->hands_user = user;
}

void bot_spectate(struct bot *bot)
{
    bot->spectates = true;
    bot->counts.spectates = true;
}

void bot_rest(struct bot *bot)
{
    bot->resting = true;
}

struct bot_counts bot_counts(const struct bot *bot)
{
    return bot->counts;
}

/* The recording begins with the first live tick. A countdown says which that will be, so that the
 * first record is not delayed by the way of the news. */
static bool is_live(const struct arbiter_view *view, uint64_t tick)
{
    return view->phase == ARBITER_MATCH_LIVE ||
           (view->phase == ARBITER_MATCH_COUNTDOWN && view->phase_end_tick != 0 &&
            tick > view->phase_end_tick);
}

static void feed_record(void *user, uint64_t tick, struct arbiter_input *input)
{
    struct bot *bot = user;
    bot->replay_started |= is_live(&bot->view, tick);
    uint16_t aim = input->aim;
    *input = (struct arbiter_input){.aim = aim};
    if (!bot->replay_started || bot->resting || bot->replay_next == bot->policy->record_count) {
        return;
    }
    *input = bot->policy->records[bot->replay_next++];
    bot->input.aim = input->aim; /* kept when the recording ends */
    bot->counts.replayed = bot->replay_next;
}

void bot_configure(struct bot *bot, struct arbiter_config *config)
{
    snprintf(config->name, sizeof config->name, "bot%02u", (unsigned)(bot->index + 1));
    config->seed = bot->seed * 1000003U + bot->index + 1;
    config->spectate = bot->spectates;
    if (bot->policy->behaviour == BOT_REPLAY && !bot->spectates) {
        config->on_tick = feed_record;
        config->on_tick_user = bot;
    }
}

static void look_up(struct bot *bot, const struct arbiter_client *client)
{
    struct bot_tables *tables = &bot->tables;
    if (tables->known || !arbiter_client_rules(client, &tables->rules)) {
        return;
    }
    tables->known = true;
    tables->serpent = strcmp(arbiter_client_mode(client), "serpent") == 0;
    tables->character = arbiter_client_kind(client, "character");
    tables->pickup = arbiter_client_kind(client, "pickup");
    tables->head = arbiter_client_kind(client, "head");
    tables->food = arbiter_client_kind(client, "food");
    tables->team = arbiter_client_field(client, tables->character, "team");
}

static void note_events(struct bot *bot)
{
    const struct arbiter_view *view = &bot->view;
    for (uint32_t i = 0; i < view->event_count; i++) {
        const struct arbiter_event *event = &view->events[i];
        if (event->kind == ARBITER_EVENT_HIT) {
            bot->counts.hits += event->a == view->own_slot;
            bot->counts.hits_taken += event->b == view->own_slot;
        }
    }
    for (uint32_t i = 0; i < view->player_count; i++) {
        if (view->players[i].slot == view->own_slot) {
            bot->counts.score = view->players[i].score;
            bot->counts.kills = view->players[i].kills;
            bot->counts.deaths = view->players[i].deaths;
        }
    }
    bot->counts.was_connected |= view->connection == ARBITER_CONNECTED;
    bot->counts.saw_result |= view->has_result;
}

const struct arbiter_view *bot_frame(struct bot *bot, struct arbiter_client *client,
                                     uint64_t now_ns)
{
    arbiter_client_poll(client, now_ns);
    arbiter_client_sample(client, now_ns, &bot->view);
    bot->frames++;
    look_up(bot, client);
    note_events(bot);
    if (bot->spectates) {
        bot_look(bot, client);
        return &bot->view;
    }
    uint16_t aim = bot->input.aim;
    if (bot->resting || bot->policy->behaviour == BOT_IDLE || !bot->view.own.exists) {
        bot->input = (struct arbiter_input){.aim = aim};
    } else if (bot->policy->behaviour != BOT_REPLAY) {
        if (bot->tables.serpent) {
            bot_play_serpent(bot, client);
        } else {
            bot_play_arena(bot, client);
        }
    }
    if (bot->hands != NULL) bot->hands(bot->hands_user, &bot->view, &bot->input);
    arbiter_client_input(client, &bot->input);
    return &bot->view;
}

/* As the scenes of tests/scenes: a new direction twice a second, an aim that turns slowly, a press
 * of the first button once a second. */
static void play_blind(struct bot *bot)
{
    uint32_t beat = bot->frames + bot->index;
    if (beat % 30 == 0) {
        uint32_t bits = arb_rng_next(&bot->rng);
        bot->input.move_x = (int8_t)(bits >> 8);
        bot->input.move_y = (int8_t)(bits >> 16);
    }
    bot->input.aim = (uint16_t)(bot->frames * 640 + bot->index * 977);
    bot->input.buttons = beat % 60 == 0 ? ARBITER_BUTTON_FIRE : 0;
}

const struct arbiter_view *bot_frame_light(struct bot *bot, struct arbiter_client *client,
                                           uint64_t now_ns)
{
    arbiter_client_poll(client, now_ns);
    arb_client_glance(client, &bot->view);
    bot->frames++;
    bot->counts.was_connected |= bot->view.connection == ARBITER_CONNECTED;
    bot->counts.saw_result |= bot->view.has_result;
    if (bot->resting || bot->policy->behaviour == BOT_IDLE) {
        bot->input = (struct arbiter_input){.aim = bot->input.aim};
    } else {
        play_blind(bot);
    }
    arbiter_client_input(client, &bot->input);
    return &bot->view;
}
