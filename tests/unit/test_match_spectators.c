/* server/match/spectators*: who watches, what each is shown, and when. */
#include "server/match/match_internal.h"
#include "server/match/match_save.h"
#include "server/replicate/replicate_internal.h"
#include "tests/unit/match_rig.h"

enum { EYE = 7 }; /* session of the spectator */

/* What the newest tick showed to spectators, and what was published so far. */
static struct {
    uint32_t count;
    struct arb_vec2 eye;
    arb_tick tick;
} shown;

static struct {
    uint32_t entity_count;
    int32_t x[8];
    uint32_t events; /* to everybody */
    struct arb_event event[16];
} published[2048];

static void on_snapshot(void *owner, const struct match_sight *sight)
{
    (void)owner;
    if (sight->slot != ARB_NO_SLOT) return;
    shown.count++;
    shown.eye = sight->eye;
    shown.tick = sight->frame->tick;
}

static void begin(void)
{
    defaults();
    config.spectator_max = 2;
    memset(&shown, 0, sizeof shown);
}

TestSuite(match_spectators, .init = begin, .fini = close_match);

static void open_watched(void)
{
    open_match();
    match_observe(match, &(struct match_observer){.snapshot = on_snapshot});
}

static void watch(uint16_t session)
{
    say(PORT_JOIN, session);
    queue[queued - 1].role = ARB_ROLE_SPECTATOR;
}

static void wish(uint16_t session, uint16_t number, uint16_t follow, float x, float y)
{
    queue[queued] = (struct port_message){.type = PORT_SPECTATE, .session = {session, 1}};
    queue[queued++].spectate =
        (struct arb_spectate){.number = number, .follow = follow, .x = x, .y = y};
}

static uint32_t count_sent(uint16_t session, uint8_t type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        count += sent[i].session == session && sent[i].type == type;
    }
    return count;
}

static const struct arb_event *find_event(uint16_t session, uint8_t kind)
{
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].session == session && sent[i].type == ARB_MESSAGE_EVENT &&
            sent[i].event.kind == kind) {
            return &sent[i].event;
        }
    }
    return NULL;
}

/* Index in `sent`, or -1. */
static int find_snapshot(uint16_t session)
{
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].session == session && sent[i].type == ARB_MESSAGE_SNAPSHOT) return (int)i;
    }
    return -1;
}

/* ---- who is there ---- */

Test(match_spectators, a_spectator_is_told_all_but_gets_no_slot)
{
    open_watched();
    join_live();
    match->world.players[0].score = 4;
    tick();
    watch(EYE);
    tick();
    cr_assert_eq(count_sent(EYE, ARB_MESSAGE_WELCOME), 1);
    cr_assert_eq(sent_welcome.player_slot, ARB_NO_SLOT);
    cr_assert_eq(sent_welcome.player_id, 0);
    cr_assert_eq(sent_welcome.tick, match_tick(match));
    cr_assert_eq(find_event(EYE, ARB_EVENT_PLAYER)->player.slot, 0);
    cr_assert_eq(count_sent(EYE, ARB_MESSAGE_SCORES), 1);
    cr_assert_null(find_event(EYE, ARB_EVENT_SCORE));
    cr_assert_eq(find_event(EYE, ARB_EVENT_PHASE)->phase.phase, ARB_PHASE_LIVE);
    cr_assert_null(find_event(EYE, ARB_EVENT_REBIND));
    cr_assert_null(find_event(EYE, ARB_EVENT_RESULT));
    tick();
    tick();
    int snapshot = find_snapshot(EYE);
    if (snapshot < 0) {
        tick();
        snapshot = find_snapshot(EYE);
    }
    cr_assert_geq(snapshot, 0);
    struct arb_delta_out out = sent_snapshot((uint32_t)snapshot);
    cr_assert_not(out.has_own);
    cr_assert_eq(out.frame->entity_count, 0, "nobody is near the middle of the map");
    for (int i = 0; i < 130; i++) {
        tick();
        cr_assert_eq(count_sent(EYE, ARB_MESSAGE_COUNTS), 0);
    }
    cr_assert_eq(match_spectator_count(match), 1);
    cr_assert_eq(match_present_count(match), 1);
}

