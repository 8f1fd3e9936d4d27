/* The one owner of the past (spec/lag-compensation.md). Holds the published frames (one sample per
 * tick, which is the hitbox history too) and the origin records; answers pure queries over them.
 * Replication, inspector and journal read its frames; nobody else keeps past positions. Never
 * changes the world.
 */
#ifndef REWIND_H
#define REWIND_H

#include "shared/base/arb_arena.h"
#include "shared/base/arb_input.h"
#include "shared/move/arb_geometry.h"
#include "shared/proto/arb_schema.h"

enum {
    REWIND_HITS_MAX = 16,
    REWIND_SHAPES_MAX = 4,
    REWIND_STATE_SNAPSHOTS = 48, /* no state that a client draws from is older than so many */
};

/* A hit shape in the character's own frame (+x is its heading): circle when a == b. */
struct rewind_shape {
    struct arb_vec2 a, b; /* m */
    float radius;         /* m */
    uint8_t part;         /* tells the rules which part was hit */
};

/* Hit shapes of one entity kind; count 0: cannot be hit. */
struct rewind_kind {
    struct rewind_shape shapes[REWIND_SHAPES_MAX];
    uint8_t count;
};

struct rewind_config {
    const struct arb_schema *schema;
    const struct rewind_kind *kinds; /* [schema->kind_count], copied */
    uint32_t tick_rate;
    uint32_t max_rewind_ms;
    uint32_t window_ticks; /* rollback window */
    uint32_t back_ticks;   /* how far rewind_go_back may go */
    uint32_t snapshot_interval_ticks;
    uint32_t entity_capacity, point_capacity; /* of one frame */
    uint32_t player_capacity;
};

/* Samples for compensation alone, and how far back a view is answered: ceil(max(max_rewind_ms, 50)
 * * tick_rate / 1000) + 4 + window. */
uint32_t rewind_samples(uint32_t max_rewind_ms, uint32_t tick_rate, uint32_t window_ticks);
/* Length of the frame ring: what baselines may name, 64 * snapshot interval + 4, or what views may
 * name, whichever is more: rewind_samples, what is carried on, and the age of the oldest state. The
 * clarifications ask for rewind_samples alone; then, with a snapshot every tick, a claim of 500 ms
 * fails by one state that snapshots left out for long. */
uint32_t rewind_frames(const struct rewind_config *config);

struct rewind;
struct rewind *rewind_create(struct arb_arena *arena, const struct rewind_config *config,
                             const struct arb_geometry *geometry);
void rewind_destroy(struct rewind *rewind);

/* Stage 8: the place for the frame of published tick `tick` (+1 each time); the caller fills it,
 * entities ascending by key, at most the capacities, then calls rewind_commit. */
struct arb_frame *rewind_begin_frame(struct rewind *rewind, arb_tick tick);
void rewind_commit(struct rewind *rewind);

/* NULL when the ring does not hold that published tick (any more, or yet). */
const struct arb_frame *rewind_frame(const struct rewind *rewind, arb_tick tick);
/* Newest published frame; NULL before the first. */
const struct arb_frame *rewind_newest(const struct rewind *rewind);

/* Some players before: the record's memory comes meanwhile. */
void rewind_expect_origin(const struct rewind *rewind, uint16_t slot, arb_sequence sequence);
/* Stage 4, right after the player's own move: the muzzle origin of that input. */
void rewind_record_origin(struct rewind *rewind, uint16_t slot, arb_sequence sequence,
                          arb_tick tick, struct arb_vec2 origin);
/* At a rebind or a new session: sequences start anew. */
void rewind_drop_origins(struct rewind *rewind, uint16_t slot);
/* The origin of that input: from the previous input's place (fraction 0) towards its own by the
 * muzzle fraction (1/256). Its own where there is no previous one of the tick before: nothing is
 * interpolated over a gap or a rebind. False when the sequence is unknown. */
