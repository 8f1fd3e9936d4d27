/* The one interface between engine and game: a table of functions and numbers. The engine sees only
 * this header; a mode sees this header and the world. A mode gives meaning (damage, death, pickup,
 * growth, score, respawn); it never touches sockets, clocks or interest, and of the past it only
 * asks (server/rewind). Everything here runs inside the pure part of the tick: no clock, no
 * allocation, no randomness but the world's streams.
 */
#ifndef RULES_H
#define RULES_H

#include "server/collide/collide.h"
#include "server/config/option.h"
#include "server/rewind/rewind.h"
#include "server/world/map.h"
#include "server/world/world.h"
#include "shared/move/arb_move.h"
#include "shared/move/arb_path.h"

struct rules_crowd;

enum { RULES_PELLETS_MAX = 16 };

/* Room for the events of a tick in which every player joins, dies, comes back, is scored and
 * leaves, and half of it for hits, which alone may be more than there is room for. */
static inline uint32_t rules_events_capacity(uint32_t players)
{
    return 1024 + 32 * players;
}

enum { RULES_EVENT_KEYS = 2 };

/* To whom an event goes. */
struct rules_event {
    uint16_t to;   /* player slot, or ARB_NO_SLOT: everyone */
    uint16_t also; /* a second slot, or ARB_NO_SLOT */
    /* Not all none: to every player too who was shown one of these, and to spectators, who may look
     * at everything. */
    struct arb_key about[RULES_EVENT_KEYS];
    struct arb_event event;
};

static inline bool rules_event_is_about_some(const struct rules_event *event)
{
    bool any = false;
    for (int i = 0; i < RULES_EVENT_KEYS; i++) {
        any = any || !arb_key_is_none(event->about[i]);
    }
    return any;
}

struct rules_events {
    struct rules_event *list; /* [capacity] */
    uint32_t capacity;        /* rules_events_capacity */
    uint32_t count;
    uint32_t dropped; /* did not fit */
};

/* ---- what flies, for whoever counts and looks; no rule reads it ---- */

/* A projectile that left in this tick, and its way through the past, gone at once. */
struct rules_flight {
    uint32_t shot; /* index in this tick's shots */
    uint8_t pellet;
    struct arb_path path;
    float radius;            /* m */
    arb_fine to;             /* how far it went in this tick */
    arb_fine present;        /* from this moment on it flew as all that were under way did */
    uint32_t unseen, spared; /* characters that it passed, as in struct rewind_shot */
};

/* A character at which a projectile ended, or that its blast reached. */
struct rules_landing {
    uint16_t slot;  /* of the shooter */
    int32_t flight; /* index of its flight; -1: it left in an earlier tick */
    bool rewound;   /* met in the past that its shooter saw, while it was caught up */
    bool blast;
    uint8_t part;
    struct arb_key victim;
    arb_fine at;
    struct arb_vec2 origin; /* m, where it came from: its muzzle; of a blast the middle */
    struct arb_vec2 centre; /* m, of the projectile at that moment */
    struct arb_vec2 point;  /* m, of the victim */
};

struct rules_flights {
    struct rules_flight *list; /* [capacity] room for all that can leave in a tick */
    uint32_t capacity, count;
    struct rules_landing *landings; /* [landing_capacity] as many as there is room for hits */
    uint32_t landing_capacity, landing_count;
    uint32_t dropped; /* landings that did not fit */
};

/* What a mode works with; the same for all its functions. */
struct rules_context {
    struct world *world;
    const void *params; /* the mode's struct, filled from its option rows */
    const struct map *map;
    const struct arb_geometry *geometry;
    const struct arb_move_params *move;
    struct collide *collide;
    struct rewind *rewind; /* the past, for questions only; a mode keeps nothing of it */
    uint32_t tick_rate;
    uint32_t catchup_ticks; /* so far back a projectile may leave: lagcomp.projectile_catchup_ms */
    struct rules_events *events;
    struct rules_flights *flights;
    struct rules_crowd *crowd; /* of a mode that chooses places; nothing of it survives a tick */
};

/* One shot that left in stage 4 and was resolved in stage 6. */
struct rules_shot {
    uint16_t slot;
    struct arb_key shooter;
    uint8_t weapon;
    uint8_t pellet_count;     /* rays */
    uint8_t projectile_count; /* leave in stage 7 from the origin of rays[0], along its direction */
    arb_sequence sequence;    /* of the input it left with; 0: none came */
    uint16_t action; /* low bits of the sequence of the input that pressed or held for it */
    /* What the engine did with the client's word, for whoever looks; no rule reads it. */
    struct arb_view claimed; /* the rays have the applied one */
    uint8_t verdict;         /* enum match_view_verdict (server/match/match_views.h) */
    bool late;               /* a press that came after its tick */
    bool repeated;           /* held fire of an input that was missing */
    bool slow;               /* of a player with a long round trip */
    struct rewind_ray rays[RULES_PELLETS_MAX];
    struct rewind_shot pellets[RULES_PELLETS_MAX];
};

/* Stage 4's report of one player. */
struct rules_moved {
    bool stepped;            /* it had a character */
    uint16_t buttons, edges; /* of the input that was applied */
    struct arb_move_report report;
};

struct rules {
    const char *name; /* match.mode, also the name of its configuration section */
    const struct arb_schema *schema;
    const struct option *options; /* rows with paths "<name>.key" into its params struct */
    size_t option_count;
    size_t params_bytes;
    bool teams; /* players are dealt to two teams when match.teams is set */

