/* arbiter-replay export: a journal as JSON lines. 64-bit numbers that a reader of JSON would round
 * are texts. */
#include "tools/replay/replay.h"

#include "server/match/match_numbers.h"
#include "server/match/match_views.h"

#include <inttypes.h>
#include <string.h>

static void print_view(const char *name, const struct arb_view *view, FILE *out)
{
    fprintf(out, ",\"%s\":{\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"fraction\":%u,\"held\":%u}",
            name, view->from_tick, view->to_tick, (unsigned)view->fraction, (unsigned)view->held);
}

static void print_input(const struct match_record_input *entry, FILE *out)
{
    const struct arb_input *input = &entry->input;
    fprintf(out, "{\"slot\":%u,\"sequence\":%u,\"target\":%" PRIu64 ",\"control\":%u",
            (unsigned)entry->slot, input->sequence, input->target_tick, (unsigned)entry->control);
    fprintf(out, ",\"buttons\":%u,\"edges\":%u,\"move\":[%d,%d],\"aim\":%u",
            (unsigned)input->buttons, (unsigned)input->edges, input->move_x, input->move_y,
            (unsigned)input->aim);
    if (((input->buttons | input->edges) & ARB_BUTTON_FIRE) != 0) {
        fprintf(out, ",\"muzzle\":%u,\"verdict\":\"%s\"", (unsigned)input->muzzle_fraction,
                match_view_verdict_text((enum match_view_verdict)entry->verdict));
        print_view("view", &input->view, out);
        if (entry->verdict != MATCH_VIEW_HONOURED) print_view("claimed", &entry->claimed, out);
    }
    fputc('}', out);
}

static void print_inputs(const char *name, const struct match_record_input *list, uint32_t count,
                         FILE *out)
{
    if (count == 0) return;
    fprintf(out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) fputc(',', out);
        print_input(&list[i], out);
    }
    fputc(']', out);
}

static void print_numbers(const struct match *match, const struct match_record *record, FILE *out)
{
    for (uint32_t i = 0; i < record->number_count; i++) {
        char name[MATCH_NUMBER_NAME_BYTES], text[MATCH_NUMBER_NAME_BYTES];
        match_number_name(match, i, name);
        match_number_text(match, i, record->numbers[i], text);
        fprintf(out, "%s\"%s\":%s", i > 0 ? "," : "", name, text);
    }
}

static void print_command(const struct match *match, const struct match_record *record,
                          const struct match_command *command, FILE *out)
{
    switch (command->type) {
    case MATCH_COMMAND_JOIN:
        fprintf(out, "{\"command\":\"join\",\"name\":");
        replay_print_string(command->name, out);
        break;
    case MATCH_COMMAND_LEAVE:
        fprintf(out, "{\"command\":\"leave\",\"slot\":%u", (unsigned)command->slot);
        break;
    case MATCH_COMMAND_AWAY:
        fprintf(out, "{\"command\":\"away\",\"slot\":%u", (unsigned)command->slot);
        break;
    case MATCH_COMMAND_RETURN:
        fprintf(out, "{\"command\":\"return\"");
        if (command->slot != ARB_NO_SLOT) fprintf(out, ",\"slot\":%u", (unsigned)command->slot);
        break;
    case MATCH_COMMAND_ABORT:
        fprintf(out, "{\"command\":\"abort\",\"reason\":\"%s\"",
                arb_end_reason_text((enum arb_end_reason)command->reason));
        break;
    case MATCH_COMMAND_RELOAD:
        fprintf(out, "{\"command\":\"reload\",\"numbers\":{");
        print_numbers(match, record, out);
        fputc('}', out);
        break;
    case MATCH_COMMAND_TYPES:
        break;
    }
    fputc('}', out);
}

static void print_commands(const struct match *match, const struct match_record *record, FILE *out)
{
    if (record->command_count == 0) return;
    fprintf(out, ",\"commands\":[");
    for (uint32_t i = 0; i < record->command_count; i++) {
        if (i > 0) fputc(',', out);
        print_command(match, record, &record->commands[i], out);
    }
    fputc(']', out);
}

static void print_shot(const struct match_record *record, const struct match_record_view *shot,
                       FILE *out)
{
    fprintf(out, "{\"slot\":%u", (unsigned)shot->slot);
    print_view("view", &shot->view, out);
    if (!shot->everyone) {
        fprintf(out, ",\"held\":[");
        for (uint32_t i = 0; i < shot->pair_count; i++) {
            const struct rewind_pair *pair = &record->pairs[shot->pair_first + i];
            fprintf(out, "%s[%u,%u,%" PRIu64 ",%" PRIu64 "]", i > 0 ? "," : "",
                    (unsigned)pair->key.id, (unsigned)pair->key.generation, pair->from_tick,
                    pair->to_tick);
        }
        fputc(']', out);
    }
    fputc('}', out);
}

