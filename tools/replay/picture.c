#include "tools/replay/picture.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum {
    WIDTH_MAX = 1200,
    HEIGHT_MAX = 800,
    SCALE_MAX = 100, /* px per metre */
    LINE_HEIGHT = 18,
    TEXT_WIDTH = 860, /* px that the legend wants */
    FIXED_ROWS = 7,   /* of the legend, beside those of candidates */
    ROWS_MAX = 24,    /* of candidates in the legend */
};

#define MARGIN 1.5 /* m around all that is drawn */
#define LEAST 6.0  /* m, side of the smallest picture */

struct picture {
    FILE *out;
    struct shots_point low, high; /* m, the part of the world that is shown */
    double scale;                 /* px per metre */
    double width, height;         /* px, without the legend */
    int rows;                     /* of the legend so far */
};

double picture_view_at(const struct shots_view *view)
{
    double part = (double)view->fraction / 256.0;
    double ticks = view->to > view->from ? (double)(view->to - view->from) : 1.0;
    return (double)view->from + part * ticks;
}

double picture_moved(const struct shots_candidate *candidate)
{
    if (!candidate->present.there || !candidate->rewound.there) return 0;
    const struct shots_point *a = &candidate->present.centre, *b = &candidate->rewound.centre;
    return hypot(a->x - b->x, a->y - b->y);
}

/* ---- what is shown ---- */

static void include(struct picture *picture, struct shots_point point, double radius)
{
    picture->low.x = fmin(picture->low.x, point.x - radius);
    picture->low.y = fmin(picture->low.y, point.y - radius);
    picture->high.x = fmax(picture->high.x, point.x + radius);
    picture->high.y = fmax(picture->high.y, point.y + radius);
}

static void include_outline(struct picture *picture, const struct shots_outline *outline)
{
    for (size_t i = 0; i < outline->count; i++) {
        include(picture, outline->shapes[i].a, outline->shapes[i].radius);
        include(picture, outline->shapes[i].b, outline->shapes[i].radius);
    }
}

static struct shots_point end_of(const struct shot *shot, const struct shots_ray *ray)
{
    return (struct shots_point){shot->origin.x + ray->reach * ray->direction.x,
                                shot->origin.y + ray->reach * ray->direction.y};
}

static void frame_picture(struct picture *picture, const struct shots_head *head,
                          const struct shot *shot)
{
    picture->low = picture->high = shot->origin;
    for (size_t i = 0; i < shot->ray_count; i++) {
        include(picture, end_of(shot, &shot->rays[i]), 0);
    }
    for (size_t i = 0; i < shot->flight_count; i++) {
        const struct shots_flight *flight = &shot->flights[i];
        include(picture, flight->origin, flight->radius);
        include(picture, shot_flight_at(head, flight, flight->to), flight->radius);
    }
    for (size_t i = 0; i < shot->candidate_count; i++) {
        include_outline(picture, &shot->candidates[i].present);
        include_outline(picture, &shot->candidates[i].rewound);
    }
    double grow_x = fmax(MARGIN, (LEAST - (picture->high.x - picture->low.x)) / 2);
    double grow_y = fmax(MARGIN, (LEAST - (picture->high.y - picture->low.y)) / 2);
    picture->low = (struct shots_point){picture->low.x - grow_x, picture->low.y - grow_y};
    picture->high = (struct shots_point){picture->high.x + grow_x, picture->high.y + grow_y};
    double wide = picture->high.x - picture->low.x, high = picture->high.y - picture->low.y;
    picture->scale = fmin(fmin(WIDTH_MAX / wide, HEIGHT_MAX / high), SCALE_MAX);
    picture->width = fmax(wide * picture->scale, TEXT_WIDTH);
    picture->height = high * picture->scale;
    /* A narrow picture stands in the middle of what the legend wants. */
    picture->low.x -= (picture->width / picture->scale - wide) / 2;
}

