#define _GNU_SOURCE
#include "tools/bots/watch.h"

#include "shared/base/arb_mem.h"

#include <stdio.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#include <io.h>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

enum {
    COLUMNS_MAX = 160,
    ROWS_MAX = 60,
    BOARD_COLUMNS = 34,
    SCREEN_NS = 100000000,
    LINE_NS = 1000000000,
};

enum mark { MARK_NONE, MARK_WALL, MARK_THING, MARK_BODY, MARK_PLAYER };

struct cell {
    uint8_t mark;
    char text;
    uint8_t colour; /* of the terminal's 256 */
};

struct watch {
    bool terminal, began;
    uint64_t next_ns;
    uint32_t columns, rows; /* of the map's picture */
    bool has_walls;
    struct arbiter_map map;
    struct cell walls[ROWS_MAX][COLUMNS_MAX];
    struct cell cells[ROWS_MAX][COLUMNS_MAX];
    uint64_t hits, deaths; /* told so far */
};

/* ---- the terminal on stderr ---- */

#ifdef _WIN32

/* False: it is none, or one that does not take the escape sequences below. */
static bool begin_terminal(void)
{
    HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode = 0;
    return _isatty(_fileno(stderr)) != 0 && GetConsoleMode(console, &mode) &&
           SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

static bool terminal_size(uint32_t *columns, uint32_t *rows)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &info)) return false;
    *columns = (uint32_t)(info.srWindow.Right - info.srWindow.Left + 1);
    *rows = (uint32_t)(info.srWindow.Bottom - info.srWindow.Top + 1);
    return true;
}

#else

static bool begin_terminal(void)
{
    return isatty(STDERR_FILENO) != 0;
}

static bool terminal_size(uint32_t *columns, uint32_t *rows)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return false;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return true;
}

#endif

/* ---- life ---- */

struct watch *watch_create(void)
{
    struct watch *watch = arb_mem_alloc(sizeof *watch);
    watch->terminal = begin_terminal();
    return watch;
}

void watch_destroy(struct watch *watch)
{
    if (watch != NULL && watch->began) {
        fputs("\x1b[0m\x1b[?25h\n", stderr);
    }
    arb_mem_free(watch);
}

/* ---- the map ---- */

static float square_distance(struct arbiter_point p, struct arbiter_point a, struct arbiter_point b)
{
    float dx = b.x - a.x;
    float dy = b.y - a.y;
    float length = dx * dx + dy * dy;
    float t = length > 0.0F ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0.0F;
    t = t < 0.0F ? 0.0F : t > 1.0F ? 1.0F : t;
    float x = a.x + t * dx - p.x;
    float y = a.y + t * dy - p.y;
    return x * x + y * y;
}

static bool covers(const struct arbiter_shape *shape, struct arbiter_point p)
{
    bool inside = shape->type == ARBITER_SHAPE_POLYGON;
    float reach = shape->radius * shape->radius;
    for (uint32_t i = 0; i < shape->count; i++) {
        struct arbiter_point a = shape->points[i];
        struct arbiter_point b = shape->points[(i + 1) % shape->count];
        if (square_distance(p, a, b) <= reach) {
            return true;
        }
        inside = inside && (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) >= 0.0F;
    }
    return inside;
}

/* Characters are twice as high as wide. */
static void measure(struct watch *watch)
{
    uint32_t columns = 0;
    uint32_t rows = 0;
    bool fits = terminal_size(&columns, &rows) && columns > 60 && rows > 10;
    columns = fits ? columns - BOARD_COLUMNS : 100;
    rows = fits ? rows - 3 : 30;
    columns = columns < COLUMNS_MAX ? columns : COLUMNS_MAX;
    rows = rows < ROWS_MAX ? rows : ROWS_MAX;
    float width = watch->map.high.x - watch->map.low.x;
    float height = watch->map.high.y - watch->map.low.y;
    float per_row = height / (float)rows;
    float per_column = width / (float)columns;
    float unit = per_row > 2.0F * per_column ? per_row : 2.0F * per_column;
    watch->rows = (uint32_t)(height / unit + 0.5F);
    watch->columns = (uint32_t)(2.0F * width / unit + 0.5F);
    watch->rows = watch->rows < 1 ? 1 : watch->rows > ROWS_MAX ? ROWS_MAX : watch->rows;
    watch->columns = watch->columns < 1             ? 1
                     : watch->columns > COLUMNS_MAX ? COLUMNS_MAX
                                                    : watch->columns;
}

