/* What of a match is state beside its world, in the form of a saved block: filled from the match,
 * and the match from it. Between match_state.c and match_save.c. */
#ifndef MATCH_SAVE_INTERNAL_H
#define MATCH_SAVE_INTERNAL_H

#include "server/match/match_internal.h"
#include "server/match/match_save.h"

struct match_saved_head {
    arb_tick first_tick;
    arb_tick empty_since;
    arb_tick decided_tick;
    arb_tick ended_tick;
    uint64_t archive_hash; /* of all lines there */
    uint32_t archive_count;
    uint32_t present;
    uint8_t anybody_came;
    uint8_t decided;
    uint8_t reserved[2];
    uint32_t numbers_hash; /* numbers_hash of the numbers of the game */
};

struct match_saved_seat {
    struct arb_input applied; /* of a player without a session, who goes on with it; else 0 */
    arb_tick away_until;
    uint8_t token_hash[PORT_TOKEN_HASH_BYTES];
    uint8_t seated;
    uint8_t has_session;
    uint8_t played;
    uint8_t origin_control; /* control number that the origin record is of */
    uint8_t reserved[4];
};

/* What the decision was, once it is there: follows from the state of its tick. */
struct match_saved_decision {
    arb_tick ticks;
    uint64_t checksum;
};

/* One of the numbers of the game that may change (match_numbers.h). */
struct match_saved_number {
    uint32_t value;
};

struct match_saved_histogram {
    uint64_t counts[FAIRNESS_BUCKETS];
    uint64_t count;
    uint64_t max_ms;
};

/* Figures: nothing of the match reads them. */
struct match_saved_figures {
    struct match_saved_histogram rewound_shots, rewound_hits, cover_hits;
    uint64_t spared, slow_shots, slow_rewound_ms;
    uint64_t claims[MATCH_VIEW_VERDICTS];
    uint64_t late, shots, unseen, unknown_origins;
    uint64_t joins_refused, spectators_refused, events_dropped;
};

struct match_saved_line {
    uint64_t claims[MATCH_VIEW_VERDICTS];
    uint64_t late, shots, unseen, unknown_origins;
    uint32_t ticks;
    uint32_t inputs_consumed, inputs_starved, inputs_late, inputs_duplicate, inputs_refused;
    uint32_t edges[ARB_BUTTON_COUNT];
};

/* All of one moment. */
struct match_figures {
    struct match_saved_figures totals;
    struct match_saved_line *lines; /* [players] */
};

_Static_assert(sizeof(struct match_saved_head) == 56, "no padding");
_Static_assert(sizeof(struct match_saved_seat) == 64 + PORT_TOKEN_HASH_BYTES, "no padding");

enum {
    MATCH_OWN_PARTS = 3, /* in the checksum, beside the world: head, seats, origins */
    MATCH_PARTS = MATCH_OWN_PARTS + 2 + WORLD_PARTS,
    MATCH_FIGURE_PARTS = 2,
};

struct match_saved {
    struct match_saved_head head;
    struct match_saved_decision decision;
    struct match_saved_seat *seats;     /* [players] */
    struct match_saved_number *numbers; /* [match_number_count] */
    struct match_figures figures;
    uint8_t *form; /* for the checksum: of what it covers beside the world */

    /* The same of a block from outside, while it is checked. */
    struct world world;
    struct match_saved_head loaded_head;
    struct match_saved_decision loaded_decision;
    struct match_saved_seat *loaded_seats;
    struct match_saved_number *loaded_numbers;
    struct match_figures loaded_figures;
    uint8_t *loaded_origins;
    struct world_player *loaded_archive; /* [archive_capacity] */
};

/* match_state.c: the lists of what is saved. `loaded`: the same places of a block under check. */
uint32_t match_state_parts(const struct match *match, bool loaded,
                           struct arb_form_part parts[MATCH_PARTS]);
uint32_t match_figure_parts(const struct match *match, bool loaded,
                            struct arb_form_part parts[MATCH_FIGURE_PARTS]);
void match_state_collect(const struct match *match);
void match_state_apply(struct match *match);

void match_figures_create(const struct match *match, struct arb_arena *arena,
                          struct match_figures *out);
void match_figures_collect(const struct match *match, struct match_figures *out);
void match_figures_apply(struct match *match, const struct match_figures *in);
/* Only what follows from the ticks that were run, and not from what came when: the shots. */
void match_figures_take_shots(const struct match *match, struct match_figures *to,
                              const struct match_figures *from);
/* A late input acts in its own tick: in the figures of a moment behind that. */
void match_figures_merge(struct match_figures *figures, uint16_t slot,
                         const struct arb_input *input);

/* Of the parts beside the world that the checksum covers. */
size_t match_state_form_bytes(const struct match *match);
/* Of the match as it is (`loaded` false), or of the block that was opened. */
uint64_t match_state_sum(const struct match *match, bool loaded);

/* match_save.c: a state that this match has kept, to be corrected: read beside the match, into
 * saved->world, loaded_seats and loaded_origins, and written back, its checksum with it, which is
 * returned. */
void match_open_block(struct match *match, const uint8_t *block);
uint64_t match_close_block(struct match *match, uint8_t *block);

/* For tests: each table and the bytes of its struct. */
struct match_form {
    const struct arb_fields *fields;
    size_t bytes;
};
enum { MATCH_FORMS = 6 };
void match_forms(struct match_form forms[MATCH_FORMS]);

#endif
