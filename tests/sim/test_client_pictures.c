/* The pictures of shared/client/README.md, drawn from what the library did on a simulated line of
 * 80 ms each way. They must be what the code does now. Renew, and look at them:
 *
 *     ARBITER_RENEW=1 ctest --test-dir build/debug -R sim/test_client_pictures
 */
#define _GNU_SOURCE
#include "shared/client/arbiter_client_internal.h"
#include "tests/support/fake_player.h"
#include "tests/support/fake_server.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER ARBITER_SOURCE_DIR "/shared/client/"
#define MS 1000ULL /* of the virtual clock, in microseconds */

enum { TEXT_BYTES = 16384, LENGTH_MS = 1600, WIDTH = 800, HEIGHT = 300, LEFT = 50, TOP = 40 };

struct trace {
    struct fake_server *fake;
    uint64_t start_us; /* what is before it is not drawn */
    uint64_t snapshots;
    float metres; /* what is high on the picture, from the place at the start */
    float zero;
    /* Points of the lines and marks, as SVG has them. */
    char server[TEXT_BYTES], news[TEXT_BYTES], drawn[TEXT_BYTES];
    float checked; /* what the test wants to know of it */
};

static void append(char text[TEXT_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(text + used, TEXT_BYTES - used, format, arguments);
    va_end(arguments);
    cr_assert(more >= 0 && (size_t)more < TEXT_BYTES - used);
}

static double along(const struct trace *trace)
{
    double ms = (double)(arb_simnet_now_us(trace->fake->sim) - trace->start_us) / 1000;
    return LEFT + ms * WIDTH / LENGTH_MS;
}

static double up(const struct trace *trace, float metres)
{
    return TOP + HEIGHT * (1 - (double)((metres - trace->zero) / trace->metres));
}

static void write_head(FILE *file, const char *title)
{
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"22\" font-size=\"15\">%s</text>\n",
            WIDTH + LEFT + 40, HEIGHT + TOP + 34, LEFT, title);
    for (int ms = 0; ms <= LENGTH_MS; ms += 200) {
        int x = LEFT + ms * WIDTH / LENGTH_MS;
        fprintf(file,
                "<path d=\"M%d %dv%d\" stroke=\"#ddd\"/>"
                "<text x=\"%d\" y=\"%d\" fill=\"#777\" text-anchor=\"middle\">%d ms</text>\n",
                x, TOP, HEIGHT, x, TOP + HEIGHT + 20, ms);
    }
}

static void write_line(FILE *file, const char *points, const char *colour, const char *style)
{
    fprintf(file, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" %s/>\n", points, colour,
            style);
}

static void write_words(FILE *file, double x, double y, const char *colour, const char *words)
{
    fprintf(file, "<text x=\"%.0f\" y=\"%.0f\" fill=\"%s\">%s</text>\n", x, y, colour, words);
}

/* Against the committed picture, or into its place. */
static void compare(const char *name, const char *now)
{
    static char old[65536];
    char golden[256];
    snprintf(golden, sizeof golden, FOLDER "%s", name);
    bool renew = getenv("ARBITER_RENEW") != NULL;
    FILE *file = fopen(golden, renew ? "wb" : "rb");
    cr_assert_not_null(file, "%s", golden);
    if (renew) {
        fputs(now, file);
    } else {
        old[fread(old, 1, sizeof old - 1, file)] = '\0';
        cr_assert_str_eq(old, now, "%s is old: run this with ARBITER_RENEW=1, and look at it",
                         name);
    }
    fclose(file);
}

/* Steady delays: the pictures tell of one thing each. */
static struct arbiter_client *join(struct fake_server *fake)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    config.interpolation_min_ms = config.interpolation_max_ms = 50;
    config.lead_min_ticks = config.lead_max_ticks = 7;
    struct arbiter_client *client = arbiter_client_create(&config);
    cr_assert_not_null(client);
    cr_assert(arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake)));
    return client;
}

static struct fake_server *serve(void)
{
    return fake_create(&(struct fake_options){
        .seed = 1, .up = {.delay_us = 80 * MS}, .down = {.delay_us = 80 * MS}, .movers = 1});
}

/* ---- the own player ---- */

static void trace_own(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    struct trace *trace = user;
    double x = along(trace);
    struct arbiter_input input = {.move_x = x >= LEFT + 100 && x < LEFT + 700 ? 127 : 0};
    arbiter_client_input(client, &input);
    append(trace->server, "%.0f,%.1f ", x, up(trace, trace->fake->own.x));
    append(trace->news, "%.0f,%.1f ", x, up(trace, view->own.confirmed_x));
    append(trace->drawn, "%.0f,%.1f ", x, up(trace, view->own.x));
    trace->checked = view->own.offset_x > trace->checked ? view->own.offset_x : trace->checked;
}

