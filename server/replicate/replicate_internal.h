/* What the files of server/replicate share. For this folder and tests. */
#ifndef REPLICATE_INTERNAL_H
#define REPLICATE_INTERNAL_H

#include "server/replicate/replicate.h"

#include "shared/proto/arb_delta.h"

enum {
    /* Of each client close together: room for 64 in view. */
    REPLICATE_ENTRIES = REPLICATE_RING * 64,
    /* ENet's header with the time of sending (4) and an unsequenced command (8): charged per
     * message although messages may share a datagram, so the budget is an upper bound. */
    REPLICATE_OVERHEAD_BYTES = 12,
    /* Short of budget, a snapshot with less room than this waits for the next: fewer are better
       than empty ones. */
    REPLICATE_USEFUL_BYTES = 400,
    /* An entity that waited so many snapshots goes before all others, and if it still does not fit
       it holds the stream until it does. */
    REPLICATE_STARVING_SNAPSHOTS = 16,
    /* A state that is so old at the client, because what renewed it was lost, is renewed again
     * before all others. */
    REPLICATE_OLD_SNAPSHOTS = 24,
    /* What could not be renewed for so long leaves the view: a baseline is of use only while all
     * its states are among the published frames, and it still has to travel and be acknowledged. */
    REPLICATE_TOO_OLD_SNAPSHOTS = REWIND_STATE_SNAPSHOTS,
    /* Oldest states that a baseline may have. */
    REPLICATE_AGES = 64,
    REPLICATE_WEIGHT_MAX = 10,
    /* Full snapshots without an answer until they come half as often, and how often that goes on
     * until nobody expects an answer any more. */
    REPLICATE_PATIENCE = 30,
    REPLICATE_PATIENCE_ROUNDS = 6,
    /* No path is held for slower than this: the least budget that can be configured. */
    REPLICATE_RATE_LEAST = 4096, /* bytes/s */
    /* Clients with one view hold baselines of a few ticks. */
    REPLICATE_COPIES = 4,
    REPLICATE_SHOWN_WORDS = 32, /* of 40 ids in view one in 50 others looks like one of them */
};

/* What one client was sent of one entity id while not everything fitted. */
struct replicate_track {
    uint32_t since;      /* snapshot id that last carried it, or the one before it came into view */
    uint32_t seen;       /* newest snapshot id for which it was visible */
    uint16_t generation; /* of the entity that this is about */
};

/* Ids in a client's newest snapshot, modulo the bits: most questions whether it shows somebody are
 * of those far away, and end here. */
struct replicate_shown {
    uint64_t ids[REPLICATE_SHOWN_WORDS];
};

/* What a snapshot said besides the entities. */
struct replicate_said {
    uint32_t starved_ticks, outside_changes;
    struct arb_key controlled;
    bool has_own; /* then its place of `owns` counts */
};

/* How many bytes a second the path to one client carries; see replicate_rate.c. */
struct replicate_rate {
    uint32_t bytes_per_s;
    uint32_t least[2];   /* ages of acknowledgements, ticks: least of this window and the last */
    arb_tick window;     /* when this window began; 0: no age is known */
    uint32_t round_from; /* snapshots from this id on are measured in this round */
    uint32_t round_least, round_samples;
    uint32_t counted_to; /* up to this id it was counted how many arrived */
    bool is_short;       /* this round, something waited because of this rate */
};

/* Hundreds of these are walked through per tick, each at a few places: it is kept small, so that
 * they share pages, and what spectators do not need lies elsewhere. */
