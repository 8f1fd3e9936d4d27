/* What clients drew, and what the server made of it when they shot: the measure of lag compensation
 * from outside (spec/lag-compensation.md "Must be shown"). Reads the clients' pictures and the
 * match's shots; decides with arithmetic of its own; changes neither.
 */
#ifndef SIM_REWIND_H
#define SIM_REWIND_H

#include "shared/view/arb_held.h"
#include "tools/sim/sim_checks.h"

#include <stdio.h>

enum {
    SIM_PICTURES = 512, /* frames kept of a client: 2 s at 240 a second */
    SIM_DRAWN_WAYS = 3, /* enum arbiter_drawn of others */
};

/* name, text: what a shot counts as */
#define SIM_SHOT_MAP(X)                                                                            \
    X(honoured, "resolved at the view that its input claims")                                      \
    X(clamped, "resolved at another view")                                                         \
    X(late, "of a press that came after its tick")                                                 \
    X(starved, "a held trigger goes on while no input is there")                                   \
    X(blank, "the client had drawn nothing yet")                                                   \
    X(corrected, "what its picture shows was run again since, with inputs that came late")         \
    X(unwitnessed, "the client is gone, or never drew what it claims")                             \
    X(cheated, "its client lies")                                                                  \
    X(off, "nothing is compensated")

enum sim_shot {
#define X(name, text) SIM_SHOT_##name,
    SIM_SHOT_MAP(X)
#undef X
        SIM_SHOTS
};
const char *sim_shot_name(enum sim_shot shot);

/* One character that is not the own one, as it was drawn. */
struct sim_drawn {
    struct arb_key key;
    uint8_t kind, how, team;
    struct arb_vec2 position, velocity;
    float heading;
};

/* One frame. */
struct sim_picture {
    struct arb_view view; /* in the server's ticks */
    arb_tick at_tick;     /* the server's when it was drawn: it may lose time */
    uint64_t first;       /* of what was drawn */
    uint32_t count;
    /* The own character without its offset, and the places that it was drawn between: those before
     * and after the step of own_tick; 0: none. */
    arb_tick own_tick;
    struct arb_vec2 own, own_before, own_after;
};

/* What is remembered of one client. */
struct sim_eye {
    struct sim_picture pictures[SIM_PICTURES]; /* ring */
    struct sim_drawn *drawn;                   /* ring */
    uint64_t picture_count, drawn_count;
    /* of the last shots that had a long way */
    uint32_t far_shots;
    double way_ms, rewound_ms;
};

/* What came in for a player in this tick. */
struct sim_rewind_slot {
    bool claims; /* an input was there */
    bool carried;
    bool followed; /* and one for the tick before */
    arb_tick input_tick;
    struct arb_view claimed;
    struct arb_vec2 before; /* m, before its move */
};

struct sim_rewind_places {
    uint64_t count, missing /* the server has it not */, errors;
    double sum_m, max_m;
};

/* Of projectiles: characters of the frames that their shooters drew while they were caught up. */
struct sim_rewind_flights {
    uint64_t launches, pictures;
    struct sim_rewind_places certain; /* drawn as the view of the launch had decided */
    struct sim_rewind_places held;    /* between snapshots that the client held then */
    struct sim_rewind_places assumed; /* from what came later, or was lost */
};

struct sim_rewind_figures {
    uint64_t shots[SIM_SHOTS];
    uint64_t compared; /* characters of honoured shots */
    uint64_t deferred; /* of them, those that a snapshot had left out */
    uint64_t how[SIM_DRAWN_WAYS];
    uint64_t errors, drawn_only, held_only;
    double error_sum_m, error_max_m;
    uint64_t moving;
    double signed_ticks;
    uint64_t rays, hits, differing, unsure;
    uint64_t muzzles;
    double muzzle_max_m;
    double rewound_ms; /* sum over shots with a known picture */
    uint64_t rewound;
    uint64_t unseen, dead;
    uint64_t cheat_shots, cheat_hits; /* of client 0 while it cheats */
    struct sim_rewind_flights flights;
};

struct sim_rewind {
    bool shoots;    /* the mode has weapons */
    double most_ms; /* of rewind; 0: the match is to do none */
    struct rewind_kind kinds[ARB_KINDS_MAX];
    int8_t team_fields[ARB_KINDS_MAX];
    struct sim_rewind_slot *slots; /* [players] */
    struct sim_eye *eyes;          /* [sim->player_count] */
    struct sim_rewind_figures figures;
};

/* The newest but `back` - 1; NULL: what was drawn in it is not kept any more. */
const struct sim_picture *sim_picture_back(const struct sim_eye *eye, uint64_t back);
/* The newest picture of that view that is still kept; NULL. */
const struct sim_picture *sim_picture_of(const struct sim_eye *eye, const struct arb_view *view);
struct sim_drawn *sim_drawn_of(const struct sim_eye *eye, const struct sim_picture *picture,
                               uint32_t index);

/* Doubles, so that a float's last bit is seen. */
struct sim_spot {
    double x, y;
};
struct sim_spot sim_spot_of(struct arb_vec2 point);
double sim_spot_distance(struct sim_spot a, struct sim_spot b);
/* A point of a shape whose owner stands there and looks along the unit vector `facing`. */
struct sim_spot sim_spot_placed(struct arb_vec2 point, struct sim_spot at, struct arb_vec2 facing);

/* How far a ray with a direction of length 1 goes until it meets a capsule (a == b: circle). */
#define SIM_NEVER_MET 1e300
double sim_rewind_meets(struct sim_spot from, struct sim_spot direction, struct sim_spot a,
                        struct sim_spot b, double radius);

/* One ray of a shot against the picture; a decision that differs is a violation. */
void sim_rewind_decide(struct sim_checks *checks, uint32_t client, const struct sim_picture *seen,
                       const struct rewind_ray *ray, const struct rewind_shot *shot);

/* A projectile of a shot of that picture, caught up. */
void sim_rewind_flight(struct sim_checks *checks, uint32_t client, const struct sim_picture *seen,
                       const struct rewind_ray *ray, const struct rules_flight *flight);

/* The report's member, with its name and a comma behind it. */
void sim_rewind_print(FILE *out, const struct sim *sim);

#endif
