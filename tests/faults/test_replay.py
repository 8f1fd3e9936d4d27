#!/usr/bin/env python3
"""debug.rewind_trace and arbiter-replay: the shots of real matches as a file, as a list and as pictures; bad files."""
import copy
import json
import subprocess
import unittest
import xml.etree.ElementTree

import daemon

SVG = "{http://www.w3.org/2000/svg}"


def replay(*arguments):
    return subprocess.run([daemon.program("arbiter-replay"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=daemon.LIMIT_S, env=daemon.clean_environment(), check=False)


def outline(x, y, head=False):
    shapes = [{"a": [x, y], "b": [x, y], "radius": 0.5, "part": 0}]
    if head:
        shapes.append({"a": [x, y], "b": [x + 1, y], "radius": 0.25, "part": 1})
    return {"centre": [x, y], "shapes": shapes}


HEAD = {"trace": "arbiter rewind", "version": 2, "match_id": "00" * 16, "mode": "arena", "map": "m.tmj",
        "tick_rate": 60, "max_rewind_ms": 500, "bounds": [[-50, -50], [50, 50]],
        "shapes": [{"type": "circle", "points": [[4, 2]], "radius": 1},
                   {"type": "polygon", "points": [[6, -3], [7, -3], [7, -2], [6, -2]], "radius": 0},
                   {"type": "circle", "points": [[-40, -40]], "radius": 1}]}

# From the origin along +x; 5 was seen at x = 10 and is at x = 12 now, behind cover; 7 was not seen.
SHOT = {"shot": 0, "tick": 1001, "newest": 1000, "slot": 2, "name": "a<b>&\u0007", "shooter": [9, 1], "sequence": 77,
        "weapon": 1, "claimed": {"from": 980, "to": 982, "fraction": 64, "held": 5},
        "applied": {"from": 980, "to": 982, "fraction": 128, "held": 5}, "verdict": "too_old", "rewound_ms": 316.7,
        "origin": [0, 0],
        "rays": [{"direction": [1, 0], "range": 30, "reach": 9.5,
                  "hits": [{"key": [3, 1], "part": 0, "distance": 9.5, "point": [9.5, 0]}]}],
        "candidates": [{"key": [3, 1], "slot": 5, "cover_ms": 50, "spared": False, "present": outline(12, 0, True),
                        "rewound": outline(10, 0, True)},
                       {"key": [4, 2], "slot": 7, "cover_ms": 0, "spared": False, "present": outline(8, 1), "rewound": None}],
        "flights": [], "landings": [], "landings_left_out": 0, "left_out": 0}

# Two projectiles leave along +x at 30 m/s, half a metre a tick, 19.5 ticks before the present; one ends at 5 after 18
# ticks, where its blast reaches 7; the other goes on.
LAUNCH = {**SHOT, "rays": [],
          "flights": [{"pellet": 0, "radius": 0.25, "origin": [0, 0], "velocity": [30, 0], "from": 980 * 256 + 128,
                       "to": 998 * 256 + 128, "present": 999 * 256},
                      {"pellet": 1, "radius": 0.25, "origin": [0, 0], "velocity": [0, 30], "from": 980 * 256 + 128,
                       "to": 1000 * 256, "present": 999 * 256}],
          "landings": [{"flight": 0, "key": [3, 1], "part": 0, "blast": False, "rewound": True, "at": 998 * 256 + 128,
                        "centre": [9, 0], "point": [10, 0]},
                       {"flight": 0, "key": [4, 2], "part": 0, "blast": True, "rewound": True, "at": 998 * 256 + 128,
                        "centre": [9, 0], "point": [8, 1]}]}


def changed(path, value, of=None):
    """SHOT with one value changed, or taken away by `...`."""
    shot = copy.deepcopy(of or SHOT)
    at = shot
    for step in path[:-1]:
        at = at[step]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return shot


class Replay(daemon.Case):
    def write(self, *lines, end="\n"):
        path = self.folder / "shots.jsonl"
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("\n".join(texts) + end, encoding="utf-8")
        return path

    def check_fails(self, status, text, *arguments):
        done = replay(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout.count("<svg"), 0)

    def picture(self, shot):
        target = self.folder / "shot.svg"
        done = replay("shot", self.write(HEAD, shot), 0, "-o", target)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return xml.etree.ElementTree.parse(target).getroot()

    @staticmethod
    def group(root, name):
        return root.find(f".//{SVG}g[@class='{name}']")

    def test_list(self):
        missed = {**changed(("rays", 0, "hits"), []), "shot": 1, "verdict": "honoured"}
        done = replay("shots", self.write(HEAD, SHOT, missed))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[0].split()[:5], ["shot", "tick", "player", "weapon", "view"])
        self.assertEqual(lines[1].split(), ["0", "1001", "2", "1", "981.000", "316.7", "too_old", "5@9.50m(cover", "50ms)",
                                            "a<b>&?"])
        self.assertEqual(lines[2].split()[6:8], ["honoured", "-"])

    def test_projectiles_in_the_list(self):
        done = replay("shots", self.write(HEAD, LAUNCH))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[1].split()[6:],
                         ["too_old", "5@9.00m(cover", "50ms)", "7@9.00m(blast)", "a<b>&?"])

    def test_picture_of_projectiles(self):
        root = self.picture(LAUNCH)
        present = self.group(root, "present").find(f"{SVG}circle")
        scale = float(present.get("r")) / 0.5
        ways = self.group(root, "flight").findall(f"{SVG}line")
        self.assertEqual((len(ways), self.group(root, "flight").get("stroke")), (2, "#ffffff"))
        self.assertAlmostEqual(float(ways[0].get("x2")) - float(ways[0].get("x1")), 9 * scale, delta=0.2)
        self.assertAlmostEqual(float(ways[1].get("y1")) - float(ways[1].get("y2")), 9.75 * scale, delta=0.2)
        # A dot for the end of each tick on the way, and the projectile where its way ends.
        dots = self.group(root, "step").findall(f"{SVG}circle")
        steps = [dot for dot in dots if dot.get("r") == "2.00"]
        self.assertEqual((len(steps), len(dots)), (18 + 19, 18 + 19 + 2))
        self.assertAlmostEqual(float(steps[0].get("cx")) - float(ways[0].get("x1")), 0.25 * scale, delta=0.2)
        self.assertAlmostEqual(float(steps[1].get("cx")) - float(steps[0].get("cx")), 0.5 * scale, delta=0.2)
        hits = self.group(root, "hit").findall(f"{SVG}circle")
        self.assertEqual(len(hits), 2)
        self.assertEqual((hits[0].get("cx"), hits[0].get("cy")), (ways[0].get("x2"), ways[0].get("y2")))
        self.assertAlmostEqual(float(hits[0].get("cy")) - float(hits[1].get("cy")), scale, delta=0.2)

    def test_legend_of_projectiles(self):
        texts = [text.text for text in self.group(self.picture(LAUNCH), "legend")]
        self.assertEqual(texts[4:7], [
            "2 projectiles of 30.0 m/s left at 980.500, caught up over 300.0 ms at once; a dot for each tick",
            "hit player 5 (entity 3.1), part 0, 9.00 m away: moved 2.000 m since it was seen, behind cover for 50 ms",
            "hit by the blast: player 7 (entity 4.2), part 0, 9.00 m away: moved 0.000 m since it was seen, behind "
            "cover for 0 ms"])

    def test_picture_of_a_hit(self):
        root = self.picture(SHOT)
        world = root.find(f"{SVG}svg")
        self.assertEqual(world.get("stroke-width"), "1.5")
        present, rewound = self.group(root, "present"), self.group(root, "rewound")
        self.assertEqual((present.get("stroke"), rewound.get("stroke")), ("#4d9fff", "#ff5a4d"))
        self.assertEqual([len(list(group.iter(f"{SVG}circle"))) for group in (present, rewound)], [2, 1])
        self.assertEqual([len(list(group.iter(f"{SVG}path"))) for group in (present, rewound)], [1, 1])
        now, then = present.find(f"{SVG}circle"), rewound.find(f"{SVG}circle")
        radius = float(now.get("r"))
        scale = radius / 0.5
        self.assertAlmostEqual(float(now.get("cx")) - float(then.get("cx")), 2 * scale, delta=0.2)
        ray = self.group(root, "ray").find(f"{SVG}line")
        self.assertEqual(self.group(root, "ray").get("stroke"), "#ffffff")
        self.assertAlmostEqual(float(ray.get("x2")) - float(ray.get("x1")), 9.5 * scale, delta=0.2)
        hit = self.group(root, "hit").find(f"{SVG}circle")
        self.assertEqual(self.group(root, "hit").get("fill"), "#ffe14d")
        self.assertEqual((hit.get("cx"), hit.get("cy")), (ray.get("x2"), ray.get("y2")))
        # The part of the map that is near, upright: y grows upwards in the world.
        solid = self.group(root, "map")
        self.assertEqual((len(solid.findall(f"{SVG}circle")), len(solid.findall(f"{SVG}polygon"))), (1, 1))
        self.assertLess(float(solid.find(f"{SVG}circle").get("cy")), float(ray.get("y1")))

    def test_legend(self):
        texts = [text.text for text in self.group(self.picture(SHOT), "legend")]
        self.assertEqual(texts[:6], [
            "shot 0 in tick 1001 by player 2 (a<b>&?), weapon 1, input 77   arena, m.tmj",
            "claimed view: 980.500 (from 980 to 982, fraction 64/256)",
            "applied view: 981.000 (from 980 to 982, fraction 128/256)",
            "claim: too_old   rewound by 316.7 ms, from published tick 1000",
            "hit player 5 (entity 3.1), part 0, 9.50 m away: moved 2.000 m since it was seen, behind cover for 50 ms",
            "near: player 7 (entity 4.2), moved 0.000 m, behind cover for 0 ms: not seen by the shooter"])

    def test_whoever_was_spared_is_told(self):
        shot = changed(("candidates", 0, "spared"), True)
        shot["rays"][0]["hits"] = []
        texts = [text.text for text in self.group(self.picture(shot), "legend")]
        self.assertEqual(texts[4], "near: player 5 (entity 3.1), moved 2.000 m, behind cover for 50 ms: spared, by "
                                   "cover or an ability")

    def test_picture_of_a_miss_on_the_standard_output(self):
        path = self.write(HEAD, SHOT, {**changed(("rays", 0, "hits"), []), "shot": 1})
        done = replay("shot", path, 1)
        self.assertEqual(done.returncode, 0)
        root = xml.etree.ElementTree.fromstring(done.stdout)
        self.assertEqual(len(self.group(root, "hit")), 0)
        self.assertEqual(len(self.group(root, "ray")), 1)

    def test_picture_of_nobody(self):
        root = self.picture({**changed(("rays", 0, "hits"), []), "candidates": []})
        self.assertEqual(len(self.group(root, "present")), 0)

    def test_bad_files_are_named_by_line_and_field(self):
        cases = [
            (("rays", 0, "direction"), [1], "shots.jsonl:2: rays[0].direction: not an array of 2 to 2 items"),
            (("rays", 0, "hits", 0, "distance"), -1, ":2: rays[0].hits[0].distance: is negative"),
            (("candidates", 1, "present", "centre"), [0, 1e9],
             ":2: candidates[1].present.centre[1]: not a number within a million"),
            (("candidates", 0, "rewound"), ..., ":2: candidates[0]: rewound is missing"),
            (("applied", "to"), 1.5, ":2: applied.to: not an integer"),
            (("name",), 3, ":2: name: not a string"),
            (("rays",), {}, ":2: rays: not an array of 0 to 64 items"),
            (("tick",), ..., ":2: tick is missing"),
            (("candidates", 0, "spared"), 0, ":2: candidates[0].spared: not a boolean"),
            (("flights",), ..., ":2: flights is missing"),
            (("flights", 0, "to"), 3, ":2: flights[0]: ends before it begins, or long after"),
            (("flights", 1, "to"), 1 << 40, ":2: flights[1]: ends before it begins, or long after"),
            (("flights", 0, "radius"), -1, ":2: flights[0].radius: is negative"),
            (("landings", 1, "flight"), 2, ":2: landings[1].flight: not one of the flights"),
            (("landings", 0, "blast"), 1, ":2: landings[0].blast: not a boolean"),
        ]
        for path, value, text in cases:
            file = self.write(HEAD, changed(path, value, LAUNCH if path[0] in ("flights", "landings") else SHOT))
            self.check_fails(65, text, "shots", file)
            self.check_fails(65, text, "shot", file, 0)

    def test_files_that_are_none(self):
        self.check_fails(65, "is empty", "shots", self.write("", end=""))
        self.check_fails(65, "ends within its first line", "shots", self.write('{"trace', end=""))
        self.check_fails(65, "not a file of debug.rewind_trace", "shots", self.write("{}"))
        self.check_fails(65, "not a file of debug.rewind_trace", "shots", self.write("[1]"))
        self.check_fails(65, "version: not a version that this program reads", "shots",
                         self.write({**HEAD, "version": 1}))
        self.check_fails(65, "tick_rate: not a tick rate", "shots", self.write({**HEAD, "tick_rate": 0}))
        self.check_fails(65, "shots.jsonl:2:1: ", "shots", self.write(HEAD, "nonsense"))
        self.check_fails(65, "shots.jsonl:2:", "shots", self.write(HEAD, "[" * 1000))
        self.check_fails(65, "shapes[1].points", "shots",
                         self.write({**HEAD, "shapes": [HEAD["shapes"][0], {"points": [], "radius": 1}]}))
        self.check_fails(65, "shots.jsonl:2: longer than any shot", "shots", self.write(HEAD, "[" + " " * (1 << 26)))
        self.check_fails(74, "No such file", "shots", self.folder / "missing")
        self.check_fails(74, "Is a directory", "shots", self.folder)

    def test_a_line_that_was_cut_is_left_out(self):
        done = replay("shots", self.write(HEAD, SHOT, json.dumps(SHOT)[:200], end=""))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertIn("the last line is not whole", done.stderr)

    def test_arguments(self):
        path = self.write(HEAD, SHOT)
        for arguments in ([], ["draw"], ["shots"], ["shots", path, 1], ["shot", path], ["shot", path, "x"],
                          ["shot", path, -1], ["shot", path, 0, "-o"], ["shot", path, 0, "-x", "y"]):
            self.check_fails(64, "usage:", *arguments)
        self.check_fails(64, "no shot 1: the file has 1", "shot", path, 1)
        self.check_fails(74, "No such file", "shot", path, 0, "-o", self.folder / "no" / "shot.svg")
        self.assertEqual(replay("--help").returncode, 0)

    def test_a_full_disk_is_told(self):
        self.check_fails(74, "No space left", "shot", self.write(HEAD, SHOT), 0, "-o", "/dev/full")

    def test_the_daemon_writes_every_shot(self):
        trace = self.folder / "trace.jsonl"
        options = {"match.duration_s": 6, "match.countdown_s": 0, "match.result_s": 0, "match.min_players": 6,
                   "match.result_path": self.folder / "result.json", "debug.rewind_trace": trace}
        with daemon.Daemon(options) as server:
            port = server.ready()["port"]
            subprocess.run([daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{port}", "--count", "6", "--policy",
                            "aim", "--seed", "3", "--duration", "600"], capture_output=True, timeout=daemon.LIMIT_S, check=True,
                           env=daemon.clean_environment())
            self.assertEqual(server.end(), 0)
            told = server.event("rewind_trace")
            figures = server.event("rewound")
            self.assertEqual(server.event("claimed_views")["level"], "info")
            self.assertIsNone(server.event("rewind_idle"))
        found = self.check_result(self.folder / "result.json")["lagcomp"]
        lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
        shots = lines[1:]
        self.assertGreater(len(shots), 10)
        self.assertEqual((told["shots"], told["dropped"], told["error"]), (len(shots), 0, ""))
        self.assertEqual([shot["shot"] for shot in shots], list(range(len(shots))))
        self.assertTrue(any(hit for shot in shots for ray in shot["rays"] for hit in ray["hits"]))
        # What the shooters saw is older than the server's present, and their claims hold.
        self.assertTrue(all(0 < shot["rewound_ms"] <= 500 for shot in shots))
        self.assertTrue(any(shot["verdict"] == "honoured" for shot in shots))
        for shot in shots:
            known = [candidate["key"] for candidate in shot["candidates"]]
            self.assertTrue(all(hit["key"] in known for ray in shot["rays"] for hit in ray["hits"]))
        self.assertEqual((found["rewound_ms"]["count"], figures["shots"]), (len(shots), len(shots)))
        self.assertEqual(found["rewound_ms"]["p50"], figures["p50_ms"])
        self.assertEqual(found["rewound_ms"]["max"], int(max(shot["rewound_ms"] for shot in shots) + 0.001))
        self.assertEqual(len(replay("shots", trace).stdout.splitlines()), len(lines))
        xml.etree.ElementTree.fromstring(replay("shot", trace, len(shots) - 1).stdout)

    def test_the_daemon_names_a_file_it_cannot_write(self):
        for more in ([], ["--check-config"]):
            done = daemon.run("--config", daemon.ARENA, "--set", "net.port=0", "--set", "match.result_path=", "--set",
                              "debug.rewind_trace=/nowhere/trace", *more)
            self.assertEqual(done.returncode, 74)
            self.assertIn("debug.rewind_trace: /nowhere/trace: cannot write it", done.stderr)

    def test_a_check_leaves_files_as_they_are(self):
        old, new = self.folder / "old", self.folder / "new"
        old.write_text("somebody's trace\n")
        for path in (old, new):
            done = daemon.run("--config", daemon.ARENA, "--set", f"match.result_path={self.folder / 'result.json'}",
                              "--set", f"debug.rewind_trace={path}", "--check-config")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(old.read_text(), "somebody's trace\n")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["old"])

    def test_launches_are_traced_with_their_way_and_their_hits(self):
        path = self.folder / "launches"
        weapon = {"kind": "projectile", "start": True, "automatic": True, "interval_ms": 200, "projectile_speed": 25,
                  "projectile_radius_m": 0.4, "blast_m": 2, "blast_damage": 30}
        weapons = [{"name": name, **weapon} for name in ("a", "b", "c", "d")]
        subprocess.run([daemon.program("arbiter-sim"), "--config", daemon.ARENA, "--clients", "6", "--profile", "average",
                        "--seed", "5", "--ticks", "3600", "--set", "match.map=maps/arena_duel.tmj", "--set",
                        f"arena.weapons={json.dumps(weapons)}", "--set", f"debug.rewind_trace={path}"],
                       capture_output=True, timeout=daemon.LIMIT_S, check=True, env=daemon.clean_environment())
        shots = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][1:]
        self.assertGreater(len(shots), 100)
        self.assertTrue(all(len(shot["flights"]) == 1 and shot["rays"] == [] for shot in shots))
        landed = [shot for shot in shots if shot["landings"]]
        self.assertGreater(len(landed), 3)
        for shot in shots:
            flight = shot["flights"][0]
            self.assertLessEqual(flight["from"], flight["to"])
            self.assertLessEqual(flight["to"], shot["newest"] * 256)
            self.assertAlmostEqual(shot["rewound_ms"], (shot["newest"] * 256 - flight["from"]) / 256 / 60 * 1000, delta=0.1)
            known = [candidate["key"] for candidate in shot["candidates"]]
            self.assertTrue(all(landing["key"] in known for landing in shot["landings"]))
            self.assertTrue(all(landing["rewound"] == (landing["at"] < flight["present"]) for landing in shot["landings"]))
        lines = replay("shots", path).stdout.splitlines()[1:]
        self.assertEqual("".join(lines).count("@"), sum(len(shot["landings"]) for shot in shots))
        root = xml.etree.ElementTree.fromstring(replay("shot", path, landed[0]["shot"]).stdout)
        self.assertEqual(len(self.group(root, "hit")), len(landed[0]["landings"]))

    def test_the_simulator_writes_the_same_for_the_same_seed(self):
        texts = []
        for name in ("a", "b"):
            path = self.folder / name
            subprocess.run([daemon.program("arbiter-sim"), "--config", daemon.ARENA, "--clients", "4", "--profile",
                            "average", "--seed", "5", "--ticks", "900", "--set", f"debug.rewind_trace={path}"],
                           capture_output=True, timeout=daemon.LIMIT_S, check=True, env=daemon.clean_environment())
            texts.append(path.read_bytes())
        self.assertEqual(texts[0], texts[1])
        shots = [json.loads(line) for line in texts[0].splitlines()[1:]]
        self.assertGreater(len(shots), 5)
        self.assertGreater(sum(shot["verdict"] == "honoured" for shot in shots), 0.8 * len(shots))


if __name__ == "__main__":
    unittest.main()
