/* One resolved shot as a copy that leaves the match, for whoever writes it down or draws it
 * (spec/lag-compensation.md "Seeing it"). Plain data; a leaf header, so that a reader of shots does
 * not see the live match.
 */
#ifndef MATCH_SHOT_H
#define MATCH_SHOT_H

#include "shared/base/arb_input.h"
#include "shared/proto/arb_proto.h"

enum {
    MATCH_SHOT_RAYS = 16,       /* pellets of a shot */
    MATCH_SHOT_HITS = 16,       /* of one ray */
    MATCH_SHOT_SHAPES = 4,      /* of one character */
    MATCH_SHOT_CANDIDATES = 32, /* the hit ones first, then by key; more are counted only */
    MATCH_SHOT_LANDINGS = 32,   /* in order; more are counted only */
};

struct match_shot_hit {
    struct arb_key victim;
    uint8_t part;
    float distance;        /* m along the ray */
    struct arb_vec2 point; /* m */
};

struct match_shot_ray {
    struct arb_vec2 direction; /* unit */
    float range, reach;        /* m: how far it might go, how far it went */
    uint8_t hit_count;
    struct match_shot_hit hits[MATCH_SHOT_HITS]; /* nearest first */
};

/* A projectile of the shot: its way in the tick in which it left. Moments are in 1/256 tick of the
 * drawn world. */
struct match_shot_flight {
    uint8_t pellet;
    float radius;                     /* m */
    struct arb_vec2 origin, velocity; /* m, m/s */
    uint64_t from, to;                /* to: how far it was caught up, or where it ended */
    uint64_t present;                 /* from this moment on it was not rewound */
};

/* Whom it ended at, or its blast reached. */
struct match_shot_landing {
    uint8_t flight; /* index */
    struct arb_key victim;
    uint8_t part;
    bool blast, rewound;
    uint64_t at;
    struct arb_vec2 centre; /* m, of the projectile */
    struct arb_vec2 point;  /* m, of the victim */
};

/* A circle (a == b) or capsule in the world's frame, m. */
struct match_shot_shape {
    struct arb_vec2 a, b;
    float radius;
    uint8_t part;
};

struct match_shot_outline {
    bool there;
    struct arb_vec2 centre; /* m */
    uint8_t count;
    struct match_shot_shape shapes[MATCH_SHOT_SHAPES];
};

/* Somebody who is hit, or stands near a ray or flight, now or in the view. */
struct match_shot_candidate {
    struct arb_key key;
    uint16_t slot; /* ARB_NO_SLOT: nobody's, or gone */
    bool spared;   /* by lagcomp.cover_grace_ms or lagcomp.abilities_win, should a ray meet it */
    uint32_t cover_ms;                 /* how long it had been behind cover on the server */
    struct match_shot_outline present; /* as of the newest published frame */
    struct match_shot_outline rewound; /* as the shot met it, or a projectile when it was nearest;
                                          not there: the shooter did not hold it */
};

struct match_shot {
    arb_tick tick;   /* whose step fired it: S[tick] -> S[tick + 1] */
    arb_tick newest; /* published tick that was the newest then */
    uint16_t slot;
    char name[ARB_NAME_BYTES]; /* of the player */
    struct arb_key shooter;
    arb_sequence sequence; /* of the input it left with; 0: held, none came */
    uint8_t weapon;
    struct arb_view claimed, applied;
    const char *verdict; /* static: "honoured", or why the claimed view is not the applied one */
    bool late;           /* a press that came after its tick, and waited for the next input */
    bool repeated;       /* held fire while inputs were missing: its view moves on with time */
    float rewound_ms;    /* newest - applied view; of projectiles - the moment they left at */
    struct arb_vec2 origin;
    uint8_t ray_count;
    struct match_shot_ray rays[MATCH_SHOT_RAYS];
    uint8_t flight_count;
    struct match_shot_flight flights[MATCH_SHOT_RAYS];
    uint8_t landing_count;
    uint32_t landings_left_out;
    struct match_shot_landing landings[MATCH_SHOT_LANDINGS];
    uint8_t candidate_count;
    uint32_t candidates_left_out;
    struct match_shot_candidate candidates[MATCH_SHOT_CANDIDATES];
};

#endif
