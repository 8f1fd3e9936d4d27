/* arbiter-play: options, window, and the frame, which is what a game copies from here. */
#define _GNU_SOURCE
#include "tools/play/play.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_ARGUMENTS = 64, EXIT_CANNOT_CONNECT = 69, EXIT_WINDOW = 70, EXIT_FILES = 74 };

#define CAMERA_SPEED 24.0F /* m/s, of a spectator's */
#define MARGIN 3.0F        /* m that the camera shows around the map */
#define WAIT_S 8           /* how long a picture waits for a character to be in it */

static const char usage[] =
    "usage: arbiter-play --connect HOST:PORT [--name NAME] [--spectate] [--record FILE]\n"
    "                    [--seconds N] [--screenshot FILE]\n"
    "  --spectate    watches: no character\n"
    "  --record      writes the own inputs, which arbiter-bots --policy replay:FILE plays again\n"
    "  --seconds     leaves after so long in the match; --screenshot writes a picture (BMP) then\n"
    "exit status: 0 clean, 64 wrong arguments, 69 cannot connect, 70 no window, 74 a file\n";

/* ---- options ---- */

/* HOST:PORT; an IPv6 address stands in brackets. */
static bool parse_target(char *text, struct play_options *options)
{
    char *colon = strrchr(text, ':');
    long port = colon == NULL || colon == text ? 0 : strtol(colon + 1, NULL, 10);
    if (port < 1 || port > 65535) {
        return false;
    }
    bool bracketed = text[0] == '[' && colon[-1] == ']';
    colon[bracketed ? -1 : 0] = '\0';
    options->host = text + bracketed;
    options->port = (uint16_t)port;
    return true;
}

static bool parse(int argc, char **argv, struct play_options *options)
{
    static const struct option known[] = {
        {"connect", required_argument, NULL, 'c'},
        {"name", required_argument, NULL, 'n'},
        {"record", required_argument, NULL, 'r'},
        {"screenshot", required_argument, NULL, 'p'},
        {"seconds", required_argument, NULL, 's'},
        {"spectate", no_argument, NULL, 'w'},
        {0},
    };
    bool good = true;
    for (int found; good && (found = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (found == 'c') good = parse_target(optarg, options);
        if (found == 'n') options->name = optarg;
        if (found == 'r') options->record_path = optarg;
        if (found == 'p') options->screenshot_path = optarg;
        if (found == 's') options->seconds = strtod(optarg, NULL);
        if (found == 'w') options->spectate = true;
        good = good && found != '?';
    }
    return good && optind == argc && options->host != NULL &&
           (options->screenshot_path == NULL || options->seconds > 0);
}

/* ---- the connection ---- */

/* Each input that is made, a tick at a time. A press that is over already is in `pressed`: held for
 * this tick, so that the recording has it as well. */
static void on_tick(void *user, uint64_t tick, struct arbiter_input *input)
{
    struct play *play = user;
    input->buttons |= play->pressed;
    play->pressed = 0;
    play_record_tick(&play->record, &play->view, tick, input);
}

/* A new player, or with `again` the one that this client was before its connection was lost. */
static bool connect_to(struct play *play, bool again)
{
    char address[ARBITER_ADDRESS_BYTES];
    uint8_t token[ARBITER_TOKEN_BYTES];
    uint16_t port = play->options.port;
    if (!arbiter_resolve(play->options.host, address)) {
        return false;
    }
    play->tables = (struct play_tables){0};
    play->view = (struct arbiter_view){0}; /* it points into the connection that ends */
    play->reason[0] = '\0';
    return again && arbiter_client_token(play->client, token)
               ? arbiter_client_resume(play->client, address, port, token, arbiter_now_ns())
               : arbiter_client_connect(play->client, address, port, arbiter_now_ns());
}

static bool open_client(struct play *play)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    SDL_utf8strlcpy(config.name, play->options.name, sizeof config.name);
    config.spectate = play->options.spectate;
    config.seed = arbiter_now_ns();
    config.on_tick = on_tick;
    config.on_tick_user = play;
    play->client = arbiter_client_create(&config);
    return play->client != NULL && connect_to(play, false);
}

