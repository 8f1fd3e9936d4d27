/* What the invariants look at: who is who, what the server published and sent, what clients made.
 * The checks read the match, the sessions' messages and the clients' insides, and never change
 * them; synctest alone turns the match back, and leads it to where it was. Each invariant is one
 * function (or a pair: the server's side notes, the client's side compares), in the file that its
 * row names:
 *
 * entity_life, entity_state, own_state   sim_check_frames.c
 * prediction, corrections                sim_check_prediction.c
 * inputs, edges                          sim_check_inputs.c
 * visible_sets                           sim_check_visible.c
 * events                                 sim_check_events.c
 * rerun, synctest                        sim_check_rerun.c
 * journal                                sim_check_journal.c
 * memory, scores, protocol               sim_check_match.c
 * views, progress                        sim_check_views.c
 * (of spectators, all that applies)      sim_check_spectators.c
 * rewind_error, _decision, _applied      sim_rewind.c
 *
 * All memory is taken at the start, but what a connection of a client needs.
 */
#ifndef SIM_CHECKS_H
#define SIM_CHECKS_H

#include "server/match/match_codec.h"
#include "server/match/match_past.h"
#include "server/match/match_rollback.h"
#include "server/match/observe.h"
#include "tools/sim/sim_internal.h"

enum {
    SIM_ARCHIVE_FRAMES = 256, /* snapshots back to which clients are compared: 8 s and more */
    SIM_SIGHT_KEYS = 1 << 14, /* keys of all sights kept of one player */
    SIM_WAIT_FRAMES = 128,    /* so many snapshots may lack what has come into view */
    SIM_EVENTS = 1024,        /* put to a session and not yet told by its client */
    SIM_EVENT_KINDS = ARB_EVENT_IMPACT + 1,
    SIM_EVENT_PLACES = 2 * ARB_PLAYERS_MAX, /* what an event can be about */
    SIM_MADE = 1024,                        /* inputs of a client */
    SIM_WAITING = 128, /* > input.buffer_ticks: inputs that wait for their tick */
    SIM_NOBODY = UINT32_MAX,
};

/* ---- what the server did ---- */

/* Own state of one player as its snapshot of that tick carries it. */
struct sim_own {
    struct arb_own own;
    struct arb_key controlled;
    uint8_t control;
    bool has_own;
    uint32_t starved_ticks, outside_changes;
    arb_sequence last_sequence;
};

/* A published frame of which snapshots were sent. */
struct sim_published {
    struct arb_frame frame; /* arrays of its own, at full capacity; tick 0: none yet */
    struct sim_own *own;    /* [players] */
};

/* What one player was shown in one snapshot: keys[first..first + count) of its ring. */
struct sim_sight {
    arb_tick tick;
    uint64_t first;
    uint32_t count;
};

/* A place for a player in the match. */
struct sim_seat {
    bool seated;
    struct port_session session;
    uint64_t player_id;
    arb_tick joined_tick;
    /* inputs, as spec/simulation.md stage 3 says what must happen to them */
    arb_sequence newest, consumed;
    arb_tick newest_target;
    struct {
        struct arb_input input; /* sequence 0: none */
        uint8_t control;
    } waiting[SIM_WAITING]; /* by target tick */
    uint8_t control;        /* under which presses are carried over */
    uint16_t carried;
    arb_tick carried_tick[ARB_BUTTON_COUNT]; /* the step since which the newest of them waits */
    uint32_t late; /* inputs that came late in this tick and the match has not spoken of */
    uint32_t edges[ARB_BUTTON_COUNT]; /* counted as the server should */
    /* the own step's undisturbed life */
    arb_tick disturbed_tick; /* newest published tick in which something else touched it */
    bool had_input;          /* of this tick */
    uint32_t outside_changes;
    struct arb_key controlled;
    /* sights */
    struct sim_sight sights[SIM_ARCHIVE_FRAMES];
    uint64_t sight_count, key_count;
    uint32_t *keys; /* [SIM_SIGHT_KEYS], ring of arb_key_order */
    uint32_t *near; /* [entities] arb_key_order of what was near at the newest snapshot */
    uint32_t near_count;
    /* scores of the tick before, for the line of who leaves */
    uint32_t kills, deaths, by_nobody;
};