static void draw_walls(struct watch *watch, const struct arbiter_client *client)
{
    measure(watch);
    struct arbiter_shape shape;
    float width = (watch->map.high.x - watch->map.low.x) / (float)watch->columns;
    float height = (watch->map.high.y - watch->map.low.y) / (float)watch->rows;
    for (uint32_t s = 0; arbiter_client_shape(client, s, &shape); s++) {
        /* What is thinner than a cell is still seen. */
        float thick = 0.3F * width;
        shape.radius = shape.radius > thick ? shape.radius : thick;
        for (uint32_t row = 0; row < watch->rows; row++) {
            for (uint32_t column = 0; column < watch->columns; column++) {
                struct arbiter_point p = {watch->map.low.x + ((float)column + 0.5F) * width,
                                          watch->map.high.y - ((float)row + 0.5F) * height};
                if (covers(&shape, p)) {
                    watch->walls[row][column] = (struct cell){MARK_WALL, '#', 240};
                }
            }
        }
    }
    watch->has_walls = true;
}

/* ---- what moves ---- */

static void put(struct watch *watch, float x, float y, enum mark mark, char text, uint8_t colour)
{
    float right = (x - watch->map.low.x) / (watch->map.high.x - watch->map.low.x);
    float down = (watch->map.high.y - y) / (watch->map.high.y - watch->map.low.y);
    if (!(right >= 0.0F && right < 1.0F && down >= 0.0F && down < 1.0F)) {
        return;
    }
    struct cell *cell = &watch->cells[(uint32_t)(down * (float)watch->rows)]
                                     [(uint32_t)(right * (float)watch->columns)];
    if (mark >= cell->mark) {
        *cell = (struct cell){(uint8_t)mark, text, colour};
    }
}

static uint8_t colour_of(uint16_t slot)
{
    static const uint8_t colours[] = {196, 46, 226, 51, 201, 208, 33, 118, 141, 215};
    return colours[slot % (sizeof colours / sizeof colours[0])];
}

static char letter_of(uint16_t slot)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return letters[slot % (sizeof letters - 1)];
}

static void draw_view(struct watch *watch, const struct arbiter_view *view)
{
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        bool is_player = entity->owner != ARBITER_NO_SLOT;
        uint8_t colour = is_player ? colour_of(entity->owner) : 250;
        for (uint32_t p = 1; p < entity->point_count; p++) {
            put(watch, entity->points[p].x, entity->points[p].y, MARK_BODY, 'o', colour);
        }
        put(watch, entity->x, entity->y, is_player ? MARK_PLAYER : MARK_THING,
            is_player ? letter_of(entity->owner) : '.', colour);
    }
}

/* ---- the screen ---- */

static const char *phase_text(const struct arbiter_view *view)
{
    switch (view->phase) {
    case ARBITER_MATCH_WAITING:
        return "waiting";
    case ARBITER_MATCH_COUNTDOWN:
        return "countdown";
    case ARBITER_MATCH_LIVE:
        return "live";
    case ARBITER_MATCH_RESULT:
        return "result";
    case ARBITER_MATCH_ENDED:
        return "ended";
    }
    return "";
}

