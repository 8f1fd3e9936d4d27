/* From the records of a journal to the match. */
#include "server/match/match_replay.h"

#include "server/match/match_codec.h"
#include "server/match/match_internal.h"
#include "server/match/match_journal.h"
#include "server/match/match_numbers.h"
#include "server/match/match_save.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct match_replay {
    struct match *match, *other;
    struct journal_reader *reader;
    struct match_codec *codec;
    struct match_record record;
    struct match_result *recorded, *reached;
    uint8_t *own, *theirs; /* [state_bytes] */
    uint32_t state_bytes;
    bool is_lost; /* the match is not in the state that the next record is of */
};

struct match_replay *match_replay_create(struct arb_arena *arena, struct match *match,
                                         struct match *other, struct journal_reader *reader)
{
    struct match_replay *replay = arb_arena_take(arena, sizeof *replay);
    struct match_record_capacity capacity = match_record_capacity(match);
    replay->match = match;
    replay->other = other;
    replay->reader = reader;
    replay->codec = match_codec_create(arena, &capacity);
    match_record_create(&replay->record, arena, &capacity);
    replay->recorded = arb_arena_take(arena, sizeof *replay->recorded);
    replay->reached = arb_arena_take(arena, sizeof *replay->reached);
    replay->state_bytes = match_save_bytes(match, MATCH_SAVE_STATE);
    replay->own = arb_arena_take(arena, replay->state_bytes);
    replay->theirs = arb_arena_take(arena, replay->state_bytes);
    return replay;
}

static void refuse(struct match_replay_step *step, const char *what, const char *why)
{
    step->status = MATCH_REPLAY_REFUSED;
    snprintf(step->text, sizeof step->text, "%.50s: %.200s", what, why);
}

static bool decode(struct match_replay *replay, const struct journal_record *record,
                   struct match_replay_step *step)
{
    enum arb_decode reason = match_record_decode(replay->codec, record->tick, record->bytes,
                                                 record->size, &replay->record);
    step->checksum_bits = record->checksum_bits;
    step->recorded = record->checksum;
    step->record = &replay->record;
    step->status = MATCH_REPLAY_TICK;
    char error[MATCH_NUMBERS_ERROR_BYTES];
    if (reason != ARB_DECODE_OK) {
        refuse(step, "the record of a tick", arb_decode_text(reason));
    } else if (replay->record.number_count > 0 &&
               !match_numbers_check(replay->match, replay->record.numbers, error)) {
        refuse(step, "the record of a tick", error);
    } else {
        return true;
    }
    replay->is_lost = true;
    return false;
}

static void play_tick(struct match_replay *replay, const struct journal_record *record,
                      struct match_replay_step *step)
{
    if (replay->is_lost) {
        refuse(step, "a tick behind a gap", "no keyframe came before it");
        return;
    }
    if (record->tick != match_tick(replay->match)) {
        refuse(step, "the record of a tick", "it is of another than the first of this match");
        return;
    }
    if (!decode(replay, record, step)) return;
    match_play(replay->match, &replay->record);
    tick_run(replay->match, TICK_RERUN);
    uint64_t mask = record->checksum_bits == 64 ? UINT64_MAX : 0xFFFF;
    step->reached = match_checksum(replay->match) & mask;
    if (step->recorded != step->reached) {
        step->status = MATCH_REPLAY_DIVERGED;
        snprintf(step->text, sizeof step->text,
                 "after tick %" PRIu64 " the checksum is %0*" PRIx64 ", recorded was %0*" PRIx64,
                 record->tick, (int)record->checksum_bits / 4, step->reached,
                 (int)record->checksum_bits / 4, step->recorded);
    }
}

/* Into the match itself where it is lost, else into the other one, to be compared. */
static void meet_keyframe(struct match_replay *replay, const struct journal_record *record,
                          struct match_replay_step *step)
{
    struct match *into = replay->is_lost ? replay->match : replay->other;
    match_codec_reset(replay->codec);
    step->status = MATCH_REPLAY_KEYFRAME;
    if (into == NULL) return;
    struct match_save_error error;
    struct match_save_about about;
    if (!match_save_about(record->bytes, (uint32_t)record->size, &about) ||
        about.tick != record->tick) {
        refuse(step, "a keyframe", "it is not of its tick");
        return;
    }
    if (match_restore(into, record->bytes, (uint32_t)record->size, &error) != ARB_OK) {
        refuse(step, "a keyframe", error.text);
        return;
    }
    if (replay->is_lost) {
        replay->is_lost = false;
        return;
    }
    match_save(replay->match, MATCH_SAVE_STATE, replay->own, replay->state_bytes);
    match_save(into, MATCH_SAVE_STATE, replay->theirs, replay->state_bytes);
    if (match_save_differs(replay->match, replay->own, replay->theirs, step->text,
                           sizeof step->text)) {
        step->status = MATCH_REPLAY_DIVERGED;
        step->recorded = match_checksum(into);
        step->reached = match_checksum(replay->match);
        step->checksum_bits = 64;
    }
}

