/* arbiter-play: a match in a window, on the client library alone. What its files share. Everything
 * drawn comes out of `view` and `statistics` of the frame at hand; nothing of the match is kept
 * longer but effects that fade. Drawing never decides anything, so it may use libm.
 *
 *     main.c      options, window, the frame: events, poll, sample, draw
 *     controls.c  keyboard, mouse, touch and gamepad to one arbiter_input
 *     effects.c   what happened once and is seen for a moment
 *     scene.c     the world       hud.c  scores, words, the network graph
 *     paint.c     shapes and text on SDL's renderer
 *     record.c    the own inputs as a recording
 */
#ifndef PLAY_H
#define PLAY_H

#include "shared/client/arbiter_client.h"

#include <SDL.h>
#include <stdio.h>

enum {
    PLAY_EFFECTS = 64,
    PLAY_NEWS = 5,
    PLAY_STUTTERS = 3,
    PLAY_SLOTS = 1024,
    PLAY_GRAPH_FRAMES = 240,
    PLAY_DEVICES = 3,
};

/* ---- controls.c ---- */

enum play_device { PLAY_KEYS, PLAY_POINTER, PLAY_PAD };

struct play_controls {
    uint16_t held[PLAY_DEVICES];          /* enum arbiter_button, and directions of keys */
    float stick_x, stick_y;               /* gamepad's left stick or a finger, -1..1, y up */
    float turn_x, turn_y;                 /* gamepad's right stick, likewise */
    float pointer_x, pointer_y;           /* window pixels */
    bool pointer_used;                    /* it aims; false: a stick was used after it */
    SDL_FingerID move_finger, aim_finger; /* 0: none */
    float finger_x, finger_y;             /* where the moving one came down, 0..1 */
    SDL_GameController *pad;
    uint16_t aim; /* kept while nothing aims */
};

/* What the controls are measured against. */
struct play_stance {
    bool steers;                 /* `serpent`: turns its head instead of walking */
    float x, y, heading;         /* of the own character, m and rad */
    struct arbiter_point target; /* what the pointer points at, m */
};

/* Takes in one event; width and height of the window in pixels. */
void play_controls_event(struct play_controls *controls, const SDL_Event *event, int width,
                         int height);
struct arbiter_input play_controls_input(struct play_controls *controls,
                                         const struct play_stance *stance);

/* ---- record.c ---- */

struct play_record {
    FILE *file; /* NULL: nothing is recorded */
    bool started;
    uint64_t next_tick;
    uint32_t line;
    struct arbiter_input last;
};

/* NULL: nothing is recorded. False: the file cannot be written. */
bool play_record_open(struct play_record *record, const char *path);
bool play_record_close(struct play_record *record);
/* Writes the input of one tick, from the first live one on; ticks that were jumped over repeat the
 * one before them, since a recording has one line per tick. */
void play_record_tick(struct play_record *record, const struct arbiter_view *view, uint64_t tick,
                      const struct arbiter_input *input);

/* ---- paint.c ---- */

struct play_paint {
    SDL_Renderer *renderer;
    SDL_Texture *font;
    int width, height; /* of the window, pixels */
    float x, y, scale; /* the camera: centre in m, pixels per m */
};

bool play_paint_open(struct play_paint *paint);
SDL_FPoint play_paint_to_screen(const struct play_paint *paint, float x, float y);
struct arbiter_point play_paint_to_world(const struct play_paint *paint, float x, float y);
/* A circle, a capsule or a convex polygon with round corners, as arbiter_shape has them; m. */
void play_paint_hull(const struct play_paint *paint, const struct arbiter_point *points,
                     uint32_t count, float radius, SDL_Color colour);
void play_paint_circle(const struct play_paint *paint, float x, float y, float radius,
                       SDL_Color colour);
void play_paint_line(const struct play_paint *paint, float x0, float y0, float x1, float y1,
                     float width, SDL_Color colour);
/* Pixels from the upper left. */
void play_paint_box(const struct play_paint *paint, float x, float y, float w, float h,
                    SDL_Color colour);
/* ASCII, `size` pixels per dot of its 5 x 7; `align` 0: x is left, 0.5: middle, 1: right. */
void play_paint_text(const struct play_paint *paint, float x, float y, float size, float align,
                     SDL_Color colour, const char *text);

/* ---- the whole ---- */

/* Indices of the match at hand, looked up by name once. */
struct play_tables {
    bool known, serpent;
    int character, head, pickup, projectile, food; /* kinds; -1: not in this mode */
    int health, team, type;                        /* fields */
    struct arbiter_rules rules;
    struct arbiter_map map;
};

enum play_effect_kind { PLAY_TRACER, PLAY_BURST, PLAY_FLASH };

struct play_effect {
    enum play_effect_kind kind;
    float x, y, to_x, to_y;
    double born_s;
    SDL_Color colour;
};

/* One column of the graph: one frame. */
struct play_moment {
    float frame_ms, view_age_ms, buffer_ticks, arrived;
    bool lost;
};

struct play_options {
    char *host, *name, *record_path, *screenshot_path; /* NULL: not given */
    uint16_t port;
    bool spectate;
    double seconds; /* 0: until the player leaves */
};

struct play {
    struct play_options options;
    SDL_Window *window;
    struct play_paint paint;
    struct arbiter_client *client;
    struct arbiter_view view;
    struct arbiter_statistics statistics;
    struct arbiter_stutter stutters[PLAY_STUTTERS]; /* the newest first */
    uint32_t stutter_count;
    struct play_tables tables;
    struct play_controls controls;
    struct play_record record;
    uint16_t held, pressed; /* buttons now; those pressed since the last input was made */
    double now_s, last_s;
    bool graph, shadows, leaving, moved;
    uint16_t followed;               /* slot, of a spectator */
    char reason[ARBITER_TEXT_BYTES]; /* why the connection ended; "" while it lasts */

    struct play_effect effects[PLAY_EFFECTS];
    uint32_t effect_next;
    char news[PLAY_NEWS][96];
    double news_s[PLAY_NEWS];
    struct arbiter_point places[PLAY_SLOTS]; /* where each player was seen last */
    uint16_t rounds_before;                  /* in the magazine, a frame ago */
    struct play_moment graph_moments[PLAY_GRAPH_FRAMES];
    struct arbiter_statistics before; /* a frame ago */
    uint32_t graph_next;
};

/* effects.c: after each sample. */
void play_effects_frame(struct play *play);
/* scene.c, hud.c: between clear and present. */
void play_scene_draw(const struct play *play);
SDL_Color play_colour_of_slot(uint16_t slot);
const char *play_name_of(const struct arbiter_view *view, int32_t slot);
/* Notes this frame for the graph. */
void play_hud_note(struct play *play);
void play_hud_draw(const struct play *play);

#endif
