/* Keyboard, mouse, touch and gamepad, whichever is used, to one input. Everything is taken from
 * events, so that a press which is over before the frame is drawn is seen as well. */
#include "tools/play/play.h"

enum {
    FIRE = ARBITER_BUTTON_FIRE,
    USE = ARBITER_BUTTON_USE,
    DASH = ARBITER_BUTTON_DASH,
    RELOAD = ARBITER_BUTTON_RELOAD,
    BUTTONS = FIRE | USE | DASH | RELOAD,
    LEFT = 1 << 8,
    RIGHT = 1 << 9,
    UP = 1 << 10,
    DOWN = 1 << 11,
};

#define STICK_DEAD 0.25F
#define FINGER_REACH 0.08F /* of the window's width: so far from where it came down is all */

static const struct {
    SDL_Scancode key;
    uint16_t bit;
} keys[] = {
    {SDL_SCANCODE_A, LEFT},      {SDL_SCANCODE_D, RIGHT},   {SDL_SCANCODE_W, UP},
    {SDL_SCANCODE_S, DOWN},      {SDL_SCANCODE_LEFT, LEFT}, {SDL_SCANCODE_RIGHT, RIGHT},
    {SDL_SCANCODE_UP, UP},       {SDL_SCANCODE_DOWN, DOWN}, {SDL_SCANCODE_SPACE, DASH},
    {SDL_SCANCODE_LSHIFT, DASH}, {SDL_SCANCODE_E, USE},     {SDL_SCANCODE_R, RELOAD},
};

static const uint16_t pad_buttons[SDL_CONTROLLER_BUTTON_MAX] = {
    [SDL_CONTROLLER_BUTTON_A] = DASH,
    [SDL_CONTROLLER_BUTTON_LEFTSHOULDER] = DASH,
    [SDL_CONTROLLER_BUTTON_RIGHTSHOULDER] = FIRE,
    [SDL_CONTROLLER_BUTTON_X] = RELOAD,
    [SDL_CONTROLLER_BUTTON_Y] = USE,
};

static void hold(struct play_controls *controls, enum play_device device, uint16_t bit, bool down)
{
    uint16_t others = (uint16_t)(controls->held[device] & ~bit);
    controls->held[device] = down ? (uint16_t)(others | bit) : others;
}

static void point_at(struct play_controls *controls, float x, float y)
{
    controls->pointer_x = x;
    controls->pointer_y = y;
    controls->pointer_used = true;
}

/* The left half of the screen is a stick wherever a finger comes down; a finger on the right half
 * aims and fires. */
static void on_finger(struct play_controls *controls, const SDL_TouchFingerEvent *finger,
                      float width, float height)
{
    SDL_FingerID id = finger->fingerId + 1; /* 0 means none here */
    bool up = finger->type == SDL_FINGERUP;
    if (finger->type == SDL_FINGERDOWN && finger->x < 0.5F && controls->move_finger == 0) {
        controls->move_finger = id;
        controls->finger_x = finger->x;
        controls->finger_y = finger->y;
    } else if (finger->type == SDL_FINGERDOWN && finger->x >= 0.5F && controls->aim_finger == 0) {
        controls->aim_finger = id;
    }
    if (id == controls->move_finger) {
        float x = (finger->x - controls->finger_x) / FINGER_REACH;
        float y = (controls->finger_y - finger->y) / FINGER_REACH * height / width;
        controls->stick_x = up ? 0 : SDL_clamp(x, -1.0F, 1.0F);
        controls->stick_y = up ? 0 : SDL_clamp(y, -1.0F, 1.0F);
        controls->move_finger = up ? 0 : id;
    } else if (id == controls->aim_finger) {
        point_at(controls, finger->x * width, finger->y * height);
        hold(controls, PLAY_POINTER, FIRE, !up);
        controls->aim_finger = up ? 0 : id;
    }
}

static void on_axis(struct play_controls *controls, int axis, float value)
{
    float *const sticks[] = {&controls->stick_x, &controls->stick_y, &controls->turn_x,
                             &controls->turn_y}; /* as SDL_CONTROLLER_AXIS_LEFTX and on */
    if (axis == SDL_CONTROLLER_AXIS_TRIGGERRIGHT) {
        hold(controls, PLAY_PAD, FIRE, value > 0.3F);
    } else if (axis >= 0 && axis < (int)SDL_arraysize(sticks)) {
        *sticks[axis] = axis % 2 == 1 ? -value : value;
        controls->pointer_used &= SDL_fabsf(value) < 0.5F;
    }
}

/* Keys that are released in another window, or with a gamepad that is gone, are never heard of. */
static void let_go(struct play_controls *controls)
{
    SDL_zeroa(controls->held);
    controls->stick_x = controls->stick_y = controls->turn_x = controls->turn_y = 0;
    controls->move_finger = controls->aim_finger = 0;
}

