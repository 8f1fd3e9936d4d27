"""Which matches the corpus consists of: modes, options, who plays, on what lines. Another option of the simulation is one
more row here; `corpus.py options` (a lint) names those that no row sets.
"""
import hashlib
import json
import pathlib

TOP = pathlib.Path(__file__).resolve().parents[2]
COUNT = 240
TICKS = 1800
PROFILES = ("average", "bad", "lan", "mobile", "good")
# Who plays, client after client; "human" is a recording of a person, another one each time.
PLAYERS = (("aim",), ("human",), ("human", "aim"), ("aim", "aim", "wander"), ("human", "human", "aim", "wander", "idle"))

# What no row sets, since no tick of a match reads it: a key, or a whole section.
WITHOUT_EFFECT = {
    "match.mode", "match.seed", "debug.first_tick",  # of every match, by its number or its seed
    "match.result_path", "net.address", "net.port", "net.max_sessions", "auth", "shutdown", "log", "journal",
    "debug.rewind_trace"}

SHIPPED = json.loads((TOP / "config/arena.json").read_text(encoding="utf-8"))["arena"]["weapons"]


def weapons(**changes):
    return {"arena.weapons": [{**weapon, **changes} for weapon in SHIPPED]}


def only(base, **changes):
    """That weapon in each place, since the map's pickups name all of them."""
    weapon = next(weapon for weapon in SHIPPED if weapon["name"] == base)
    return {"arena.weapons": [{**weapon, "start": True, **changes, "name": f"{base} {i + 1}"} for i in range(len(SHIPPED))]}


# Rows for both modes. `arguments` are more words for arbiter-sim.
BOTH = (
    {},
    {"match.rounds": 4, "match.duration_s": 5, "match.countdown_s": 1, "match.result_s": 1},
    {"match.max_players": 7, "match.min_players": 4, "match.rejoin_grace_s": 2, "match.countdown_s": 0},
    {"match.join_timeout_s": 20, "match.idle_exit_s": 0, "match.rejoin_grace_s": 0, "match.result_s": 0},
    {"match.tick_rate": 30, "match.max_catchup_ticks": 1},
    {"match.tick_rate": 128, "match.input_delay_ticks": 3},
    {"match.input_delay_ticks": 6, "input.hold_ticks": 0, "input.buffer_ticks": 12},
    {"input.hold_ticks": 200, "input.buffer_ticks": 120, "net.messages_per_tick": 2},
    {"snapshot.interval_ticks": 4, "snapshot.chunk_payload_bytes": 300, "snapshot.budget_bytes_per_s": 8192,
     "snapshot.parity": False},
    {"snapshot.far_m": 8, "snapshot.far_every": 4, "interest.cell_m": 20, "interest.enter_m": 14, "interest.retain_m": 15},
    {"interest.line_of_sight": True, "interest.sight_margin_m": 0.5, "interest.enter_m": 60, "interest.retain_m": 80},
    {"spectator.max": 3, "spectator.delay_s": 2, "arguments": ["--spectators", "3"]},
    {"lagcomp.max_rewind_ms": 0, "lagcomp.projectile_catchup_ms": 0},
    {"rollback.window_ticks": 6},
    {"rollback.window_ticks": 30, "match.rounds": 3, "match.duration_s": 6, "match.rejoin_grace_s": 1},
)

ARENA = (
    {"match.teams": 2, "arena.team_damage": True, "arena.team_kill_score": -3, "arena.kill_score": 5,
     "match.map": "maps/arena_foundry.tmj"},
    {"match.teams": 2, "arena.score_limit": 6, "arena.health": 20},
    {"match.map": "maps/arena_duel.tmj", "arena.respawn_ms": 0, "arena.spawn_protection_ms": 0,
     "arena.spawn_candidates": 1},
    {"lagcomp.max_rewind_ms": 700, "lagcomp.view_tolerance_ms": 400, "lagcomp.projectile_catchup_ms": 700},
    {"lagcomp.view_source": "round_trip", "lagcomp.max_rewind_ms": 200},
    {"lagcomp.view_tolerance_ms": 10, "lagcomp.view_violation": "present"},
    {"lagcomp.view_tolerance_ms": 10, "lagcomp.view_violation": "refuse", "arguments": ["--cheat", "old"]},
    {"lagcomp.cover_grace_ms": 100, "lagcomp.abilities_win": True},
    {"arena.player_push": True, "arena.player_radius_m": 0.7, "arena.player_half_length_m": 0.6},
    {"arena.hit_shapes": [{"ax": 0.3, "ay": 0, "bx": 0.3, "by": 0, "radius": 0.25, "factor": 2.5},
                          {"ax": -0.4, "ay": -0.2, "bx": 0.1, "by": 0.2, "radius": 0.35, "factor": 0.7}],
     "arena.health_max": 250, "arena.pickup_health": 60},
    {"arena.max_speed": 18, "arena.acceleration": 150, "arena.friction": 6, "arena.dash_speed": 40, "arena.dash_ms": 333,
     "arena.dash_cooldown_ms": 400},
    {"arena.pickup_radius_m": 1.5, "arena.pickup_respawn_s": 1, "arena.pickup_ammo": 3, "arena.pickup_weapon": 5,
     **weapons(magazine=3, reserve=4, reserve_max=9, reload_ms=300)},
    only("launcher", interval_ms=150, magazine=0, automatic=True, projectile_speed=30, projectile_radius_m=0.3,
         projectile_life_ms=700, blast_m=4, blast_damage=30, damage=60, reserve=0, reserve_max=0),
    only("launcher", pellets=5, spread_rad=0.4, blast_m=0, projectile_life_ms=400),
    only("shotgun", pellets=16, spread_rad=0.5, spread="triangular", pierce=4, pierce_factor=0.9, automatic=True,
         interval_ms=90, magazine=0, reserve=0, reserve_max=0),
    only("railgun", range_m=60, falloff_from_m=0, falloff_to_m=60, damage_far=1, pierce_factor=0.3),
)