/* World to picture: y grows downwards. */
static struct shots_point at(const struct picture *picture, struct shots_point point)
{
    return (struct shots_point){(point.x - picture->low.x) * picture->scale,
                                (picture->high.y - point.y) * picture->scale};
}

/* ---- shapes ---- */

static void print_static(const struct picture *picture, const struct shots_static *shape)
{
    struct shots_point a = at(picture, shape->points[0]);
    double radius = shape->radius * picture->scale;
    if (shape->count == 1) {
        fprintf(picture->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"/>\n", a.x, a.y, radius);
        return;
    }
    fprintf(picture->out, "<polygon stroke-width=\"%.2f\" points=\"", 2 * radius);
    for (size_t i = 0; i < shape->count; i++) {
        struct shots_point point = at(picture, shape->points[i]);
        fprintf(picture->out, "%s%.2f,%.2f", i == 0 ? "" : " ", point.x, point.y);
    }
    fprintf(picture->out, "\"/>\n");
}

static bool is_shown(const struct picture *picture, const struct shots_static *shape)
{
    const double far = (double)INFINITY;
    double left = far, right = -far, bottom = far, top = -far;
    for (size_t i = 0; i < shape->count; i++) {
        left = fmin(left, shape->points[i].x - shape->radius);
        right = fmax(right, shape->points[i].x + shape->radius);
        bottom = fmin(bottom, shape->points[i].y - shape->radius);
        top = fmax(top, shape->points[i].y + shape->radius);
    }
    return left <= picture->low.x + picture->width / picture->scale && right >= picture->low.x &&
           bottom <= picture->high.y && top >= picture->low.y;
}

static void print_map(const struct picture *picture, const struct shots_head *head)
{
    struct shots_point low = at(picture, head->low), high = at(picture, head->high);
    fprintf(picture->out,
            "<g class=\"map\" fill=\"#4a4d52\" stroke=\"#4a4d52\" stroke-linejoin=\"round\">\n"
            "<rect class=\"bounds\" fill=\"none\" stroke-width=\"1.5\" x=\"%.2f\" y=\"%.2f\" "
            "width=\"%.2f\" height=\"%.2f\"/>\n",
            low.x, high.y, fabs(high.x - low.x), fabs(low.y - high.y));
    for (size_t i = 0; i < head->shape_count; i++) {
        if (is_shown(picture, &head->shapes[i])) print_static(picture, &head->shapes[i]);
    }
    fprintf(picture->out, "</g>\n");
}

/* The outline of a capsule: two sides and a half circle around each end. */
static void print_capsule(const struct picture *picture, struct shots_point a, struct shots_point b,
                          double radius)
{
    double length = hypot(b.x - a.x, b.y - a.y);
    double x = -(b.y - a.y) / length * radius, y = (b.x - a.x) / length * radius;
    fprintf(picture->out,
            "<path d=\"M%.2f %.2f L%.2f %.2f A%.2f %.2f 0 0 0 %.2f %.2f "
            "L%.2f %.2f A%.2f %.2f 0 0 0 %.2f %.2f Z\"/>\n",
            a.x + x, a.y + y, b.x + x, b.y + y, radius, radius, b.x - x, b.y - y, a.x - x, a.y - y,
            radius, radius, a.x + x, a.y + y);
}

static void print_outline(const struct picture *picture, const struct shots_outline *outline)
{
    for (size_t i = 0; i < outline->count; i++) {
        const struct shots_shape *shape = &outline->shapes[i];
        struct shots_point a = at(picture, shape->a), b = at(picture, shape->b);
        double radius = shape->radius * picture->scale;
        if (a.x == b.x && a.y == b.y) {
            fprintf(picture->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"/>\n", a.x, a.y,
                    radius);
        } else {
            print_capsule(picture, a, b, radius);
        }
    }
}

static void print_line(const struct picture *picture, struct shots_point from,
                       struct shots_point to)
{
    struct shots_point a = at(picture, from), b = at(picture, to);
    fprintf(picture->out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n", a.x, a.y,
            b.x, b.y);
}

