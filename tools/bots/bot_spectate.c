/* Bots that watch. Which players there are they know from the scoreboard, as a person would. */
#include "tools/bots/bot_internal.h"

enum {
    CAMERA_EVERY = 4,    /* bots: one of so many has a camera */
    FOLLOW_FRAMES = 300, /* then the next player */
    CAMERA_FRAMES = 600, /* from one side of the map to the other */
};

/* 0..1 and back, within twice so many frames. */
static float sweep(uint32_t frame, uint32_t frames)
{
    uint32_t at = frame % (2 * frames);
    return (float)(at < frames ? at : 2 * frames - at) / (float)frames;
}

static void move_camera(const struct bot *bot, struct arbiter_client *client)
{
    struct arbiter_map map;
    if (!arbiter_client_map(client, &map)) return;
    uint32_t frame = bot->frames + bot->index * 97;
    float x = map.low.x + (map.high.x - map.low.x) * sweep(frame, CAMERA_FRAMES);
    float y = map.low.y + (map.high.y - map.low.y) * sweep(frame, CAMERA_FRAMES * 2 / 3);
    arbiter_client_spectate_camera(client, x, y);
}

void bot_look(struct bot *bot, struct arbiter_client *client)
{
    if (bot->index % CAMERA_EVERY == CAMERA_EVERY - 1) {
        move_camera(bot, client);
    } else if (bot->view.player_count > 0) {
        uint32_t turn = bot->index + bot->frames / FOLLOW_FRAMES;
        arbiter_client_spectate_follow(client,
                                       bot->view.players[turn % bot->view.player_count].slot);
    }
}