bool rewind_origin(const struct rewind *rewind, uint16_t slot, arb_sequence sequence,
                   uint8_t muzzle_fraction, struct arb_vec2 *origin);

/* The view that means "no rewind": the newest published frame. */
struct arb_view rewind_present(const struct rewind *rewind);

/* The states that one client held of one character around a view: the frames of those two ticks;
 * equal: that one alone, extrapolated (shared/view/arb_held.h). */
struct rewind_pair {
    struct arb_key key;
    arb_tick from_tick, to_tick;
};

/* Where a character stood in that view, by the rules of drawing (shared/view/arb_drawn.h), drawn
 * from the view's own two ticks: m, rad. False when it was not in the frame of the earlier one.
 * *heading may be NULL; it is 0 for kinds without one. */
bool rewind_pose(const struct rewind *rewind, struct arb_key key, struct arb_view view,
                 struct arb_vec2 *position, float *heading);

/* The same from the two states of a pair. False when a frame of theirs is not held, lacks it, or
 * the view's time does not lie between them. */
bool rewind_pose_of_pair(const struct rewind *rewind, const struct rewind_pair *pair,
                         struct arb_view view, struct arb_vec2 *position, float *heading);

/* What counts before that which the shooter saw, in favour of victims: whoever it spares is passed
 * as if not there. */
struct rewind_shelter {
    struct arb_key key;
    arb_tick since; /* published tick that showed it first: a view before that is too old to hit */
};

struct rewind_mercy {
    struct arb_vec2 origin; /* m, where the shot came from */
    /* Behind cover from there for so long (rewind_cover_ticks): spared. 0: nobody is for that. */
    uint32_t cover_ticks;
    const struct rewind_shelter *shelters; /* [shelter_count] ascending by key */
    uint32_t shelter_count;
};

/* ---- rays ---- */

struct rewind_ray {
    struct arb_key shooter; /* never hit */
    uint8_t shooter_team;   /* with team_filter: same team (not 0) is never hit */
    bool team_filter;
    struct arb_vec2 origin;    /* m */
    struct arb_vec2 direction; /* unit; one that is not finite hits nothing */
    float range;               /* m */
    uint8_t pierce;            /* characters it goes through; 0: stops at the first */
    struct arb_view view;      /* the applied view */
    /* What the shooter's client held at that view, ascending by key; whoever is not in it was not
     * seen and is not hit. NULL: everyone as of the view's own two ticks. */
    const struct rewind_pair *pairs;
    uint32_t pair_count;
    const struct rewind_mercy *mercy; /* NULL: none */
    /* For what flies on from this view, no ray asks: of the snapshots after the view's later tick
     * those that the client held already; bit i: i + 1 intervals after. */
    uint64_t later;
};

struct rewind_hit {
    struct arb_key victim;
    uint8_t part;
    float distance;        /* m along the ray */
    struct arb_vec2 point; /* m */
};

struct rewind_shot {
    struct rewind_hit
        hits[REWIND_HITS_MAX]; /* nearest first, ties by key; one per victim: its nearest shape */
    uint8_t hit_count;
    uint32_t unseen; /* those whom it would have met before its end, had the client held them;
                       REWIND_HITS_MAX at most */
    uint32_t spared; /* the same of those whom mercy spared */
    float reach;     /* m: where the ray ended (static shape, last victim, or range) */
};

/* Pure: (histories, ray) -> hits. Static geometry stops the ray. */
void rewind_resolve_shot(struct rewind *rewind, const struct rewind_ray *ray,
                         struct rewind_shot *out);

/* The same for the pellets of one shot, out[count]: they share shooter, team, view, pairs and
 * mercy, which are those of rays[0]. */
void rewind_resolve_shots(struct rewind *rewind, const struct rewind_ray *rays, uint32_t count,
                          struct rewind_shot *out);

/* ---- more than rays: melee, projectiles, explosions. Pure; arrays in, arrays out ---- */