static void print_dot(const struct picture *picture, struct shots_point point, double radius)
{
    struct shots_point a = at(picture, point);
    fprintf(picture->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"/>\n", a.x, a.y, radius);
}

/* ---- the shot ---- */

static void print_characters(const struct picture *picture, const struct shot *shot)
{
    fprintf(picture->out, "<g class=\"moved\" stroke=\"#8a8d92\" stroke-dasharray=\"3 3\">\n");
    for (size_t i = 0; i < shot->candidate_count; i++) {
        const struct shots_candidate *candidate = &shot->candidates[i];
        if (picture_moved(candidate) > 0) {
            print_line(picture, candidate->rewound.centre, candidate->present.centre);
        }
    }
    fprintf(picture->out, "</g>\n<g class=\"present\" stroke=\"#4d9fff\">\n");
    for (size_t i = 0; i < shot->candidate_count; i++) {
        print_outline(picture, &shot->candidates[i].present);
    }
    fprintf(picture->out, "</g>\n<g class=\"rewound\" stroke=\"#ff5a4d\">\n");
    for (size_t i = 0; i < shot->candidate_count; i++) {
        print_outline(picture, &shot->candidates[i].rewound);
    }
    fprintf(picture->out, "</g>\n");
}

/* A dot at the end of each tick, whose characters the next piece was tested against, and the
 * projectile itself where the way ends. */
static void print_steps(const struct picture *picture, const struct shots_head *head,
                        const struct shots_flight *flight)
{
    int64_t tick_end = (flight->from / SHOT_MOMENTS + 1) * SHOT_MOMENTS;
    for (int64_t at = tick_end; at < flight->to; at += SHOT_MOMENTS) {
        print_dot(picture, shot_flight_at(head, flight, at), 2);
    }
    struct shots_point end = at(picture, shot_flight_at(head, flight, flight->to));
    fprintf(picture->out,
            "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"none\" stroke=\"#ffffff\"/>\n",
            end.x, end.y, flight->radius * picture->scale);
}

static void print_flights(const struct picture *picture, const struct shots_head *head,
                          const struct shot *shot)
{
    fprintf(picture->out, "<g class=\"flight\" stroke=\"#ffffff\">\n");
    for (size_t i = 0; i < shot->flight_count; i++) {
        const struct shots_flight *flight = &shot->flights[i];
        print_line(picture, flight->origin, shot_flight_at(head, flight, flight->to));
    }
    fprintf(picture->out, "</g>\n<g class=\"step\" stroke=\"none\" fill=\"#ffffff\">\n");
    for (size_t i = 0; i < shot->flight_count; i++) {
        print_steps(picture, head, &shot->flights[i]);
    }
    fprintf(picture->out, "</g>\n");
}

/* A blast hits at its victim, all else where the projectile was. */
static void print_landings(const struct picture *picture, const struct shot *shot)
{
    for (size_t i = 0; i < shot->landing_count; i++) {
        const struct shots_landing *landing = &shot->landings[i];
        print_dot(picture, landing->blast ? landing->point : landing->centre, 4);
    }
}

static void print_rays(const struct picture *picture, const struct shot *shot)
{
    fprintf(picture->out, "<g class=\"ray\" stroke=\"#ffffff\">\n");
    for (size_t i = 0; i < shot->ray_count; i++) {
        print_line(picture, shot->origin, end_of(shot, &shot->rays[i]));
    }
    fprintf(picture->out, "</g>\n<g class=\"origin\" stroke=\"none\" fill=\"#ffffff\">\n");
    print_dot(picture, shot->origin, 3);
    fprintf(picture->out, "</g>\n<g class=\"hit\" stroke=\"none\" fill=\"#ffe14d\">\n");
    for (size_t i = 0; i < shot->ray_count; i++) {
        for (size_t h = 0; h < shot->rays[i].hit_count; h++) {
            print_dot(picture, shot->rays[i].hits[h].point, 4);
        }
    }
    print_landings(picture, shot);
    fprintf(picture->out, "</g>\n");
}