struct replicate_state {
    uint32_t newest;   /* newest snapshot id; ids count from 1 */
    int64_t credit;    /* bytes * tick_rate that may be sent; negative: events spent ahead */
    arb_tick refilled; /* published tick of the last refill */
    bool started;      /* refilled is meaningful */
    bool is_crowded;   /* a good part of what is in view did not fit the newest snapshot */
    struct replicate_rate rate;
    uint32_t newest_acked;
    uint64_t noted, noted_mask; /* bit i: snapshot id noted - i was acknowledged already */
    uint32_t whole;             /* newest snapshot id that carried all that was due; 0: none */
    uint32_t unanswered;        /* full snapshots since there was a baseline */
    uint32_t in_vain;           /* of them, since something new was acknowledged */
    uint32_t newest_heard;      /* acknowledged, remembered or not */
    arb_tick unanswered_tick;   /* of the last of them */
    struct arb_own *owns;       /* [REPLICATE_RING], beside `sent` */
    /* Of all in `sent`; see replicate_held.c. */
    struct arb_held_entry *entries; /* [REPLICATE_ENTRIES], beside those of the other clients */
    struct arb_held_entry *wide;    /* [REPLICATE_RING * entity_capacity] */
    struct replicate_track *tracks; /* [entity_capacity], by entity id */
    struct replicate_counts counts;
    uint32_t behind, behind_wide; /* where the newest entries in each part of the ring end */
    /* Entries first..end of each of `sent`, close together; 0, 0 for none. */
    uint32_t firsts[REPLICATE_RING], ends[REPLICATE_RING];
    /* Up to here all of it is read for each snapshot, of these two a few. */
    struct replicate_sent sent[REPLICATE_RING]; /* snapshot id modulo REPLICATE_RING */
    struct replicate_said said[REPLICATE_RING]; /* beside `sent` */
};

/* What one stream said, besides replicate->entries. */
struct replicate_pass {
    size_t bytes;
    size_t spent;          /* bits, as arb_delta_room counts them */
    uint32_t entity_count; /* in view for the client: entries */
    uint32_t dropped;      /* gone because their state became too old */
    uint32_t oldest;       /* age of the oldest state, ticks */
    uint32_t enters;
    struct replicate_traffic traffic;
};

/* A stream of this tick, whole, and all that it was made from (replicate_copy.c). */
struct replicate_copy {
    const uint32_t *visible; /* NULL: none */
    uint32_t count, turn;
    struct arb_vec2 eye;
    struct arb_key controlled;
    uint64_t base_content; /* 0: no baseline */
    uint64_t content;
    struct replicate_pass pass;
    uint8_t *stream; /* [chunk_payload_bytes] */
    struct arb_held_entry *entries;
};

/* What is needed of every visible entity, close together. */
struct replicate_spot {
    uint32_t order; /* arb_key_order */
    float x, y;     /* m */
    uint8_t kind;
    uint8_t is_steered;   /* 0 or 1: somebody owns it */
    uint16_t still_ticks; /* its state is what it was in all frames of so many ticks before */
};

/* What was published of one entity id, and since when. */
struct replicate_still {
    arb_tick since; /* frame that first had this state */
    uint16_t generation;
    uint8_t kind;
    bool has_body; /* never still */
    int32_t q[ARB_KIND_FIELDS_MAX];
};

/* The record of an entity that enters, made when the first client needs it. */
struct replicate_enter {
    uint64_t frame; /* replicate->frames_begun when it was made; another: not made yet */
    uint32_t first_bit, bits;
};

/* Where entities stood in a frame that snapshots were made from. */
struct replicate_places {
    arb_tick tick;   /* of that frame */
    uint16_t *of_id; /* [entity_capacity], of ids that it has */
};

/* The update of one entity since one state of it. */
struct replicate_update {
    uint64_t code;      /* what arb_delta_say_short writes; a long one: its first bit in updates */
    uint32_t stamp;     /* replicate->stamp when it was made; another: not made yet */
    uint16_t bits;      /* of the record; 0: unchanged */
    uint8_t short_bits; /* of the code; 0: it is a long one */
    uint8_t reserved;
};

