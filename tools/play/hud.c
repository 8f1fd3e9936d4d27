/* What lies over the world: scores, what the match is doing, the network graph. */
#include "tools/play/play.h"

enum { ROWS_MAX = 12, LINE = 18, STRIP = 30 };

static const SDL_Color white = {235, 240, 245, 255};
static const SDL_Color dim = {150, 160, 172, 255};
static const SDL_Color panel = {10, 12, 16, 170};
static const SDL_Color good = {90, 200, 130, 255};
static const SDL_Color fair = {235, 190, 80, 255};
static const SDL_Color bad = {240, 90, 80, 255};

const char *play_name_of(const struct arbiter_view *view, int32_t slot)
{
    for (uint32_t i = 0; i < view->player_count; i++) {
        if (view->players[i].slot == slot) {
            return view->players[i].name;
        }
    }
    return "nobody";
}

static void say(const struct play *play, float x, float y, float size, float align,
                SDL_Color colour, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    SDL_vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    play_paint_text(&play->paint, x, y, size, align, colour, text);
}

/* ---- scores ---- */

static int by_score(const void *a, const void *b)
{
    const struct arbiter_player *one = *(const struct arbiter_player *const *)a;
    const struct arbiter_player *two = *(const struct arbiter_player *const *)b;
    return one->score != two->score ? (one->score < two->score ? 1 : -1)
                                    : (int)one->slot - (int)two->slot;
}

static void draw_scores(const struct play *play)
{
    const struct arbiter_player *order[PLAY_SLOTS];
    uint32_t count = SDL_min(play->view.player_count, PLAY_SLOTS);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = &play->view.players[i];
    }
    SDL_qsort(order, count, sizeof order[0], by_score);
    float left = (float)play->paint.width - 326;
    uint32_t rows = SDL_min(count, ROWS_MAX);
    for (uint32_t i = rows; i < count; i++) {
        /* The own line is always seen. */
        if (order[i]->slot == play->view.own_slot) order[rows - 1] = order[i];
    }
    play_paint_box(&play->paint, left - 12, 8, 326, (float)(LINE * (rows + 1)) + 14, panel);
    say(play, left, 16, 2, 0, dim, "%-14s%6s%3s%3s", "player", "score", "k", "d");
    for (uint32_t i = 0; i < rows; i++) {
        const struct arbiter_player *player = order[i];
        bool is_here = player->present && !player->away;
        SDL_Color colour = is_here ? play_colour_of_slot(player->slot) : dim;
        float y = 16 + (float)(LINE * (i + 1));
        if (player->slot == play->view.own_slot) {
            play_paint_box(&play->paint, left - 8, y - 2, 318, LINE,
                           (SDL_Color){255, 255, 255, 28});
        }
        say(play, left, y, 2, 0, colour, "%-14.14s%6d%3u%3u", player->name, (int)player->score,
            (unsigned)player->kills, (unsigned)player->deaths);
    }
}

/* ---- words ---- */

static void headline(const struct play *play, char *text, size_t bytes)
{
    const struct arbiter_view *view = &play->view;
    text[0] = '\0';
    if (view->has_result) {
        bool draw = view->result_winner == ARBITER_NO_SLOT;
        SDL_snprintf(text, bytes, draw ? "a draw" : "%s wins",
                     play_name_of(view, view->result_winner));
    } else if (play->reason[0] != '\0') {
        SDL_snprintf(text, bytes, "%s", play->reason);
    } else if (view->connection != ARBITER_CONNECTED) {
        SDL_snprintf(text, bytes, "connecting to %s", play->options.host);
    } else if (view->silent_ms > 0) {
        SDL_snprintf(text, bytes, "nothing is heard for %.1f s", (double)view->silent_ms / 1000);
    } else if (view->phase == ARBITER_MATCH_WAITING) {
        SDL_snprintf(text, bytes, "waiting for players");
    } else if (view->phase == ARBITER_MATCH_COUNTDOWN) {
        SDL_snprintf(text, bytes, "%d", (int)SDL_ceil(view->phase_left_s));
    } else if (view->game == ARBITER_GAME_WAITING) {
        SDL_snprintf(text, bytes, "back in a moment");
    }
}

static void draw_words(const struct play *play)
{
    const struct arbiter_view *view = &play->view;
    const struct arbiter_own *own = &view->own;
    float middle = (float)play->paint.width / 2;
    float bottom = (float)play->paint.height;
    char text[ARBITER_TEXT_BYTES];
    headline(play, text, sizeof text);
    bool is_long = SDL_strlen(text) > 30;
    say(play, middle, bottom / 4, is_long ? 2 : 5, 0.5F, white, "%s", text);
    if (play->reason[0] != '\0') {
        say(play, middle, bottom / 4 + 50, 2, 0.5F, dim, "return: connect again   escape: leave");
    }
    if (view->phase == ARBITER_MATCH_LIVE && view->phase_end_tick != 0) {
        say(play, middle, 16, 3, 0.5F, white, "%d:%02d", (int)view->phase_left_s / 60,
            (int)view->phase_left_s % 60);
    }
    if (own->exists && play->tables.rules.weapon_count > 0) {
        unsigned weapon = own->weapon % ARBITER_WEAPONS_MAX;
        say(play, (float)play->paint.width - 20, bottom - 44, 4, 1, white,
            own->reload_ticks > 0 ? "reloading" : "%u / %u", (unsigned)own->magazine[weapon],
            (unsigned)own->reserve[weapon]);
    }
    for (int i = 0; i < PLAY_NEWS; i++) {
        float age = (float)(play->now_s - play->news_s[i]);
        SDL_Color colour = {white.r, white.g, white.b,
                            (uint8_t)(255 * SDL_clamp(5 - age, 0.0F, 1.0F))};
        say(play, 20, bottom - 70 - (float)(LINE * i), 2, 0, colour, "%s", play->news[i]);
    }
    const char *keys = play->options.spectate ? "click: next player   WASD: free camera"
                       : play->tables.serpent
                           ? "mouse or A D: steer   click or space: boost"
                           : "WASD: move   mouse: aim, fire   space: dash   R: reload";
    say(play, 20, bottom - 28, 2, 0, dim, "%s   tab: network   C: confirmed", keys);
}

