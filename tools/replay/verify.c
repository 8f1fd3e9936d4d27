/* arbiter-replay verify and info. */
#define _GNU_SOURCE
#include "tools/replay/replay.h"

#include "shared/base/arb_hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static double now_s(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

struct tally {
    uint64_t ticks, keyframes, gaps, missing;
    uint64_t commands, inputs, late, shots;
    uint64_t states; /* over the whole checksum of every state that was reached */
    bool ended;
    struct match_result *result;
};

static void count(struct tally *tally, const struct match_replay_step *step)
{
    switch (step->status) {
    case MATCH_REPLAY_TICK:
        tally->ticks++;
        tally->commands += step->record->command_count;
        tally->inputs += step->record->input_count;
        tally->late += step->record->late_count;
        tally->shots += step->record->view_count;
        break;
    case MATCH_REPLAY_KEYFRAME:
        tally->keyframes++;
        break;
    case MATCH_REPLAY_GAP:
        tally->gaps++;
        break;
    case MATCH_REPLAY_END:
        tally->ended = true;
        break;
    case MATCH_REPLAY_SENT:
    case MATCH_REPLAY_DIVERGED:
    case MATCH_REPLAY_REFUSED:
    case MATCH_REPLAY_STOPPED:
        break;
    }
}

/* The next keyframe has the recorded state: what differs there began at the tick that was told. */
static void explain(struct replay *replay, struct match_replay_step *step, FILE *out)
{
    while (step->status < MATCH_REPLAY_REFUSED) {
        bool at_keyframe = step->status == MATCH_REPLAY_DIVERGED && step->record == NULL &&
                           match_tick(replay->other) == step->tick;
        if (at_keyframe && step->tick > replay->head->first_tick) {
            fprintf(out, "at the keyframe of tick %" PRIu64 ":\n", step->tick);
            replay_print_differences(replay->match, replay->other, "here", "recorded", out);
            return;
        }
        match_replay_next(replay->steps, step);
    }
    fprintf(out, "no keyframe follows: arbiter-replay diff with another recording tells more\n");
}

static enum arb_result diverged(struct replay *replay, struct match_replay_step *step, FILE *out)
{
    fprintf(out, "%s: diverged: %s\n", replay->path, step->text);
    if (step->record != NULL) {
        fprintf(out, "the tick took in %u commands, %u inputs, %u late ones, %u shots\n",
                step->record->command_count, step->record->input_count, step->record->late_count,
                step->record->view_count);
    }
    explain(replay, step, out);
    return ARB_NO_RESULT;
}

static void print_verified(const struct replay *replay, const struct tally *tally, double took_s,
                           FILE *out)
{
    double play_s = (double)tally->ticks / (double)replay->head->tick_rate;
    fprintf(out,
            "%s: verified: %" PRIu64 " ticks up to %" PRIu64 ", %" PRIu64 " keyframes, %" PRIu64
            " gaps, %s; states %016" PRIx64 "; %.1f s of play in %.3f s, %.0f times real time\n",
            replay->path, tally->ticks, journal_good_tick(replay->reader), tally->keyframes,
            tally->gaps, tally->ended ? "with its result" : "without a result", tally->states,
            play_s, took_s, took_s > 0 ? play_s / took_s : 0.0);
}

enum arb_result replay_verify(const char *path, FILE *out)
{
    struct replay replay;
    enum arb_result result = replay_open(&replay, path);
    if (result != ARB_OK) return result;
    struct tally tally = {0};
    struct match_replay_step step;
    double began_s = now_s();
    do {
        match_replay_next(replay.steps, &step);
        count(&tally, &step);
        if (step.status == MATCH_REPLAY_TICK) {
            tally.states = arb_hash_mix(tally.states, match_checksum(replay.match));
        }
    } while (step.status < MATCH_REPLAY_DIVERGED);
    double took_s = now_s() - began_s;
    if (step.status == MATCH_REPLAY_DIVERGED) {
        result = diverged(&replay, &step, out);
    } else {
        print_verified(&replay, &tally, took_s, out);
        if (!replay_is_whole(&step)) {
            replay_print_end(&replay, &step, stderr);
            result = ARB_DATA;
        }
    }
    replay_close(&replay);
    return result;
}

