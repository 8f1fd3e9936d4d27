/* The option rows of the arena mode: every number of the game comes from here. */
#include "server/rules/arena_internal.h"
#include "shared/move/arb_path.h"

#define AT(member) OPTION_AT(struct arena_params, member)

static const struct option hit_shape_rows[] = {
    {"ax", OPTION_NUMBER, OPTION_AT(struct arena_hit_shape, ax), -10, 10, "0", .unit = "m",
     .doc = "First end, ahead of the character's centre. Both ends equal make a circle."},
    {"ay", OPTION_NUMBER, OPTION_AT(struct arena_hit_shape, ay), -10, 10, "0", .unit = "m",
     .doc = "First end, to the left of the character's centre."},
    {"bx", OPTION_NUMBER, OPTION_AT(struct arena_hit_shape, bx), -10, 10, "0", .unit = "m",
     .doc = "Second end, ahead of the character's centre."},
    {"by", OPTION_NUMBER, OPTION_AT(struct arena_hit_shape, by), -10, 10, "0", .unit = "m",
     .doc = "Second end, to the left of the character's centre."},
    {"radius", OPTION_NUMBER, OPTION_AT(struct arena_hit_shape, radius), 0.01, 10, "0.5",
     .unit = "m", .doc = "Radius of the circle or capsule."},
    {"factor", OPTION_NUMBER, OPTION_AT(struct arena_hit_shape, factor), 0, 100, "1", .unit = "",
     .doc = "What the damage of a hit on this part is multiplied with."},
};

#define WEAPON(member) OPTION_AT(struct arena_weapon, member)

