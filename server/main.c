/* arbiterd: arguments, what they ask for, and the exit status. */
#include "server/config/config_modes.h"
#include "server/loop/clock.h"
#include "server/loop/daemon.h"
#include "server/ops/log.h"
#include "server/rules/rules.h"

#include "shared/base/arb_mem.h"
#include "shared/proto/arb_schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum request {
    REQUEST_SERVE,
    REQUEST_CHECK,
    REQUEST_PRINT,
    REQUEST_SCHEMA,
    REQUEST_VERSION,
    REQUEST_HELP
};

struct arguments {
    enum request request;
    const char *file;
    const char **sets; /* room for one per argument */
    size_t set_count;
    uint32_t synctest_ticks;
    const char *resume; /* journal; NULL: a new match */
    const char *reload; /* configuration that SIGHUP reads; NULL: `file` */
};

static const char usage[] =
    "usage: arbiterd [--config FILE] [--set KEY=VALUE]... [what to do]\n"
    "  --config FILE     configuration (JSON); defaults without one\n"
    "  --set KEY=VALUE   sets one option over file and environment, e.g. --set net.port=7777\n"
    "  --resume FILE     goes on with the match of that journal, with its configuration and map; "
    "of\n"
    "                    environment and --set only what is of the process (net.port, ...) counts\n"
    "  --reload FILE     what SIGHUP reads again for numbers of the game; without it that of "
    "--config\n"
    "  --synctest N      runs each tick again from N ticks before (1 to 120) and compares: to "
    "find\n"
    "                    faults of the simulation, not for players; ends when one is found\n"
    "without one of these it plays a match and exits:\n"
    "  --check-config    checks configuration, map and what is to be written, starts nothing\n"
    "  --print-config    prints the effective configuration\n"
    "  --schema          prints the JSON Schema of the configuration\n"
    "  --version         prints the version\n"
    "  --help            prints this\n"
    "exit status: 0 ended with its result, 1 without one, 64 arguments, 65 journal to resume,\n"
    "             69 address or port, 74 files, 78 configuration or map\n";

/* The value of `--name VALUE` or `--name=VALUE`; NULL: argv[*at] is not that, or lacks its value
 * (*missing). */
static const char *value_of(const char *name, char **argv, int *at, bool *missing)
{
    size_t length = strlen(name);
    const char *argument = argv[*at];
    if (strncmp(argument, name, length) != 0) return NULL;
    if (argument[length] == '=') return argument + length + 1;
    if (argument[length] != '\0') return NULL;
    *missing = argv[*at + 1] == NULL;
    return *missing ? NULL : argv[++*at];
}

static bool parse_request(const char *argument, struct arguments *out)
{
    static const struct {
        const char *name;
        enum request request;
    } rows[] = {{"--check-config", REQUEST_CHECK},
                {"--print-config", REQUEST_PRINT},
                {"--schema", REQUEST_SCHEMA},
                {"--version", REQUEST_VERSION},
                {"--help", REQUEST_HELP}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(argument, rows[i].name) == 0) {
            out->request = rows[i].request;
            return true;
        }
    }
    return false;
}

static bool parse_synctest(const char *text, struct arguments *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long ticks = strtoul(text, &end, 10);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || ticks < 1 ||
        ticks > LOOP_SYNCTEST_MAX) {
        fprintf(stderr, "arbiterd: --synctest %s is not 1 to %d ticks\n%s", text, LOOP_SYNCTEST_MAX,
                usage);
        return false;
    }
    out->synctest_ticks = (uint32_t)ticks;
    return true;
}

enum value { VALUE_CONFIG, VALUE_SET, VALUE_RESUME, VALUE_RELOAD, VALUE_SYNCTEST, VALUES };

static bool take_value(enum value which, const char *value, struct arguments *out)
{
    switch (which) {
    case VALUE_CONFIG:
        out->file = value;
        break;
    case VALUE_SET:
        out->sets[out->set_count++] = value;
        break;
    case VALUE_RESUME:
        out->resume = value;
        break;
    case VALUE_RELOAD:
        out->reload = value;
        break;
    case VALUE_SYNCTEST:
        return parse_synctest(value, out);
    case VALUES:
        break;
    }
    return true;
}

static bool parse_one(char **argv, int *at, struct arguments *out)
{
    static const char *const names[VALUES] = {"--config", "--set", "--resume", "--reload",
                                              "--synctest"};
    const char *argument = argv[*at];
    for (int which = 0; which < VALUES; which++) {
        bool missing = false;
        const char *value = value_of(names[which], argv, at, &missing);
        if (value != NULL) return take_value((enum value)which, value, out);
        if (missing) {
            fprintf(stderr, "arbiterd: %s needs a value\n%s", argument, usage);
            return false;
        }
    }
    if (parse_request(argument, out)) return true;
    fprintf(stderr, "arbiterd: unknown argument %s\n%s", argument, usage);
    return false;
}

static bool parse(char **argv, struct arguments *out)
{
    for (int at = 1; argv[at] != NULL; at++) {
        if (!parse_one(argv, &at, out)) return false;
    }
    if (out->resume != NULL && out->file != NULL) {
        fprintf(stderr,
                "arbiterd: --resume takes the configuration of its journal, not --config\n%s",
                usage);
        return false;
    }
    return true;
}

