/* arbiter-bots: many real clients in one process. Each runs its frames 60 times a second, spread
 * over the frame, and reads its network only then, as a game would. */
#define _GNU_SOURCE
#include "shared/base/arb_mem.h"
#include "shared/client/arb_client_light.h"
#include "tools/bots/clock.h"
#include "tools/bots/report.h"
#include "tools/bots/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
    EXIT_LOST = 1,
    EXIT_ARGUMENTS = 64,
    EXIT_DATA = 65,
    EXIT_CANNOT_CONNECT = 69,
    EXIT_FILES = 74,
    COUNT_MAX = 1024,
    POLICIES_MAX = 64,
    FRAMES_PER_S = 60,
    WAKES_PER_FRAME = 32,
    LIGHT_EVENTS = 1024, /* so that nothing piles up while a thousand join */
    /* In view at most: a thousand clients share one machine's memory, half as many may see more. */
    LIGHT_ENTITIES = 128,
    LIGHT_ENTITIES_FEW = 256,
    LIGHT_FEW = 512,
};

#define NS_PER_S 1000000000ULL
/* After the last press the server's counts are awaited, which it sends once a second. */
#define REST_NS (1600 * NS_PER_S / 1000)
#define FAREWELL_NS (300 * NS_PER_S / 1000)

static const char usage[] =
    "usage: arbiter-bots --connect HOST:PORT [--count N] [--policy P]... [--seed S]\n"
    "                    [--duration SECONDS] [--report json] [--watch] [--light]\n"
    "                    [--spectators N] [--rejoin SECONDS] [--persist SECONDS]\n"
    "  --policy    wander, aim (default), idle or replay:FILE; repeated: client i takes the\n"
    "              (i mod n)-th\n"
    "  --duration  10 seconds unless given; a match that ends sooner ends the run\n"
    "  --spectators  so many more who watch: they follow player after player, or move a camera;\n"
    "              then --count may be 0\n"
    "  --rejoin    so often one player, in turn, ends without a word and comes back as the same\n"
    "  --persist   who hears nothing of the server any more comes back as the same, and tries it "
    "for\n"
    "              so long\n"
    "  --report    prints figures of all clients as one JSON object on stdout\n"
    "  --watch     shows the match on stderr: a picture in a terminal, else a line each second\n"
    "  --light     clients that neither predict nor draw, so that one core plays a thousand; they\n"
    "              go at random, or stand with --policy idle\n"
    "exit status: 0 clean, 1 a connection was lost, 64 wrong arguments,\n"
    "             65 a recording is malformed, 69 cannot connect, 74 a recording cannot be read\n";

struct options {
    char host[ARBITER_HOST_BYTES];
    uint16_t port;
    uint32_t count; /* players and spectators */
    uint32_t players, spectators;
    uint32_t policy_count;
    const char *policies[POLICIES_MAX];
    uint64_t seed;
    double duration_s;
    double rejoin_s;  /* 0: never */
    double persist_s; /* 0: who loses the server has lost it */
    bool report, watch, light;
};

/* Of a player without a server, with --persist. */
struct loss {
    uint8_t token[ARBITER_TOKEN_BYTES]; /* of its newest welcome */
    bool has_token;
    uint64_t since_ns; /* 0: it hears the server */
    uint64_t next_ns;  /* when it tries again */
};

struct run {
    struct options options;
    char address[ARBITER_ADDRESS_BYTES];
    struct bot_policy *policies[POLICIES_MAX];
    struct bot **bots;
    struct arbiter_client **clients;
    const struct arbiter_view **views;
    uint32_t created;
    uint64_t rejoin_ns; /* when the next one does; 0: the time has not begun */
    uint32_t rejoin_next;
    struct loss *losses; /* [count] */
    char mode[ARBITER_NAME_BYTES];
    struct watch *watch;
};

static volatile sig_atomic_t stop_asked;

static void on_signal(int number)
{
    (void)number;
    stop_asked = 1;
}

static void sleep_until(uint64_t when)
{
    while (!stop_asked && arbiter_now_ns() < when) {
        clock_sleep_until(when);
    }
}

/* ---- arguments ---- */

static bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value < low ||
        value > high) {
        return false;
    }
    *out = value;
    return true;
}

static bool parse_duration(const char *text, double *out)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0.1 && value <= 1e6)) {
        return false;
    }
    *out = value;
    return true;
}