static bool same_line(const struct match_result_player *a, const struct match_result_player *b)
{
    return a->player_id == b->player_id && a->team == b->team && a->score == b->score &&
           a->kills == b->kills && a->deaths == b->deaths &&
           a->deaths_by_nobody == b->deaths_by_nobody && strcmp(a->name, b->name) == 0;
}

static bool same_result(const struct match_result *a, const struct match_result *b)
{
    bool same = a->ticks == b->ticks && a->end_reason == b->end_reason &&
                a->checksum == b->checksum && a->player_count == b->player_count;
    for (uint32_t i = 0; same && i < a->player_count; i++) {
        same = same_line(&a->players[i], &b->players[i]);
    }
    return same;
}

static void meet_end(struct match_replay *replay, const struct journal_record *record,
                     struct match_replay_step *step)
{
    step->status = MATCH_REPLAY_END;
    step->result = replay->recorded;
    if (!match_journal_end_decode(record->bytes, record->size, replay->recorded)) {
        refuse(step, "the result", "it is damaged");
        return;
    }
    if (replay->is_lost) return;
    bool same = match_decided(replay->match);
    if (same) {
        match_get_result(replay->match, replay->reached);
        same = same_result(replay->recorded, replay->reached);
    }
    if (!same) {
        step->status = MATCH_REPLAY_DIVERGED;
        snprintf(step->text, sizeof step->text, "the recorded result is not what the ticks give");
    }
}

static void meet_sent(const struct journal_record *record, struct match_replay_step *step)
{
    step->status = MATCH_REPLAY_SENT;
    if (record->size == 0 || record->size > JOURNAL_KEY_BYTES_MAX ||
        memchr(record->bytes, 0, record->size) != NULL) {
        refuse(step, "what has left", "its key is none");
        return;
    }
    memcpy(step->text, record->bytes, record->size);
}

void match_replay_next(struct match_replay *replay, struct match_replay_step *step)
{
    struct journal_record record;
    *step = (struct match_replay_step){.tick = journal_good_tick(replay->reader)};
    step->journal = journal_next(replay->reader, &record);
    if (step->journal != JOURNAL_READ_OK) {
        step->status = MATCH_REPLAY_STOPPED;
        return;
    }
    step->tick = record.tick;
    switch (record.kind) {
    case JOURNAL_TICK:
        play_tick(replay, &record, step);
        break;
    case JOURNAL_KEYFRAME:
        meet_keyframe(replay, &record, step);
        break;
    case JOURNAL_GAP:
        step->status = MATCH_REPLAY_GAP;
        snprintf(step->text, sizeof step->text, "%" PRIu64 " ticks from %" PRIu64 " on",
                 record.resume - record.tick, record.tick);
        replay->is_lost = true;
        break;
    case JOURNAL_END:
        meet_end(replay, &record, step);
        break;
    case JOURNAL_SENT:
        meet_sent(&record, step);
        break;
    }
}

void match_replay_read(struct match_replay *replay, struct match_replay_step *step)
{
    struct journal_record record;
    *step = (struct match_replay_step){.tick = journal_good_tick(replay->reader)};
    step->journal = journal_next(replay->reader, &record);
    step->status = MATCH_REPLAY_STOPPED;
    if (step->journal != JOURNAL_READ_OK) return;
    step->tick = record.tick;
    switch (record.kind) {
    case JOURNAL_TICK:
        decode(replay, &record, step);
        break;
    case JOURNAL_KEYFRAME:
        match_codec_reset(replay->codec);
        step->status = MATCH_REPLAY_KEYFRAME;
        break;
    case JOURNAL_GAP:
        step->recorded = record.resume - record.tick;
        step->status = MATCH_REPLAY_GAP;
        break;
    case JOURNAL_END:
        step->result = replay->recorded;
        step->status = MATCH_REPLAY_END;
        if (!match_journal_end_decode(record.bytes, record.size, replay->recorded)) {
            refuse(step, "the result", "it is damaged");
        }
        break;
    case JOURNAL_SENT:
        meet_sent(&record, step);
        break;
    }
}

bool match_replay_seek(struct match_replay *replay, arb_tick tick,
                       char text[MATCH_REPLAY_TEXT_BYTES])
{
    text[0] = '\0';
    if (!journal_seek(replay->reader, tick)) return false;
    struct match_replay_step step;
    replay->is_lost = true;
    match_replay_next(replay, &step);
    if (step.status == MATCH_REPLAY_KEYFRAME) return true;
    snprintf(text, MATCH_REPLAY_TEXT_BYTES, "%s", step.text);
    return false;
}
