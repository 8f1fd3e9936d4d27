/* The grid inside interest.c: a counting sort of all parts of all entities by cell. For this folder
 * and tests.
 *
 * The plane of cells is folded onto a square of 2^shift x 2^shift buckets (cell index modulo the
 * side), so the grid needs no bounds and its size follows from what is in the frame. Cells a whole
 * side apart share a bucket: that costs an exact test more, never a wrong answer.
 */
#ifndef INTEREST_INTERNAL_H
#define INTEREST_INTERNAL_H

#include "server/interest/interest.h"

enum {
    GRID_SHIFT_MIN = 5, /* 32 x 32: 320 m at cells of 10 m without folding */
    GRID_SHIFT_MAX = 8,
    GRID_RUN_POINTS = 8, /* points of a body that are registered together */
    GRID_FEW = 48,       /* so few parts are tested all, sooner than cells are looked up */
};

/* Cells of one axis, folded: `first` and the `count` - 1 after it, modulo the side. */
struct grid_span {
    uint32_t first, count;
};

/* A part in one cell; what the test of a circle reads is here, so that it follows no index. */
struct grid_entry {
    float x, y;        /* m, the circle; of a run the middle of its box */
    uint32_t id;       /* of the entity */
    uint32_t run : 24; /* 1 + index of the run of body points, 0: the entity's own circle */
    uint32_t kind : 8;
};

/* Consecutive points of one body, at most GRID_RUN_POINTS, within a cell's size of each other. */
struct grid_run {
    uint32_t first; /* in frame->points */
    uint32_t count;
    float reach; /* m; all points are closer to the middle, rounding included */
};

/* A part and its cells, between the two passes of the sort. */
struct grid_part {
    struct grid_entry entry;
    struct grid_span across, along;
};

struct interest_grid {
    double cell_m, cells_per_m;
    uint32_t shift, mask; /* side = 1 << shift = mask + 1 */
    uint32_t *starts;     /* [side * side + 1]: entries of bucket b are starts[b]..starts[b + 1] */
    struct grid_entry *entries;
    struct grid_part *parts;
    struct grid_run *runs;
    uint32_t entry_capacity, entry_count, part_count, run_count;
    float unit_of_kind[ARB_KINDS_MAX]; /* m per step of the position */
};

struct interest_viewer {
    uint64_t *seen;   /* bit per id */
    uint32_t version; /* when that was; 0: nothing of it counts */
};

struct interest {
    struct interest_config config;
    double reaches[2][ARB_KINDS_MAX]; /* m, R + r: [0] to enter, [1] to stay */
    double limits[2][ARB_KINDS_MAX];  /* m^2, their squares */
    struct interest_grid grid;
    const struct arb_frame *frame;
    /* By id, of the entity that has it in the newest frame or had it last. */
    uint32_t *orders;  /* arb_key_order; 0: nobody yet */
    uint32_t *born;    /* version with which it came */
    uint16_t *places;  /* where it is, or was, in the frame */
    uint32_t version;  /* +1 with each frame that brings somebody */
    uint64_t *newborn; /* bit per id: came with this version */
    size_t words;      /* of a set, as far as ids were ever in use */
    uint64_t *found;   /* bit per id, of the update under way */
    uint32_t *visible; /* what it returns */
    struct interest_viewer *viewers;
    uint64_t candidates;
};

void interest_grid_create(struct interest_grid *grid, struct arb_arena *arena,
                          const struct interest_config *config);
void interest_grid_build(struct interest_grid *grid, const struct interest_config *config,
                         const struct arb_frame *frame);

/* Cells that the closed interval low..high (m) touches. */
struct grid_span interest_grid_span(const struct interest_grid *grid, double low, double high);
/* The same, or a cell more at a border of cells: for queries, which are a hair wider anyway. */
struct grid_span interest_grid_reach(const struct interest_grid *grid, double low, double high);

#endif