static bool parse_value(struct options *options, const char *name, const char *value)
{
    uint64_t number = 0;
    if (strcmp(name, "--connect") == 0) {
        return arbiter_parse_target(value, options->host, &options->port);
    }
    if (strcmp(name, "--count") == 0 && parse_number(value, 0, COUNT_MAX, &number)) {
        options->players = (uint32_t)number;
        return true;
    }
    if (strcmp(name, "--spectators") == 0 && parse_number(value, 0, COUNT_MAX, &number)) {
        options->spectators = (uint32_t)number;
        return true;
    }
    if (strcmp(name, "--policy") == 0 && options->policy_count < POLICIES_MAX) {
        options->policies[options->policy_count++] = value;
        return true;
    }
    if (strcmp(name, "--seed") == 0) {
        return parse_number(value, 0, UINT64_MAX, &options->seed);
    }
    if (strcmp(name, "--duration") == 0) {
        return parse_duration(value, &options->duration_s);
    }
    if (strcmp(name, "--rejoin") == 0) {
        return parse_duration(value, &options->rejoin_s);
    }
    if (strcmp(name, "--persist") == 0) {
        return parse_duration(value, &options->persist_s);
    }
    if (strcmp(name, "--report") == 0 && strcmp(value, "json") == 0) {
        options->report = true;
        return true;
    }
    return false;
}

/* "replay FILE" in two words is taken as well. */
static bool parse(int argc, char **argv, struct options *options)
{
    static char joined[POLICIES_MAX][4096];
    *options = (struct options){.players = 1, .seed = 1, .duration_s = 10.0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--watch") == 0) {
            options->watch = true;
            continue;
        }
        if (strcmp(argv[i], "--light") == 0) {
            options->light = true;
            continue;
        }
        if (i + 1 == argc) {
            fprintf(stderr, "arbiter-bots: %s wants a value, or is unknown\n", argv[i]);
            return false;
        }
        const char *value = argv[i + 1];
        int words = 1;
        if (strcmp(argv[i], "--policy") == 0 && strcmp(value, "replay") == 0 && i + 2 < argc &&
            options->policy_count < POLICIES_MAX) {
            char *text = joined[options->policy_count];
            snprintf(text, sizeof joined[0], "replay:%s", argv[i + 2]);
            value = text;
            words = 2;
        }
        if (!parse_value(options, argv[i], value)) {
            fprintf(stderr, "arbiter-bots: %s %s is not understood\n", argv[i], value);
            return false;
        }
        i += words;
    }
    options->count = options->players + options->spectators;
    if (options->count == 0) {
        fprintf(stderr, "arbiter-bots: --count 0 without --spectators leaves nobody\n");
        return false;
    }
    if (options->policy_count == 0) {
        options->policies[options->policy_count++] = "aim";
    }
    if (options->port == 0) {
        fprintf(stderr, "arbiter-bots: --connect HOST:PORT is missing\n");
    } else if (options->light && options->watch) {
        fprintf(stderr, "arbiter-bots: --light draws nothing, so there is nothing to --watch\n");
    }
    return options->port != 0 && !(options->light && options->watch);
}

/* ---- the run ---- */

static const char replay_prefix[] = "replay:";

/* Why a policy could not be made: no such policy, its file, or what is in the file. */
static int policy_status(const char *text)
{
    size_t prefix = sizeof replay_prefix - 1;
    if (strncmp(text, replay_prefix, prefix) != 0) return EXIT_ARGUMENTS;
    return access(text + prefix, R_OK) == 0 ? EXIT_DATA : EXIT_FILES;
}

/* EXIT_SUCCESS when all of them are there. */
static int open_policies(struct run *run)
{
    for (uint32_t i = 0; i < run->options.policy_count; i++) {
        char error[512];
        run->policies[i] = bot_policy_create(run->options.policies[i], error, sizeof error);
        if (run->policies[i] == NULL) {
            fprintf(stderr, "arbiter-bots: %s\n", error);
            return policy_status(run->options.policies[i]);
        }
    }
    return EXIT_SUCCESS;
}

/* Who watches has to see. */
static bool is_light(const struct run *run, uint32_t client)
{
    return run->options.light && client < run->options.players;
}