struct replicate {
    struct replicate_config config;
    struct arb_delta_rule rule;
    const struct arb_frame *frame;  /* of the shared encodes */
    struct replicate_spot *spots;   /* [entity_capacity], beside frame->entities */
    struct replicate_still *stills; /* [entity_capacity], by entity id */
    struct arb_delta_short unchanged[ARB_KINDS_MAX];
    struct replicate_places places[REPLICATE_AGES + 1]; /* ring by snapshots */
    uint64_t frames_begun;
    struct replicate_enter *records; /* [entity_capacity], beside frame->entities */
    struct arb_bit_writer entering;  /* the bits of these */
    size_t entering_capacity;
    struct arb_bit_writer updates;
    size_t updates_capacity;
    struct replicate_update *made; /* [REPLICATE_AGES][entity_capacity], by age of the state, 1
                                      snapshot first, and place in the frame */
    uint32_t stamp;
    uint8_t *age_of_ticks; /* [REPLICATE_AGES * interval + 1]: ticks to snapshots */
    uint32_t chunk_head_bytes;
    uint32_t depth_least; /* bytes that a full bucket holds at least */
    uint32_t old_ticks, too_old_ticks;
    uint32_t queue_ticks;    /* a path that holds things up for longer has a queue */
    uint32_t window_ticks;   /* of the least age */
    uint32_t datagrams_rate; /* bytes/s of a full datagram with each snapshot */
    uint8_t *stream, *message;
    uint8_t *parity; /* [chunk_payload_bytes] */
    size_t stream_capacity;
    struct arb_held_entry *entries; /* [entity_capacity] of the snapshot in the making */
    uint32_t *enters;               /* [entity_capacity] places that enter */
    /* The choice: [entity_capacity] by place in the visible list. */
    uint16_t *state_ticks; /* since the state that the baseline has; 0: it has none */
    uint16_t *base_places; /* how many of the baseline's entities come before it */
    uint16_t *gone;        /* the baseline's entities that are out of view, by their place in it */
    uint32_t gone_count, most_ticks;
    uint16_t *leaving;      /* see replicate_delta.c */
    uint16_t *behind;       /* the next place of the same rank */
    uint64_t *due, *chosen; /* bit per place of the visible list */
    bool all_due;
    struct replicate_state *clients; /* [client_capacity] */
    struct replicate_shown *shown;   /* [client_capacity] */
    struct replicate_copy copies[REPLICATE_COPIES];
    uint64_t contents; /* streams encoded so far */
    uint32_t next_copy;
    struct replicate_traffic traffic;
    struct replicate_counts left; /* of clients that others came after */
};

/* One snapshot in the making. */
struct replicate_job {
    struct replicate *replicate;
    struct replicate_state *state;
    const struct replicate_client *client;
    struct arb_vec2 eye;
    const uint32_t *visible;
    uint32_t count;
    size_t capacity; /* bytes of the stream at most, by the budget */
    struct arb_delta_head head;
    /* The baseline; id 0: none, then the rest is 0. */
    uint32_t base_id;
    uint32_t base_count;
    uint32_t base_ticks; /* since it */
    arb_tick base_tick;
    const struct arb_frame *base_frame; /* with base_of_id not NULL: where ids stand in it */
    const uint16_t *base_of_id;
    uint64_t base_content;
    uint64_t content; /* number of what the client holds with it; see replicate_copy.c */
    const struct arb_held_entry *base_entries;
    struct arb_delta_head base_head;
    struct arb_own_part base_own;
};

static inline const struct arb_frame *replicate_frame(const struct replicate *replicate,
                                                      arb_tick tick)
{
    const struct replicate_frames *frames = &replicate->config.frames;
    return frames->at != NULL ? frames->at(frames->owner, tick)
                              : rewind_frame(replicate->config.rewind, tick);
}

static inline struct arb_held_entry *replicate_entries(const struct replicate_state *state,
                                                       size_t first)
{
    return first < REPLICATE_ENTRIES ? state->entries + first
                                     : state->wide + (first - REPLICATE_ENTRIES);
}

static inline bool replicate_bit(const uint64_t *set, uint32_t place)
{
    return (set[place / 64] >> (place % 64) & 1) != 0;
}

