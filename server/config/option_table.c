/* Every option outside of the modes, once: what it is called, may be, and does. Order and grouping
 * are those of the documents. An option that nothing reads has no place here.
 */
#include "server/config/config_internal.h"
#include "shared/proto/arb_proto.h"

#define AT(member) OPTION_AT(struct config, member)

/* A chunk's header is 17 bytes (shared/proto/PROTOCOL.md, SNAPSHOT); a unit test holds this against
 * the encoder. */
enum {
    CHUNK_PAYLOAD_MOST = ARB_MESSAGE_BYTES_MAX - ARB_CHUNK_HEAD_BYTES_MAX,
    ROLLBACK_TICKS_MOST = 30,
};

const struct option config_options[] = {
    {"match.mode", OPTION_MODE, AT(mode), .unit = "",
     .doc = "The game that is played. Its numbers are in the section of the same name."},
    {"match.map", OPTION_STRING, AT(map), 0, 0, "\"\"", .unit = "",
     .doc = "Tiled map (.tmj), relative to the configuration file. Must be given."},
    {"match.max_players", OPTION_INT, AT(match.max_players), 1, ARB_PLAYERS_MAX, "16", .unit = "",
     .doc = "Places for players; whoever comes when all are taken is refused. Memory is taken for "
            "all of them at the start."},
    {"match.min_players", OPTION_INT, AT(match.min_players), 1, ARB_PLAYERS_MAX, "2", .unit = "",
     .doc = "The countdown of the first round begins when so many are there. At most "
            "match.max_players."},
    {"match.teams", OPTION_INT, AT(match.teams), 0, 2, "0", .unit = "",
     .doc = "0: everyone for himself; 2: two teams, which players are dealt to as they come."},
    {"match.rounds", OPTION_INT, AT(match.rounds), 1, 1000, "1", .unit = "",
     .doc =
         "Rounds until the match is decided, unless a score limit ends it earlier. Scores go on."},
    {"match.countdown_s", OPTION_INT, AT(match.countdown_s), 0, 600, "3", .unit = "s",
     .doc = "From enough players to the beginning of a round; 0: at once."},
    {"match.duration_s", OPTION_INT, AT(match.duration_s), 1, 86400, "300", .unit = "s",
     .doc = "Length of a round, unless the mode ends it earlier."},
    {"match.result_s", OPTION_INT, AT(match.result_s), 0, 600, "5", .unit = "s",
     .doc = "How long the result of a round stands before the next round or the end."},
    {"match.join_timeout_s", OPTION_INT, AT(match.join_timeout_s), 0, 86400, "300", .unit = "s",
     .doc = "Nobody came for so long: the match ends, with end_reason nobody; 0: it waits for "
            "ever."},
    {"match.idle_exit_s", OPTION_INT, AT(match.idle_exit_s), 0, 86400, "10", .unit = "s",
     .doc = "Everybody left for so long: the match ends, with end_reason empty; 0: at once."},
    {"match.rejoin_grace_s", OPTION_INT, AT(match.rejoin_grace_s), 0, 3600, "30", .unit = "s",
     .doc = "The place of a player whose connection was lost is kept so long, with character and "
            "score; whoever shows its resume token has it again. 0: it leaves at once."},
    {"match.result_path", OPTION_STRING, AT(result_path), 0, 0, "\"\"", .unit = "",
     .doc = "File that gets the result, written in one step at the end; relative to the folder the "
            "process runs in. Empty: none is written."},
    {"match.tick_rate", OPTION_INT, AT(match.tick_rate), 20, 128, "60", .unit = "Hz",
     .doc = "Steps of the simulation a second. More shortens delays and costs CPU and bandwidth "
            "in proportion."},
    {"match.max_catchup_ticks", OPTION_INT, AT(match.max_catchup_ticks), 1, 60, "5",
     .unit = "ticks",
     .doc = "Ticks that are run back to back after a stall; time beyond them is dropped and "
            "counted."},
    {"match.input_delay_ticks", OPTION_INT, AT(match.input_delay_ticks), 0, 6, "0", .unit = "ticks",
     .doc = "How much later than made an input takes effect, for every player alike: slower to "
            "the hand, evener between near and far players."},
    {"match.seed", OPTION_SEED, AT(match.seed), 0, 0, "null", .unit = "",
     .doc = "Seed of all random decisions, 64 bits; null: drawn at the start and logged."},
    {"net.address", OPTION_STRING, AT(net.address), 0, 0, "\"127.0.0.1\"", .unit = "",
     .doc = "Numeric address to listen on; 0.0.0.0: all of IPv4; ::: both families."},
    {"net.port", OPTION_INT, AT(net.port), 0, 65535, "40000", .unit = "",
     .doc = "UDP port; 0: any free one, which the log's ready line tells."},
    {"net.max_sessions", OPTION_INT, AT(net.max_sessions), 0, CONFIG_SESSIONS_MAX, "0", .unit = "",
     .doc = "Connections at one time, players, spectators and those who are being refused; 0: 16 "
            "more than match.max_players and spectator.max together."},
    {"net.messages_per_tick", OPTION_INT, AT(net.messages_per_tick), 1, 64, "16", .unit = "",
     .doc = "Messages of one session that are read per tick; more are dropped and counted."},
    {"auth.mode", OPTION_CHOICE, AT(auth.mode), 0, 0, "\"open\"", "open", .unit = "",
     .doc = "Who may play. open: whoever reaches the port."},
    {"auth.open_anywhere", OPTION_BOOL, AT(auth.open_anywhere), 0, 0, "false", .unit = "",
     .doc = "Allows auth.mode open on an address other than loopback. Only behind something that "
            "keeps strangers out."},
    {"auth.timeout_ms", OPTION_INT, AT(auth.timeout_ms), 100, 60000, "5000", .unit = "ms",
     .doc = "A connection that did not say who it is for so long is cut."},
    {"input.buffer_ticks", OPTION_INT, AT(match.input_buffer_ticks), 1, 120, "30", .unit = "ticks",
     .doc = "How far ahead of the server's tick an input may be; one further ahead is dropped and "
            "counted."},
    {"input.hold_ticks", OPTION_INT, AT(match.input_hold_ticks), 0, 600, "30", .unit = "ticks",
     .doc = "While a player's inputs are missing the last one is repeated for so long, then all "
            "is let go. Longer bridges worse links, and characters run on longer when a link is "
            "cut."},
    {"rollback.window_ticks", OPTION_INT, AT(match.rollback_window_ticks), 0, ROLLBACK_TICKS_MOST,
     "0", .unit = "ticks",
     .doc = "An input that comes at most so many ticks late acts in its own tick all the same: the "
            "match goes back and runs these ticks again. Scores, deaths and the result are told "
            "when nothing of this kind can change them any more, so later by up to as much. 0: a "
            "late input is not applied, but for its presses, which go into the next one."},
    {"snapshot.interval_ticks", OPTION_INT, AT(match.snapshot_interval_ticks), 1, 20, "2",
     .unit = "ticks", .doc = "A snapshot for each client every so many ticks."},
    {"snapshot.chunk_payload_bytes", OPTION_INT, AT(match.snapshot_chunk_payload_bytes), 200,
     CHUNK_PAYLOAD_MOST, "1150", .unit = "bytes",
     .doc = "Most bytes of a snapshot in one datagram, without headers. A lost datagram loses so "
            "much."},
    {"snapshot.budget_bytes_per_s", OPTION_INT, AT(match.snapshot_budget_bytes_per_s), 4096,
     100000000, "65536", .unit = "bytes/s",
     .doc = "Most UDP payload sent to one client. What does not fit is sent later, the important "
            "first."},
    {"snapshot.far_m", OPTION_NUMBER, AT(match.snapshot_far_m), 0, 8192, "0", .unit = "m",
     .doc =
         "What is farther from a player's own character than this comes with every "
         "snapshot.far_every-th snapshot only; 0: all comes with each. Never the own character."},
    {"snapshot.far_every", OPTION_INT, AT(match.snapshot_far_every), 2, 8, "2", .unit = "snapshots",
     .doc = "See snapshot.far_m."},
    {"snapshot.parity", OPTION_BOOL, AT(match.snapshot_parity), 0, 0, "true", .unit = "",
     .doc =
         "A snapshot of more than one datagram, as only an entity that is longer than one needs, "
         "is sent with one datagram more, which makes up for any lost one of them."},
    {"interest.cell_m", OPTION_NUMBER, AT(match.interest_cell_m), 1, 1000, "8", .unit = "m",
     .doc = "Side of a cell of the grid that finds what is near. About a quarter of the enter "
            "radius is quick."},
    {"interest.enter_m", OPTION_NUMBER, AT(match.interest_enter_m), 1, 8192, "32", .unit = "m",
     .doc = "What comes nearer than this to a player's own character is shown to that player."},
    {"interest.retain_m", OPTION_NUMBER, AT(match.interest_retain_m), 1, 8192, "38", .unit = "m",
     .doc = "What is shown stays shown up to this distance. Must be greater than enter_m, so that "
            "nothing flickers at the edge."},
    {"interest.line_of_sight", OPTION_BOOL, AT(match.interest_line_of_sight), 0, 0, "false",
     .unit = "",
     .doc = "Enemies behind walls are not sent, so that no client can draw them through walls. "
            "Costs rays for each player and enemy nearby."},
    {"interest.sight_margin_m", OPTION_NUMBER, AT(match.interest_sight_margin_m), 0, 100, "2.5",
     .unit = "m",
     .doc =
         "With line_of_sight: who would be seen if both had gone so far is sent already, so that "
         "nobody appears late at a corner. Twice the way of a player in a round trip is safe."},
    {"spectator.max", OPTION_INT, AT(match.spectator_max), 0, ARB_PLAYERS_MAX, "16", .unit = "",
     .doc =
         "Places for spectators, who watch without a character, beside those for players; whoever "
         "comes when all are taken is refused. To the match's beginning and end they count as "
         "nobody. 0: none may watch."},
    {"spectator.delay_s", OPTION_INT, AT(match.spectator_delay_s), 0, 60, "0", .unit = "s",
     .doc =
         "Spectators see and hear all so much later, so that nobody can tell a player what they "
         "see. The server keeps that much of the past: memory in proportion. At the end it stays "
         "so long for those who still watch."},
    {"lagcomp.max_rewind_ms", OPTION_INT, AT(match.lagcomp.max_rewind_ms), 0, 700, "250",
     .unit = "ms",
     .doc = "How far back a shot is judged at most: what the shooter saw then is what is hit. More "
            "serves players on long lines and is less fair to whoever has reached cover since; "
            "500 is a common choice. 0: off, shots meet the newest tick."},
    {"lagcomp.view_source", OPTION_CHOICE, AT(match.lagcomp.view_source), 0, 0, "\"claimed\"",
     "claimed|round_trip", .unit = "",
     .doc = "claimed: what the client says that it drew, checked; exact. round_trip: a whole tick "
            "worked out from its round trip and announced delay; coarser."},
    {"lagcomp.view_tolerance_ms", OPTION_INT, AT(match.lagcomp.view_tolerance_ms), 0, 500, "100",
     .unit = "ms",
     .doc = "How far a claimed view may be off what the server expects from the round trip, the "
            "wait in the input buffer and the announced delay."},
    {"lagcomp.view_violation", OPTION_CHOICE, AT(match.lagcomp.view_violation), 0, 0, "\"nearest\"",
     "nearest|present|refuse", .unit = "",
     .doc = "A view that is not permitted is replaced by the nearest permitted one, by the newest "
            "tick, or the shot meets nobody. Each is counted, with its reason."},
    {"lagcomp.cover_grace_ms", OPTION_INT, AT(match.lagcomp.cover_grace_ms), 0, 700, "0",
     .unit = "ms",
     .doc =
         "A victim whom static geometry has hidden from the shot's origin for longer than this "
         "is not hit, whatever the shooter still saw; the ray goes on, or the projectile while it "
         "is caught up. Shorter is fairer to who reached cover, and shots that looked right "
         "miss. 0: off, what was seen is hit."},
    {"lagcomp.abilities_win", OPTION_BOOL, AT(match.lagcomp.abilities_win), 0, 0, "false",
     .unit = "",
     .doc = "A victim that is dashing by the server's word is not hit by a shot whose shooter did "
            "not see the dash begin; the ray goes on, or the projectile while it is caught up."},
    {"lagcomp.projectile_catchup_ms", OPTION_INT, AT(match.lagcomp.projectile_catchup_ms), 0, 700,
     "250", .unit = "ms",
     .doc =
         "A projectile leaves at the moment that its shooter saw when it fired, and is caught up "
         "through the past at once: so what it was seen to hit is what it hits. At most so far "
         "back; smaller favours who is shot at, and 0 lets each leave in the present."},
    {"shutdown.grace_s", OPTION_INT, AT(shutdown.grace_s), 0, 3600, "10", .unit = "s",
     .doc = "Longest time from SIGTERM to the end of the process. Container platforms kill after "
            "a time of their own; stay below it."},
    {"shutdown.on_term", OPTION_CHOICE, AT(shutdown.on_term), 0, 0, "\"abort\"", "finish|abort",
     .unit = "",
     .doc = "On SIGTERM: finish plays the match to its end, or until shutdown.grace_s is over; "
            "abort ends it at once. Both write the result."},
    {"log.level", OPTION_CHOICE, AT(log.level), 0, 0, "\"info\"", "error|warn|info|debug",
     .unit = "", .doc = "What is logged: this and everything more severe."},
    {"log.format", OPTION_CHOICE, AT(log.format), 0, 0, "\"auto\"", "auto|json|plain", .unit = "",
     .doc = "json: one object per line; plain: for people; auto: plain on a terminal."},
    {"journal.path", OPTION_STRING, AT(journal.path), 0, 0, "\"\"", .unit = "",
     .doc = "File that gets everything that the match took in, so that it can be played again and "
            "verified (arbiter-replay); relative to the folder the process runs in, and never one "
            "that is there already. In its name %m stands for the match id. It shows everything of "
            "every player. Empty: none is written."},
    {"journal.flush_ms", OPTION_INT, AT(journal.flush_ms), 10, 60000, "500", .unit = "ms",
     .doc = "What happened reaches the file so much later at most: the play that is lost when the "
            "process is killed. Longer packs better."},
    {"journal.fsync", OPTION_CHOICE, AT(journal.fsync), 0, 0, "\"flush\"", "never|keyframe|flush",
     .unit = "",
     .doc = "When the disk is asked to have written: with each flush (survives a loss of power), "
            "with each keyframe and the result, or never (survives the process, not the machine). "
            "No tick waits for it."},
    {"journal.keyframe_s", OPTION_INT, AT(journal.keyframe_s), 1, 3600, "60", .unit = "s",
     .doc = "The whole state is written so often: replays may begin there. More often makes "
            "seeking and resuming quicker and the file larger."},
    {"debug.first_tick", OPTION_SEED, AT(match.first_tick), 1, 9007199254740992.0, "null",
     .unit = "ticks",
     .doc = "Number of the first tick, for tests of counters near their ends; null: 1."},
    {"debug.rewind_trace", OPTION_STRING, AT(rewind_trace), 0, 0, "\"\"", .unit = "",
     .doc = "File that gets every shot as a line of JSON: views, rays, and who stood where, then "
            "and now (arbiter-replay draws them); relative to the folder the process runs in. It "
            "shows everything of every player. Empty: none, and no cost."},
};

const size_t config_option_count = sizeof config_options / sizeof config_options[0];