static const struct arbiter_player *ranked(const struct arbiter_view *view, uint32_t place)
{
    for (uint32_t i = 0; i < view->player_count; i++) {
        const struct arbiter_player *player = &view->players[i];
        uint32_t better = 0;
        for (uint32_t j = 0; j < view->player_count; j++) {
            const struct arbiter_player *other = &view->players[j];
            better += other->score > player->score || (other->score == player->score && j < i);
        }
        if (better == place) {
            return player;
        }
    }
    return NULL;
}

static void print_row(const struct watch *watch, const struct arbiter_view *view, uint32_t row)
{
    int colour = -1;
    for (uint32_t column = 0; column < watch->columns; column++) {
        const struct cell *cell = &watch->cells[row][column];
        if (cell->mark != MARK_NONE && cell->colour != colour) {
            colour = cell->colour;
            fprintf(stderr, "\x1b[38;5;%dm", colour);
        }
        fputc(cell->mark == MARK_NONE ? ' ' : cell->text, stderr);
    }
    const struct arbiter_player *player = row > 0 ? ranked(view, row - 1) : NULL;
    if (row == 0) {
        fprintf(stderr, "\x1b[0m  %-17s%4s %3s %3s", "player", "score", "k", "d");
    } else if (player != NULL) {
        fprintf(stderr, "\x1b[38;5;%dm  %c %-15.15s\x1b[0m%5d %3u %3u", colour_of(player->slot),
                letter_of(player->slot), player->name, (int)player->score, player->kills,
                player->deaths);
    }
    fputs("\x1b[K\n", stderr);
}

static void print_screen(struct watch *watch, const struct arbiter_client *client,
                         const struct arbiter_view *const *views, uint32_t count)
{
    const struct arbiter_view *first = views[0];
    if (!watch->has_walls) {
        draw_walls(watch, client);
    }
    memcpy(watch->cells, watch->walls, sizeof watch->cells);
    for (uint32_t i = 0; i < count; i++) {
        draw_view(watch, views[i]);
    }
    fputs(watch->began ? "\x1b[H" : "\x1b[2J\x1b[H\x1b[?25l", stderr);
    watch->began = true;
    fprintf(stderr, "\x1b[0m%s  round %u  %s  %.0f s left\x1b[K\n", arbiter_client_mode(client),
            (unsigned)first->round, phase_text(first), first->phase_left_s);
    for (uint32_t row = 0; row < watch->rows; row++) {
        print_row(watch, first, row);
    }
    fputs("\x1b[0m\x1b[J", stderr);
    fflush(stderr);
}

static void print_line(const struct watch *watch, const struct arbiter_view *view)
{
    const struct arbiter_player *first = ranked(view, 0);
    uint32_t present = 0;
    for (uint32_t i = 0; i < view->player_count; i++) {
        present += view->players[i].present;
    }
    fprintf(stderr, "%-9s %3.0f s left, %u players, %llu hits, %llu deaths, leader %s with %d\n",
            phase_text(view), view->phase_left_s, (unsigned)present,
            (unsigned long long)watch->hits, (unsigned long long)watch->deaths,
            first == NULL ? "nobody" : first->name, first == NULL ? 0 : (int)first->score);
}

static void count_events(struct watch *watch, const struct arbiter_view *const *views,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t e = 0; e < views[i]->event_count; e++) {
            const struct arbiter_event *event = &views[i]->events[e];
            watch->hits += event->kind == ARBITER_EVENT_HIT && event->a == views[i]->own_slot;
            watch->deaths += event->kind == ARBITER_EVENT_DEATH && event->a == views[i]->own_slot;
        }
    }
}

void watch_frame(struct watch *watch, const struct arbiter_client *client,
                 const struct arbiter_view *const *views, uint32_t count, uint64_t now_ns)
{
    count_events(watch, views, count);
    if (now_ns < watch->next_ns || !arbiter_client_map(client, &watch->map)) {
        return;
    }
    watch->next_ns = now_ns + (watch->terminal ? SCREEN_NS : LINE_NS);
    if (watch->terminal) {
        print_screen(watch, client, views, count);
    } else {
        print_line(watch, views[0]);
    }
}