/* Kinds and fields go by name, so that a mode may have more of them than this game knows. */
static void learn(struct play *play)
{
    struct play_tables *tables = &play->tables;
    const struct arbiter_client *client = play->client;
    if (tables->known || !arbiter_client_map(client, &tables->map)) {
        return;
    }
    tables->known = arbiter_client_rules(client, &tables->rules);
    tables->serpent = strcmp(arbiter_client_mode(client), "serpent") == 0;
    tables->character = arbiter_client_kind(client, "character");
    tables->head = arbiter_client_kind(client, "head");
    tables->pickup = arbiter_client_kind(client, "pickup");
    tables->projectile = arbiter_client_kind(client, "projectile");
    tables->food = arbiter_client_kind(client, "food");
    tables->health = arbiter_client_field(client, tables->character, "health");
    tables->team = arbiter_client_field(client, tables->character, "team");
    tables->type = arbiter_client_field(client, tables->pickup, "type");
}

/* ---- the frame ---- */

static struct arbiter_input tell_input(struct play *play)
{
    const struct arbiter_own *own = &play->view.own;
    const struct play_controls *controls = &play->controls;
    struct play_stance stance = {
        play->tables.serpent, own->x, own->y, own->heading,
        play_paint_to_world(&play->paint, controls->pointer_x, controls->pointer_y)};
    struct arbiter_input input = play_controls_input(&play->controls, &stance);
    play->pressed |= (uint16_t)(input.buttons & ~play->held);
    play->held = input.buttons;
    arbiter_client_input(play->client, &input);
    return input;
}

static void follow_next(struct play *play)
{
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < play->view.player_count; i++) {
            const struct arbiter_player *player = &play->view.players[i];
            if (player->present && (round > 0 || player->slot > play->followed)) {
                play->followed = player->slot;
                arbiter_client_spectate_follow(play->client, player->slot);
                return;
            }
        }
    }
}

static void move_camera(struct play *play, const struct arbiter_input *input)
{
    float step = CAMERA_SPEED / 127 * SDL_min((float)(play->now_s - play->last_s), 0.1F);
    if (play->options.spectate && (input->move_x != 0 || input->move_y != 0)) {
        play->paint.x += step * input->move_x;
        play->paint.y += step * input->move_y;
        arbiter_client_spectate_camera(play->client, play->paint.x, play->paint.y);
    }
}

static void on_key(struct play *play, SDL_Scancode key)
{
    if (key == SDL_SCANCODE_ESCAPE) {
        play->leaving = true;
    } else if (key == SDL_SCANCODE_TAB) {
        play->graph = !play->graph;
    } else if (key == SDL_SCANCODE_C) {
        play->shadows = !play->shadows;
    } else if (key == SDL_SCANCODE_F11) {
        bool full = (SDL_GetWindowFlags(play->window) & SDL_WINDOW_FULLSCREEN_DESKTOP) != 0;
        SDL_SetWindowFullscreen(play->window, full ? 0 : SDL_WINDOW_FULLSCREEN_DESKTOP);
    } else if (key == SDL_SCANCODE_RETURN && play->reason[0] != '\0') {
        connect_to(play, false);
    }
}

static void handle_events(struct play *play)
{
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
        play->leaving |= event.type == SDL_QUIT;
        if (event.type == SDL_KEYDOWN && event.key.repeat == 0) {
            on_key(play, event.key.keysym.scancode);
        } else if (event.type == SDL_MOUSEBUTTONDOWN && play->options.spectate) {
            follow_next(play);
        }
        play_controls_event(&play->controls, &event, play->paint.width, play->paint.height);
        /* After each event, not once a frame: a press that is over before the frame is one too. */
        tell_input(play);
    }
    struct arbiter_input input = tell_input(play);
    move_camera(play, &input);
}