/* Which past is asked, and who counts in it: as in struct rewind_ray. */
struct rewind_past {
    struct arb_key shooter; /* ARB_KEY_NONE: nobody is spared as the shooter */
    uint8_t shooter_team;
    bool team_filter;
    struct arb_view view;
    const struct rewind_pair *pairs; /* ascending by key, or NULL */
    uint32_t pair_count;
    /* 0: the pairs are of this view. Else they are of an earlier one, and what was known with that
     * ends: of a pair of two states with the later one, of everyone else, the unseen too, at this
     * moment (rewind_flight_past). From then on everyone is as of the view's own ticks. */
    arb_fine pairs_until;
    const struct rewind_mercy *mercy; /* NULL: none */
};

/* A capsule (a == b: circle) that moves by delta without turning. */
struct rewind_sweep {
    struct arb_vec2 a, b;  /* m, at its start */
    float radius;          /* m; 0 allowed */
    struct arb_vec2 delta; /* m; 0, or not finite: it meets nothing */
    uint8_t pierce;
    bool walls; /* static geometry stops it; of circles only (asserted) */
};

/* out[count] for sweeps[count]. A hit's distance is the way of the capsule until it touches, its
 * point where `a` stands then; reach: how far it went. Touching counts; who is touched at the start
 * is met at 0. */
void rewind_sweep(struct rewind *rewind, const struct rewind_past *past,
                  const struct rewind_sweep *sweeps, uint32_t count, struct rewind_shot *out);

/* A capsule (a == b: circle) that stands. */
struct rewind_area {
    struct arb_vec2 a, b; /* m */
    float radius;         /* m */
};

enum { REWIND_TOUCHES_MAX = 64 };

struct rewind_touch {
    /* Nearest first, ties by key; distance: m from the segment a b to the victim's nearest shape,
     * 0 when it reaches that far; point: of that shape's axis, the nearest to a b. Static geometry
     * between the two is the caller's question (arb_geometry_ray to the point). */
    struct rewind_hit hits[REWIND_TOUCHES_MAX];
    uint8_t hit_count;
    uint32_t unseen;   /* as in struct rewind_shot */
    uint32_t spared;   /* the same */
    uint32_t left_out; /* touched, but farther than REWIND_TOUCHES_MAX others */
};

/* out[count] for areas[count]. Touching counts. */
void rewind_overlap(struct rewind *rewind, const struct rewind_past *past,
                    const struct rewind_area *areas, uint32_t count, struct rewind_touch *out);

struct rewind_place {
    bool there;
    struct arb_vec2 position; /* m */
    float heading;            /* rad */
};

/* out[count] for keys[count]: where each was drawn; the filters do not count. */
void rewind_places(const struct rewind *rewind, const struct rewind_past *past,
                   const struct arb_key *keys, uint32_t count, struct rewind_place *out);

/* ---- fairness, and seeing it ---- */

/* How long a victim had been behind cover on the server: of the newest published frames, counted
 * back without a gap and no further than the view's moment, those in which static geometry stood
 * between `origin` (m) and the character's published centre. Ticks; at most `most`, where it stops.
 * One ray of static geometry for each frame that counts, and one more. Pure. */
uint32_t rewind_cover_ticks(const struct rewind *rewind, struct arb_key victim,
                            struct arb_vec2 origin, struct arb_view view, uint32_t most);

/* Whether mercy spares that character in that past, should the shot meet it. Pure. */
bool rewind_forgives(const struct rewind *rewind, const struct rewind_past *past,
                     struct arb_key key);

/* The hit shapes of one character in the world's frame. */
struct rewind_outline {
    struct arb_vec2 centre;                        /* m */
    struct rewind_shape shapes[REWIND_SHAPES_MAX]; /* [count] */
    uint8_t count;
};

/* What a ray is tested against in that past, filters aside. False: that character is not there in
 * it, or the client did not hold it. Pure; for those who look, not for shots. */
bool rewind_outline(const struct rewind *rewind, const struct rewind_past *past, struct arb_key key,
                    struct rewind_outline *out);

#endif
