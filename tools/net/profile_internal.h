/* What a profile is made of. For this folder and its tests. */
#ifndef NET_PROFILE_INTERNAL_H
#define NET_PROFILE_INTERNAL_H

#include "tools/net/profile.h"
#include "tools/net/trace.h"

enum {
    PROFILE_MILLION = 1000000,
    PROFILE_DRIFT_MAX_PPM = 900000,
    PROFILE_MOBILE_DELAY_US = 25000, /* comes on top of a trace of opportunities */
};

struct profile_side {
    struct arb_link link; /* in the middle of its drift; points to the two below */
    uint32_t drift_ppm;   /* how far delay, jitter and loss wander to both sides */
    struct trace trace;
    struct arb_jitter_table *jitter_table; /* owned, or NULL */
};

struct profile {
    char *name;
    uint64_t seed;
    struct profile_side up, down;
};

/* Fills both sides from the file `profile->name`; what was filled is freed by profile_free. */
bool profile_read(struct profile *profile, struct profile_error *error);

#endif
