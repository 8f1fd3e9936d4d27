/* The numbers of a match, filled from the option table (server/config) or by a test. Plain data. */
#ifndef MATCH_CONFIG_H
#define MATCH_CONFIG_H

#include "server/config/option.h"

#include <stdbool.h>

/* The choices of lagcomp.view_source and lagcomp.view_violation. */
enum match_view_source { MATCH_VIEW_CLAIMED, MATCH_VIEW_ROUND_TRIP };
enum match_view_violation { MATCH_VIEW_NEAREST, MATCH_VIEW_PRESENT, MATCH_VIEW_REFUSE };

struct match_lagcomp {
    int32_t max_rewind_ms;         /* 0: off */
    int32_t view_source;           /* enum match_view_source */
    int32_t view_tolerance_ms;     /* between a claimed view and the expected one */
    int32_t view_violation;        /* enum match_view_violation */
    int32_t cover_grace_ms;        /* 0: cover does not win over what the shooter saw */
    bool abilities_win;            /* over a view in which they had not begun */
    int32_t projectile_catchup_ms; /* how far back a projectile may leave */
};

struct match_config {
    int32_t tick_rate; /* Hz */
    int32_t max_catchup_ticks;
    int32_t max_players;
    int32_t min_players;    /* countdown begins when so many are there */
    int32_t join_timeout_s; /* nobody came: ends with reason "nobody"; 0: waits for ever */
    int32_t idle_exit_s;    /* everyone left: ends with reason "empty" after that; 0: at once */
    int32_t rejoin_grace_s; /* the place of a lost session is kept so long; 0: not at all */
    int32_t countdown_s;
    int32_t duration_s; /* of one live round */
    int32_t result_s;   /* result phase after each round */
    int32_t rounds;
    int32_t teams; /* 0: everyone for himself, 2: two teams */
    int32_t input_delay_ticks;
    struct option_seed seed;
    struct option_seed first_tick; /* debug.first_tick */
    int32_t input_buffer_ticks;
    int32_t input_hold_ticks;
    int32_t rollback_window_ticks; /* an input that is so late still acts; 0: none does */
    int32_t snapshot_interval_ticks;
    int32_t snapshot_chunk_payload_bytes;
    int32_t snapshot_budget_bytes_per_s; /* UDP payload down to one client */
    float
        snapshot_far_m; /* farther from the eye: every snapshot_far_every-th snapshot; 0: none is */
    int32_t snapshot_far_every;
    bool snapshot_parity;
    struct match_lagcomp lagcomp;
    int32_t spectator_max;     /* 0: none */
    int32_t spectator_delay_s; /* all that they get is so late */
    int32_t back_ticks;        /* how far match_repeats may go back; no option */
    float interest_cell_m, interest_enter_m, interest_retain_m;
    uint8_t interest_line_of_sight; /* 1: who stands behind walls is not sent */
    float interest_sight_margin_m;
};

#endif