static const struct option weapon_rows[] = {
    {"name", OPTION_STRING, WEAPON(name), 0, 0, "\"weapon\"", .unit = "",
     .doc = "Name for messages and displays; each weapon has its own."},
    {"kind", OPTION_CHOICE, WEAPON(kind), 0, 0, "\"hitscan\"", "hitscan|projectile", .unit = "",
     .doc = "hitscan: a shot hits what stands in its line; projectile: it sends something that "
            "flies there. The rows below that one kind does not use are without effect."},
    {"range_m", OPTION_NUMBER, WEAPON(range_m), 0.1, 1000, "40", .unit = "m", .reload = true,
     .doc = "How far a hitscan shot reaches; a projectile as far as it flies in its life. Beyond "
            "interest.enter_m it would reach what its shooter is "
            "not shown."},
    {"damage", OPTION_INT, WEAPON(damage), 0, 1000, "20", .unit = "points", .reload = true,
     .doc = "Damage of one pellet up to falloff_from_m, before factors of part and pierce."},
    {"damage_far", OPTION_INT, WEAPON(damage_far), 0, 1000, "20", .unit = "points", .reload = true,
     .doc = "Damage of one pellet from falloff_to_m on; between the two it changes linearly with "
            "the distance."},
    {"falloff_from_m", OPTION_NUMBER, WEAPON(falloff_from_m), 0, 1000, "10", .unit = "m",
     .reload = true, .doc = "Distance up to which a hit does the full damage."},
    {"falloff_to_m", OPTION_NUMBER, WEAPON(falloff_to_m), 0, 1000, "30", .unit = "m",
     .reload = true, .doc = "Distance from which on a hit does damage_far."},
    {"spread_rad", OPTION_NUMBER, WEAPON(spread_rad), 0, 1.5707963, "0", .unit = "rad",
     .doc = "Largest angle by which a pellet leaves the aim to either side; 0: exact."},
    {"spread", OPTION_CHOICE, WEAPON(spread), 0, 1, "\"uniform\"", "uniform|triangular", .unit = "",
     .reload = true,
     .doc = "How pellets are spread: every angle as likely, or those near the aim more often."},
    {"pellets", OPTION_INT, WEAPON(pellets), 1, RULES_PELLETS_MAX, "1", .unit = "",
     .doc = "Rays of one shot, each with a spread and damage of its own; or projectiles, which "
            "leave as an even fan from -spread_rad to spread_rad, so that the shooter sees them "
            "fly at once where they do."},
    {"pierce", OPTION_INT, WEAPON(pierce), 0, REWIND_HITS_MAX - 1, "0", .unit = "characters",
     .reload = true, .doc = "How many characters a pellet goes through before it stops in one."},
    {"pierce_factor", OPTION_NUMBER, WEAPON(pierce_factor), 0, 1, "0.5", .unit = "", .reload = true,
     .doc = "What the damage is multiplied with per character that the pellet went through."},
    {"interval_ms", OPTION_INT, WEAPON(interval_ms), 1, 60000, "200", .unit = "ms",
     .doc = "Shortest time between two shots, rounded up to whole ticks."},
    {"magazine", OPTION_INT, WEAPON(magazine), 0, 1000, "0", .unit = "rounds",
     .doc = "Rounds between two reloads; 0: no magazine, the weapon is never empty."},
    {"reserve", OPTION_INT, WEAPON(reserve), 0, 10000, "0", .unit = "rounds", .reload = true,
     .doc = "Rounds carried for it beside the magazine when the weapon is got."},
    {"reserve_max", OPTION_INT, WEAPON(reserve_max), 0, 10000, "0", .unit = "rounds",
     .reload = true, .doc = "Most rounds that can be carried for it beside the magazine."},
    {"reload_ms", OPTION_INT, WEAPON(reload_ms), 0, 60000, "1000", .unit = "ms",
     .doc = "How long a reload takes, rounded up to whole ticks."},
    {"projectile_speed", OPTION_NUMBER, WEAPON(projectile_speed), 0.1, ARB_PATH_SPEED_MAX, "20",
     .unit = "m/s", .doc = "How fast a projectile flies."},
    {"projectile_radius_m", OPTION_NUMBER, WEAPON(projectile_radius_m), 0, 10, "0.15", .unit = "m",
     .doc = "Radius of a projectile against walls and characters; at most arena.player_radius_m, "
            "so that none begins in a wall."},
    {"projectile_life_ms", OPTION_INT, WEAPON(projectile_life_ms), 1, ARB_PATH_LIFE_MS_MAX, "2000",
     .unit = "ms",
     .doc = "How long a projectile flies when it meets nothing. Longer takes more room: so many "
            "entities per player as can be fired in this time."},
    {"blast_m", OPTION_NUMBER, WEAPON(blast_m), 0, 100, "0", .unit = "m", .reload = true,
     .doc = "Where a projectile ends, everyone within this distance is hurt, but its shooter and "
            "who stands behind a wall; 0: only who is hit."},
    {"blast_damage", OPTION_INT, WEAPON(blast_damage), 0, 1000, "0", .unit = "points",
     .reload = true,
     .doc = "Damage of the blast in its middle; less with the distance, none at blast_m. Who is "
            "hit takes the damage of the hit instead."},
    {"automatic", OPTION_BOOL, WEAPON(automatic), 0, 0, "false", .unit = "",
     .doc = "Fires for as long as the button is held; else one shot for each press."},
    {"start", OPTION_BOOL, WEAPON(start), 0, 0, "false", .unit = "", .reload = true,
     .doc = "Carried from the spawn on; the first of these is in hand."},
};