/* `token` NULL: a new player. False: it could not begin to connect. */
static bool open_client(struct run *run, uint32_t i, const uint8_t *token)
{
    struct arbiter_config config;
    struct arbiter_disconnect_info info;
    bool light = is_light(run, i);
    arbiter_config_default(&config);
    bot_configure(run->bots[i], &config);
    if (light) {
        config.max_entities =
            run->options.players <= LIGHT_FEW ? LIGHT_ENTITIES_FEW : LIGHT_ENTITIES;
        config.max_events_per_poll = LIGHT_EVENTS;
    }
    struct arbiter_client *client = run->clients[i] = arbiter_client_create(&config);
    if (light) {
        arb_client_go_light(client);
    }
    uint64_t now_ns = arbiter_now_ns();
    uint16_t port = run->options.port;
    bool begun = token != NULL ? arbiter_client_resume(client, run->address, port, token, now_ns)
                               : arbiter_client_connect(client, run->address, port, now_ns);
    if (!begun) {
        arbiter_client_disconnect_info(client, &info);
        fprintf(stderr, "arbiter-bots: %s\n", info.text);
    }
    return begun;
}

static bool open_clients(struct run *run)
{
    uint32_t count = run->options.count;
    run->bots = arb_mem_alloc(count * sizeof *run->bots);
    run->clients = arb_mem_alloc(count * sizeof *run->clients);
    run->views = arb_mem_alloc(count * sizeof *run->views);
    run->losses = arb_mem_alloc(count * sizeof *run->losses);
    if (!arbiter_resolve(run->options.host, run->address)) {
        fprintf(stderr, "arbiter-bots: no address for host %s\n", run->options.host);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct bot_policy *policy = run->policies[i % run->options.policy_count];
        run->bots[i] = bot_create(policy, run->options.seed, i);
        if (i >= run->options.players) bot_spectate(run->bots[i]);
        run->created = i + 1;
        if (!open_client(run, i, NULL)) {
            return false;
        }
    }
    return true;
}

/* One player after the other ends without a word, as a game that crashed, and comes back as the
 * same player. */
static void rejoin_next(struct run *run, uint64_t now_ns)
{
    uint8_t token[ARBITER_TOKEN_BYTES];
    uint64_t every_ns = (uint64_t)(run->options.rejoin_s * 1e9);
    if (every_ns == 0 || run->options.players == 0 || now_ns < run->rejoin_ns) {
        return;
    }
    bool first = run->rejoin_ns == 0;
    run->rejoin_ns = now_ns + every_ns;
    uint32_t i = run->rejoin_next % run->options.players;
    if (first || !arbiter_client_token(run->clients[i], token)) {
        return;
    }
    run->rejoin_next++;
    arbiter_client_destroy(run->clients[i]);
    open_client(run, i, token);
}

/* What ends in order is not come back to. */
static bool is_without_server(const struct run *run, uint32_t i)
{
    struct arbiter_disconnect_info info;
    const struct arbiter_view *view = run->views[i];
    if (view->connection == ARBITER_CONNECTED) return view->silent_ms > 0;
    arbiter_client_disconnect_info(run->clients[i], &info);
    bool asked = info.reason == ARBITER_REASON_ASKED || info.reason == ARBITER_REASON_ENDED ||
                 info.reason == ARBITER_REASON_TOKEN;
    return !asked && !bot_counts(run->bots[i]).saw_result;
}

/* Once a second, for as long as it was asked for. True: it has not given up. */
static bool persist(struct run *run, uint32_t i, uint64_t now_ns)
{
    struct loss *loss = &run->losses[i];
    if (arbiter_client_token(run->clients[i], loss->token)) loss->has_token = true;
    if (run->options.persist_s <= 0 || !loss->has_token || i >= run->options.players ||
        !is_without_server(run, i)) {
        loss->since_ns = 0;
        return false;
    }
    if (loss->since_ns == 0) {
        loss->since_ns = now_ns;
        loss->next_ns = now_ns;
    }
    if (now_ns - loss->since_ns > (uint64_t)(run->options.persist_s * 1e9)) return false;
    if (now_ns < loss->next_ns) return true;
    loss->next_ns = now_ns + NS_PER_S;
    arbiter_client_destroy(run->clients[i]);
    open_client(run, i, loss->token);
    return true;
}

static void close_run(struct run *run)
{
    for (uint32_t i = 0; i < run->created; i++) {
        arbiter_client_destroy(run->clients[i]);
        bot_destroy(run->bots[i]);
    }
    for (uint32_t i = 0; i < run->options.policy_count; i++) {
        bot_policy_destroy(run->policies[i]);
    }
    watch_destroy(run->watch);
    arb_mem_free(run->bots);
    arb_mem_free(run->clients);
    arb_mem_free(run->views);
    arb_mem_free(run->losses);
}

