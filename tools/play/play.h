/* arbiter-play: a match in a window, on the client library alone. What its files share. Everything
 * drawn comes out of `view` and `statistics` of the frame at hand; nothing of the match is kept
 * longer but effects that fade. Drawing never decides anything, so it may use libm.
 */
#ifndef PLAY_H
#define PLAY_H

#include "shared/client/arbiter_client.h"

#include <SDL.h>
#include <SDL_ttf.h>
#include <stdio.h>

/* ---- controls.c: keyboard, mouse, touch and gamepad to one arbiter_input ---- */

struct play_controls {
    uint16_t held;                       /* enum arbiter_button, and directions of keys */
    float axes[SDL_CONTROLLER_AXIS_MAX]; /* of the gamepad; a finger is its left stick */
    float pointer_x, pointer_y;          /* window pixels */
    bool pointer_used;                   /* it aims; false: a stick was used after it */
    SDL_FingerID stick_finger;           /* and 1; 0: none */
    uint16_t aim;                        /* kept while nothing aims */
};

/* Takes in one event; width and height of the window in pixels. */
void play_controls_event(struct play_controls *controls, const SDL_Event *event, int width,
                         int height);
/* `target`: what the pointer points at, m; `steers`: `serpent`, which turns instead of walking. */
struct arbiter_input play_controls_input(struct play_controls *controls,
                                         const struct arbiter_own *own, struct arbiter_point target,
                                         bool steers);

/* ---- record.c: the own inputs, one line per tick from the first live one on ---- */

struct play_record {
    FILE *file; /* NULL: nothing is recorded */
    const struct arbiter_view *view;
    uint64_t next_tick;
    uint32_t lines;
    struct arbiter_input last;
};

/* Of config.on_tick; `user` is the struct play_record. */
void play_record_tick(void *user, uint64_t tick, struct arbiter_input *input);

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
    char host[ARBITER_HOST_BYTES]; /* options */
    uint16_t port;
    const char *recording, *font;
    bool leaving, joined;
    bool steers;       /* `serpent` */
    uint32_t followed; /* how often the next player was asked for */
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

/* draw.c: everything, after each sample. */
void play_draw(struct play *play);
struct arbiter_point play_to_world(const struct play *play, float x, float y);

#endif
