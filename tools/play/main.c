/* arbiter-play: options, connection and frame, which is what a game copies from here. */
#include "tools/play/play.h"

#include <stdlib.h>

enum { EXIT_ARGUMENTS = 64, EXIT_CANNOT_CONNECT = 69, EXIT_WINDOW = 70, EXIT_FILES = 74 };

static const char usage[] =
    "usage: arbiter-play --connect HOST:PORT [--name NAME] [--spectate] [--record FILE]\n"
    "                    [--font FILE]\n"
    "  --spectate  watches: no character\n"
    "  --record    writes the own inputs, which arbiter-bots --policy replay:FILE plays again\n"
    "  --font      a font of equally wide letters; else DejaVu Sans Mono where Debian has it\n"
    "exit status: 0 clean, 64 wrong arguments, 69 cannot connect, 70 no window, 74 a file\n";

static bool come_back(struct play *play)
{
    play->view = (struct arbiter_view){0}; /* it points into the connection that ended */
    play->reason[0] = '\0';
    return arbiter_client_rejoin(play->client, arbiter_now_ns());
}

/* A player whose line was lost comes back to its place as long as the server keeps it; when that
 * says that it is gone, as a new one. */
static void watch_connection(struct play *play)
{
    struct arbiter_disconnect_info info;
    play->joined |= play->view.connection == ARBITER_CONNECTED;
    if (play->view.connection != ARBITER_OFFLINE || play->reason[0] != '\0' || play->leaving) {
        return;
    }
    arbiter_client_disconnect_info(play->client, &info);
    bool lost = info.reason == ARBITER_REASON_LOST || info.reason == ARBITER_REASON_NO_ANSWER ||
                info.reason == ARBITER_REASON_TOKEN;
    if (!lost || !play->joined || play->view.has_result || !come_back(play)) {
        SDL_strlcpy(play->reason, info.text, sizeof play->reason);
    }
}

/* ---- the frame ---- */

static void tell_input(struct play *play)
{
    struct arbiter_point target =
        play_to_world(play, play->controls.pointer_x, play->controls.pointer_y);
    struct arbiter_input input =
        play_controls_input(&play->controls, &play->view.own, target, play->steers);
    arbiter_client_input(play->client, &input);
}

static void on_key(struct play *play, SDL_Scancode key)
{
    play->leaving |= key == SDL_SCANCODE_ESCAPE;
    play->graph ^= key == SDL_SCANCODE_TAB;
    play->shadows ^= key == SDL_SCANCODE_C;
    if (key == SDL_SCANCODE_RETURN && play->reason[0] != '\0') come_back(play);
}

static void handle_events(struct play *play)
{
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
        play->leaving |= event.type == SDL_QUIT;
        if (event.type == SDL_KEYDOWN && event.key.repeat == 0) {
            on_key(play, event.key.keysym.scancode);
        } else if (event.type == SDL_MOUSEBUTTONDOWN && play->view.player_count > 0) {
            uint32_t next = play->followed++ % play->view.player_count; /* of a spectator */
            arbiter_client_spectate_follow(play->client, play->view.players[next].slot);
        }
        play_controls_event(&play->controls, &event, play->width, play->height);
        /* After each event, not once a frame: a press that is over before the frame is one too. */
        tell_input(play);
    }
    tell_input(play);
}

static void frame(struct play *play)
{
    uint64_t now = arbiter_now_ns();
    play->last_s = play->now_s;
    play->now_s = (double)now / 1e9;
    play->steers = SDL_strcmp(arbiter_client_mode(play->client), "serpent") == 0;
    handle_events(play);
    arbiter_client_poll(play->client, now);
    arbiter_client_sample(play->client, now, &play->view);
    arbiter_client_statistics(play->client, &play->statistics);
    play_draw(play);
    watch_connection(play);
}

/* ---- from start to end ---- */

static bool parse(int argc, char **argv, struct play *play, struct arbiter_config *config)
{
    const char *target = NULL, *name = config->name;
    const struct {
        const char *option, **value;
    } known[] = {{"--connect", &target},
                 {"--name", &name},
                 {"--record", &play->recording},
                 {"--font", &play->font}};
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < SDL_arraysize(known) && SDL_strcmp(argv[i], known[k].option) != 0) {
            k++;
        }
        if (SDL_strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        } else if (SDL_strcmp(argv[i], "--spectate") == 0) {
            config->spectate = true;
        } else if (k < SDL_arraysize(known) && i + 1 < argc) {
            *known[k].value = argv[++i];
        } else {
            fprintf(stderr, "arbiter-play: %s is unknown or wants a value; see --help\n", argv[i]);
            return false;
        }
    }
    SDL_utf8strlcpy(config->name, name, sizeof config->name);
    bool good = target != NULL && arbiter_parse_target(target, play->host, &play->port);
    if (!good) fputs("arbiter-play: wants --connect HOST:PORT; see --help\n", stderr);
    return good;
}