void play_controls_event(struct play_controls *controls, const SDL_Event *event, int width,
                         int height)
{
    switch (event->type) {
    case SDL_KEYDOWN:
    case SDL_KEYUP:
        for (size_t i = 0; i < SDL_arraysize(keys); i++) {
            if (keys[i].key == event->key.keysym.scancode) {
                hold(controls, PLAY_KEYS, keys[i].bit, event->type == SDL_KEYDOWN);
            }
        }
        break;
    case SDL_MOUSEMOTION:
        point_at(controls, (float)event->motion.x, (float)event->motion.y);
        break;
    case SDL_MOUSEBUTTONDOWN:
    case SDL_MOUSEBUTTONUP:
        point_at(controls, (float)event->button.x, (float)event->button.y);
        hold(controls, PLAY_POINTER, event->button.button == SDL_BUTTON_LEFT ? FIRE : DASH,
             event->type == SDL_MOUSEBUTTONDOWN);
        break;
    case SDL_FINGERDOWN:
    case SDL_FINGERMOTION:
    case SDL_FINGERUP:
        on_finger(controls, &event->tfinger, (float)width, (float)height);
        break;
    case SDL_CONTROLLERDEVICEADDED:
        if (controls->pad == NULL) controls->pad = SDL_GameControllerOpen(event->cdevice.which);
        break;
    case SDL_CONTROLLERDEVICEREMOVED:
        SDL_GameControllerClose(controls->pad);
        controls->pad = NULL;
        let_go(controls);
        break;
    case SDL_CONTROLLERAXISMOTION:
        on_axis(controls, event->caxis.axis, (float)event->caxis.value / 32767);
        break;
    case SDL_CONTROLLERBUTTONDOWN:
    case SDL_CONTROLLERBUTTONUP:
        hold(controls, PLAY_PAD, pad_buttons[event->cbutton.button % SDL_CONTROLLER_BUTTON_MAX],
             event->type == SDL_CONTROLLERBUTTONDOWN);
        break;
    case SDL_WINDOWEVENT:
        if (event->window.event == SDL_WINDOWEVENT_FOCUS_LOST) let_go(controls);
        break;
    default:
        break;
    }
}

static int8_t axis_of(uint16_t held, uint16_t back, uint16_t forth, float stick)
{
    float keys_say = (float)((held & forth) != 0) - (float)((held & back) != 0);
    float tilt = SDL_fabsf(stick) > STICK_DEAD ? stick : 0;
    return (int8_t)(127 * SDL_clamp(keys_say + tilt, -1.0F, 1.0F));
}

static bool is_tilted(float x, float y)
{
    return x * x + y * y > STICK_DEAD * STICK_DEAD;
}

/* Steering: keys turn; else the head turns towards where the stick or the pointer is. */
static int8_t steer(const struct play_controls *controls, const struct play_stance *stance,
                    uint16_t held)
{
    float x = controls->stick_x;
    float y = controls->stick_y;
    if ((held & (LEFT | RIGHT)) != 0) {
        return axis_of(held, LEFT, RIGHT, 0);
    }
    if (!is_tilted(x, y) && controls->pointer_used) {
        x = stance->target.x - stance->x;
        y = stance->target.y - stance->y;
    }
    /* The angle between heading and wish, from their cross and dot product. */
    float ahead_x = SDL_cosf(stance->heading);
    float ahead_y = SDL_sinf(stance->heading);
    float left = SDL_atan2f(ahead_x * y - ahead_y * x, ahead_x * x + ahead_y * y);
    return left > 0.06F ? -127 : left < -0.06F ? 127 : 0;
}

struct arbiter_input play_controls_input(struct play_controls *controls,
                                         const struct play_stance *stance)
{
    uint16_t held = 0;
    for (int i = 0; i < PLAY_DEVICES; i++) {
        held |= controls->held[i];
    }
    if (stance->steers) {
        return (struct arbiter_input){.move_x = steer(controls, stance, held),
                                      .buttons =
                                          (held & (FIRE | DASH)) != 0 ? FIRE : 0}; /* boost */
    }
    if (is_tilted(controls->turn_x, controls->turn_y)) {
        controls->aim = arbiter_aim(SDL_atan2f(controls->turn_y, controls->turn_x));
    } else if (controls->pointer_used) {
        controls->aim =
            arbiter_aim(SDL_atan2f(stance->target.y - stance->y, stance->target.x - stance->x));
    }
    return (struct arbiter_input){.buttons = held & BUTTONS,
                                  .move_x = axis_of(held, LEFT, RIGHT, controls->stick_x),
                                  .move_y = axis_of(held, DOWN, UP, controls->stick_y),
                                  .aim = controls->aim};
}
