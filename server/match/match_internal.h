/* Between the files of server/match and their tests. */
#ifndef MATCH_INTERNAL_H
#define MATCH_INTERNAL_H

#include "server/interest/interest.h"
#include "server/interest/interest_sight.h"
#include "server/match/match.h"
#include "server/match/match_numbers.h"
#include "server/match/match_record.h"
#include "server/match/news.h"
#include "server/match/observe.h"
#include "server/match/scores.h"
#include "server/match/spectators_internal.h"
#include "server/replicate/replicate.h"
#include "shared/view/arb_held.h"

/* Ring of inputs that wait for their tick, by target tick. Part of the session, not of the state:
 * what a tick consumed is state. */
struct input_entry {
    struct arb_input input;  /* sequence 0: empty; with the applied view */
    uint8_t control;         /* control number under which it was made */
    uint8_t verdict;         /* enum match_view_verdict, of the claim */
    struct arb_view claimed; /* for whoever looks; no tick reads it */
};

enum { VIEW_WINDOW = 64 }; /* about two seconds, as the client's own estimate of the round trip */

/* What is measured of one client's views (views.c). Of the session, not of the state. Times and
 * delays in 1/65536 tick. */
struct view_track {
    arb_fine round_trip[VIEW_WINDOW]; /* of acknowledgements, newest at round_trips - 1 */
    arb_fine wait[VIEW_WINDOW];       /* of inputs for their tick */
    uint32_t round_trips, waits;      /* measured ever */
    uint32_t newest_acked;            /* snapshot id that was measured last */
    uint32_t told;                    /* the same before the packet in hand */
    arb_fine wait_mean, wait_deviation;
    arb_fine announced;     /* delay of drawing */
    arb_fine delay;         /* what is believed of it */
    arb_tick delay_tick;    /* S[tick] of the newest packet; 0: nothing was announced yet */
    arb_fine newest_at;     /* time of the newest view, as it was claimed and not beyond what was
                               applied: what it got in place of a claim is held against nobody */
    arb_fine applied_at;    /* time of the newest view that was applied */
    arb_fine lag;           /* from a view to the moment of its input, as believed */
    arb_fine lag_deviation; /* of what is claimed from that */
    arb_tick lag_target;    /* target of the newest input that it is of; 0: none yet */
    arb_fine picture_at;    /* time of the newest view, and the first input that claimed it */
    arb_tick picture_target;
    arb_tick picture_last; /* and the last one */
    arb_fine before_marks; /* newest view of an input whose mark another one has */
};

/* With a window: an input that has not come yet may stand before this one. */
struct view_mark {
    arb_tick target; /* 0: none */
    arb_fine at;     /* as newest_at; VIEW_NONE */
    uint32_t told;   /* newest snapshot that its client had told of for certain when it made it */
};
#define VIEW_NONE INT64_MIN

/* The past that a shot meets. */
struct view_past {
    struct arb_view view;
    const struct rewind_pair *pairs; /* NULL: everyone as of the view's own ticks */
    uint32_t pair_count;
    uint64_t later; /* of what flies; as in struct rewind_ray */
    bool slow;      /* its player's round trip is a long one */
};

struct input_buffer {
    struct input_entry *entries; /* [size] */
    uint32_t size;               /* input.buffer_ticks + 1 */
    arb_sequence newest;         /* newest sequence taken or passed over; 0: none yet */
    arb_tick newest_target;
    arb_sequence closed; /* newest that came too late, or whose tick is settled: none up to it is
                            taken any more. Only with a window */
    int32_t
        worst_lead; /* smallest target - now of new inputs since the last snapshot; MATCH_NO_LEAD */
};

enum {
    MATCH_TEAMS = 3, /* none, and two */
    MATCH_NO_LEAD = 127,
    MATCH_SESSIONS_MAX = 4 * ARB_PLAYERS_MAX, /* indices of sessions that a port may use */
};

/* What belongs to the session in a player slot; the player itself is state. */
struct match_seat {
    bool seated;
    bool has_session; /* false: a bench's player */
    bool played;      /* saw a live tick, in whichever session */
    bool detached;    /* restored: nobody is connected, though the state does not know of it yet */
    bool needs_welcome;
    struct port_session session;
    arb_tick since; /* the session's first tick: it does nothing in an earlier one */
    struct input_buffer buffer;
    struct arb_counts counts;
    uint64_t news_told;   /* of match->news */
    uint32_t scores_told; /* stamp of match->scores */
    struct view_track views;
    struct view_mark *view_marks; /* [match->view_marks] ring by target */
    struct match_view_counts view_counts;
    struct match_record_input taken;   /* the newest real input, as `carried` */
    struct match_record_input carried; /* the late fire press that waits: verdict and claim */
    arb_tick away_until;               /* S[that tick] ends the wait for whoever is away */
    uint8_t token_hash[PORT_TOKEN_HASH_BYTES];
    struct arb_vec2 eye; /* centre of its interest; stays where its last character was */
    /* Of the session: see first_views.c. */
    struct arb_key view_of; /* character of its newest snapshot */
    bool has_view;          /* a snapshot was sent */
    uint8_t view_waits;     /* snapshots that it went without since it is due a first view */
};

