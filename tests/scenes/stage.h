/* One mode on a hand-made map without an engine: a test moves players, makes up contacts and shots,
 * and looks at what stage 7 makes of them. Order: stage_open, add places and walls, stage_start. */
#ifndef TESTS_STAGE_H
#define TESTS_STAGE_H

#include "tests/scenes/scene_config.h"

enum { STAGE_PLAYERS_MAX = 64, STAGE_PLACES_MAX = 64, STAGE_SHAPES_MAX = 64 };

struct stage {
    struct arb_arena arena;
    struct config config;
    const struct rules *rules;
    void *params; /* of the mode, may be changed before stage_start */
    struct map map;
    struct arb_geometry *geometry;
    struct world world;
    struct rewind *rewind; /* of modes that shoot: published at the end of each tick */
    struct arb_move_params move;
    struct rules_events events;                  /* of the last tick */
    struct rules_flights flights;                /* the same */
    struct rules_moved moved[STAGE_PLAYERS_MAX]; /* for the next tick; stepped where there is a
                                                    character, the rest as the test says */
    struct rules_context context;
    uint32_t players;
};

/* A square map from 0 to 40 m without anything on it; all players present once started. */
void stage_open(struct stage *stage, const char *mode, const char *const *sets, uint32_t players);
/* The same with one set more, unless it is NULL, and players appear anywhere but at the edge. */
void stage_open_field(struct stage *stage, const char *mode, const char *const *sets,
                      const char *extra, uint32_t players);
void stage_add_spawn(struct stage *stage, float x, float y, int32_t team);
void stage_add_spawn_area(struct stage *stage, struct arb_vec2 low, struct arb_vec2 high);
void stage_add_pickup(struct stage *stage, const char *type, float x, float y, int32_t value,
                      float respawn_s);
void stage_add_box(struct stage *stage, struct arb_vec2 low, struct arb_vec2 high);

/* The mode's check of its numbers and the map. */
bool stage_check(struct stage *stage, char *error, size_t error_bytes);
/* Creates the world and begins a round. */
void stage_start(struct stage *stage);
void stage_close(struct stage *stage);

/* Stage 7 with these shots and contacts, then the end of the tick; stage->moved is cleared. */
void stage_tick(struct stage *stage, const struct rules_shot *shots, uint32_t shot_count,
                const struct collide_contact *contacts, uint32_t contact_count);
/* The same with nothing happening, `ticks` times. */
void stage_pass(struct stage *stage, uint32_t ticks);
/* Also runs the own-player step with that input for everyone, before. */
void stage_walk(struct stage *stage, const struct arb_input *input);

/* NULL: has none. */
struct world_entity *stage_character(struct stage *stage, uint16_t slot);
struct arb_key stage_key(struct stage *stage, uint16_t slot);
/* Puts a character somewhere; it did not move there. */
void stage_put(struct stage *stage, uint16_t slot, float x, float y);
/* The n-th living entity of that kind by id, from 0; NULL: fewer. */
struct world_entity *stage_entity(struct stage *stage, uint8_t kind, uint32_t n);
uint32_t stage_count(struct stage *stage, uint8_t kind);
/* Events of that kind in the last tick. */
uint32_t stage_event_count(const struct stage *stage, enum arb_event_kind kind);
const struct arb_event *stage_event(const struct stage *stage, enum arb_event_kind kind,
                                    uint32_t n);
/* deaths == kills + deaths_by_nobody, over all players. */
bool stage_deaths_add_up(const struct stage *stage);

/* A touch of two circles, as stage 5 reports it. */
struct collide_contact stage_touch(struct arb_key mover, struct arb_key other, float fraction);

#endif
