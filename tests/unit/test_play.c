/* Controls and recordings of arbiter-play, by events as SDL gives them. */
#define _GNU_SOURCE
#include "tools/bots/bot.h"
#include "tools/play/play.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 1000, HEIGHT = 500 };

static struct play_controls controls;
static struct arbiter_own own;
static struct arbiter_point target;
static bool steers;

static void setup(void)
{
    memset(&controls, 0, sizeof controls);
    memset(&own, 0, sizeof own);
    target = (struct arbiter_point){0, 0};
    steers = false;
}

static struct arbiter_input after(SDL_Event event)
{
    play_controls_event(&controls, &event, WIDTH, HEIGHT);
    return play_controls_input(&controls, &own, target, steers);
}

static struct arbiter_input key(SDL_Scancode code, bool down)
{
    SDL_Event event = {.type = down ? SDL_KEYDOWN : SDL_KEYUP};
    event.key.keysym.scancode = code;
    return after(event);
}

static struct arbiter_input button(uint8_t which, bool down)
{
    SDL_Event event = {.type = down ? SDL_MOUSEBUTTONDOWN : SDL_MOUSEBUTTONUP};
    event.button.button = which;
    return after(event);
}

static struct arbiter_input finger(uint32_t type, SDL_FingerID id, float x, float dx)
{
    SDL_Event event = {.type = type};
    event.tfinger.fingerId = id;
    event.tfinger.x = x;
    event.tfinger.y = 0.5F;
    event.tfinger.dx = dx;
    return after(event);
}

static struct arbiter_input axis(uint8_t which, int16_t value)
{
    SDL_Event event = {.type = SDL_CONTROLLERAXISMOTION};
    event.caxis.axis = which;
    event.caxis.value = value;
    return after(event);
}

Test(play, keys_walk_and_opposite_ones_cancel, .init = setup)
{
    cr_assert_eq(key(SDL_SCANCODE_W, true).move_y, 127);
    cr_assert_eq(key(SDL_SCANCODE_A, true).move_x, -127);
    cr_assert_eq(key(SDL_SCANCODE_D, true).move_x, 0);
    cr_assert_eq(key(SDL_SCANCODE_A, false).move_x, 127);
    cr_assert_eq(key(SDL_SCANCODE_R, true).buttons, ARBITER_BUTTON_RELOAD);
    cr_assert_eq(key(SDL_SCANCODE_SPACE, true).buttons,
                 ARBITER_BUTTON_RELOAD | ARBITER_BUTTON_DASH);
    cr_assert_eq(key(SDL_SCANCODE_R, false).buttons, ARBITER_BUTTON_DASH);
}

Test(play, press_that_is_over_before_the_frame_is_seen, .init = setup)
{
    cr_assert_eq(button(SDL_BUTTON_LEFT, true).buttons, ARBITER_BUTTON_FIRE);
    cr_assert_eq(button(SDL_BUTTON_LEFT, false).buttons, 0);
}

Test(play, pointer_aims_from_the_character, .init = setup)
{
    own = (struct arbiter_own){.x = 3, .y = 1};
    target = (struct arbiter_point){3, 5};
    cr_assert_eq(key(SDL_SCANCODE_W, true).aim, 0, "nothing has pointed yet");
    SDL_Event moved = {.type = SDL_MOUSEMOTION};
    cr_assert_eq(after(moved).aim, 16384, "straight up is a quarter turn");
}

Test(play, whatever_aimed_last_aims, .init = setup)
{
    target = (struct arbiter_point){0, 5};
    button(SDL_BUTTON_LEFT, true);
    cr_assert_eq(axis(SDL_CONTROLLER_AXIS_RIGHTX, -32767).aim, 32768);
    cr_assert_eq(axis(SDL_CONTROLLER_AXIS_RIGHTX, 0).aim, 32768, "kept when the stick is let go");
    cr_assert_eq(button(SDL_BUTTON_LEFT, false).aim, 16384);
}

Test(play, gamepad_walks_fires_and_has_a_dead_middle, .init = setup)
{
    cr_assert_eq(axis(SDL_CONTROLLER_AXIS_LEFTX, 4000).move_x, 0);
    cr_assert_eq(axis(SDL_CONTROLLER_AXIS_LEFTX, 32767).move_x, 127);
    cr_assert_eq(axis(SDL_CONTROLLER_AXIS_LEFTY, -32768).move_y, 127, "SDL's y goes down");
    cr_assert_eq(axis(SDL_CONTROLLER_AXIS_TRIGGERRIGHT, 32767).buttons, ARBITER_BUTTON_FIRE);
    cr_assert_eq(axis(SDL_CONTROLLER_AXIS_TRIGGERRIGHT, 0).buttons, 0);
    SDL_Event pressed = {.type = SDL_CONTROLLERBUTTONDOWN};
    pressed.cbutton.button = SDL_CONTROLLER_BUTTON_A;
    cr_assert_eq(after(pressed).buttons, ARBITER_BUTTON_DASH);
    SDL_Event gone = {.type = SDL_CONTROLLERDEVICEREMOVED};
    struct arbiter_input input = after(gone);
    cr_assert(input.buttons == 0 && input.move_x == 0 && input.move_y == 0);
}

