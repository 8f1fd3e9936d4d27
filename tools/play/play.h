/* arbiter-play: a match in a window, on the client library alone. What its files share. Everything
 * drawn comes out of `view` and `statistics` of the frame at hand; nothing of the match is kept
 * longer but effects that fade. Drawing never decides anything, so it may use libm.
 *
 *     main.c      options, connection, the frame: events, input, poll, sample, draw
 *     controls.c  keyboard, mouse, touch and gamepad to one arbiter_input
 *     record.c    the own inputs as a recording
 *     draw.c      the world, what happens in it, scores, the network graph
 */
#ifndef PLAY_H
#define PLAY_H

#include "shared/client/arbiter_client.h"

#include <SDL.h>
#include <SDL_ttf.h>
#include <stdio.h>

/* ---- controls.c ---- */

struct play_controls {
    uint16_t held;                        /* enum arbiter_button, and directions of keys */
    float axes[SDL_CONTROLLER_AXIS_MAX];  /* of the gamepad; a finger is its left stick */
    float pointer_x, pointer_y;           /* window pixels */
    bool pointer_used;                    /* it aims; false: a stick was used after it */
    SDL_FingerID move_finger, aim_finger; /* 0: none */
    float finger_x, finger_y;             /* where the moving one came down, 0..1 */
    uint16_t aim;                         /* kept while nothing aims */
};

/* Takes in one event; width and height of the window in pixels. */
void play_controls_event(struct play_controls *controls, const SDL_Event *event, int width,
                         int height);
/* `target`: what the pointer points at, m; `steers`: `serpent`, which turns instead of walking. */
struct arbiter_input play_controls_input(struct play_controls *controls,
                                         const struct arbiter_own *own, struct arbiter_point target,
                                         bool steers);

/* ---- record.c ---- */

struct play_record {
    FILE *file; /* NULL: nothing is recorded */
    bool started;
    uint64_t next_tick;
    uint32_t line;
    struct arbiter_input last;
};

/* Writes the input of one tick, from the first live one on; ticks that were jumped over repeat the
 * one before them, since a recording has one line per tick. */
void play_record_tick(struct play_record *record, const struct arbiter_view *view, uint64_t tick,
                      const struct arbiter_input *input);

/* ---- the whole ---- */

enum { PLAY_EFFECTS = 32, PLAY_STRIPS = 4, PLAY_FRAMES = 240 };

struct play {
    struct arbiter_client *client;
    struct arbiter_view view;
    struct arbiter_statistics statistics, before; /* of this frame and the last */
    struct arbiter_map map;
    struct arbiter_rules rules;
    struct play_controls controls;
    struct play_record record;
    const char *host, *font, *recording; /* options */
    uint16_t port;
    bool leaving, joined, has_token;
    uint8_t token[ARBITER_TOKEN_BYTES]; /* of the player that this is */
    uint16_t held, pressed; /* buttons now; those pressed since the last input was made */
    uint32_t followed;      /* how often the next player was asked for */
    double now_s, last_s;
    char reason[ARBITER_TEXT_BYTES]; /* why the connection ended; "" while it lasts */

    SDL_Renderer *renderer;
    TTF_Font *fonts[2];              /* for reading; for headlines */
    int width, height;               /* of the window, pixels */
    float camera_x, camera_y, scale; /* centre in m; pixels per m */
    bool graph, shadows;             /* wanted */
    struct play_effect {             /* a shot or an end, which fades */
        struct arbiter_point from, to;
        double born_s;
    } effects[PLAY_EFFECTS];
    float strips[PLAY_STRIPS][PLAY_FRAMES]; /* columns of the graph; below 0: bad */
    uint32_t next_effect, frames;
    uint16_t rounds; /* in the magazine, a frame ago */
};

/* Turns its head instead of walking. */
static inline bool play_steers(const struct play *play)
{
    return SDL_strcmp(arbiter_client_mode(play->client), "serpent") == 0;
}

/* draw.c: everything, after each sample. */
void play_draw(struct play *play);
struct arbiter_point play_to_world(const struct play *play, float x, float y);

#endif