/* A place for a session. */
struct sim_session {
    struct port_session id;
    uint64_t player_id; /* 0: none */
    uint16_t slot;
    uint64_t put;                 /* events put */
    struct arbiter_event *events; /* [SIM_EVENTS] ring, as a client tells them */
    uint64_t *news; /* [SIM_EVENT_KINDS * SIM_EVENT_PLACES] the newest of its kind about
                     * each, as a hash; 0: none */
};

/* ---- what a client did ---- */

/* How long it waits for an entity that it is shown, as the server says. */
struct sim_wait {
    uint32_t order;  /* its key; 0: none waits */
    uint32_t frames; /* of the client, one after another, that lacked it */
    arb_tick tick;   /* of the newest of them */
};

struct sim_witness {
    bool known; /* it had its welcome */
    uint64_t player_id;
    uint16_t slot;
    arb_tick base;    /* its ticks count from here: the welcome tells the low 32 bits */
    uint16_t session; /* place, or UINT16_MAX: not found (yet, or any more) */
    /* frames */
    arb_tick newest_tick;
    uint16_t *generations;  /* [entity_capacity], newest seen by id */
    struct sim_wait *waits; /* [entity_capacity], by id */
    /* events */
    uint64_t told, lost;
    /* inputs */
    struct arb_input made[SIM_MADE]; /* by sequence */
    arb_sequence newest;
    arb_tick newest_target;
    uint64_t resyncs;
    arb_tick forgotten_tick;  /* newest target of inputs that it dropped in a resync */
    uint16_t collected, held; /* presses since the last input was made */
    uint32_t corrections;
    uint64_t bad; /* messages and snapshots that it did not take */
    /* view */
    arb_fine view_at, pictured;
    uint64_t view_us; /* when it was looked at */
    uint64_t drawn;   /* 1/256 ticks */
    uint32_t drawn_span;
    /* progress */
    uint64_t heard_us;
    uint64_t frame_us; /* when it was polled last */
};

struct sim_rerun {
    struct arb_arena arena;
    struct match *match;
    struct match_codec *writes, *reads;
    struct match_record record; /* as read */
    uint8_t *bytes;
    bool broken; /* differs already: further ticks say nothing new */
};

struct sim_checks {
    struct sim *sim;
    uint64_t violations[SIM_INVARIANTS];
    uint64_t first_tick; /* ticks run */
    char first_text[256];
    uint16_t players;
    uint32_t entities, points;
    struct sim_published archive[SIM_ARCHIVE_FRAMES];
    uint64_t archive_count;
    arb_tick settled;       /* S[settled] was, when it was looked at last */
    uint64_t reruns;        /* the same */
    struct sim_seat *seats; /* [players], then [sim->options.spectators] */
    uint64_t spectator_joins;
    struct sim_session *sessions;  /* [sim->sessions] */
    struct sim_witness *witnesses; /* [clients] */
    uint32_t clients;              /* sim->player_count, which is 0 again at the end */
    struct arb_rng rng;            /* which ticks are looked at closely */
    bool close_look;               /* this tick */
    struct sim_rerun *rerun;
    struct sim_journal *journal; /* NULL: this run writes none */
    bool synctest_broken;        /* the match is on another course */
    struct sim_rewind *rewind;
    /* visible sets */
    float reach_of_kind[ARB_KINDS_MAX];
    uint32_t *expected; /* [entities] */
    /* scores of those whose slot was given away */
    uint64_t gone_kills, gone_deaths, gone_by_nobody;
    uint64_t allocated;    /* when last looked at */
    uint32_t memory_stage; /* of the client whose turn it is */
    uint64_t refused;      /* messages that the server did not take */
};

__attribute__((format(printf, 3, 4))) void
sim_violated(struct sim_checks *checks, enum sim_invariant invariant, const char *format, ...);

/* The published frame of that tick, if snapshots of it were sent and it is still kept. */
const struct sim_published *sim_archive_at(const struct sim_checks *checks, arb_tick tick);
arb_tick sim_archive_newest(const struct sim_checks *checks);
arb_tick sim_archive_oldest(const struct sim_checks *checks);
/* The seat in which the match still has that client; NULL. */
struct sim_seat *sim_seat_of(struct sim_checks *checks, const struct sim_player *player);
/* The client whose session sits in that seat and still is the one that it was; NULL. */
struct sim_witness *sim_witness_of(struct sim_checks *checks, const struct sim_seat *seat);

/* A session took that place: nothing of the one before is left. */
void sim_take_seat(struct sim_checks *checks, uint16_t place, struct port_session session,
                   uint64_t player_id);

