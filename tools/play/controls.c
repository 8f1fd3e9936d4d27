/* Keyboard, mouse, touch and gamepad, whichever is used, to one input. Everything is taken from
 * events, so that a press which is over before the frame is drawn is seen as well. */
#include "tools/play/play.h"

enum {
    FIRE = ARBITER_BUTTON_FIRE,
    DASH = ARBITER_BUTTON_DASH,
    LEFT = 1 << 12, /* directions of keys: no button of a shipped mode */
    RIGHT = 1 << 13,
    UP = 1 << 14,
    DOWN = 1 << 15,
    DIRECTIONS = LEFT | RIGHT | UP | DOWN
};

#define STICK_DEAD 0.25F
#define FINGER_REACH 0.08F /* of the window: as far as this is all of the stick */

enum { MOUSE = 1000, PAD = 2000 }; /* buttons of theirs, beyond the codes of keys */

static const struct {
    int code;
    uint16_t bit;
} bindings[] = {
    {SDL_SCANCODE_A, LEFT},
    {SDL_SCANCODE_D, RIGHT},
    {SDL_SCANCODE_W, UP},
    {SDL_SCANCODE_S, DOWN},
    {SDL_SCANCODE_SPACE, DASH},
    {SDL_SCANCODE_E, ARBITER_BUTTON_USE},
    {SDL_SCANCODE_R, ARBITER_BUTTON_RELOAD},
    {MOUSE + SDL_BUTTON_LEFT, FIRE},
    {MOUSE + SDL_BUTTON_RIGHT, DASH},
    {PAD + SDL_CONTROLLER_BUTTON_RIGHTSHOULDER, FIRE},
    {PAD + SDL_CONTROLLER_BUTTON_A, DASH},
    {PAD + SDL_CONTROLLER_BUTTON_X, ARBITER_BUTTON_RELOAD},
    {PAD + SDL_CONTROLLER_BUTTON_Y, ARBITER_BUTTON_USE},
};

static void press(struct play_controls *controls, int code, bool down)
{
    for (size_t i = 0; i < SDL_arraysize(bindings); i++) {
        if (bindings[i].code == code) {
            controls->held &= (uint16_t)~bindings[i].bit;
            controls->held |= down ? bindings[i].bit : 0;
        }
    }
}

static void point_at(struct play_controls *controls, float x, float y)
{
    controls->pointer_x = x;
    controls->pointer_y = y;
    controls->pointer_used = true;
}

/* On the left half of the screen a finger is a stick, wherever it came down; others aim and fire.
 */
static void on_finger(struct play_controls *controls, const SDL_TouchFingerEvent *finger,
                      float width, float height)
{
    float *stick = &controls->axes[SDL_CONTROLLER_AXIS_LEFTX];
    bool down = finger->type != SDL_FINGERUP;
    if (finger->type == SDL_FINGERDOWN && finger->x < 0.5F) {
        controls->stick_finger = finger->fingerId + 1;
    }
    if (controls->stick_finger == finger->fingerId + 1) {
        stick[0] = down ? SDL_clamp(stick[0] + finger->dx / FINGER_REACH, -1.0F, 1.0F) : 0;
        stick[1] = down ? SDL_clamp(stick[1] + finger->dy / FINGER_REACH, -1.0F, 1.0F) : 0;
        controls->stick_finger = down ? controls->stick_finger : 0;
    } else {
        point_at(controls, finger->x * width, finger->y * height);
        press(controls, MOUSE + SDL_BUTTON_LEFT, down);
    }
}

