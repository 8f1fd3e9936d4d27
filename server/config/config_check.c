/* What no single option can be blamed for: relations between them, and the map's file. */
#define _POSIX_C_SOURCE 200809L
#include "server/config/config_internal.h"

#include "shared/base/arb_assert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "<where it was set>: <path>: <text>". */
static bool blame(const struct config *config, const char *path, struct config_error *error,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
static bool blame(const struct config *config, const char *path, struct config_error *error,
                  const char *format, ...)
{
    char text[CONFIG_ERROR_BYTES / 2], place[CONFIG_PATH_BYTES + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const struct config_row *row = config_find_row(config->rows, path);
    ARB_ASSERT(row != NULL);
    const struct config_origin *origin = &row->origin;
    if (origin->line > 0) {
        snprintf(place, sizeof place, "%s:%u:%u", origin->name, origin->line, origin->column);
    } else {
        snprintf(place, sizeof place, "%s", origin->name[0] != 0 ? origin->name : "default");
    }
    bool named = strncmp(text, path, strlen(path)) == 0;
    struct config_source source = {.name = place, .path = named ? "" : path};
    return config_fail(error, &source, 0, 0, "%s", text);
}

/* Of two options that do not fit together the one that somebody set. */
static const char *who(const struct config *config, const char *first, const char *second)
{
    const struct config_row *row = config_find_row(config->rows, first);
    return row->origin.name[0] != 0 ? first : second;
}

static bool is_set(const struct config *config, const char *path)
{
    return config_find_row(config->rows, path)->origin.name[0] != 0;
}

static bool address_is_loopback(const char *address, bool *numeric)
{
    struct in_addr four;
    struct in6_addr six;
    *numeric = true;
    if (inet_pton(AF_INET, address, &four) == 1) {
        return ntohl(four.s_addr) >> 24 == 127;
    }
    if (inet_pton(AF_INET6, address, &six) == 1) {
        static const unsigned char mapped[13] = {[10] = 0xFF, [11] = 0xFF, [12] = 127};
        return memcmp(&six, &in6addr_loopback, sizeof six) == 0 || memcmp(&six, mapped, 13) == 0;
    }
    *numeric = false;
    return false;
}

static bool check_address(const struct config *config, struct config_error *error)
{
    bool numeric;
    bool loopback = address_is_loopback(config->net.address, &numeric);
    if (!numeric) {
        char shown[80];
        json_quote(shown, sizeof shown, config->net.address, 40);
        return blame(config, "net.address", error,
                     "%s is no address; allowed: a numeric IPv4 or IPv6 address", shown);
    }
    if (!loopback && !config->auth.open_anywhere) {
        return blame(config, "net.address", error,
                     "auth.mode open lets anyone play who reaches %s; allowed: 127.0.0.1, ::1, or "
                     "any with auth.open_anywhere true",
                     config->net.address);
    }
    return true;
}

static bool check_players(const struct config *config, struct config_error *error)
{
    const struct match_config *match = &config->match;
    if (match->min_players > match->max_players) {
        return blame(config, who(config, "match.min_players", "match.max_players"), error,
                     "match.min_players (%d) is above match.max_players (%d); allowed: at most it",
                     match->min_players, match->max_players);
    }
    if (match->teams == 1) {
        return blame(config, "match.teams", error, "1 is not allowed; allowed: 0 or 2");
    }
    if (config->net.max_sessions != 0 && config->net.max_sessions < match->max_players) {
        return blame(config, who(config, "net.max_sessions", "match.max_players"), error,
                     "net.max_sessions (%d) is below match.max_players (%d); allowed: 0 or at "
                     "least it",
                     config->net.max_sessions, match->max_players);
    }
    int32_t places = match->max_players + match->spectator_max;
    if (config->net.max_sessions != 0 && config->net.max_sessions < places &&
        is_set(config, "spectator.max")) {
        return blame(config, "spectator.max", error,
                     "net.max_sessions (%d) is below match.max_players and spectator.max together "
                     "(%d); allowed: 0 or at least that",
                     config->net.max_sessions, places);
    }
    return true;
}

static bool check_interest(const struct config *config, struct config_error *error)
{
    double enter = (double)config->match.interest_enter_m;
    double retain = (double)config->match.interest_retain_m;
    if (enter >= retain) {
        return blame(config, who(config, "interest.enter_m", "interest.retain_m"), error,
                     "interest.enter_m (%g) is not below interest.retain_m (%g); allowed: less",
                     enter, retain);
    }
    return true;
}

static bool check_files(const struct config *config, struct config_error *error)
{
    if (config->rewind_trace[0] != 0 && strcmp(config->rewind_trace, config->result_path) == 0) {
        return blame(config, "debug.rewind_trace", error,
                     "is match.result_path as well; allowed: a file of its own");
    }
    const char *journal = config->journal.path;
    if (journal[0] != 0 &&
        (strcmp(journal, config->result_path) == 0 || strcmp(journal, config->rewind_trace) == 0)) {
        return blame(config, "journal.path", error,
                     "is match.result_path or debug.rewind_trace as well; allowed: a file of its "
                     "own");
    }
    return true;
}

bool config_check_map_file(const struct config *config, struct config_error *error)
{
    if (config->map[0] == 0) {
        return blame(config, "match.map", error,
                     "is missing; allowed: path of a Tiled map (.tmj), relative to the "
                     "configuration's folder");
    }
    if (access(config->map_path, R_OK) != 0) {
        char shown[CONFIG_PATH_BYTES + 16];
        json_quote(shown, sizeof shown, config->map_path, CONFIG_PATH_BYTES);
        return blame(config, "match.map", error,
                     "cannot open %s: %s; allowed: a readable .tmj file", shown, strerror(errno));
    }
    return true;
}

/* What spectators see was settled before, where it comes later than it happens at all. */
static bool check_window(const struct config *config, struct config_error *error)
{
    const struct match_config *match = &config->match;
    int32_t delay = match->spectator_delay_s * match->tick_rate;
    if (delay == 0 || match->rollback_window_ticks <= delay) return true;
    return blame(
        config, who(config, "rollback.window_ticks", "spectator.delay_s"), error,
        "rollback.window_ticks (%d) is above the ticks of spectator.delay_s (%d); allowed: "
        "at most them, or spectator.delay_s 0",
        match->rollback_window_ticks, delay);
}

bool config_check_relations(struct config *config, struct config_error *error)
{
    return check_players(config, error) && check_interest(config, error) &&
           check_window(config, error) && check_address(config, error) &&
           check_files(config, error);
}

/* The first place in the sentence at which an option's whole path stands. */
static const char *find_path(const struct config_rows *rows, const char *sentence)
{
    const char *found = NULL, *first = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const char *path = rows->list[i].option->path;
        const char *at = strstr(sentence, path);
        size_t length = strlen(path);
        if (at != NULL && (first == NULL || at < first || (at == first && length > longest))) {
            first = at;
            found = path;
            longest = length;
        }
    }
    return found;
}

void config_explain(const struct config *config, const char *sentence, struct config_error *error)
{
    const char *path = find_path(config->rows, sentence);
    if (path != NULL) {
        blame(config, path, error, "%s", sentence);
    } else { /* about the map alone */
        struct config_source source = {.name = config->map_path, .path = ""};
        config_fail(error, &source, 0, 0, "%s", sentence);
    }
}