enum { FIRST_VIEWS_WAITS_MAX = 3 }; /* snapshots that anybody waits for a first view */

/* How many of those who have waited for so many snapshots are shown their first view now. */
struct first_views {
    uint32_t room[FIRST_VIEWS_WAITS_MAX + 1];
};

/* Numbers of the game that may change (match_numbers.h). The params are the match's own, so that a
 * change is seen by nobody else. */
struct match_numbers {
    void *params;         /* [rules->params_bytes], in force */
    void *tried;          /* the same, of numbers that are looked at */
    uint32_t *list;       /* [count], in force */
    uint32_t *configured; /* [count], in the first tick */
    uint32_t *asked;      /* [count], for the next live tick */
    uint32_t count;
    uint32_t hash; /* numbers_hash of the list */
    bool is_asked;
};

struct match_outcome_line {
    uint64_t player_id; /* 0: nobody */
    struct arb_event_score score;
};

/* What a published tick has to tell, kept until nothing can change it any more. */
struct match_outcome {
    arb_tick tick;
    const struct rules_event *events; /* [event_count] the match's own, or `kept` */
    struct rules_event *kept;         /* [events capacity]; NULL without a window */
    uint32_t event_count;
    struct match_outcome_line *lines; /* [players] */
    struct arb_event_player *players; /* [players] those who have a line; NULL without a window */
    struct arb_event_phase phase;
    bool decided;
    struct arb_event_result result; /* of a match that is decided */
};

struct match {
    struct match_config config;
    const struct rules *rules;
    const struct map *map;
    const struct arb_geometry *geometry;
    struct arb_move_params move;
    struct match_port port;
    struct match_observer observer;
    uint8_t match_id[16];

    struct world world;
    struct collide *collide;
    struct rewind *rewind;
    struct interest *interest;
    struct interest_sight *sight; /* NULL: walls hide nobody */
    struct replicate *replicate;
    struct spectators *spectators; /* NULL: none may come */
    struct rules_context context;
    struct rules_events events;
    struct rules_flights flights; /* of this tick */

    struct scores scores;
    struct news news;
    struct news standing;           /* of a tick in which somebody comes: who is there */
    struct match_seat *seats;       /* [players] */
    struct first_views first_views; /* of this tick's snapshots */
    uint16_t slot_of_session[MATCH_SESSIONS_MAX]; /* by session index; checked against the seat */
    /* By session index, from its JOIN to its welcome: the only place that has the secrets. */
    uint8_t tokens[MATCH_SESSIONS_MAX][ARB_TOKEN_BYTES];
    uint32_t late_ms;             /* what match_was_late said last, not yet told */
    arb_tick late_told;           /* S[tick] when it was told last */
    struct arb_input *applied;    /* [players], this tick's, sequence 0: none or repeated */
    bool *consumed;               /* [players] a real input was consumed in this tick */
    uint8_t *origin_control;      /* [players] control number that the origin records are of */
    uint16_t *shot_edges_carried; /* [players] a carried fire press is in this tick's input */
    struct rules_moved *moved;    /* [players] */
    struct rules_shot *shots;     /* [players] */
    uint32_t shot_count;
    const struct collide_contact *contacts;
    uint32_t contact_count;
    struct match_numbers numbers;
    struct match_past *past;        /* NULL: neither synctest nor rollback */
    struct rollback *rollback;      /* NULL: no window */
    uint32_t view_marks;            /* for all ticks that inputs are taken for; 0: no window */
    struct match_outcome *outcomes; /* [outcome_count] ring by tick */
    uint32_t outcome_count;
    arb_tick announced;         /* S[announced]: outcomes of earlier ticks were told */
    struct match_record record; /* of this tick */
    struct match_record_capacity record_capacity;
    bool plays; /* this tick's commands and inputs come from the record */
    struct match_view_counts view_totals;
    struct match_fairness fairness;
    struct rewind_mercy *mercies;    /* [players] of this tick's shots */
    struct rewind_shelter *shelters; /* [players] of this tick, ascending by key */
    uint32_t shelter_count;
    struct match_command *commands; /* that wait for the next live tick */
    uint32_t command_count, command_capacity;
    uint16_t *joined, *left; /* [commands] slots, for stage 7 */
    uint32_t joined_count, left_count;
    struct arb_key *always[MATCH_TEAMS]; /* [entities] each: what a team always sees */
    uint32_t always_count[MATCH_TEAMS];
    struct arb_key *always_mine; /* [entities]: the same with the own character, of one viewer */
    uint8_t *scratch;            /* for one long message */
    size_t scratch_bytes;