static const char default_weapons[] =
    "[{\"name\": \"pistol\", \"start\": true, \"range_m\": 30, \"damage\": 18, \"damage_far\": 9, "
    "\"falloff_from_m\": 8, \"falloff_to_m\": 24, \"spread_rad\": 0.015, \"interval_ms\": 180, "
    "\"magazine\": 12, \"reserve\": 120, \"reserve_max\": 240, \"reload_ms\": 1100},"
    " {\"name\": \"rifle\", \"automatic\": true, \"range_m\": 30, \"damage\": 14, "
    "\"damage_far\": 8, \"falloff_from_m\": 10, \"falloff_to_m\": 28, \"spread_rad\": 0.04, "
    "\"spread\": \"triangular\", \"interval_ms\": 100, \"magazine\": 30, \"reserve\": 60, "
    "\"reserve_max\": 180, \"reload_ms\": 1800},"
    " {\"name\": \"shotgun\", \"range_m\": 16, \"damage\": 9, \"damage_far\": 2, "
    "\"falloff_from_m\": 3, \"falloff_to_m\": 14, \"spread_rad\": 0.12, \"pellets\": 8, "
    "\"interval_ms\": 800, \"magazine\": 6, \"reserve\": 18, \"reserve_max\": 48, "
    "\"reload_ms\": 2200},"
    " {\"name\": \"railgun\", \"range_m\": 30, \"damage\": 80, \"damage_far\": 80, \"pierce\": 3, "
    "\"pierce_factor\": 0.6, \"interval_ms\": 1400, \"magazine\": 3, \"reserve\": 6, "
    "\"reserve_max\": 12, \"reload_ms\": 2500},"
    " {\"name\": \"launcher\", \"kind\": \"projectile\", \"damage\": 60, \"damage_far\": 60, "
    "\"projectile_speed\": 18, \"projectile_radius_m\": 0.15, \"projectile_life_ms\": 2000, "
    "\"blast_m\": 2.5, \"blast_damage\": 45, \"interval_ms\": 900, \"magazine\": 4, "
    "\"reserve\": 8, \"reserve_max\": 24, \"reload_ms\": 2200}]";

