/* arbiter-play: options, connection and frame, which is what a game copies from here. */
#define _GNU_SOURCE
#include "tools/play/play.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_ARGUMENTS = 64, EXIT_CANNOT_CONNECT = 69, EXIT_WINDOW = 70, EXIT_FILES = 74 };

static const char usage[] =
    "usage: arbiter-play --connect HOST:PORT [--name NAME] [--spectate] [--record FILE]\n"
    "                    [--font FILE]\n"
    "  --spectate  watches: no character\n"
    "  --record    writes the own inputs, which arbiter-bots --policy replay:FILE plays again\n"
    "  --font      a font of equally wide letters; else DejaVu Sans Mono where Debian has it\n"
    "exit status: 0 clean, 64 wrong arguments, 69 cannot connect, 70 no window, 74 a file\n";

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

/* As the player whose token is there, else as a new one. */
static bool connect_to(struct play *play)
{
    char address[ARBITER_ADDRESS_BYTES];
    if (!arbiter_resolve(play->host, address)) {
        return false;
    }
    play->view = (struct arbiter_view){0}; /* it points into the connection that ends */
    play->reason[0] = '\0';
    return play->has_token
               ? arbiter_client_resume(play->client, address, play->port, play->token,
                                       arbiter_now_ns())
               : arbiter_client_connect(play->client, address, play->port, arbiter_now_ns());
}

/* The place of a player whose line was lost is kept for a while: it is asked for until the server
 * says that it is gone, and then a new one is. */
static void watch_connection(struct play *play)
{
    struct arbiter_disconnect_info info;
    play->joined |= play->view.connection == ARBITER_CONNECTED;
    play->has_token |= arbiter_client_token(play->client, play->token);
    if (play->view.connection != ARBITER_OFFLINE || play->reason[0] != '\0') {
        return;
    }
    arbiter_client_disconnect_info(play->client, &info);
    bool no_place = info.reason == ARBITER_REASON_TOKEN;
    bool lost = info.reason == ARBITER_REASON_LOST || info.reason == ARBITER_REASON_NO_ANSWER;
    bool goes_on = no_place || (lost && play->joined && !play->view.has_result);
    play->has_token &= !no_place;
    if (!goes_on || !connect_to(play)) {
        SDL_strlcpy(play->reason, info.text, sizeof play->reason);
    }
}

/* ---- the frame ---- */

static void tell_input(struct play *play)
{
    struct arbiter_point target =
        play_to_world(play, play->controls.pointer_x, play->controls.pointer_y);
    struct arbiter_input input =
        play_controls_input(&play->controls, &play->view.own, target, play_steers(play));
    play->pressed |= (uint16_t)(input.buttons & ~play->held);
    play->held = input.buttons;
    arbiter_client_input(play->client, &input);
}

static void on_key(struct play *play, SDL_Scancode key)
{
    play->leaving |= key == SDL_SCANCODE_ESCAPE;
    play->graph ^= key == SDL_SCANCODE_TAB;
    play->shadows ^= key == SDL_SCANCODE_C;
    if (key == SDL_SCANCODE_RETURN && play->reason[0] != '\0') {
        play->has_token = false;
        connect_to(play);
    }
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
    handle_events(play);
    arbiter_client_poll(play->client, now);
    arbiter_client_sample(play->client, now, &play->view);
    arbiter_client_statistics(play->client, &play->statistics);
    play_draw(play);
    watch_connection(play);
}

/* ---- from start to end ---- */

/* HOST:PORT; an IPv6 address stands in brackets. */
static bool parse_target(char *text, struct play *play)
{
    char *colon = strrchr(text, ':');
    long port = colon == NULL || colon == text ? 0 : strtol(colon + 1, NULL, 10);
    if (port < 1 || port > 65535) {
        return false;
    }
    bool bracketed = text[0] == '[' && colon[-1] == ']';
    colon[bracketed ? -1 : 0] = '\0';
    play->host = text + bracketed;
    play->port = (uint16_t)port;
    return true;
}

static void parse(int argc, char **argv, struct play *play, struct arbiter_config *config)
{
    static const struct option known[] = {
        {"connect", required_argument, NULL, 'c'},
        {"font", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {"name", required_argument, NULL, 'n'},
        {"record", required_argument, NULL, 'r'},
        {"spectate", no_argument, NULL, 's'},
        {0},
    };
    bool good = true;
    for (int found; good && (found = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (found == 'h') {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        good = found == 'c' ? parse_target(optarg, play) : found != '?';
        if (found == 'f') play->font = optarg;
        if (found == 'n') SDL_utf8strlcpy(config->name, optarg, sizeof config->name);
        if (found == 'r') play->recording = optarg;
        if (found == 's') config->spectate = true;
    }
    if (!good || optind < argc || play->host == NULL) {
        fputs("arbiter-play: wants --connect HOST:PORT; --help tells the rest\n", stderr);
        exit(EXIT_ARGUMENTS);
    }
}

static bool open_window(struct play *play)
{
    SDL_Window *window;
    SDL_SetHint(SDL_HINT_TOUCH_MOUSE_EVENTS, "0"); /* fingers are handled as fingers */
    play->scale = 1;
    return SDL_Init(SDL_INIT_VIDEO | SDL_INIT_GAMECONTROLLER) == 0 && TTF_Init() == 0 &&
           (play->fonts[0] = TTF_OpenFont(play->font, 15)) != NULL &&
           (play->fonts[1] = TTF_OpenFont(play->font, 30)) != NULL &&
           SDL_CreateWindowAndRenderer(1280, 800, SDL_WINDOW_RESIZABLE, &window, &play->renderer) ==
               0 &&
           SDL_RenderSetVSync(play->renderer, 1) == 0 &&
           SDL_SetRenderDrawBlendMode(play->renderer, SDL_BLENDMODE_BLEND) == 0;
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

static int run(struct play *play, const struct arbiter_config *config)
{
    play->client = arbiter_client_create(config);
    if (play->client == NULL || !connect_to(play)) {
        fprintf(stderr, "arbiter-play: %s %s\n",
                play->client == NULL ? "cannot be called" : "cannot connect to",
                play->client == NULL ? config->name : play->host);
        return EXIT_CANNOT_CONNECT;
    }
    while (!play->leaving) {
        frame(play);
    }
    leave(play);
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
    SDL_strlcpy(config.name, "player", sizeof config.name);
    config.seed = arbiter_now_ns();
    config.on_tick = on_tick;
    config.on_tick_user = &play;
    parse(argc, argv, &play, &config);
    FILE *file = play.recording == NULL ? NULL : fopen(play.recording, "wb");
    play.record.file = file;
    if (play.recording != NULL && file == NULL) {
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
    bool failed = file != NULL && ferror(file) != 0;
    failed |= file != NULL && fclose(file) != 0;
    return failed ? EXIT_FILES : status;
}