/* All clients once, each (a crowd: each group) at its own moment of the frame that begins at
 * `frame`. False: nobody is
 * connected, or being connected, any more. */
static bool play_frame(struct run *run, uint64_t frame)
{
    uint32_t count = run->options.count;
    uint32_t group = (count + WAKES_PER_FRAME - 1) / WAKES_PER_FRAME;
    bool anybody = false;
    rejoin_next(run, frame);
    for (uint32_t i = 0; run->views[0] != NULL && i < count; i++) {
        anybody |= persist(run, i, frame);
    }
    for (uint32_t i = 0; i < count && !stop_asked; i++) {
        if (i % group == 0) {
            sleep_until(frame + NS_PER_S / FRAMES_PER_S * i / count);
        }
        run->views[i] = is_light(run, i)
                            ? bot_frame_light(run->bots[i], run->clients[i], arbiter_now_ns())
                            : bot_frame(run->bots[i], run->clients[i], arbiter_now_ns());
        anybody |= run->views[i]->connection != ARBITER_OFFLINE;
        if (run->mode[0] == '\0') {
            snprintf(run->mode, sizeof run->mode, "%s", arbiter_client_mode(run->clients[i]));
        }
    }
    if (run->watch != NULL && !stop_asked) {
        watch_frame(run->watch, run->clients[0], run->views, count, arbiter_now_ns());
    }
    return anybody;
}

/* Frames until `until`; one that is missed by more than a whole frame is left out. */
static bool play_until(struct run *run, uint64_t until)
{
    uint64_t start = arbiter_now_ns();
    uint64_t frame = start;
    bool anybody = true;
    for (uint64_t n = 1; frame < until && anybody && !stop_asked; n++) {
        anybody = play_frame(run, frame);
        uint64_t due = start + n * NS_PER_S / FRAMES_PER_S;
        uint64_t now = arbiter_now_ns();
        if (now > due + NS_PER_S / FRAMES_PER_S) {
            n += (now - due) * FRAMES_PER_S / NS_PER_S;
            due = start + n * NS_PER_S / FRAMES_PER_S;
        }
        frame = due;
    }
    return anybody;
}

static void play(struct run *run)
{
    uint64_t length = (uint64_t)(run->options.duration_s * 1e9);
    if (!play_until(run, arbiter_now_ns() + length)) {
        return;
    }
    for (uint32_t i = 0; i < run->options.count; i++) {
        bot_rest(run->bots[i]);
    }
    play_until(run, arbiter_now_ns() + REST_NS);
    for (uint32_t i = 0; i < run->options.count; i++) {
        arbiter_client_disconnect(run->clients[i], arbiter_now_ns());
    }
    stop_asked = 0;
    play_until(run, arbiter_now_ns() + FAREWELL_NS);
}

/* The end of the match is a clean end, and so is what we asked for. */
static int judge(const struct run *run)
{
    int status = EXIT_SUCCESS;
    for (uint32_t i = 0; i < run->options.count; i++) {
        struct bot_counts counts = bot_counts(run->bots[i]);
        struct arbiter_disconnect_info info;
        arbiter_client_disconnect_info(run->clients[i], &info);
        bool clean = info.reason == ARBITER_REASON_NONE || info.reason == ARBITER_REASON_ASKED ||
                     info.reason == ARBITER_REASON_ENDED || counts.saw_result;
        if (clean && counts.was_connected) {
            continue;
        }
        fprintf(stderr, "arbiter-bots: client %u: %s\n", (unsigned)(i + 1), info.text);
        if (!counts.was_connected) {
            return EXIT_CANNOT_CONNECT;
        }
        status = EXIT_LOST;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct run run = {0};
    if (argc > 1 && strcmp(argv[argc - 1], "--help") == 0) {
        fputs(usage, stdout);
        return EXIT_SUCCESS;
    }
    if (!parse(argc, argv, &run.options)) {
        fputs(usage, stderr);
        return EXIT_ARGUMENTS;
    }
    arb_mem_leave_untouched();
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    clock_begin();
    int status = open_policies(&run);
    if (status == EXIT_SUCCESS) {
        status = EXIT_CANNOT_CONNECT;
        if (open_clients(&run)) {
            run.watch = run.options.watch ? watch_create() : NULL;
            play(&run);
            watch_destroy(run.watch);
            run.watch = NULL;
            status = judge(&run);
            if (run.options.report) {
                report_print(stdout, run.clients, run.bots, run.options.count, run.mode);
            }
        }
    }
    close_run(&run);
    return status;
}
