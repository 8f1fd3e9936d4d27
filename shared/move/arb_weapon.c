#include "shared/move/arb_weapon.h"

static bool carried(const struct arb_own *own, const struct arb_move_params *params, uint8_t weapon)
{
    return weapon < params->weapon_count && (own->weapons >> weapon & 1) != 0;
}

static void fill_magazine(struct arb_own *own, const struct arb_weapon_step *weapon)
{
    uint16_t room = (uint16_t)(weapon->magazine - own->magazine[own->weapon]);
    uint16_t reserve = own->reserve[own->weapon];
    uint16_t taken = reserve < room ? reserve : room;
    own->magazine[own->weapon] = (uint16_t)(own->magazine[own->weapon] + taken);
    own->reserve[own->weapon] = (uint16_t)(reserve - taken);
}

static void begin_reload(struct arb_own *own, const struct arb_weapon_step *weapon)
{
    if (own->reload_ticks > 0 || own->reserve[own->weapon] == 0 ||
        own->magazine[own->weapon] >= weapon->magazine) {
        return;
    }
    own->reload_ticks = weapon->reload_ticks;
    if (weapon->reload_ticks == 0) {
        fill_magazine(own, weapon);
    }
}

static void run_timers(struct arb_own *own, const struct arb_move_params *params)
{
    if (own->fire_cooldown > 0) {
        own->fire_cooldown--;
    }
    if (own->reload_ticks > 0 && --own->reload_ticks == 0 && carried(own, params, own->weapon)) {
        const struct arb_weapon_step *weapon = &params->weapons[own->weapon];
        if (own->magazine[own->weapon] < weapon->magazine) {
            fill_magazine(own, weapon);
        }
    }
}

static void switch_weapon(struct arb_own *own, const struct arb_move_params *params)
{
    for (uint8_t i = 1; i < ARB_WEAPONS_MAX; i++) {
        uint8_t next = (uint8_t)((own->weapon + i) % ARB_WEAPONS_MAX);
        if (carried(own, params, next)) {
            own->weapon = next;
            own->reload_ticks = 0;
            return;
        }
    }
}

static enum arb_fire_refusal pull_trigger(struct arb_own *own, const struct arb_weapon_step *weapon)
{
    if (own->reload_ticks > 0) {
        return ARB_FIRE_RELOADING;
    }
    if (own->fire_cooldown > 0) {
        return ARB_FIRE_COOLING;
    }
    if (weapon->magazine > 0 && own->magazine[own->weapon] == 0) {
        begin_reload(own, weapon);
        return ARB_FIRE_EMPTY;
    }
    if (weapon->magazine > 0) {
        own->magazine[own->weapon]--;
    }
    own->fire_cooldown = weapon->interval_ticks;
    return ARB_FIRE_NOT_ASKED;
}

void arb_weapon_step(struct arb_own *own, const struct arb_input *input,
                     const struct arb_move_params *params, struct arb_move_report *report)
{
    run_timers(own, params);
    if ((input->edges & ARB_BUTTON_USE) != 0) {
        switch_weapon(own, params);
    }
    bool armed = carried(own, params, own->weapon);
    const struct arb_weapon_step *weapon = &params->weapons[armed ? own->weapon : 0];
    if (armed && (input->edges & ARB_BUTTON_RELOAD) != 0) {
        begin_reload(own, weapon);
    }
    bool pressed = (input->edges & ARB_BUTTON_FIRE) != 0;
    bool held = (input->buttons & ARB_BUTTON_FIRE) != 0;
    if (!pressed && !(held && armed && weapon->automatic)) {
        return;
    }
    if (!armed) {
        report->refusal = ARB_FIRE_UNARMED;
        return;
    }
    enum arb_fire_refusal refusal = pull_trigger(own, weapon);
    report->refusal = (uint8_t)refusal;
    report->fired = refusal == ARB_FIRE_NOT_ASKED;
}