/* SDL falls back to drivers that show nothing: that is for who asks for one (SDL_VIDEODRIVER). */
static bool is_seen(void)
{
    const char *driver = SDL_GetCurrentVideoDriver();
    bool blind = SDL_strcmp(driver, "offscreen") == 0 || SDL_strcmp(driver, "dummy") == 0;
    if (!blind || SDL_getenv("SDL_VIDEODRIVER") != NULL) return true;
    SDL_SetError("there is no display");
    return false;
}

static bool open_window(struct play *play)
{
    SDL_Window *window;
    SDL_SetHint(SDL_HINT_TOUCH_MOUSE_EVENTS, "0"); /* fingers are handled as fingers */
    play->scale = 1;
    return SDL_Init(SDL_INIT_VIDEO | SDL_INIT_GAMECONTROLLER) == 0 && is_seen() &&
           TTF_Init() == 0 && (play->fonts[0] = TTF_OpenFont(play->font, 15)) != NULL &&
           (play->fonts[1] = TTF_OpenFont(play->font, 30)) != NULL &&
           SDL_CreateWindowAndRenderer(1280, 800, SDL_WINDOW_RESIZABLE, &window, &play->renderer) ==
               0 &&
           SDL_RenderSetVSync(play->renderer, 1) == 0 &&
           SDL_SetRenderDrawBlendMode(play->renderer, SDL_BLENDMODE_BLEND) == 0;
}

static int run(struct play *play, const struct arbiter_config *config)
{
    char address[ARBITER_ADDRESS_BYTES];
    play->client = arbiter_client_create(config);
    if (play->client == NULL || !arbiter_resolve(play->host, address) ||
        !arbiter_client_connect(play->client, address, play->port, arbiter_now_ns())) {
        fprintf(stderr, "arbiter-play: cannot be called %s, or not connect to %s\n", config->name,
                play->host);
        return EXIT_CANNOT_CONNECT;
    }
    do { /* the server hears of it before we are gone, which takes a second at most */
        frame(play);
        if (play->leaving) arbiter_client_disconnect(play->client, arbiter_now_ns());
    } while (!play->leaving || play->view.connection != ARBITER_OFFLINE);
    const struct arbiter_statistics *s = &play->statistics;
    printf("snapshots %llu, lost %llu, inputs %llu, shots %llu, corrections %u\n",
           (unsigned long long)s->snapshots, (unsigned long long)s->snapshots_lost,
           (unsigned long long)s->inputs_sent, (unsigned long long)s->edges_sent[0],
           (unsigned)s->corrections.count);
    if (play->reason[0] != '\0') fprintf(stderr, "arbiter-play: %s\n", play->reason);
    return play->joined ? EXIT_SUCCESS : EXIT_CANNOT_CONNECT;
}

int main(int argc, char **argv)
{
    static struct play play = {.font = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"};
    struct arbiter_config config;
    int status = EXIT_WINDOW;
    arbiter_config_default(&config);
    config.seed = arbiter_now_ns();
    config.on_tick = play_record_tick;
    config.on_tick_user = &play.record;
    play.record.view = &play.view;
    if (!parse(argc, argv, &play, &config)) return EXIT_ARGUMENTS;
    if (play.recording != NULL && (play.record.file = fopen(play.recording, "wb")) == NULL) {
        fprintf(stderr, "arbiter-play: %s cannot be written\n", play.recording);
        return EXIT_FILES;
    }
    if (open_window(&play)) {
        status = run(&play, &config);
    } else {
        fprintf(stderr, "arbiter-play: no window: %s\n", SDL_GetError());
    }
    arbiter_client_destroy(play.client);
    SDL_Quit();
    FILE *file = play.record.file;
    bool failed = file != NULL && ferror(file) != 0;
    failed |= file != NULL && fclose(file) != 0;
    return failed ? EXIT_FILES : status;
}