/* Nobody watched the ticks that a process resumed from. */
Test(match_spectators, of_a_restored_match_they_are_told_the_standing)
{
    static uint8_t block[16 << 20];
    struct match_save_error error;
    config.rejoin_grace_s = 5;
    config.result_s = 10;
    for (int is_decided = 0; is_decided < 2; is_decided++) {
        open_match();
        join_live();
        match->world.players[0].score = 4;
        say(PORT_JOIN, 1);
        tick();
        say(PORT_LEAVE, 1);
        end_early = is_decided != 0;
        tick();
        tick();
        cr_assert_leq(match_save_bytes(match, MATCH_SAVE_WHOLE), sizeof block);
        uint32_t bytes = match_save(match, MATCH_SAVE_WHOLE, block, sizeof block);
        enum arb_phase phase = match_phase(match);
        close_match();
        open_match();
        cr_assert_eq(match_restore(match, block, bytes, &error), ARB_OK, "%s", error.text);
        match_detach(match);
        watch(EYE);
        tick();
        uint32_t players = 0;
        for (uint32_t i = 0; i < sent_count; i++) {
            players += sent[i].session == EYE && sent[i].type == ARB_MESSAGE_EVENT &&
                       sent[i].event.kind == ARB_EVENT_PLAYER;
        }
        cr_expect_eq(players, 2, "%u: also who left", players);
        cr_expect_eq(count_sent(EYE, ARB_MESSAGE_SCORES), 1);
        cr_assert_not_null(find_event(EYE, ARB_EVENT_PHASE));
        cr_expect_eq(find_event(EYE, ARB_EVENT_PHASE)->phase.phase, phase);
        cr_expect_eq(find_event(EYE, ARB_EVENT_RESULT) != NULL, is_decided != 0);
        close_match();
    }
}

Test(match_spectators, what_is_for_one_player_is_for_no_spectator)
{
    open_watched();
    watch(EYE);
    tick();
    say(PORT_JOIN, 0);
    tick();
    cr_assert_not_null(find_event(0, ARB_EVENT_REBIND));
    cr_assert_null(find_event(EYE, ARB_EVENT_REBIND));
    cr_assert_not_null(find_event(EYE, ARB_EVENT_PLAYER), "what is for everybody is");
}

Test(match_spectators, places_are_counted_and_given_again)
{
    open_watched();
    watch(1);
    watch(2);
    watch(3);
    tick();
    cr_assert_eq(refused_with[1], 0);
    cr_assert_eq(refused_with[2], 0);
    cr_assert_eq(refused_with[3], ARB_REFUSED_FULL);
    cr_assert_eq(match_drops(match).spectators, 1);
    cr_assert_eq(match_drops(match).joins, 0);
    say(PORT_LEAVE, 1);
    watch(4);
    tick();
    cr_assert_eq(refused_with[4], 0);
    cr_assert_eq(match_spectator_count(match), 2);
    for (uint16_t session = 5; session < 8; session++) {
        say(PORT_JOIN, session);
    }
    tick();
    cr_assert_eq(match_present_count(match), 3, "players have places of their own");
}

Test(match_spectators, none_may_come_where_none_are_configured)
{
    config.spectator_max = 0;
    open_match();
    watch(EYE);
    wish(EYE, 1, 0, 0, 0);
    say(PORT_LEAVE, EYE);
    tick();
    cr_assert_eq(refused_with[EYE], ARB_REFUSED_FULL);
}