const struct option arena_options[] = {
    {"arena.player_radius_m", OPTION_NUMBER, AT(player_radius_m), 0.05, 10, "0.5", .unit = "m",
     .doc = "Radius of a character against walls, pickups and other characters."},
    {"arena.player_half_length_m", OPTION_NUMBER, AT(player_half_length_m), 0, 10, "0", .unit = "m",
     .doc = "Half the length of a character's middle line along the x axis; 0: a circle, else a "
            "capsule. Pickups and other characters are met by the circle around it."},
    {"arena.max_speed", OPTION_NUMBER, AT(max_speed), 0.1, 200, "6", .unit = "m/s",
     .doc = "Speed that running reaches."},
    {"arena.acceleration", OPTION_NUMBER, AT(acceleration), 0.1, 10000, "60", .unit = "m/s^2",
     .doc = "How fast a character gets to the speed that is asked for."},
    {"arena.friction", OPTION_NUMBER, AT(friction), 0, 10000, "40", .unit = "m/s^2",
     .doc = "How fast a character stops when no movement is asked for; smaller glides further."},
    {"arena.dash_speed", OPTION_NUMBER, AT(dash_speed), 0, 500, "14", .unit = "m/s",
     .doc = "Speed of a dash; 0: there is no dash."},
    {"arena.dash_ms", OPTION_INT, AT(dash_ms), 0, 10000, "150", .unit = "ms",
     .doc = "How long a dash lasts, rounded up to whole ticks."},
    {"arena.dash_cooldown_ms", OPTION_INT, AT(dash_cooldown_ms), 0, 60000, "1500", .unit = "ms",
     .doc = "Time from the beginning of a dash until the next one is allowed."},
    {"arena.health", OPTION_INT, AT(health), 1, ARENA_HEALTH_MOST, "100", .unit = "points",
     .reload = true, .doc = "Health of a new character."},
    {"arena.health_max", OPTION_INT, AT(health_max), 1, ARENA_HEALTH_MOST, "100", .unit = "points",
     .reload = true, .doc = "Most health that pickups can give."},
    {"arena.hit_shapes", OPTION_LIST, AT(hit_shapes), 1, REWIND_SHAPES_MAX, "[{}]", .unit = "",
     .doc = "Parts of a character that shots hit, in its own frame. Where parts overlap the one "
            "that the ray meets first counts.",
     .items = hit_shape_rows, .item_count = sizeof hit_shape_rows / sizeof hit_shape_rows[0],
     .item_bytes = sizeof(struct arena_hit_shape),
     .count_offset = offsetof(struct arena_params, hit_shape_count)},
    {"arena.weapons", OPTION_LIST, AT(weapons), 0, ARB_WEAPONS_MAX, default_weapons, .unit = "",
     .doc = "The weapons of the mode. Maps and arena.pickup_weapon name them by "
            "number, from 1.",
     .items = weapon_rows, .item_count = sizeof weapon_rows / sizeof weapon_rows[0],
     .item_bytes = sizeof(struct arena_weapon),
     .count_offset = offsetof(struct arena_params, weapon_count)},
    {"arena.pickup_radius_m", OPTION_NUMBER, AT(pickup_radius_m), 0.05, 10, "0.4", .unit = "m",
     .doc = "Radius of a pickup; who touches it and has a use for it takes it."},
    {"arena.pickup_respawn_s", OPTION_NUMBER, AT(pickup_respawn_s), 0.1, 3600, "15", .unit = "s",
     .reload = true,
     .doc = "Time until a taken pickup is there again, where the map says nothing."},
    {"arena.pickup_health", OPTION_INT, AT(pickup_health), 1, 1000, "25", .unit = "points",
     .reload = true, .doc = "What a health pickup gives, where the map says nothing."},
    {"arena.pickup_ammo", OPTION_INT, AT(pickup_ammo), 1, 1000, "24", .unit = "rounds",
     .reload = true,
     .doc = "Rounds that an ammo pickup gives to each carried weapon that has a magazine, where "
            "the map says nothing."},
    {"arena.pickup_weapon", OPTION_INT, AT(pickup_weapon), 1, ARB_WEAPONS_MAX, "2", .unit = "",
     .reload = true,
     .doc = "Number (from 1) of the weapon in a weapon pickup, where the map says nothing."},
    {"arena.respawn_ms", OPTION_INT, AT(respawn_ms), 0, 600000, "2000", .unit = "ms",
     .reload = true,
     .doc = "Time between death and the next character, rounded up to whole ticks."},
    {"arena.spawn_protection_ms", OPTION_INT, AT(spawn_protection_ms), 0, 60000, "1000",
     .unit = "ms", .reload = true,
     .doc = "How long a new character takes no damage; its first shot ends this early. 0: not at "
            "all."},
    {"arena.spawn_candidates", OPTION_INT, AT(spawn_candidates), 1, 256, "16", .unit = "",
     .reload = true,
     .doc = "Places that are looked at for a spawn; the one farthest from living enemies is "
            "taken. More are fairer and cost time in ticks with spawns."},
    {"arena.team_damage", OPTION_BOOL, AT(team_damage), 0, 0, "false", .unit = "", .reload = true,
     .doc = "Shots hit characters of the own team; else they pass through them."},
    {"arena.player_push", OPTION_BOOL, AT(player_push), 0, 0, "false", .unit = "",
     .doc = "Characters that overlap are pushed apart. Clients cannot predict this: near others "
            "they are corrected more often."},
    {"arena.kill_score", OPTION_INT, AT(kill_score), -1000, 1000, "1", .unit = "points",
     .reload = true, .doc = "Score for a kill."},
    {"arena.team_kill_score", OPTION_INT, AT(team_kill_score), -1000, 1000, "-1", .unit = "points",
     .reload = true, .doc = "Score for the kill of a player of the own team."},
    {"arena.score_limit", OPTION_INT, AT(score_limit), 0, 1000000, "0", .unit = "points",
     .reload = true,
     .doc = "Score of a player (with teams: of a team) that ends the round; 0: only time does."},
};

_Static_assert(sizeof arena_options / sizeof arena_options[0] == ARENA_OPTIONS, "all are counted");
