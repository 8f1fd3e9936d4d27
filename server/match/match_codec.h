/* The bytes of a record (server/journal/JOURNAL.md, "Record of a tick"): bit-packed, each input
 * told against the one before of its player. A codec remembers those, so the records of a run are
 * encoded and decoded in the order of their ticks, both from match_codec_reset on. Never looks at a
 * match.
 */
#ifndef MATCH_CODEC_H
#define MATCH_CODEC_H

#include "server/match/match_record.h"
#include "shared/proto/arb_proto.h"

struct match_codec;

/* Of matches with that capacity. */
struct match_codec *match_codec_create(struct arb_arena *arena,
                                       const struct match_record_capacity *capacity);

/* Forgets: what follows can be read without what came before. */
void match_codec_reset(struct match_codec *codec);

/* Returns the bytes used; 0: it does not fit, and the codec has to be reset. */
size_t match_record_encode(struct match_codec *codec, const struct match_record *record,
                           uint8_t *bytes, size_t capacity);

/* Of the step of `tick`, into a record of the codec's capacity. Refuses what no match records; the
 * codec has to be reset then. */
enum arb_decode match_record_decode(struct match_codec *codec, arb_tick tick, const uint8_t *bytes,
                                    size_t size, struct match_record *record);

#endif