Test(match_spectators, they_count_as_nobody)
{
    config.join_timeout_s = 2;
    open_watched();
    watch(EYE);
    for (int i = 0; i < 120; i++) {
        tick();
        cr_assert_eq(match_phase(match), ARB_PHASE_WAITING);
    }
    tick();
    tick();
    cr_assert(match_ended(match));
    cr_assert_eq(match_world(match)->head->end_reason, ARB_END_NOBODY);
    watch(3);
    tick();
    cr_assert_eq(refused_with[3], ARB_REFUSED_ENDED);
}

Test(match_spectators, the_state_does_not_know_of_them)
{
    static uint64_t checksums[200];
    for (int watched = 0; watched < 2; watched++) {
        open_watched();
        say(PORT_JOIN, 0);
        for (int i = 0; i < 200; i++) {
            if (watched && i == 3) watch(EYE);
            if (watched && i > 3) wish(EYE, (uint16_t)i, i % 3 == 0 ? ARB_NO_SLOT : 0, 1, 2);
            if (watched && i == 150) say(PORT_LEAVE, EYE);
            tick();
            if (watched) cr_assert_eq(match_checksum(match), checksums[i], "tick %d", i);
            checksums[i] = match_checksum(match);
        }
        close_match();
    }
    cr_assert_gt(shown.count, 50);
}

/* ---- what they look at ---- */

static void tick_to_snapshot(void)
{
    shown.count = 0;
    while (shown.count == 0) {
        tick();
    }
}

Test(match_spectators, a_camera_looks_where_it_is_told)
{
    open_watched();
    join_live();
    watch(EYE);
    tick_to_snapshot();
    cr_assert(shown.eye.x == 0.0F && shown.eye.y == 0.0F, "the middle of the map");
    wish(EYE, 1, ARB_NO_SLOT, 12.5F, -3.0F);
    tick_to_snapshot();
    cr_assert(shown.eye.x == 12.5F && shown.eye.y == -3.0F);
    wish(EYE, 0xFFFF, ARB_NO_SLOT, 1.0F, 1.0F);
    tick_to_snapshot();
    cr_assert(shown.eye.x == 12.5F, "an earlier wish that came late");
}

Test(match_spectators, a_followed_player_is_the_eye)
{
    open_watched();
    for (uint16_t session = 0; session < 3; session++) {
        say(PORT_JOIN, session);
    }
    watch(EYE);
    wish(EYE, 1, 1, 0, 0);
    tick_to_snapshot();
    cr_assert_float_eq(shown.eye.x, spawn_gap - 40.0F, 0.01);
    struct arb_delta_out out = sent_snapshot((uint32_t)find_snapshot(EYE));
    cr_assert(arb_key_equal(out.controlled, player(1)->controlled), "it is told whom it follows");
    /* Its character dies: the eye stays. */
    probe_player_left(&match->context, 1);
    world_settle(&match->world);
    tick_to_snapshot();
    cr_assert(arb_key_is_none(player(1)->controlled));
    cr_assert_float_eq(shown.eye.x, spawn_gap - 40.0F, 0.01);
    out = sent_snapshot((uint32_t)find_snapshot(EYE));
    cr_assert(arb_key_is_none(out.controlled));
    /* It leaves: the next one. */
    say(PORT_LEAVE, 1);
    tick_to_snapshot();
    cr_assert_float_eq(shown.eye.x, 2.0F * spawn_gap - 40.0F, 0.01);
    /* And the first again after the last. */
    say(PORT_LEAVE, 2);
    tick_to_snapshot();
    cr_assert_float_eq(shown.eye.x, -40.0F, 0.01);
    wish(EYE, 2, 60000, 0, 0);
    tick_to_snapshot();
    cr_assert_float_eq(shown.eye.x, -40.0F, 0.01, "no such slot: the first one that is there");
    say(PORT_LEAVE, 0);
    tick_to_snapshot();
    cr_assert_float_eq(shown.eye.x, -40.0F, 0.01, "nobody is there: it stays");
}

