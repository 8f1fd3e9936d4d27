/* The histories in saved blocks. Of the origin records only the newest one of each player is state:
 * no tick asks for an older one than its own, which it has just written. The published frames are
 * a part of their own (match_save.h): a rollback leaves them where they are, a keyframe carries
 * them. The tree around them is a cache, built again.
 */
#ifndef REWIND_SAVE_H
#define REWIND_SAVE_H

#include "server/rewind/rewind.h"
#include "shared/base/arb_form.h"

struct rewind_record {
    arb_tick tick;            /* the step that consumed the input */
    struct arb_vec2 origin;   /* m */
    struct arb_vec2 previous; /* m, that of the tick before; without an input then, `origin` */
    arb_sequence sequence;    /* 0: none */
    uint32_t reserved;        /* 0 */
};
_Static_assert(sizeof(struct rewind_record) == 32, "no padding");

/* The newest origin record of each player, in place: struct rewind_record [players]. */
struct arb_form_part rewind_origins(const struct rewind *rewind);
/* After the part's memory was changed: the older records go. */
void rewind_origins_changed(struct rewind *rewind);

/* Most bytes that rewind_put_frames may need. */
uint32_t rewind_frames_bytes(const struct rewind *rewind);

/* All frames that are held, the oldest whole and each later one as what differs: bytes written. The
 * same frames are the same bytes. */
uint32_t rewind_put_frames(const struct rewind *rewind, uint8_t *out);

/* False: these bytes are not frames of this configuration up to the published tick `newest`;
 * nothing changed. */
bool rewind_check_frames(struct rewind *rewind, const uint8_t *bytes, uint32_t count,
                         arb_tick newest);
/* What was checked, in place of all that is held. */
void rewind_get_frames(struct rewind *rewind, const uint8_t *bytes, uint32_t count,
                       arb_tick newest);

/* As before the first frame. */
void rewind_forget(struct rewind *rewind);

/* The next frame that begins is that of published tick `tick`: those from there on, published
 * before, are as if they had not been. The ring holds the one before (asserted). */
void rewind_go_back(struct rewind *rewind, arb_tick tick);

#endif