Test(client_pictures, prediction_and_a_correction_are_drawn_as_the_guide_shows_them)
{
    static struct trace trace;
    struct fake_server *fake = serve();
    struct arbiter_client *client = join(fake);
    fake_run(fake, client, 4000 * MS, 60, NULL, NULL);
    trace =
        (struct trace){.fake = fake, .start_us = 4000 * MS, .metres = 8, .zero = fake->own.x - 1};
    fake_run(fake, client, 4900 * MS, 60, trace_own, &trace);
    fake->own.x -= 0.8F; /* a blow, which no client can predict */
    fake->outside++;
    fake_run(fake, client, 5600 * MS, 60, trace_own, &trace);

    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    cr_assert_not_null(file);
    write_head(
        file,
        "Own player at 160 ms round trip: the key goes down at 200 ms and up at 1400 ms; 8 m high");
    write_line(file, trace.news, "#4a7fd0", "stroke-width=\"1.5\"");
    write_line(file, trace.server, "#999", "stroke-width=\"1.5\" stroke-dasharray=\"5 3\"");
    write_line(file, trace.drawn, "#d03030", "stroke-width=\"2.5\"");
    write_words(file, 180, 185, "#d03030", "drawn: moves with the key");
    write_words(file, 570, 230, "#777", "at the server, at this moment");
    write_words(file, 430, 292, "#4a7fd0", "the newest word of the server");
    write_words(file, 520, 316, "#333", "900 ms: a blow at the server, 0.8 m back");
    write_words(file, 520, 332, "#333", "80 ms later: news of it; what is drawn fades there");
    fputs("</svg>\n", file);
    fclose(file);

    struct arbiter_statistics figures = fake_figures(client);
    cr_assert_eq(figures.corrections.count, 0);
    cr_assert_eq(figures.corrections.outside, 1);
    cr_assert_float_eq(trace.checked, 0.8F, 0.15F);
    arbiter_client_destroy(client);
    fake_destroy(fake);
    compare("prediction.svg", text);
    free(text);
}

/* ---- the others ---- */

static void trace_other(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    static const char *const colours[] = {[ARBITER_INTERPOLATED] = "d03030",
                                          [ARBITER_EXTRAPOLATED] = "e09020",
                                          [ARBITER_FROZEN] = "000"};
    struct trace *trace = user;
    double x = along(trace);
    struct arb_frame frame;
    struct arbiter_statistics figures = fake_figures(client);
    append(trace->server, "%.0f,%.1f ", x, up(trace, fake_mover(0, trace->fake->tick - 1).x));
    if (figures.snapshots != trace->snapshots && arb_client_frame(client, &frame)) {
        append(trace->news, "<circle cx=\"%.0f\" cy=\"%.1f\" r=\"2.5\"/>", x,
               up(trace, fake_mover(0, frame.tick).x));
    }
    trace->snapshots = figures.snapshots;
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        if (!entity->is_own) {
            append(trace->drawn, "<path d=\"M%.0f %.1fh4\" stroke=\"#%s\"/>", x,
                   up(trace, entity->x), colours[entity->drawn]);
            trace->checked += entity->drawn == ARBITER_FROZEN;
        }
    }
}

Test(client_pictures, interpolation_and_a_gap_are_drawn_as_the_guide_shows_them)
{
    static struct trace trace;
    struct fake_server *fake = serve();
    struct arbiter_client *client = join(fake);
    fake_run(fake, client, 4000 * MS, 60, NULL, NULL);
    trace = (struct trace){.fake = fake,
                           .start_us = 4000 * MS,
                           .metres = 6,
                           .zero = fake_mover(0, fake->tick).x - 0.8F};
    fake_run(fake, client, 4600 * MS, 60, trace_other, &trace);
    fake->hold_snapshots = true;
    fake_run(fake, client, 4900 * MS, 60, trace_other, &trace);
    fake->hold_snapshots = false;
    fake_run(fake, client, 5600 * MS, 60, trace_other, &trace);

    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    cr_assert_not_null(file);
    write_head(file, "Another player at 160 ms round trip; no snapshot leaves the server from 600 "
                     "to 900 ms; 6 m high");
    write_line(file, trace.server, "#999", "stroke-width=\"1.5\" stroke-dasharray=\"5 3\"");
    fprintf(file, "<g fill=\"#4a7fd0\">%s</g>\n<g stroke-width=\"2.5\">%s</g>\n", trace.news,
            trace.drawn);
    write_words(file, 130, 190, "#777", "at the server, at this moment");
    write_words(file, 300, 285, "#4a7fd0", "snapshots as they arrive");
    write_words(file, 190, 325, "#d03030", "drawn between two snapshots, 50 ms behind them");
    write_words(file, 445, 235, "#e09020", "ahead of the newest, by its velocity");
    write_words(file, 445, 253, "#000", "then frozen, until there is news");
    fputs("</svg>\n", file);
    fclose(file);

    cr_assert_gt(trace.checked, 4);
    arbiter_client_destroy(client);
    fake_destroy(fake);
    compare("interpolation.svg", text);
    free(text);
}
