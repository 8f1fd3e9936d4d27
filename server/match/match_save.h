/* A match as one block of bytes, and back (spec/determinism.md, spec/clarifications.md "State,
 * inputs, identity"). The block holds S[t], as it is between two ticks: everything that stages 2 to
 * 8 of a later tick read and that no record of a tick brings (match_record.h). Little-endian, in
 * the order of field tables, no padding, unused slots zero: equal states are equal bytes on every
 * processor. Caches (trees, who sees what) and all that belongs to connections are not in it.
 *
 * Called by rollback, synctest, journal and resume; between ticks only. SAVE.md has the layout.
 */
#ifndef MATCH_SAVE_H
#define MATCH_SAVE_H

#include "server/match/match.h"
#include "shared/base/arb_result.h"

enum { MATCH_SAVE_VERSION = 3, MATCH_SAVE_TEXT_BYTES = 160 };

enum match_save_parts {
    /* S[t] alone: what a rollback goes back to, the past stays where it is. */
    MATCH_SAVE_STATE,
    /* And the published frames that shots meet, the lines of those who left, and the figures: what
     * another process needs to go on. */
    MATCH_SAVE_WHOLE,
};

struct match_save_error {
    char text[MATCH_SAVE_TEXT_BYTES]; /* one sentence */
};

/* Most that a block of this match may take, from configuration. */
uint32_t match_save_bytes(const struct match *match, enum match_save_parts parts);

/* Into out[capacity], at least match_save_bytes (asserted); returns the bytes of the block. */
uint32_t match_save(const struct match *match, enum match_save_parts parts, uint8_t *out,
                    uint32_t capacity);

/* From outside, a WHOLE block: the match goes on from it, its next tick is the block's. Whoever
 * played is not connected; commands that wait for the next tick stay.
 * ARB_DATA with a text, and nothing has changed: damaged, of another version, configuration, mode
 * or map, or a state that cannot be. */
enum arb_result match_restore(struct match *match, const uint8_t *block, uint32_t bytes,
                              struct match_save_error *error);

/* Back to S[t] of a block that this very match wrote at most config.back_ticks ago. Connections,
 * figures, what waits for the next tick, and the published frames before t stay as they are. */
void match_go_back(struct match *match, const uint8_t *block);

/* The first field that differs between two STATE blocks of this match, as "players[3].own.x: 1.5
 * (0x3fc00000), 1.25 (0x3fa00000)". False: they are of the same state. */
bool match_save_differs(const struct match *match, const uint8_t *a, const uint8_t *b, char *text,
                        size_t size);

/* What is in the block's head, of a whole block in memory. False: none. */
struct match_save_about {
    enum match_save_parts parts;
    arb_tick tick;          /* S[tick] */
    uint64_t checksum;      /* match_checksum of it */
    uint64_t configuration; /* hash of numbers, mode and map */
};
bool match_save_about(const uint8_t *block, uint32_t bytes, struct match_save_about *out);

/* Hash of all that a state depends on and does not hold: the numbers of match and mode, the map. */
uint64_t match_configuration_hash(const struct match_config *config, const struct rules *rules,
                                  const void *params, const struct map *map);

#endif
