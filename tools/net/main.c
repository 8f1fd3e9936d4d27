/* arbiter-netsim: a UDP relay with the delay, jitter, loss, ... of a network profile. */
#define _GNU_SOURCE
#include "tools/net/relay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: arbiter-netsim --listen HOST:PORT --to HOST:PORT --profile NAME|FILE\n"
    "                      [--seed S] [--duration SECONDS]\n"
    "  --listen    where clients send to; port 0: any, told on stderr\n"
    "  --to        the server; each client address gets a socket of its own towards it\n"
    "  --profile   lan, good, average, bad, mobile, or the path of a profile file\n"
    "  --seed      1 unless given\n"
    "  --duration  until SIGTERM or SIGINT unless given\n"
    "prints one line of JSON at the end: what happened to the datagrams of each direction\n"
    "exit status: 0 clean, 64 wrong arguments, 65 bad profile, 69 an address is not to be had\n";

struct options {
    struct relay_address listen_at, to;
    const char *profile;
    uint64_t seed;
    uint64_t duration_us;
};

static volatile sig_atomic_t stop_asked;

static void on_signal(int number)
{
    (void)number;
    stop_asked = 1;
}

/* ---- arguments ---- */

static bool parse_number(const char *text, uint64_t high, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || value > high) {
        return false;
    }
    *out = value;
    return true;
}

/* HOST:PORT; an IPv6 address may stand in brackets. */
static bool parse_address(const char *text, uint64_t lowest_port, struct relay_address *out)
{
    const char *colon = strrchr(text, ':');
    uint64_t port = 0;
    if (colon == NULL || !parse_number(colon + 1, 65535, &port) || port < lowest_port) {
        return false;
    }
    size_t length = (size_t)(colon - text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length == 0 || length >= sizeof out->host) return false;
    memcpy(out->host, text, length);
    out->host[length] = '\0';
    snprintf(out->port, sizeof out->port, "%u", (unsigned)port);
    return true;
}

static bool parse_duration(const char *text, uint64_t *out)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0.001 && value <= 1e6)) return false;
    *out = (uint64_t)(value * 1e6);
    return true;
}

static bool parse_value(struct options *options, const char *name, const char *value)
{
    if (strcmp(name, "--listen") == 0) return parse_address(value, 0, &options->listen_at);
    if (strcmp(name, "--to") == 0) return parse_address(value, 1, &options->to);
    if (strcmp(name, "--seed") == 0) return parse_number(value, UINT64_MAX, &options->seed);
    if (strcmp(name, "--duration") == 0) return parse_duration(value, &options->duration_us);
    if (strcmp(name, "--profile") != 0 || value[0] == '\0') return false;
    options->profile = value;
    return true;
}

static bool parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){.seed = 1};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) {
            fprintf(stderr, "arbiter-netsim: %s wants a value, or is unknown\n", argv[i]);
            return false;
        }
        if (!parse_value(options, argv[i], argv[i + 1])) {
            fprintf(stderr, "arbiter-netsim: %s %s is not understood\n", argv[i], argv[i + 1]);
            return false;
        }
    }
    const char *missing = options->listen_at.port[0] == '\0' ? "--listen"
                          : options->to.port[0] == '\0'      ? "--to"
                          : options->profile == NULL         ? "--profile"
                                                             : NULL;
    if (missing != NULL) fprintf(stderr, "arbiter-netsim: %s is missing\n", missing);
    return missing == NULL;
}

/* ---- report ---- */

static void print_text(const char *text)
{
    putchar('"');
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            printf("\\%c", *c);
        } else if ((unsigned char)*c < 0x20) {
            printf("\\u%04x", (unsigned)*c);
        } else {
            putchar(*c);
        }
    }
    putchar('"');
}

static void print_number(const char *name, uint64_t value, const char *behind)
{
    printf("\"%s\":%llu%s", name, (unsigned long long)value, behind);
}

static void print_side(const char *name, const struct relay_side_counters *side)
{
    printf("\"%s\":{", name);
    print_number("datagrams", side->datagrams, ",");
    print_number("bytes", side->bytes, ",");
    print_number("delivered", side->delivered, ",");
#define X(counter, text) print_number(#counter, side->counter, ",");
    ARB_LINK_COUNTER_MAP(X)
#undef X
    print_number("bad_checksum", side->bad_checksum, ",");
    print_number("too_long", side->too_long, ",");
    print_number("overflow", side->overflow, ",");
    print_number("send_failed", side->send_failed, "}");
}

static void print_report(const struct options *options, const struct relay_counters *counters)
{
    printf("{\"profile\":");
    print_text(options->profile);
    putchar(',');
    print_number("seed", options->seed, ",");
    print_number("running_ms", counters->running_us / 1000, ",");
    print_number("clients", counters->clients, ",");
    print_number("refused_clients", counters->refused_clients, ",");
    print_number("late_us_max", counters->late_us_max, ",");
    print_side("up", &counters->up);
    putchar(',');
    print_side("down", &counters->down);
    printf("}\n");
}

/* ---- main ---- */

/* Blocked but while the relay waits, so that none is missed between a look and the wait. */
static sigset_t catch_signals(void)
{
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, &before);
    sigdelset(&before, SIGTERM);
    sigdelset(&before, SIGINT);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    return before;
}

static enum arb_result run(const struct options *options, const struct profile *profile)
{
    struct relay *relay;
    char error[RELAY_ERROR_BYTES];
    sigset_t unblocked = catch_signals();
    enum arb_result result =
        relay_open(&options->listen_at, &options->to, profile, options->seed, &relay, error);
    if (result != ARB_OK) {
        fprintf(stderr, "arbiter-netsim: %s\n", error);
        return result;
    }
    fprintf(stderr, "arbiter-netsim: listening at %s port %u\n", options->listen_at.host,
            (unsigned)relay_port(relay));
    relay_run(relay, &stop_asked, &unblocked, options->duration_us);
    struct relay_counters counters = relay_counters(relay);
    print_report(options, &counters);
    relay_close(relay);
    return ARB_OK;
}

int main(int argc, char **argv)
{
    struct options options;
    struct profile *profile;
    struct profile_error error;
    if (argc > 1 && strcmp(argv[argc - 1], "--help") == 0) {
        fputs(usage, stdout);
        return EXIT_SUCCESS;
    }
    if (!parse(argc, argv, &options)) {
        fputs(usage, stderr);
        return arb_result_exit_status(ARB_ARGUMENTS);
    }
    enum arb_result result = profile_load(options.profile, options.seed, &profile, &error);
    if (result != ARB_OK) {
        fprintf(stderr, "arbiter-netsim: %s\n", error.text);
        return arb_result_exit_status(result);
    }
    result = run(&options, profile);
    profile_free(profile);
    return arb_result_exit_status(result);
}