/* The place of a player whose line was lost is kept for a while, so it is asked for at once. */
static void note_end(struct play *play)
{
    struct arbiter_disconnect_info info;
    if (play->view.connection != ARBITER_OFFLINE || play->reason[0] != '\0') {
        return;
    }
    arbiter_client_disconnect_info(play->client, &info);
    SDL_strlcpy(play->reason, info.text, sizeof play->reason);
    if (info.reason == ARBITER_REASON_LOST && !play->view.has_result) {
        connect_to(play, true);
    }
}

/* As far as the window shows little beyond the map; a smaller map is in the middle. */
static float clamped(float at, float low, float high, float shown)
{
    float edge = shown / 2 - MARGIN;
    return high - low < 2 * edge ? (low + high) / 2 : SDL_clamp(at, low + edge, high - edge);
}

static void aim_camera(struct play *play)
{
    const struct arbiter_view *view = &play->view;
    const struct arbiter_map *map = &play->tables.map;
    struct play_paint *paint = &play->paint;
    uint32_t key = view->own.exists ? view->own.key : view->followed_key;
    SDL_GetRendererOutputSize(paint->renderer, &paint->width, &paint->height);
    paint->scale = (float)paint->height / (play->tables.serpent ? 34.0F : 26.0F);
    for (uint32_t i = 0; i < view->entity_count && key != 0; i++) {
        if (view->entities[i].key == key) {
            paint->x = view->entities[i].x;
            paint->y = view->entities[i].y;
        }
    }
    paint->x = clamped(paint->x, map->low.x, map->high.x, (float)paint->width / paint->scale);
    paint->y = clamped(paint->y, map->low.y, map->high.y, (float)paint->height / paint->scale);
}

static void draw(struct play *play)
{
    SDL_SetRenderDrawColor(play->paint.renderer, 14, 16, 20, 255);
    SDL_RenderClear(play->paint.renderer);
    if (play->tables.known) {
        play_scene_draw(play);
    }
    play_hud_draw(play);
}

static void frame(struct play *play)
{
    uint64_t now = arbiter_now_ns();
    play->last_s = play->now_s;
    play->now_s = (double)now / 1e9;
    handle_events(play);
    arbiter_client_poll(play->client, now);
    arbiter_client_sample(play->client, now, &play->view);
    arbiter_client_statistics(play->client, &play->statistics);
    play->stutter_count = arbiter_client_stutters(play->client, play->stutters, PLAY_STUTTERS);
    learn(play);
    const struct arbiter_own *own = &play->view.own;
    play->moved |= own->vx * own->vx + own->vy * own->vy > 1;
    aim_camera(play);
    play_effects_frame(play);
    play_hud_note(play);
    draw(play);
    note_end(play);
}

/* ---- from start to end ---- */

static bool open_window(struct play *play)
{
    SDL_SetHint(SDL_HINT_TOUCH_MOUSE_EVENTS, "0"); /* fingers are handled as fingers */
    if (SDL_Init(SDL_INIT_VIDEO | SDL_INIT_GAMECONTROLLER) != 0) {
        return false;
    }
    play->paint.width = 1280;
    play->paint.height = 800;
    play->paint.scale = 1;
    play->window = SDL_CreateWindow("Arbiter", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, 1280,
                                    800, SDL_WINDOW_RESIZABLE);
    play->paint.renderer = play->window == NULL
                               ? NULL
                               : SDL_CreateRenderer(play->window, -1, SDL_RENDERER_PRESENTVSYNC);
    return play->paint.renderer != NULL && play_paint_open(&play->paint);
}