Test(match_spectators, who_is_followed_is_in_view_and_others_by_distance)
{
    spawn_gap = 35.0F;
    open_watched();
    for (uint16_t session = 0; session < 3; session++) {
        say(PORT_JOIN, session);
    }
    watch(EYE);
    wish(EYE, 1, 0, 0, 0);
    tick_to_snapshot();
    struct arb_delta_out out = sent_snapshot((uint32_t)find_snapshot(EYE));
    cr_assert_eq(out.frame->entity_count, 1, "the others are 35 m and more away");
    cr_assert(arb_key_equal(out.frame->entities[0].key, player(0)->controlled));
    wish(EYE, 2, ARB_NO_SLOT, 12.5F, 0.0F);
    tick_to_snapshot();
    out = sent_snapshot((uint32_t)find_snapshot(EYE));
    cr_assert_eq(out.frame->entity_count, 2, "two are within 30 m of the camera");
}

Test(match_spectators, followers_of_one_player_share_what_they_see)
{
    open_watched();
    join_live();
    watch(5);
    watch(6);
    wish(5, 1, 0, 0, 0);
    wish(6, 1, 0, 0, 0);
    tick_to_snapshot();
    cr_assert_eq(shown.count, 2);
    int a = find_snapshot(5), b = find_snapshot(6);
    cr_assert_eq(sent[a].chunk.payload_bytes, sent[b].chunk.payload_bytes);
    cr_assert_arr_eq(sent[a].payload, sent[b].payload, sent[a].chunk.payload_bytes);
}

static void run_player_to_the_right(uint16_t slot)
{
    struct arb_input_packet *inputs = packet(slot, player(slot)->control);
    struct arb_input *input = add_input(inputs, (arb_sequence)match_tick(match), match_tick(match));
    input->move_x = 127;
}

/* Acknowledges the newest snapshot of that session, if this tick sent one. */
static void acknowledge(uint16_t session, uint16_t number)
{
    int snapshot = find_snapshot(session);
    if (snapshot < 0) return;
    wish(session, number, 0, 0, 0);
    queue[queued - 1].spectate.has_ack = 1;
    queue[queued - 1].spectate.ack_snapshot = sent[snapshot].chunk.header.id;
}

Test(match_spectators, who_holds_the_same_gets_what_was_encoded_for_the_other)
{
    open_watched();
    join_live();
    watch(5);
    wish(5, 1, 0, 0, 0);
    uint32_t same = 0;
    for (uint16_t i = 2; i < 60; i++) {
        if (i == 20) watch(6);
        if (i > 20) run_player_to_the_right(0);
        uint64_t encoded = match->replicate->contents;
        tick();
        encoded = match->replicate->contents - encoded;
        int a = find_snapshot(5), b = find_snapshot(6);
        acknowledge(5, i);
        acknowledge(6, i);
        if (a < 0 || b < 0 || i < 30) continue;
        cr_assert_neq(sent[a].chunk.header.baseline, 0);
        cr_assert_eq(encoded, 2, "the player's and one of the two");
        cr_assert_eq(sent[a].chunk.payload_bytes, sent[b].chunk.payload_bytes);
        cr_assert_arr_eq(sent[a].payload, sent[b].payload, sent[a].chunk.payload_bytes);
        same++;
    }
    cr_assert_gt(same, 10);
}

Test(match_spectators, who_holds_something_else_gets_an_encode_of_its_own)
{
    open_watched();
    join_live();
    watch(5);
    watch(6);
    wish(5, 1, 0, 0, 0);
    wish(6, 1, 0, 0, 0);
    uint32_t others = 0;
    for (uint16_t i = 2; i < 80; i++) {
        run_player_to_the_right(0);
        uint64_t encoded = match->replicate->contents;
        tick();
        encoded = match->replicate->contents - encoded;
        int a = find_snapshot(5), b = find_snapshot(6);
        acknowledge(5, i);
        if (i % 16 == 0) acknowledge(6, i);
        if (a < 0 || b < 0 || i < 40) continue;
        if (sent[a].chunk.header.baseline == sent[b].chunk.header.baseline) continue;
        /* The player acknowledges nothing and is sent less in the end. */
        cr_assert_eq(encoded, find_snapshot(0) < 0 ? 2 : 3, "one for each of the two");
        others++;
    }
    cr_assert_gt(others, 10);
}