/* Beside the present shape, or where it was seen. */
static void print_labels(const struct picture *picture, const struct shot *shot)
{
    fprintf(picture->out, "<g class=\"label\" stroke=\"none\" fill=\"#c8cacd\">\n");
    for (size_t i = 0; i < shot->candidate_count; i++) {
        const struct shots_candidate *candidate = &shot->candidates[i];
        const struct shots_outline *outline =
            candidate->present.there ? &candidate->present : &candidate->rewound;
        struct shots_point point = at(picture, outline->centre);
        fprintf(picture->out, "<text x=\"%.2f\" y=\"%.2f\">%lld</text>\n", point.x + 3, point.y - 3,
                (long long)candidate->slot);
    }
    fprintf(picture->out, "</g>\n");
}

/* ---- the legend ---- */

/* Names are anybody's: nothing that XML gives a meaning or forbids. */
static void print_escaped(FILE *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        switch (*c) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            fputc((unsigned char)*c < 0x20 || *c == 0x7F ? '?' : *c, out);
        }
    }
}

static void row(struct picture *picture, const char *colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void row(struct picture *picture, const char *colour, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    picture->rows++;
    fprintf(picture->out, "<text x=\"10\" y=\"%.2f\" fill=\"%s\">",
            picture->height + picture->rows * LINE_HEIGHT, colour);
    print_escaped(picture->out, text);
    fprintf(picture->out, "</text>\n");
}

static void print_view(struct picture *picture, const char *name, const struct shots_view *view)
{
    row(picture, "#e6e7e9", "%s view: %.3f (from %lld to %lld, fraction %lld/256)", name,
        picture_view_at(view), (long long)view->from, (long long)view->to,
        (long long)view->fraction);
}

static void print_views(struct picture *picture, const struct shot *shot)
{
    print_view(picture, "claimed", &shot->claimed);
    print_view(picture, "applied", &shot->applied);
    row(picture, "#e6e7e9", "claim: %s   rewound by %.1f ms, from published tick %lld",
        shot->verdict, shot->rewound_ms, (long long)shot->newest);
}

static void print_hit(struct picture *picture, const struct shots_candidate *candidate,
                      const char *how, int64_t part, double distance)
{
    row(picture, "#ffe14d",
        "%s player %lld (entity %lld.%lld), part %lld, %.2f m away: moved %.3f m since "
        "it was seen, behind cover for %.0f ms",
        how, (long long)candidate->slot, (long long)candidate->key.id,
        (long long)candidate->key.generation, (long long)part, distance, picture_moved(candidate),
        candidate->cover_ms);
}

static bool is_key(struct shots_key a, struct shots_key b)
{
    return a.id == b.id && a.generation == b.generation;
}

/* False: no projectile of the shot did anything to it. */
static bool print_landing(struct picture *picture, const struct shot *shot,
                          const struct shots_candidate *candidate)
{
    for (size_t i = 0; i < shot->landing_count; i++) {
        const struct shots_landing *landing = &shot->landings[i];
        if (!is_key(landing->key, candidate->key)) continue;
        const struct shots_point *from = &shot->flights[landing->flight].origin;
        double way = hypot(landing->centre.x - from->x, landing->centre.y - from->y);
        print_hit(picture, candidate, landing->blast ? "hit by the blast:" : "hit", landing->part,
                  way);
        return true;
    }
    return false;
}

static void print_candidate(struct picture *picture, const struct shot *shot,
                            const struct shots_candidate *candidate)
{
    if (print_landing(picture, shot, candidate)) return;
    for (size_t i = 0; i < shot->ray_count; i++) {
        for (size_t h = 0; h < shot->rays[i].hit_count; h++) {
            const struct shots_hit *hit = &shot->rays[i].hits[h];
            if (!is_key(hit->key, candidate->key)) continue;
            print_hit(picture, candidate, "hit", hit->part, hit->distance);
            return;
        }
    }
    const char *state = !candidate->rewound.there   ? "not seen by the shooter"
                        : candidate->spared         ? "spared, by cover or an ability"
                        : !candidate->present.there ? "gone by now"
                                                    : "not hit";
    row(picture, "#c8cacd",
        "near: player %lld (entity %lld.%lld), moved %.3f m, behind cover for %.0f ms: %s",
        (long long)candidate->slot, (long long)candidate->key.id,
        (long long)candidate->key.generation, picture_moved(candidate), candidate->cover_ms, state);
}

static void print_flight_row(struct picture *picture, const struct shots_head *head,
                             const struct shot *shot)
{
    const struct shots_flight *flight = &shot->flights[0];
    double ticks = (double)(flight->to - flight->from) / SHOT_MOMENTS;
    row(picture, "#e6e7e9",
        "%zu projectile%s of %.1f m/s left at %.3f, caught up over %.1f ms at once; a dot for each "
        "tick",
        shot->flight_count, shot->flight_count == 1 ? "" : "s",
        hypot(flight->velocity.x, flight->velocity.y), (double)flight->from / SHOT_MOMENTS,
        ticks * 1000.0 / (double)head->tick_rate);
}

static void print_legend(struct picture *picture, const struct shots_head *head,
                         const struct shot *shot)
{
    fprintf(picture->out, "<g class=\"legend\" stroke=\"none\">\n");
    row(picture, "#e6e7e9",
        "shot %lld in tick %lld by player %lld (%s), weapon %lld, input %lld   %s, %s",
        (long long)shot->index, (long long)shot->tick, (long long)shot->slot, shot->name,
        (long long)shot->weapon, (long long)shot->sequence, head->mode, head->map);
    print_views(picture, shot);
    if (shot->flight_count > 0) print_flight_row(picture, head, shot);
    size_t shown = shot->candidate_count < ROWS_MAX ? shot->candidate_count : ROWS_MAX;
    for (size_t i = 0; i < shown; i++) {
        print_candidate(picture, shot, &shot->candidates[i]);
    }
    int64_t rest = (int64_t)(shot->candidate_count - shown) + shot->left_out;
    if (rest > 0) row(picture, "#c8cacd", "and %lld more", (long long)rest);
    row(picture, "#4d9fff", "blue: on the server when the shot was resolved");
    row(picture, "#ff5a4d", "red: as the shooter saw it, which is what the shot is tested against");
    row(picture, "#c8cacd", "white: ray or flight   yellow: hit   grey: map   %.1f px to the metre",
        picture->scale);
    fprintf(picture->out, "</g>\n");
}

/* The height is known before the legend is printed. */
static int legend_rows(const struct shot *shot)
{
    size_t shown = shot->candidate_count < ROWS_MAX ? shot->candidate_count : ROWS_MAX;
    bool more = shot->candidate_count > shown || shot->left_out > 0;
    return FIXED_ROWS + (int)shown + (more ? 1 : 0) + (shot->flight_count > 0 ? 1 : 0);
}

void picture_print(const struct shots_head *head, const struct shot *shot, FILE *out)
{
    struct picture picture = {.out = out};
    frame_picture(&picture, head, shot);
    double height = picture.height + (legend_rows(shot) + 1) * LINE_HEIGHT;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.2f\" height=\"%.2f\" "
            "viewBox=\"0 0 %.2f %.2f\" font-family=\"monospace\" font-size=\"12\">\n"
            "<title>shot %lld, tick %lld</title>\n"
            "<rect class=\"ground\" width=\"100%%\" height=\"100%%\" fill=\"#14161a\"/>\n",
            picture.width, height, picture.width, height, (long long)shot->index,
            (long long)shot->tick);
    fprintf(out,
            "<svg class=\"world\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" "
            "stroke-width=\"1.5\">\n",
            picture.width, picture.height);
    print_map(&picture, head);
    print_characters(&picture, shot);
    print_flights(&picture, head, shot);
    print_rays(&picture, shot);
    print_labels(&picture, shot);
    fprintf(out, "</svg>\n");
    print_legend(&picture, head, shot);
    fprintf(out, "</svg>\n");
}