static void print_shots(const struct match_record *record, FILE *out)
{
    if (record->view_count == 0) return;
    fprintf(out, ",\"shots\":[");
    for (uint32_t i = 0; i < record->view_count; i++) {
        if (i > 0) fputc(',', out);
        print_shot(record, &record->views[i], out);
    }
    fputc(']', out);
}

static void print_stale(const struct match_record *record, FILE *out)
{
    if (record->stale_count == 0) return;
    fprintf(out, ",\"too_late\":[");
    for (uint32_t i = 0; i < record->stale_count; i++) {
        const struct match_record_stale *stale = &record->stale[i];
        fprintf(out, "%s{\"slot\":%u,\"count\":%u,\"newest\":%u}", i > 0 ? "," : "",
                (unsigned)stale->slot, stale->count, stale->newest);
    }
    fputc(']', out);
}

static void print_tick(const struct match *match, const struct match_replay_step *step, FILE *out)
{
    const struct match_record *record = step->record;
    fprintf(out, "{\"tick\":%" PRIu64, step->tick);
    print_commands(match, record, out);
    print_inputs("inputs", record->inputs, record->input_count, out);
    print_inputs("late", record->late, record->late_count, out);
    print_stale(record, out);
    print_shots(record, out);
    fprintf(out, ",\"checksum\":\"%0*" PRIx64 "\"}\n", (int)step->checksum_bits / 4,
            step->recorded);
}

static void print_end(const struct match_result *result, FILE *out)
{
    fprintf(out,
            "{\"end\":\"%s\",\"ticks\":%" PRIu64 ",\"checksum\":\"%016" PRIx64 "\",\"players\":[",
            arb_end_reason_text(result->end_reason), result->ticks, result->checksum);
    for (uint32_t i = 0; i < result->player_count; i++) {
        const struct match_result_player *line = &result->players[i];
        fprintf(out, "%s{\"player_id\":\"%" PRIu64 "\",\"name\":", i > 0 ? "," : "",
                line->player_id);
        replay_print_string(line->name, out);
        fprintf(out,
                ",\"team\":%u,\"score\":%" PRId32 ",\"kills\":%u,\"deaths\":%u,"
                "\"deaths_by_nobody\":%u}",
                (unsigned)line->team, line->score, line->kills, line->deaths,
                line->deaths_by_nobody);
    }
    fprintf(out, "]}\n");
}

static void print_head(const struct replay *replay, FILE *out)
{
    const struct journal_head *head = replay->head;
    char id[MATCH_ID_TEXT_BYTES];
    match_id_text(head->match_id, id);
    fprintf(out, "{\"journal\":%d,\"match_id\":\"%s\",\"build\":", (int)JOURNAL_FORMAT, id);
    replay_print_string(head->build, out);
    fprintf(out, ",\"mode\":");
    replay_print_string(head->mode, out);
    fprintf(out, ",\"map\":");
    replay_print_string(head->map, out);
    fprintf(out, ",\"seed\":\"%" PRIu64 "\",\"tick_rate\":%u,\"first_tick\":%" PRIu64 "}\n",
            head->seed, head->tick_rate, head->first_tick);
}

enum arb_result replay_export(const char *path, FILE *out)
{
    struct replay replay;
    enum arb_result result = replay_open(&replay, path);
    if (result != ARB_OK) return result;
    struct match_replay_step step;
    print_head(&replay, out);
    do {
        match_replay_read(replay.steps, &step);
        if (step.status == MATCH_REPLAY_TICK) print_tick(replay.match, &step, out);
        if (step.status == MATCH_REPLAY_END) print_end(step.result, out);
        if (step.status == MATCH_REPLAY_KEYFRAME) {
            fprintf(out, "{\"keyframe\":%" PRIu64 "}\n", step.tick);
        }
        if (step.status == MATCH_REPLAY_SENT) {
            fprintf(out, "{\"sent\":%" PRIu64 ",\"key\":\"%s\"}\n", step.tick, step.text);
        }
        if (step.status == MATCH_REPLAY_GAP) {
            fprintf(out, "{\"gap\":%" PRIu64 ",\"ticks\":%" PRIu64 "}\n", step.tick, step.recorded);
        }
    } while (step.status < MATCH_REPLAY_DIVERGED);
    if (!replay_is_whole(&step)) {
        replay_print_end(&replay, &step, stderr);
        result = ARB_DATA;
    }
    replay_close(&replay);
    return result;
}