/* ---- delay ---- */

/* Remembers what the tick published and announced. */
static void tick_and_note(void)
{
    tick();
    arb_tick now = match_tick(match) - 1;
    const struct arb_frame *frame = rewind_newest(match_rewind(match));
    published[now].entity_count = frame->entity_count;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        published[now].x[i] = frame->entities[i].q[ARB_CHARACTER_X];
    }
    for (uint32_t i = 0; i < match->events.count; i++) {
        const struct rules_event *event = &match->events.list[i];
        if (event->to != ARB_NO_SLOT) continue;
        published[now].event[published[now].events++] = event->event;
    }
}

/* Everything in this tick's messages to the spectator is of tick `at` or before, and as it was. */
static void check_nothing_newer(arb_tick at, arb_tick *told)
{
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].session != EYE) continue;
        if (sent[i].type == ARB_MESSAGE_WELCOME) {
            cr_assert_eq(sent_welcome.tick, (uint32_t)(at + 1));
        } else if (sent[i].type == ARB_MESSAGE_EVENT) {
            cr_assert_leq(sent[i].event.tick, at);
        } else {
            cr_assert_eq(sent[i].type, ARB_MESSAGE_SNAPSHOT);
            cr_assert_eq(sent[i].chunk.header.tick, (uint16_t)at);
            cr_assert_eq(sent[i].chunk.header.confirmed_tick, (uint16_t)at);
            cr_assert_eq(sent[i].chunk.header.last_sequence, 0);
            struct arb_delta_out out = sent_snapshot(i);
            cr_assert_eq(out.frame->entity_count, published[at].entity_count);
            for (uint32_t e = 0; e < out.frame->entity_count; e++) {
                cr_assert_eq(out.frame->entities[e].q[ARB_CHARACTER_X], published[at].x[e]);
            }
            *told = at;
        }
    }
}

Test(match_spectators, all_that_they_get_is_of_the_delayed_tick)
{
    config.spectator_delay_s = 2;
    config.duration_s = 6;
    config.result_s = 1;
    open_watched();
    watch(EYE);
    wish(EYE, 1, 0, 0, 0);
    say(PORT_JOIN, 0);
    arb_tick told = 0, ended = 0;
    uint32_t events = 0, expected = 0;
    bool result = false;
    for (int i = 0; i < 660; i++) {
        if (player(0)->presence == WORLD_PRESENT) run_player_to_the_right(0);
        if (i == 100) say(PORT_JOIN, 1);
        if (i == 200) say(PORT_LEAVE, 1);
        tick_and_note();
        arb_tick now = match_tick(match) - 1;
        if (match_ended(match) && ended == 0) ended = now;
        if (now <= 120) {
            cr_assert_eq(count_sent(EYE, ARB_MESSAGE_SNAPSHOT), 0, "nothing is so old yet");
            cr_assert_leq(count_sent(EYE, ARB_MESSAGE_EVENT), 1, "the phase of the welcome");
            if (i > 0) cr_assert_eq(count_sent(EYE, ARB_MESSAGE_EVENT), 0);
            continue;
        }
        arb_tick at = now - 120;
        check_nothing_newer(at, &told);
        events += count_sent(EYE, ARB_MESSAGE_EVENT);
        expected += published[at].events;
        cr_assert_eq(events, expected, "tick %llu", (unsigned long long)now);
        result |= find_event(EYE, ARB_EVENT_RESULT) != NULL;
        cr_assert_eq(match_is_watched(match), ended != 0 && at < ended);
        cr_assert(ended == 0 || at < ended || result, "it saw the end before nobody waits for it");
    }
    cr_assert(result);
    cr_assert_gt(told, 400);
    cr_assert_neq(ended, 0);
}