    struct world_player *archive; /* lines of those who left and whose slot was needed */
    uint32_t archive_count, archive_capacity;
    uint64_t archive_hash;     /* match_archive_hash of them */
    struct match_saved *saved; /* what is state beside the world, for saving (match_state.c) */
    uint64_t configuration_hash;

    arb_tick first_tick;
    arb_tick empty_since; /* S[tick] since which nobody is present; 0: somebody is */
    uint64_t checksum;
    bool anybody_came;
    bool abort_asked; /* for the next live tick */
    bool aborts;      /* in this tick's stage 7 */
    uint8_t abort_reason;
    bool decided;          /* result is final */
    arb_tick decided_tick; /* published tick that decided it */
    arb_tick decided_ticks;
    uint64_t decided_checksum;
    arb_tick ended_tick; /* published tick that ended it; meaningful in phase ended */
    uint64_t joins_refused, spectators_refused;
    arb_fine lost_time; /* by which clients may draw ahead: ticks of time were dropped */
    arb_tick lost_tick; /* S[tick] before which the last of them were */
    uint32_t present;
};

/* inputs.c: buffers between stages 1 and 3 */
void inputs_reset(struct input_buffer *buffer);
/* As the state has it: what is reserved is 0. */
struct arb_input inputs_as_state(const struct arb_input *input);
/* What a packet of that player is judged by is asked for at once: none of it was read since the one
 * before. */
void inputs_expect_packet(const struct match *match, uint16_t slot);
/* One packet of a session, before the step of tick `now`. */
void inputs_add(struct match *match, uint16_t slot, const struct arb_input_packet *packet,
                arb_tick now);
/* A late input acts in its own tick, which was counted without it. */
void inputs_count_merged(struct match *match, uint16_t slot, const struct arb_input *input);
/* Stage 3, before the commands: those that came too late. At most their presses count, with the
 * next input. */
void inputs_late(struct match *match);
/* Stage 3 will soon come for the slots behind this one: what it reads is fetched meanwhile. */
void inputs_expect(const struct match *match, uint16_t slot);
/* Stage 3 for one player: writes match->applied[slot]. */
void inputs_take(struct match *match, uint16_t slot, arb_tick now);

/* match_record.c: what the tick takes from outside, in stages 1, 3 and 6 */
void record_begin(struct match *match);
void record_late(struct match *match, uint16_t slot, const struct input_entry *entry);
void record_stale(struct match *match, uint16_t slot, arb_sequence sequence, bool within);
void record_input(struct match *match, uint16_t slot, const struct input_entry *entry);
void record_command(struct match *match, const struct match_command *command);
void record_reload(struct match *match, const uint32_t *numbers);
/* Room for `count` more pairs of this tick. */
struct rewind_pair *record_pairs(struct match *match, uint32_t count);
/* `past->pairs`, when it has any, are of record_pairs. */
void record_view(struct match *match, uint16_t slot, const struct view_past *past);
/* Of a record that is not being played: that slot's input of the tick is another one now. */
void record_drop_view(struct match_record *record, uint16_t slot);
/* NULL: there is none of that slot. */
const struct match_record_view *record_view_of(const struct match *match, uint16_t slot);

/* match_numbers.c: the numbers of the game */
void numbers_create(struct match *match, struct arb_arena *arena, const void *params);
/* 0: those of the configuration. */
uint32_t numbers_hash(const struct match *match, const uint32_t *numbers);
/* The params as they would be, until the next call. */
const void *numbers_try(struct match *match, const uint32_t *numbers);
void numbers_apply(struct match *match, const uint32_t *numbers);

/* views.c: which past a shot meets */
void views_create(struct match *match, struct arb_arena *arena);
void views_reset(struct match *match, uint16_t slot);
/* Stage 1, of each packet: after its acknowledgements, before its inputs. */
void views_packet(struct match *match, uint16_t slot, const struct arb_input_packet *packet,
                  arb_tick now);
/* Stage 1, of each input once: replaces the claimed view by the applied one. `acts`: the step
 * before which it counts as there; now, or its own target where that is over and it still acts in
 * it. */
enum match_view_verdict views_judge(struct match *match, uint16_t slot, struct arb_input *input,
                                    arb_tick now, arb_tick acts);
/* Stage 6: from the applied view of the input that fires to what the shot is resolved against. */
void views_past(struct match *match, uint16_t slot, const struct arb_view *view,
                struct view_past *past);
void views_count_shot(struct match *match, uint16_t slot, const struct rules_shot *shot,
                      bool origin_known);