/* NULL: of a spectator that has come back as another session. */
struct sim_seat *sim_seat_of_sight(struct sim_checks *checks, const struct match_sight *sight);
uint16_t sim_spectator_seat(const struct sim_checks *checks, const struct sim_player *player);
void sim_spectator_joins(struct sim_checks *checks, const struct port_message *message);
void sim_spectator_leaves(struct sim_checks *checks, struct port_session session);
/* Whether something of that published tick may have been sent to spectators. */
bool sim_spectator_may_know(const struct sim_checks *checks, arb_tick tick);

/* ---- the invariants' parts ---- */

void sim_frames_publish(struct sim_checks *checks);
void sim_frames_sight(struct sim_checks *checks, const struct match_sight *sight);
void sim_frames_look(struct sim_checks *checks, struct sim_player *player,
                     const struct arbiter_view *view);

void sim_prediction_look(struct sim_checks *checks);
void sim_corrections_look(struct sim_checks *checks, const struct sim_player *player);

void sim_inputs_made(struct sim_checks *checks, struct sim_player *player);
void sim_inputs_taken(struct sim_checks *checks, const struct port_message *message);
void sim_inputs_late(struct sim_checks *checks, uint16_t slot, const struct arb_input *input,
                     uint8_t control);
void sim_inputs_applied(struct sim_checks *checks, uint16_t slot, const struct arb_input *input,
                        uint8_t control, const struct arb_input *applied);
void sim_inputs_after_tick(struct sim_checks *checks);
void sim_inputs_look(struct sim_checks *checks);

void sim_visible_begin(struct sim_checks *checks);
void sim_visible_look(struct sim_checks *checks, const struct match_sight *sight);

void sim_events_put(struct sim_checks *checks, struct port_session session, const uint8_t *bytes,
                    size_t size);
void sim_events_look(struct sim_checks *checks, struct sim_player *player,
                     const struct arbiter_view *view);

struct sim_rerun *sim_rerun_create(struct sim_checks *checks);
void sim_rerun_destroy(struct sim_rerun *rerun);
/* It is in the match's state from now on. */
void sim_rerun_follow(struct sim_checks *checks);
void sim_journal_begin(struct sim_checks *checks);
void sim_journal_look(struct sim_checks *checks);
void sim_journal_finish(struct sim_checks *checks);
/* The process is killed: of the block in the making there is a piece at most. */
void sim_journal_cut(struct sim_checks *checks, struct arb_rng *rng);
/* Plays it into sim->match, as created, and goes on with it behind that. */
void sim_journal_resume(struct sim_checks *checks);
void sim_journal_destroy(struct sim_journal *journal);
void sim_rerun_look(struct sim_checks *checks);

void sim_synctest_look(struct sim_checks *checks);

/* `player` NULL: the server's turn begins. */
void sim_memory_begin(struct sim_checks *checks, const struct sim_player *player);
void sim_memory_server(struct sim_checks *checks);
void sim_memory_client(struct sim_checks *checks, const struct sim_player *player);
void sim_scores_join(struct sim_checks *checks, uint16_t slot);
void sim_scores_look(struct sim_checks *checks);
/* Of a match that is under way. */
void sim_scores_again(struct sim_checks *checks);
void sim_protocol_look(struct sim_checks *checks);
void sim_protocol_client(struct sim_checks *checks, const struct sim_player *player);

/* A fault of that client, or time that the server lost: its clocks still find the way back. */
bool sim_clocks_astray(const struct sim *sim, const struct sim_player *player);
void sim_views_look(struct sim_checks *checks, struct sim_player *player,
                    const struct arbiter_view *view);
void sim_progress_look(struct sim_checks *checks, struct sim_player *player);

struct sim_rewind *sim_rewind_create(struct sim_checks *checks);
void sim_rewind_destroy(struct sim_checks *checks);
/* Pictures of an earlier connection are none of the new one. */
void sim_rewind_connection(struct sim_checks *checks, const struct sim_player *player);
void sim_rewind_look(struct sim_checks *checks, const struct sim_player *player,
                     const struct arbiter_view *view);
/* Before sim_inputs_applied: it still knows of presses that were carried over. */
void sim_rewind_input(struct sim_checks *checks, uint16_t slot, const struct arb_input *input,
                      const struct arb_input *applied);
void sim_rewind_shots(struct sim_checks *checks, const struct rules_shot *shots, uint32_t count);
void sim_rewind_flown(struct sim_checks *checks, const struct rules_shot *shots,
                      const struct rules_flights *flights);

#endif