void play_controls_event(struct play_controls *controls, const SDL_Event *event, int width,
                         int height)
{
    switch (event->type) {
    case SDL_KEYDOWN:
    case SDL_KEYUP:
        press(controls, (int)event->key.keysym.scancode, event->type == SDL_KEYDOWN);
        break;
    case SDL_MOUSEMOTION:
        point_at(controls, (float)event->motion.x, (float)event->motion.y);
        break;
    case SDL_MOUSEBUTTONDOWN:
    case SDL_MOUSEBUTTONUP:
        point_at(controls, (float)event->button.x, (float)event->button.y);
        press(controls, MOUSE + event->button.button, event->type == SDL_MOUSEBUTTONDOWN);
        break;
    case SDL_FINGERDOWN:
    case SDL_FINGERMOTION:
    case SDL_FINGERUP:
        on_finger(controls, &event->tfinger, (float)width, (float)height);
        break;
    case SDL_CONTROLLERBUTTONDOWN:
    case SDL_CONTROLLERBUTTONUP:
        press(controls, PAD + event->cbutton.button, event->type == SDL_CONTROLLERBUTTONDOWN);
        break;
    case SDL_CONTROLLERAXISMOTION:
        controls->axes[event->caxis.axis % SDL_CONTROLLER_AXIS_MAX] =
            SDL_max((float)event->caxis.value / 32767, -1.0F);
        controls->pointer_used &= SDL_abs(event->caxis.value) < 16384;
        break;
    case SDL_CONTROLLERDEVICEADDED:
        SDL_GameControllerOpen(event->cdevice.which);
        break;
    case SDL_CONTROLLERDEVICEREMOVED:
        SDL_GameControllerClose(SDL_GameControllerFromInstanceID(event->cdevice.which));
        break;
    default:
        break;
    }
    /* Nobody tells of keys that are let go in another window, or go with their gamepad. */
    if (event->type == SDL_CONTROLLERDEVICEREMOVED ||
        (event->type == SDL_WINDOWEVENT && event->window.event == SDL_WINDOWEVENT_FOCUS_LOST)) {
        *controls = (struct play_controls){.aim = controls->aim};
    }
}

static int8_t axis_of(uint16_t held, uint16_t back, uint16_t forth, float stick)
{
    float keys_say = (float)((held & forth) != 0) - (float)((held & back) != 0);
    float tilt = SDL_fabsf(stick) > STICK_DEAD ? stick : 0;
    return (int8_t)(127 * SDL_clamp(keys_say + tilt, -1.0F, 1.0F));
}

/* Where a stick or else the pointer says to go or aim, seen from the own character; y up. */
static struct arbiter_point wish(const struct play_controls *controls, SDL_GameControllerAxis stick,
                                 const struct arbiter_own *own, struct arbiter_point target)
{
    struct arbiter_point tilt = {controls->axes[stick], -controls->axes[stick + 1]};
    if (tilt.x * tilt.x + tilt.y * tilt.y > STICK_DEAD * STICK_DEAD) return tilt;
    return controls->pointer_used ? (struct arbiter_point){target.x - own->x, target.y - own->y}
                                  : (struct arbiter_point){0, 0};
}

/* Keys turn; else the head turns towards the wish, by the angle between it and the heading, which
 * comes from their cross and dot product. */
static int8_t steer(const struct arbiter_own *own, struct arbiter_point to, uint16_t held)
{
    float x = SDL_cosf(own->heading);
    float y = SDL_sinf(own->heading);
    float left = SDL_atan2f(x * to.y - y * to.x, x * to.x + y * to.y);
    if ((held & (LEFT | RIGHT)) != 0) return axis_of(held, LEFT, RIGHT, 0);
    return left > 0.06F ? -127 : left < -0.06F ? 127 : 0;
}

struct arbiter_input play_controls_input(struct play_controls *controls,
                                         const struct arbiter_own *own, struct arbiter_point target,
                                         bool steers)
{
    const float *axes = controls->axes;
    bool pulls = axes[SDL_CONTROLLER_AXIS_TRIGGERRIGHT] > 0.3F;
    uint16_t held = (uint16_t)(controls->held | (pulls ? FIRE : 0));
    if (steers) {
        struct arbiter_point to = wish(controls, SDL_CONTROLLER_AXIS_LEFTX, own, target);
        return (struct arbiter_input){.move_x = steer(own, to, held),
                                      .buttons = (held & (FIRE | DASH)) != 0 ? FIRE : 0};
    }
    struct arbiter_point to = wish(controls, SDL_CONTROLLER_AXIS_RIGHTX, own, target);
    if (to.x != 0 || to.y != 0) controls->aim = arbiter_aim(SDL_atan2f(to.y, to.x));
    return (struct arbiter_input){
        .buttons = (uint16_t)(held & ~DIRECTIONS),
        .move_x = axis_of(held, LEFT, RIGHT, axes[SDL_CONTROLLER_AXIS_LEFTX]),
        .move_y = axis_of(held, DOWN, UP, -axes[SDL_CONTROLLER_AXIS_LEFTY]),
        .aim = controls->aim};
}