void views_count_unseen(struct match *match, uint16_t slot, uint32_t count);
/* lagcomp.view_source round_trip: published - clamp(round trip + delay, 0, most), the nearest. */
arb_tick views_round_trip_tick(arb_tick published, arb_fine round_trip, arb_fine delay,
                               arb_fine most);

/* fairness.c: in favour of victims, and how much compensation there was */
void fairness_begin(struct match *match); /* stage 6, first */
/* Of the next shot, from its origin; valid for this tick. NULL: none is configured. */
const struct rewind_mercy *fairness_mercy(struct match *match, struct arb_vec2 origin);
void fairness_count(struct match *match, const struct rules_shot *shot); /* when resolved */
/* Stage 7, after the mode's shots: of what flew in this tick. */
void fairness_count_flights(struct match *match);
/* From the newest published tick back to that moment, 1/65536 tick; 0 for what is ahead of it. */
arb_fine fairness_rewound(const struct match *match, arb_fine at);

/* returns.c: stage 1 of whoever comes, with a resume token or without, and goes */
struct match_command returns_command(struct match *match, const struct port_message *message);
/* That of the seat: its player is away, or leaves where it may not come back. */
void returns_end_session(struct match *match, uint16_t slot, bool may_return);
/* Whoever is away for too long leaves. */
void returns_expire(struct match *match);

/* It can be told something, and what it says counts. */
static inline bool match_is_heard(const struct match *match, uint16_t slot)
{
    const struct match_seat *seat = &match->seats[slot];
    return seat->seated && seat->has_session && !seat->detached &&
           match->world.players[slot].presence != WORLD_AWAY;
}

/* It was told, or is being told, what came before: without a window that is in its first tick. */
static inline bool match_is_welcomed(const struct match *match, uint16_t slot)
{
    const struct match_seat *seat = &match->seats[slot];
    return match_is_heard(match, slot) && !(seat->needs_welcome && seat->since >= match->announced);
}

/* life.c: who is there, and the phases */
void life_commands(struct match *match);    /* stage 3: joins and leaves of this tick */
void life_begin_rules(struct match *match); /* stage 7, first: phases that end, players that left */
void life_end_rules(
    struct match *match); /* stage 7, last: players that joined, rounds that are over */

/* Events to everybody that wait for turns; when more come, all are told at once. */
static inline uint32_t match_news_capacity(uint32_t players)
{
    return 1024 + 8 * players;
}

/* outcome.c: what ticks have to tell */
void outcome_create(struct match *match, struct arb_arena *arena);
/* Of the newest tick; with a window in stage 8 of every run of it, else before stage 9. */
void outcome_note(struct match *match);
/* Who is in that slot, as of that tick, as an event of it. */
struct arb_event outcome_player(const struct match *match, const struct match_outcome *outcome,
                                uint16_t slot);
/* The next that is due, in order, until NULL. Once. */
const struct match_outcome *outcome_next(struct match *match);

/* announce.c: reliable messages of stage 9, of all ticks that are settled now */
void announce(struct match *match);
/* Into match->scratch; bytes used. ARB_NO_SLOT: for a spectator. */
size_t announce_welcome(const struct match *match, uint16_t slot, uint32_t tick);
size_t announce_scratch_bytes(const struct arb_geometry *geometry);
void announce_player(struct match *match, uint16_t slot, uint16_t to);
/* The same as it is now, without a tick. */
struct arb_event announce_player_event(const struct match *match, uint16_t slot);

/* first_views.c: who is shown everything anew with the snapshots of this tick */
void first_views_begin(struct match *match);
/* Of each welcomed slot once, ascending. False: its first view waits, and nothing is sent. */
bool first_views_may_send(struct match *match, uint16_t slot);
/* How many at most, of a match with so many places. */
uint32_t first_views_room(uint32_t players);

/* tick.c: `keys` (ascending) with `key` in its place, unless that is none, into `out` of one more
 * place; returns how many. */
uint32_t match_merge_key(const struct arb_key *keys, uint32_t count, struct arb_key key,
                         struct arb_key *out);

/* Chained line by line, so that one more costs no look at all of them. */
uint64_t match_archive_hash(const struct world_player *lines, uint32_t count);
uint64_t match_archive_hash_add(uint64_t hash, const struct world_player *line);

/* match_state.c: checksum over all of S[t] */
uint64_t match_state_checksum(const struct match *match);
/* match_save.c: memory for saving; when all else of the match is there */
void match_save_create(struct match *match, struct arb_arena *arena);

/* Winner by the mode's rank: slot, or ARB_NO_SLOT for a draw or nobody. */
uint16_t life_winner(const struct match *match);
/* Of a match that is decided, without a tick. */
struct arb_event life_result(const struct match *match);

#endif