    /* Relations between its numbers, and what it needs of the map; false with one clear sentence
     * that names the option's path or the map object. */
    bool (*check)(const void *params, uint32_t tick_rate, uint32_t max_players,
                  const struct map *map, char *error, size_t error_bytes);
    void (*move_params)(const void *params, uint32_t tick_rate, struct arb_move_params *out);
    void (*capacity)(const void *params, const struct map *map, uint32_t max_players,
                     struct world_capacity *out); /* players is already set */
    void (*collide_kinds)(const void *params, struct collide_kind kinds[ARB_KINDS_MAX]);
    void (*rewind_kinds)(const void *params, struct rewind_kind kinds[ARB_KINDS_MAX]);

    /* How far its weapons reach, m; NULL: it has none. Beyond interest.enter_m they meet nobody
     * whom the shooter did not have in view before. */
    float (*reach)(const void *params);

    /* A live round begins: every present player gets a character here; pickups, food and so on are
     * placed. Scores go on from the round before. Called in stage 7. */
    void (*round_begin)(struct rules_context *context);
    /* The live round is over: removes all entities and controls. Stage 7. */
    void (*round_end)(struct rules_context *context);
    /* A player came while live (gets a character, now or soon), or left (its character ends).
     * Stage 7. */
    void (*player_joined)(struct rules_context *context, uint16_t slot);
    void (*player_left)(struct rules_context *context, uint16_t slot);

    /* Stage 6: rays of a shot that left (spread from the combat stream); returns pellets written to
     * shot->rays (range, direction, pierce, filters; origin and view are set by the engine before,
     * the aim too as direction of rays[0]). */
    void (*shoot)(struct rules_context *context, struct rules_shot *shot);

    /* Stage 6, with lagcomp.abilities_win: that player's character is in an ability that gets it
     * out of the way (a dash), and since which published tick it shows; shots whose view is before
     * that pass. NULL: the mode has none. */
    bool (*evades)(const struct rules_context *context, uint16_t slot, arb_tick *since);

    /* Stage 7, live only, in this order: moved (per stepped player: walls reached ...), shots in
     * order of slot, contacts, update (respawns, pickups, growth, limits: may set
     * world->head->ended_early). Ties have one written rule. */
    void (*moved)(struct rules_context *context, const struct rules_moved *moved);
    void (*shots)(struct rules_context *context, const struct rules_shot *shots, uint32_t count);
    void (*contacts)(struct rules_context *context, const struct collide_contact *contacts,
                     uint32_t count);
    void (*update)(struct rules_context *context);

    /* Stage 8: quantised fields of one entity by its kind's table; out[] is zeroed before. */
    void (*publish)(const struct rules_context *context, const struct world_entity *entity,
                    int32_t out[ARB_KIND_FIELDS_MAX]);

    /* What rules_bytes consists of, for checksum and saved blocks; returns how many parts, their
     * memory is the caller's to set. NULL: the mode has none. */
    uint32_t (*state)(const void *params, const struct map *map, uint32_t max_players,
                      struct arb_form_part parts[WORLD_RULES_PARTS]);
    /* Whether the mode can go on from this state, which came from outside and passed world_check:
     * each number of its own that it counts or looks up by. NULL: any will do. */
    bool (*check_state)(const void *params, const struct map *map, const struct world *world);

    /* End of the match: order of players by rank; -1, 0, 1 like strcmp. Equal: a draw. */
    int (*rank)(const struct world_player *a, const struct world_player *b);
};

extern const struct rules rules_arena;
extern const struct rules rules_serpent;

/* All modes, for configuration and tools. */
extern const struct rules *const rules_modes[];
extern const size_t rules_mode_count;
/* Place of a mode among them, and in whatever is listed beside them (struct config: mode_params);
 * rules_mode_count: there is none of that name. */
size_t rules_index(const char *name);
const struct rules *rules_find(const char *name); /* NULL: the same */

/* Appends, or counts it as dropped; hits fill half of the list at most. The engine stamps
 * event.tick at commit. */
void rules_emit(struct rules_context *context, uint16_t to, uint16_t also,
                const struct arb_event *event);

/* The same to slot `to` and all who were shown one of these two (one may be none). */
void rules_emit_about(struct rules_context *context, uint16_t to, struct arb_key a,
                      struct arb_key b, const struct arb_event *event);

/* Room to look for places among so many players. */
struct rules_crowd *rules_crowd_create(struct arb_arena *arena, uint32_t players);

void rules_flights_create(struct rules_flights *flights, struct arb_arena *arena, uint32_t players);
/* Tells of a projectile that leaves; NULL: it is not looked at. */
struct rules_flight *rules_flight_begin(struct rules_context *context, uint32_t shot);
/* Appends, or counts it as dropped. */
void rules_landed(struct rules_context *context, const struct rules_landing *landing);

/* Emits SCORE to the player itself; the engine tells everybody of lines that changed. */
void rules_emit_score(struct rules_context *context, uint16_t slot);

/* Binds and emits REBIND to the player. */
void rules_bind(struct rules_context *context, uint16_t slot, struct arb_key key);

/* Removes every entity and every control: the end of a round in every mode. */
void rules_clear(struct rules_context *context);

/* The bookkeeping of a death, the same in every mode: victim's deaths, killer's kills (or
 * deaths_by_nobody when killer is ARB_NO_SLOT or the victim itself), DEATH and SCORE events,
 * control taken, entity removed. */
void rules_kill(struct rules_context *context, uint16_t victim_slot, uint16_t killer_slot,
                enum arb_cause cause);

#endif