static bool write_picture(const struct play *play)
{
    const struct play_paint *paint = &play->paint;
    SDL_Surface *picture =
        SDL_CreateRGBSurfaceWithFormat(0, paint->width, paint->height, 24, SDL_PIXELFORMAT_BGR24);
    bool done = picture != NULL &&
                SDL_RenderReadPixels(paint->renderer, NULL, SDL_PIXELFORMAT_BGR24, picture->pixels,
                                     picture->pitch) == 0 &&
                SDL_SaveBMP(picture, play->options.screenshot_path) == 0;
    SDL_FreeSurface(picture);
    const struct arbiter_own *own = &play->view.own;
    const struct arbiter_statistics *s = &play->statistics;
    printf("{\"camera\":[%.3f,%.3f],\"scale\":%.3f,\"own\":[%.3f,%.3f],\"slot\":%u,\"exists\":%d,"
           "\"moved\":%d,\"entities\":%u,\"players\":%u,\"snapshots\":%llu,\"inputs\":%llu,"
           "\"fired\":%llu,\"corrections\":%u}\n",
           (double)paint->x, (double)paint->y, (double)paint->scale, (double)own->x, (double)own->y,
           (unsigned)play->view.own_slot, own->exists, play->moved,
           (unsigned)play->view.entity_count, (unsigned)play->view.player_count,
           (unsigned long long)s->snapshots, (unsigned long long)s->inputs_sent,
           (unsigned long long)s->edges_sent[0], (unsigned)s->corrections.count);
    return done;
}

static int run(struct play *play)
{
    double begin_s = (double)arbiter_now_ns() / 1e9;
    bool joined = false;
    bool pictured = play->options.screenshot_path == NULL;
    int status = EXIT_SUCCESS;
    while (!play->leaving) {
        frame(play);
        if (!joined && play->tables.known) {
            joined = true;
            begin_s = play->now_s;
            fprintf(stderr, "arbiter-play: joined\n");
        }
        double played_s = play->now_s - begin_s;
        bool due = play->options.seconds > 0 && played_s > play->options.seconds;
        bool posed = play->view.own.exists || play->options.spectate ||
                     played_s > play->options.seconds + WAIT_S;
        if (due && posed && !pictured) {
            pictured = true;
            status = write_picture(play) ? EXIT_SUCCESS : EXIT_FILES;
        }
        play->leaving |= due && pictured;
        SDL_RenderPresent(play->paint.renderer);
    }
    return joined ? status : EXIT_CANNOT_CONNECT;
}

/* The server hears of it before we are gone. */
static void leave(struct play *play)
{
    uint64_t asked = arbiter_now_ns();
    arbiter_client_disconnect(play->client, asked);
    while (play->view.connection != ARBITER_OFFLINE && arbiter_now_ns() - asked < 1000000000U) {
        arbiter_client_poll(play->client, arbiter_now_ns());
        arbiter_client_sample(play->client, arbiter_now_ns(), &play->view);
        SDL_Delay(5);
    }
}

int main(int argc, char **argv)
{
    static struct play play = {.options.name = "player"};
    int status = EXIT_WINDOW;
    if (!parse(argc, argv, &play.options)) {
        fputs(usage, stderr);
        return EXIT_ARGUMENTS;
    }
    if (!play_record_open(&play.record, play.options.record_path)) {
        fprintf(stderr, "arbiter-play: %s cannot be written\n", play.options.record_path);
        return EXIT_FILES;
    }
    if (!open_window(&play)) {
        fprintf(stderr, "arbiter-play: no window: %s\n", SDL_GetError());
    } else if (!open_client(&play)) {
        fprintf(stderr, "arbiter-play: cannot connect to %s\n", play.options.host);
        status = EXIT_CANNOT_CONNECT;
    } else {
        status = run(&play);
        if (play.reason[0] != '\0') fprintf(stderr, "arbiter-play: %s\n", play.reason);
        leave(&play);
    }
    arbiter_client_destroy(play.client);
    SDL_Quit();
    return play_record_close(&play.record) ? status : EXIT_FILES;
}