/* ---- the network graph ---- */

void play_hud_note(struct play *play)
{
    const struct arbiter_statistics *now = &play->statistics;
    const struct arbiter_statistics *before = &play->before;
    bool is_new = now->snapshots < before->snapshots; /* another connection */
    play->graph_moments[play->graph_next++ % PLAY_GRAPH_FRAMES] = (struct play_moment){
        .frame_ms = (float)(play->now_s - play->last_s) * 1000,
        .view_age_ms = now->view_age_ms,
        .buffer_ticks = (float)now->buffer_ticks,
        .arrived = is_new ? 0 : (float)(now->snapshots - before->snapshots),
        .lost = !is_new && now->snapshots_lost > before->snapshots_lost,
    };
    play->before = *now;
}

static void draw_figures(const struct play *play, float x, float y)
{
    static const char *const causes[] = {
        [ARBITER_STUTTER_SERVER] = "the server was late",
        [ARBITER_STUTTER_LOSS] = "snapshots were lost",
        [ARBITER_STUTTER_JITTER] = "snapshots came late",
        [ARBITER_STUTTER_PROCESS] = "this program was late",
    };
    const struct arbiter_statistics *s = &play->statistics;
    const struct arbiter_corrections *c = &s->corrections;
    say(play, x, y, 2, 0, white, "rtt %.0f ms  jitter %.1f ms  loss %.1f %%", (double)s->rtt_ms,
        (double)s->jitter_ms, 100 * (double)s->loss);
    say(play, x, y + LINE, 2, 0, white, "inputs %.1f ticks ahead, %u starved",
        (double)s->lead_ticks, (unsigned)s->inputs_starved);
    say(play, x, y + 2 * LINE, 2, 0, c->count > 0 ? fair : white, "corrections %u, with a cause %u",
        (unsigned)c->count, (unsigned)(c->outside + c->starved + c->jumped));
    for (uint32_t i = 0; i < play->stutter_count; i++) {
        const struct arbiter_stutter *stutter = &play->stutters[i];
        say(play, x, y + (float)(3 + i) * LINE, 2, 0, fair, "%.0f s ago %.0f ms: %s",
            play->now_s - (double)stutter->at_ns / 1e9, (double)stutter->ms,
            causes[stutter->cause % ARBITER_STUTTER_CAUSES]);
    }
}

/* One bar of a strip: `value` of `full` is as high as the strip. */
static void draw_bar(const struct play *play, float x, float base, float value, float full,
                     SDL_Color colour)
{
    float height = SDL_clamp(value / full, 0.0F, 1.0F) * STRIP;
    if (height > 0) play_paint_box(&play->paint, x, base - height, 2, height, colour);
}

static void draw_graph(const struct play *play)
{
    static const char *const names[] = {"snapshots that arrived; red: lost",
                                        "ticks that inputs are early, to 6; red: late",
                                        "age of what is drawn, to 250 ms", "frame, to 50 ms"};
    const float row = STRIP + 22;
    const float first = 16 + (3 + PLAY_STUTTERS) * LINE + STRIP;
    play_paint_box(&play->paint, 8, 8, 2 * PLAY_GRAPH_FRAMES + 16, first + 3 * row + 14, panel);
    draw_figures(play, 16, 16);
    for (uint32_t i = 0; i < PLAY_GRAPH_FRAMES; i++) {
        const struct play_moment *moment =
            &play->graph_moments[(play->graph_next + i) % PLAY_GRAPH_FRAMES];
        float x = 16 + 2 * (float)i;
        float frame = moment->frame_ms;
        draw_bar(play, x, first, moment->arrived, 3, good);
        draw_bar(play, x, first, moment->lost ? 1 : 0, 1, bad);
        draw_bar(play, x, first + row, moment->buffer_ticks, 6, good);
        draw_bar(play, x, first + row, -moment->buffer_ticks, 6, bad);
        draw_bar(play, x, first + 2 * row, moment->view_age_ms, 250, fair);
        draw_bar(play, x, first + 3 * row, frame, 50, frame < 20 ? good : frame < 40 ? fair : bad);
    }
    for (int i = 0; i < 4; i++) {
        say(play, 16, first + (float)i * row + 4, 1.5F, 0, dim, "%s", names[i]);
    }
}

void play_hud_draw(const struct play *play)
{
    if (play->view.player_count > 0) {
        draw_scores(play);
    }
    draw_words(play);
    if (play->graph) {
        draw_graph(play);
    }
}
