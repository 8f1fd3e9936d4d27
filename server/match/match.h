/* One match as a pure machine: world + inputs -> world, with stages 1 and 9 at its edges
 * (spec/simulation.md). No socket, no clock, no thread: the daemon, the simulator and the tests
 * drive the same code. All memory comes from the arena at creation.
 */
#ifndef MATCH_H
#define MATCH_H

#include "server/match/match_config.h"
#include "server/match/match_fairness.h"
#include "server/match/match_result.h"
#include "server/match/match_views.h"
#include "server/match/port.h"
#include "server/rules/rules.h"

enum tick_mode {
    TICK_LIVE,  /* stages 1 to 9 */
    TICK_RERUN, /* stages 2 to 8: benches, replay, rollback */
};

struct match;

/* `params` (of rules->params_bytes) is copied; `map` and `geometry` must outlive the match.
 * match_id: 16 random bytes; the seed must be set by the caller. */
struct match *match_create(struct arb_arena *arena, const struct match_config *config,
                           const struct rules *rules, const void *params, const struct map *map,
                           const struct arb_geometry *geometry, const uint8_t match_id[16],
                           const struct match_port *port);
void match_destroy(struct match *match);

/* One tick; about a page, in tick.c. */
void tick_run(struct match *match, enum tick_mode mode);

arb_tick match_tick(const struct match *match); /* S[tick] */

/* The server was too slow and so many ticks of time were dropped; before the tick that comes next.
 * Clients cannot know yet and draw ahead of it for seconds; claimed views are judged by that
 * (views.c). No tick depends on it. */
void match_time_dropped(struct match *match, uint64_t ticks);

/* Checksum of the state as committed by the newest tick. */
uint64_t match_checksum(const struct match *match);
enum arb_phase match_phase(const struct match *match);
/* Before tick_run: it begins so much later than it should have. The players are told, the tick does
 * not know of it. */
void match_was_late(struct match *match, uint32_t late_ms);
/* After a restore or a replay: whoever was connected is not. They are away with the next tick, and
 * may come back, or leave where they may not. Between two ticks. */
void match_detach(struct match *match);
/* The result is final (match_get_result): it can be written now, nothing after changes it. */
bool match_decided(const struct match *match);
/* The result phase is over too: the process may end. */
bool match_ended(const struct match *match);
/* Ends the match at the next tick with that reason. */
void match_abort(struct match *match, enum arb_end_reason reason);
const struct world *match_world(const struct match *match);
const struct rewind *match_rewind(const struct match *match);
uint32_t match_present_count(const struct match *match);
/* Those without a character, who are not present. */
uint32_t match_spectator_count(const struct match *match);
/* The match has ended and somebody has yet to see its end, spectator.delay_s later: ticks had
 * better go on until then. */
bool match_is_watched(const struct match *match);
/* spectator.delay_s in ticks, up to whole snapshots. */
uint32_t match_spectator_delay_ticks(const struct match_config *config);

/* Bench and test doors: a player without a session (joins in the next tick, in the lowest free
 * slot), and its input for the coming ticks: it is applied as given, edges too, until another one
 * is set. */
void match_add_player(struct match *match, const char *name);
void match_set_input(struct match *match, uint16_t slot, const struct arb_input *input);

/* Only once match_decided (asserted). */
void match_get_result(const struct match *match, struct match_result *out);

/* What bounds took away since the start; all 0 in a match within its configuration. */
struct match_drops {
    uint64_t events;           /* did not fit the list of a tick */
    uint64_t contacts;         /* the same */
    uint64_t joins;            /* refused: full, or over */
    uint64_t spectators;       /* refused: the same */
    uint64_t spectator_events; /* more at one time than are kept for the delay */
};
struct match_drops match_drops(const struct match *match);

struct replicate;
/* Who watched so far. */
struct match_spectators_seen {
    uint64_t came, refused;
    uint32_t most;                     /* at one time */
    uint64_t events_dropped;           /* more at one time than are kept for the delay */
    const struct replicate *replicate; /* where their snapshots are counted; NULL: none may come */
};
struct match_spectators_seen match_spectators_seen(const struct match *match);

/* What all snapshots so far were, and what their streams consisted of (server/replicate). */
const struct replicate *match_replicate(const struct match *match);

/* Counted of a player's session; see struct arb_counts. */
void match_get_counts(const struct match *match, uint16_t slot, struct arb_counts *out);

/* What became of claimed views: of a player's session, and of all that ever played. */
struct match_view_counts match_view_counts(const struct match *match, uint16_t slot);
struct match_view_counts match_view_totals(const struct match *match);

/* How far shots have been rewound so far, and how long their victims had been in cover. */
const struct match_fairness *match_fairness(const struct match *match);

#endif
