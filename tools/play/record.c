/* The own inputs, one JSON line per tick, as arbiter-bots --policy replay:FILE reads them. */
#include "tools/play/play.h"

/* The first live tick, which a countdown tells in advance, begins a recording. */
static bool is_live(const struct arbiter_view *view, uint64_t tick)
{
    return view->phase == ARBITER_MATCH_LIVE ||
           (view->phase == ARBITER_MATCH_COUNTDOWN && view->phase_end_tick != 0 &&
            tick > view->phase_end_tick);
}

static void write_line(struct play_record *record, const struct arbiter_input *input)
{
    static const char *const names[] = {"fire", "use", "dash", "reload"};
    const char *comma = "";
    fprintf(record->file, "{\"tick\":%u,\"move\":[%d,%d],\"aim\":%u,\"buttons\":[",
            (unsigned)record->lines++, input->move_x, input->move_y, (unsigned)input->aim);
    for (unsigned i = 0; i < SDL_arraysize(names); i++) {
        if ((input->buttons >> i & 1) != 0) {
            fprintf(record->file, "%s\"%s\"", comma, names[i]);
            comma = ",";
        }
    }
    fputs("]}\n", record->file);
}

void play_record_tick(void *user, uint64_t tick, struct arbiter_input *input)
{
    struct play_record *record = user;
    bool begins = record->lines == 0 && record->file != NULL && is_live(record->view, tick);
    if (!begins && (record->lines == 0 || tick < record->next_tick)) return;
    while (!begins && record->next_tick < tick) { /* those jumped over repeat the one before them */
        write_line(record, &record->last);
        record->next_tick++;
    }
    write_line(record, input);
    record->next_tick = tick + 1;
    record->last = *input;
}