Test(play, left_finger_walks_and_right_finger_aims_and_fires, .init = setup)
{
    cr_assert_eq(finger(SDL_FINGERDOWN, 0, 0.2F, 0).move_x, 0);
    cr_assert_eq(finger(SDL_FINGERMOTION, 0, 0.24F, 0.04F).move_x, 63, "half of the way");
    cr_assert_eq(finger(SDL_FINGERMOTION, 0, 0.34F, 0.1F).move_x, 127);
    struct arbiter_input both = finger(SDL_FINGERDOWN, 1, 0.75F, 0);
    cr_assert_eq(both.buttons, ARBITER_BUTTON_FIRE);
    cr_assert_eq(both.move_x, 127);
    cr_assert_eq(controls.pointer_x, 750);
    cr_assert_eq(controls.pointer_y, 250);
    cr_assert_eq(finger(SDL_FINGERUP, 1, 0.75F, 0).buttons, 0);
    cr_assert_eq(finger(SDL_FINGERUP, 0, 0.34F, 0).move_x, 0);
}

Test(play, keys_held_in_a_window_that_is_left_are_let_go, .init = setup)
{
    key(SDL_SCANCODE_A, true);
    SDL_Event left = {.type = SDL_WINDOWEVENT};
    left.window.event = SDL_WINDOWEVENT_FOCUS_LOST;
    cr_assert_eq(after(left).move_x, 0);
}

Test(play, serpent_turns_to_the_pointer_unless_keys_turn_it, .init = setup)
{
    steers = true;
    own.heading = 3;
    target = (struct arbiter_point){-5, -2};
    cr_assert_eq(key(SDL_SCANCODE_E, true).move_x, 0, "nothing has pointed yet");
    struct arbiter_input turning = button(SDL_BUTTON_LEFT, true);
    cr_assert_eq(turning.move_x, -127, "from 3 rad to -2.76 is a turn to the left");
    cr_assert_eq(turning.buttons, ARBITER_BUTTON_FIRE, "a click is the boost, E is nothing");
    cr_assert_eq(key(SDL_SCANCODE_D, true).move_x, 127);
    key(SDL_SCANCODE_D, false);
    target = (struct arbiter_point){-5, 5};
    cr_assert_eq(button(SDL_BUTTON_LEFT, false).move_x, 127);
    cr_assert_eq(axis(SDL_CONTROLLER_AXIS_LEFTY, 32767).move_x, -127, "down");
    cr_assert_eq(key(SDL_SCANCODE_SPACE, true).buttons, ARBITER_BUTTON_FIRE);
}

/* ---- recordings ---- */

static void read_whole(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    text[fread(text, 1, bytes - 1, file)] = '\0';
    fclose(file);
}

Test(play, recording_has_a_line_per_tick_from_the_first_live_one_on)
{
    char path[] = "/tmp/play_recording_XXXXXX";
    close(mkstemp(path));
    struct arbiter_view view = {.phase = ARBITER_MATCH_WAITING};
    struct play_record record = {.file = fopen(path, "wb"), .view = &view};
    cr_assert_not_null(record.file);
    struct arbiter_input input = {.move_x = -127, .aim = 65535, .buttons = ARBITER_BUTTON_FIRE};
    play_record_tick(&record, 5, &input);
    view.phase = ARBITER_MATCH_COUNTDOWN;
    view.phase_end_tick = 8;
    play_record_tick(&record, 8, &input);
    play_record_tick(&record, 9, &input); /* live, and not heard of yet */
    view.phase = ARBITER_MATCH_LIVE;
    input = (struct arbiter_input){.buttons = ARBITER_BUTTON_DASH | ARBITER_BUTTON_RELOAD};
    play_record_tick(&record, 12, &input);
    play_record_tick(&record, 11, &input); /* once more, after a resync */
    fclose(record.file);

    char text[1024];
    read_whole(path, text, sizeof text);
    cr_assert_str_eq(text,
                     "{\"tick\":0,\"move\":[-127,0],\"aim\":65535,\"buttons\":[\"fire\"]}\n"
                     "{\"tick\":1,\"move\":[-127,0],\"aim\":65535,\"buttons\":[\"fire\"]}\n"
                     "{\"tick\":2,\"move\":[-127,0],\"aim\":65535,\"buttons\":[\"fire\"]}\n"
                     "{\"tick\":3,\"move\":[0,0],\"aim\":0,\"buttons\":[\"dash\",\"reload\"]}\n");

    char policy_text[64];
    char error[256] = "";
    snprintf(policy_text, sizeof policy_text, "replay:%s", path);
    struct bot_policy *policy = bot_policy_create(policy_text, error, sizeof error);
    cr_assert_not_null(policy, "%s", error);
    struct bot *bot = bot_create(policy, 1, 0);
    cr_assert_eq(bot_counts(bot).replay_length, 4);
    bot_destroy(bot);
    bot_policy_destroy(policy);
    unlink(path);
}

Test(play, nothing_is_recorded_without_a_file)
{
    struct arbiter_view view = {.phase = ARBITER_MATCH_LIVE};
    struct play_record record = {.view = &view};
    struct arbiter_input input = {0};
    play_record_tick(&record, 9, &input);
    cr_assert_eq(record.lines, 0);
}