/* The snapshot of the delay ago goes out late as well, now: that is what stands still. */
Test(match_spectators, a_late_step_is_told_at_once_by_the_tick_that_it_showed)
{
    for (config.spectator_delay_s = 0; config.spectator_delay_s <= 2; config.spectator_delay_s++) {
        open_watched();
        watch(EYE);
        tick();
        for (int i = 0; i < 150; i++) {
            match_was_late(match, i == 149 ? 40 : 0);
            cr_assert_eq(count_sent(EYE, ARB_MESSAGE_LATE), 0);
            tick();
        }
        uint32_t told = 0;
        uint32_t delay = (uint32_t)config.spectator_delay_s * 60;
        for (uint32_t i = 0; i < sent_count; i++) {
            if (sent[i].type != ARB_MESSAGE_LATE || sent[i].session != EYE) continue;
            cr_expect_eq(sent[i].late.tick, (uint32_t)(match_tick(match) - 1) - delay);
            cr_expect_eq(sent[i].late.late_ms, 40);
            told++;
        }
        cr_expect_eq(told, 1, "delay %u ticks", delay);
        close_match();
    }
    open_watched();
}

Test(match_spectators, who_comes_late_learns_the_delayed_standing)
{
    config.spectator_delay_s = 1;
    open_watched();
    join_live();
    for (int i = 0; i < 100; i++) {
        tick_and_note();
    }
    say(PORT_JOIN, 1);
    tick_and_note();
    watch(EYE);
    tick_and_note();
    cr_assert_eq(sent_welcome.tick, match_tick(match) - 60);
    uint32_t players = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].session != EYE || sent[i].type != ARB_MESSAGE_EVENT) continue;
        cr_assert_eq(sent[i].event.tick, match_tick(match) - 61);
        players += sent[i].event.kind == ARB_EVENT_PLAYER;
    }
    cr_assert_eq(players, 1, "the second one joins a second later");
    bool told = false;
    for (int i = 0; i < 62; i++) {
        tick_and_note();
        const struct arb_event *event = find_event(EYE, ARB_EVENT_PLAYER);
        if (event != NULL) {
            cr_assert_eq(event->player.slot, 1);
            cr_assert_eq(event->tick, match_tick(match) - 61);
            told = true;
        }
    }
    cr_assert(told);
}

Test(match_spectators, the_delay_is_whole_snapshots)
{
    config.snapshot_interval_ticks = 7;
    config.spectator_delay_s = 1;
    cr_assert_eq(match_spectator_delay_ticks(&config), 63);
    config.snapshot_interval_ticks = 2;
    cr_assert_eq(match_spectator_delay_ticks(&config), 60);
    config.spectator_delay_s = 0;
    cr_assert_eq(match_spectator_delay_ticks(&config), 0);
}

Test(match_spectators, too_many_events_lose_scores_and_never_phases)
{
    config.spectator_delay_s = 1;
    open_watched();
    tick();
    struct spectators *spectators = match->spectators;
    struct rules_event score = {.to = ARB_NO_SLOT, .also = ARB_NO_SLOT};
    score.event.kind = ARB_EVENT_SCORE;
    uint32_t kept = spectators->event_count;
    struct match_outcome outcome = {.tick = match_tick(match) - 1, .events = match->events.list};
    for (; outcome.event_count < 1000; outcome.event_count++) {
        match->events.list[outcome.event_count] = score;
    }
    for (int i = 0; i < 4; i++) {
        spectators_keep_events(match, &outcome);
    }
    uint32_t room = spectators->event_capacity - spectators->event_reserve;
    cr_assert_eq(spectators->event_count, room);
    cr_assert_eq(match_drops(match).spectator_events, 4000 - (room - kept));
    match->events.list[0].event.kind = ARB_EVENT_PHASE;
    outcome.event_count = 1;
    spectators_keep_events(match, &outcome);
    cr_assert_eq(spectators->event_count, room + 1);
}