SERPENT = (
    {"serpent.score": "food", "serpent.score_limit": 40, "serpent.food_value": 7},
    {"serpent.score_limit": 12, "serpent.growth_m": 2},
    {"serpent.base_speed": 11, "serpent.boost_speed": 23, "serpent.turn_rate": 9},
    {"serpent.head_radius_m": 0.9, "serpent.body_radius_m": 0.3, "serpent.body_spacing_m": 1.2},
    {"serpent.start_length_m": 40, "serpent.max_length_m": 41, "serpent.boost_min_length_m": 20, "serpent.boost_cost": 9},
    {"serpent.boost_drop_m": 0.1, "serpent.boost_min_length_m": 0, "serpent.boost_cost": 3, "serpent.food_max": 430},
    {"serpent.food_count": 1500, "serpent.food_max": 3000, "serpent.food_per_s": 300, "serpent.food_radius_m": 0.6},
    {"serpent.food_count": 5, "serpent.food_per_s": 0.5, "serpent.food_respawn_s": 0.5},
    {"serpent.death_food_spacing_m": 0.3, "serpent.death_food_value": 9, "serpent.respawn_ms": 100},
    {"serpent.spawn_candidates": 1, "serpent.spawn_clearance_m": 0, "serpent.spawn_ahead_m": 0, "serpent.respawn_ms": 0},
)

ROWS = {"arena": BOTH + ARENA, "serpent": BOTH + SERPENT}


def draw(limit, *what):
    """A number below the limit that depends on nothing else."""
    digest = hashlib.sha256("/".join(map(str, what)).encode()).digest()
    return int.from_bytes(digest[:8], "little") % limit


def policies(index, count, people):
    """For each client its policy; as few as repeat themselves."""
    kinds = PLAYERS[draw(len(PLAYERS), index, "players")]
    if "human" not in kinds:
        return list(kinds)
    first = draw(len(people), index, "person")
    clients = range(min(count, 32))
    return [f"replay:{people[(first + 7 * client) % len(people)]}" if kinds[client % len(kinds)] == "human"
            else kinds[client % len(kinds)] for client in clients]


def text(value):
    return json.dumps(value, separators=(",", ":")) if not isinstance(value, str) else value


def match(index, people):
    """(name, arguments of arbiter-sim) of match `index`; `people` are the files of recordings."""
    mode = ("arena", "serpent")[index % 2]
    row = ROWS[mode][index // 2 % len(ROWS[mode])]
    count = 2 + draw(15, index, "clients")
    arguments = ["--config", f"config/{mode}.json", "--clients", str(count), "--seed", str(1 + index),
                 "--profile", PROFILES[draw(len(PROFILES), index, "profile")], "--ticks", str(TICKS)]
    if draw(4, index, "faults"):
        arguments += ["--faults", "all"]
    for policy in policies(index, count, people):
        arguments += ["--policy", policy]
    for option, value in row.items():
        arguments += value if option == "arguments" else ["--set", f"{option}={text(value)}"]
    return f"{index:03}-{mode}", arguments


def options_of(schema, path=""):
    """All keys of a JSON Schema, as paths; those of an array's items behind '[]'."""
    for name, part in schema["properties"].items():
        own = f"{path}.{name}" if path else name
        if part.get("type") == "object":
            yield from options_of(part, own)
        elif part.get("type") == "array" and part["items"]["type"] == "object":
            yield from options_of(part["items"], own + "[]")
        else:
            yield own


def options_set():
    """All that some row sets."""
    found = set()
    for row in BOTH + ARENA + SERPENT:
        for option, value in row.items():
            if isinstance(value, list) and option != "arguments":
                found.update(f"{option}[].{key}" for item in value for key in item)
            else:
                found.add(option)
    return found


def options_left_out():
    schema = json.loads((TOP / "config/schema.json").read_text(encoding="utf-8"))
    known = options_set() | WITHOUT_EFFECT
    return [option for option in options_of(schema) if option not in known and option.split(".")[0] not in known]
