/* The shots of a match as debug.rewind_trace wrote them (server/ops/README.md has the format): read
 * and checked, nothing else. Errors name file, line and field.
 */
#ifndef REPLAY_SHOTS_H
#define REPLAY_SHOTS_H

#include "shared/base/arb_result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHOTS_ERROR_BYTES = 512,
    SHOT_RAYS = 64,
    SHOT_HITS = 64,
    SHOT_SHAPES = 16,
    SHOT_CANDIDATES = 256,
    SHOT_LANDINGS = 256,
    SHOT_FLIGHT_TICKS = 1024, /* more than any was ever caught up by */
    SHOT_MOMENTS = 256,       /* of a tick */
    SHOT_NAME_BYTES = 128,
    STATIC_POINTS = 8,
};

struct shots_point {
    double x, y; /* m */
};

struct shots_key {
    int64_t id, generation;
};

/* Of the map: one point a circle, two a capsule, more a polygon. */
struct shots_static {
    struct shots_point points[STATIC_POINTS];
    size_t count;
    double radius; /* m */
};

struct shots_head {
    char mode[SHOT_NAME_BYTES], map[SHOT_NAME_BYTES];
    int64_t tick_rate;
    struct shots_point low, high; /* bounds */
    struct shots_static *shapes;  /* [shape_count], owned */
    size_t shape_count;
};

struct shots_view {
    int64_t from, to, fraction;
};

struct shots_hit {
    struct shots_key key;
    int64_t part;
    double distance; /* m */
    struct shots_point point;
};

struct shots_ray {
    struct shots_point direction;
    double range, reach; /* m */
    struct shots_hit hits[SHOT_HITS];
    size_t hit_count;
};

/* The way of a projectile in the tick in which it left; moments are in 1/256 tick. */
struct shots_flight {
    int64_t pellet, from, to, present;
    double radius; /* m */
    struct shots_point origin, velocity;
};

/* Whom it ended at, or its blast reached. */
struct shots_landing {
    int64_t flight; /* index of it */
    struct shots_key key;
    int64_t part, at;
    bool blast, rewound;
    struct shots_point centre, point;
};

struct shots_shape {
    struct shots_point a, b;
    double radius; /* m */
};

struct shots_outline {
    bool there;
    struct shots_point centre;
    struct shots_shape shapes[SHOT_SHAPES];
    size_t count;
};

struct shots_candidate {
    struct shots_key key;
    int64_t slot; /* -1: nobody's */
    double cover_ms;
    bool spared; /* by cover or an ability, should a ray meet it */
    struct shots_outline present, rewound;
};

struct shot {
    int64_t index, tick, newest, slot, sequence, weapon, left_out;
    char name[SHOT_NAME_BYTES], verdict[SHOT_NAME_BYTES];
    struct shots_key shooter;
    struct shots_view claimed, applied;
    double rewound_ms;
    struct shots_point origin;
    struct shots_ray rays[SHOT_RAYS];
    size_t ray_count;
    struct shots_flight flights[SHOT_RAYS];
    size_t flight_count;
    struct shots_landing landings[SHOT_LANDINGS];
    size_t landing_count;
    struct shots_candidate candidates[SHOT_CANDIDATES];
    size_t candidate_count;
};

struct shots;

/* Reads the first line. ARB_FILES: cannot be read; ARB_DATA: is no such file; then one sentence in
 * `error`. */
enum arb_result shots_open(const char *path, struct shots **out, char error[SHOTS_ERROR_BYTES]);
void shots_close(struct shots *shots);
const struct shots_head *shots_head(const struct shots *shots);

/* The next shot; *end: there is none, and `shot` is as it was. */
enum arb_result shots_next(struct shots *shots, struct shot *shot, bool *end,
                           char error[SHOTS_ERROR_BYTES]);
/* The file ends within a line: whoever wrote it was stopped. That line is not read. */
bool shots_cut(const struct shots *shots);

/* Where that flight was at a moment, m. */
struct shots_point shot_flight_at(const struct shots_head *head, const struct shots_flight *flight,
                                  int64_t moment);
/* Somebody's candidate row, or NULL. */
const struct shots_candidate *shot_candidate(const struct shot *shot, struct shots_key key);

#endif