/* ---- info ---- */

static void print_head(const struct replay *replay, FILE *out)
{
    const struct journal_head *head = replay->head;
    char id[MATCH_ID_TEXT_BYTES];
    match_id_text(head->match_id, id);
    fprintf(out, "match       %s\nbuild       ", id);
    replay_print_string(head->build, out);
    fprintf(out, "\nmode        %s\nmap         ", head->mode);
    replay_print_string(head->map, out);
    fprintf(out, "\nseed        %" PRIu64 "\n", head->seed);
    fprintf(out, "tick rate   %u Hz\nfirst tick  %" PRIu64 "\n", head->tick_rate, head->first_tick);
    fprintf(out, "map hash    %016" PRIx64 "\nschema      %u\n", head->map_hash, head->schema);
}

static void print_tally(const struct replay *replay, const struct tally *tally, FILE *out)
{
    double play_s = (double)tally->ticks / (double)replay->head->tick_rate;
    uint64_t bytes = journal_good_bytes(replay->reader);
    fprintf(out, "ticks       %" PRIu64 " up to %" PRIu64 " (%.1f s)\n", tally->ticks,
            journal_good_tick(replay->reader), play_s);
    fprintf(out,
            "taken in    %" PRIu64 " commands, %" PRIu64 " inputs, %" PRIu64 " late, %" PRIu64
            " shots\n",
            tally->commands, tally->inputs, tally->late, tally->shots);
    fprintf(out,
            "file        %" PRIu64 " bytes in %" PRIu64 " blocks, %" PRIu64 " keyframes, %" PRIu64
            " gaps (%" PRIu64 " ticks)\n",
            bytes, journal_block_count(replay->reader), tally->keyframes, tally->gaps,
            tally->missing);
    if (play_s > 0) fprintf(out, "rate        %.0f bytes/s\n", (double)bytes / play_s);
}

static void print_result(const struct match_result *result, FILE *out)
{
    fprintf(out, "result      %s after %" PRIu64 " ticks, checksum %016" PRIx64 "\n",
            arb_end_reason_text(result->end_reason), result->ticks, result->checksum);
    for (uint32_t i = 0; i < result->player_count; i++) {
        const struct match_result_player *line = &result->players[i];
        fprintf(out, "  player %" PRIu64 " score %" PRId32 " kills %" PRIu32 " deaths %" PRIu32 " ",
                line->player_id, line->score, line->kills, line->deaths);
        replay_print_string(line->name, out);
        fputc('\n', out);
    }
}

/* Nothing is played: records are looked at. */
enum arb_result replay_info(const char *path, FILE *out)
{
    struct replay replay;
    enum arb_result result = replay_open(&replay, path);
    if (result != ARB_OK) return result;
    struct tally tally = {0};
    struct match_replay_step step;
    struct match_result *found = NULL;
    do {
        match_replay_read(replay.steps, &step);
        count(&tally, &step);
        if (step.status == MATCH_REPLAY_GAP) tally.missing += step.recorded;
        if (step.status == MATCH_REPLAY_END && found == NULL) {
            found = malloc(sizeof *found);
            if (found != NULL) memcpy(found, step.result, sizeof *found);
        }
    } while (step.status < MATCH_REPLAY_DIVERGED);
    print_head(&replay, out);
    print_tally(&replay, &tally, out);
    if (found != NULL) print_result(found, out);
    if (found == NULL) fprintf(out, "result      none: the match did not come to its end\n");
    free(found);
    if (!replay_is_whole(&step)) {
        replay_print_end(&replay, &step, stderr);
        result = ARB_DATA;
    }
    replay_close(&replay);
    return result;
}