static void warn(const char *text)
{
    ops_log(OPS_WARN, "configuration", OPS_TEXT("text", text));
}

static struct config_mode *config_modes(struct arb_arena *arena)
{
    struct config_mode *modes = arb_arena_take_array(arena, CONFIG_MODES_MAX, sizeof *modes);
    config_modes_fill(modes);
    return modes;
}

/* Everything that there is before anything is started. */
struct setting {
    struct config config;
    struct map map;
    const struct config_mode *modes;
    struct loop_resume *resume;
};

static enum arb_result load(const struct arguments *arguments, struct setting *setting,
                            struct arb_arena *arena, char error[LOOP_ERROR_BYTES])
{
    struct config_error found;
    setting->modes = config_modes(arena);
    if (arguments->resume != NULL) {
        struct loop_resume_options options = {.path = arguments->resume,
                                              .modes = setting->modes,
                                              .mode_count = rules_mode_count,
                                              .environment = environ,
                                              .sets = arguments->sets,
                                              .set_count = arguments->set_count};
        return loop_resume_open(&setting->resume, &options, &setting->config, &setting->map, arena,
                                error);
    }
    enum arb_result result =
        config_load(&setting->config, arena, setting->modes, rules_mode_count, arguments->file,
                    environ, arguments->sets, arguments->set_count, warn, &found);
    if (result != ARB_OK) memcpy(error, found.text, sizeof found.text);
    return result;
}

static enum arb_result check(struct setting *setting, struct arb_arena *arena,
                             char error[LOOP_ERROR_BYTES])
{
    return setting->resume != NULL ? loop_check_loaded(&setting->config, &setting->map, error)
                                   : loop_check(&setting->config, arena, &setting->map, error);
}

/* What is wrong with the configuration is told as it is, place first; what happens later is a line
 * of the log. */
static enum arb_result run_set(const struct arguments *arguments, struct setting *setting,
                               struct arb_arena *arena, uint64_t started_ns)
{
    const struct config *config = &setting->config;
    char error[LOOP_ERROR_BYTES];
    enum arb_result result = load(arguments, setting, arena, error);
    if (result == ARB_OK && arguments->request == REQUEST_PRINT) {
        config_print(config, setting->modes, rules_mode_count, stdout);
        return fflush(stdout) == 0 ? ARB_OK : ARB_FILES;
    }
    bool is_check = arguments->request == REQUEST_CHECK;
    if (result == ARB_OK) result = check(setting, arena, error);
    if (result == ARB_OK && is_check) {
        result = loop_check_files(config, setting->resume != NULL, error);
    }
    if (result != ARB_OK) {
        fprintf(stderr, "%s\n", error);
        return result;
    }
    if (is_check) return ARB_OK;
    ops_log_open(&(struct ops_log_options){.fd = STDERR_FILENO,
                                           .level = (enum ops_level)config->log.level,
                                           .format = (enum ops_log_format)config->log.format});
    struct loop_serving serving = {
        .started_ns = started_ns,
        .synctest_ticks = arguments->synctest_ticks,
        .resume = setting->resume,
        .reload = {
            .file = arguments->reload != NULL ? arguments->reload : arguments->file,
            .modes = setting->modes,
            .mode_count = rules_mode_count,
            .environment = environ,
            .sets = arguments->sets,
            .set_count = arguments->set_count,
        }};
    result = loop_serve(config, arena, &setting->map, &serving, error);
    if (result != ARB_OK) {
        ops_log(OPS_ERROR, "failed", OPS_TEXT("reason", arb_result_text(result)),
                OPS_TEXT("text", error));
    }
    return result;
}

static enum arb_result run_configured(const struct arguments *arguments, struct arb_arena *arena,
                                      uint64_t started_ns)
{
    static struct setting setting;
    enum arb_result result = run_set(arguments, &setting, arena, started_ns);
    loop_resume_close(setting.resume);
    return result;
}

int main(int argc, char **argv)
{
    uint64_t started_ns = loop_now_ns();
    /* Until the process is gone: a journal's thread that hangs in a write may yet use it. */
    static struct arb_arena arena;
    arb_mem_leave_untouched();
    arb_arena_init(&arena);
    struct arguments arguments = {.request = REQUEST_SERVE};
    arguments.sets = arb_arena_take_array(&arena, (size_t)argc + 1, sizeof *arguments.sets);
    enum arb_result result = ARB_OK;
    if (!parse(argv, &arguments)) {
        result = ARB_ARGUMENTS;
    } else if (arguments.request == REQUEST_HELP) {
        fputs(usage, stdout);
    } else if (arguments.request == REQUEST_VERSION) {
        printf("arbiterd %s, protocol %d\n", ARBITER_VERSION, (int)ARB_PROTOCOL_VERSION);
    } else if (arguments.request == REQUEST_SCHEMA) {
        config_print_schema(config_modes(&arena), rules_mode_count, stdout);
    } else {
        result = run_configured(&arguments, &arena, started_ns);
    }
    if (fflush(stdout) != 0 && result == ARB_OK) result = ARB_FILES;
    return arb_result_exit_status(result);
}