/* ---- replicate_rate.c ---- */

void replicate_rate_create(struct replicate *replicate);
void replicate_rate_reset(const struct replicate *replicate, struct replicate_state *state);
/* The newest acknowledged snapshot has become another one, `age` ticks after it was published. */
void replicate_rate_acked(const struct replicate *replicate, struct replicate_state *state,
                          uint32_t age, arb_tick now);
/* Most credit of a client, bytes * tick_rate. */
int64_t replicate_rate_depth(const struct replicate *replicate,
                             const struct replicate_state *state);

/* ---- replicate_held.c ---- */

/* Makes `count` entries the next snapshot's (id newest + 1) and enters it into the ring, not
 * acknowledged; returns where its entries go. */
struct arb_held_entry *replicate_remember(const struct replicate *replicate,
                                          struct replicate_state *state, uint32_t count,
                                          arb_tick tick);

/* These are the entries of the client's newest snapshot. */
void replicate_note_shown(struct replicate *replicate, uint16_t client,
                          const struct arb_held_entry *entries, uint32_t count);

/* ---- replicate_delta.c ---- */

void replicate_delta_create(struct replicate *replicate, struct arb_arena *arena);
/* A new frame: no update is made yet. */
void replicate_delta_begin(struct replicate *replicate);
/* The newest acknowledged snapshot, when it can be one: sets job->base_*. */
void replicate_choose_base(struct replicate_job *job);
/* What encoding needs of it besides, which a copy does not: base_own and base_head. */
void replicate_open_base(struct replicate_job *job);
/* The record of the entity at `index` of the frame for those it is new to, in entering. */
const struct replicate_enter *replicate_enter_of(struct replicate *replicate, uint32_t index);
/* Bits of the update of the entity at `index` of the frame since its state `ticks` before; 0:
 * unchanged. */
uint32_t replicate_update_bits(struct replicate *replicate, uint32_t index, uint32_t ticks);
/* Encodes the snapshot into at most `capacity` bytes of stream: of the baseline's entities those of
 * `due` (bit per place) and those that are old are renewed, and all others enter. False: not all of
 * that fits. */
bool replicate_encode_whole(const struct replicate_job *job, const uint64_t *due, size_t capacity,
                            struct replicate_pass *pass);
/* Begins the stream of `capacity` bytes with the own part. False: it does not fit. */
bool replicate_begin_stream(const struct replicate_job *job, size_t capacity,
                            struct arb_delta_writer *writer);
/* When replicate_choice.c has ranked all places: those of replicate->chosen are renewed and enter,
 * no others. Goes on from where `begun` stands, which is left alone: any number of times. */
bool replicate_encode_part(const struct replicate_job *job, const struct arb_delta_writer *begun,
                           struct replicate_pass *pass);

/* ---- replicate_copy.c ---- */

void replicate_copy_create(struct replicate *replicate, struct arb_arena *arena);
void replicate_copy_begin(struct replicate *replicate); /* a new frame */
/* A stream that was made from the same: into replicate->stream and ->entries, as if encoded. */
bool replicate_copy_find(struct replicate_job *job, struct replicate_pass *pass);
/* What was just encoded carried all that was due, in one datagram. */
void replicate_copy_keep(struct replicate_job *job, const struct replicate_pass *pass);

/* ---- replicate_choice.c ---- */

void replicate_choice_create(struct replicate *replicate, struct arb_arena *arena);

/* Which places are due in this snapshot by their distance: replicate->due. */
void replicate_find_due(const struct replicate_job *job);
/* Encodes what goes first by priority and fits; *deferred is how many had to wait. False: the
 * snapshot had better wait as a whole (spec/replication.md "Snapshots", none starves). */
bool replicate_encode_chosen(const struct replicate_job *job, struct replicate_pass *pass,
                             uint32_t *deferred);
/* Bytes of stream that one snapshot may have without being larger than one datagram. */
size_t replicate_one_datagram(const struct replicate_job *job);

#endif
