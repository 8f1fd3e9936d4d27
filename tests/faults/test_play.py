#!/usr/bin/env python3
"""arbiter-play in a virtual window, played with key and mouse events: what its pictures show, its recording, its ends.
PLAY_PICTURES: a folder where the pictures are left."""
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest

import daemon

WALL = (104, 116, 134)


def is_clear(x, y):
    """Nothing lies over the world there: neither graph nor scores nor words."""
    return 10 < x < 1270 and (340 < y < 650 or 520 < x < 930 and 60 < y < 650)


def pixel_of(said, place):
    """Where a place in m is in the picture."""
    (x, y), (camera_x, camera_y) = place, said["camera"]
    return round(640 + (x - camera_x) * said["scale"]), round(400 - (y - camera_y) * said["scale"])



def colour_of_slot(slot):
    hue = 0.6 + 2.399963 * slot
    return tuple(int(158 + 92 * math.cos(hue - turn)) for turn in (0, 2.0944, -2.0944))


def near(colour, wanted, by=6):
    return all(abs(a - b) <= by for a, b in zip(colour, wanted))


class Picture:
    """A BMP of 24 bits."""

    def __init__(self, path):
        self.bytes = path.read_bytes()
        self.first, = struct.unpack_from("<I", self.bytes, 10)
        self.width, self.height = struct.unpack_from("<ii", self.bytes, 18)
        assert struct.unpack_from("<H", self.bytes, 28)[0] == 24 and self.height > 0

    def at(self, x, y):
        """(r, g, b) of a pixel from the upper left."""
        row = (self.width * 3 + 3) // 4 * 4
        place = self.first + (self.height - 1 - y) * row + 3 * x
        return tuple(reversed(self.bytes[place:place + 3]))

    def count(self, wanted, x0=0, y0=0, x1=None, y1=None):
        return sum(near(self.at(x, y), wanted) for x in range(x0, x1 or self.width) for y in range(y0, y1 or self.height))


class Play(daemon.Case):
    def begin(self, mode="arena", **more):
        """A match that waits for nobody: the daemon and its port."""
        options = {"match.min_players": 1, "match.countdown_s": 0, "match.duration_s": 120,
                   "match.result_path": self.folder / "result.json",
                   **{key.replace("__", "."): value for key, value in more.items()}}
        server = daemon.Daemon(options, config=daemon.TOP / "config" / f"{mode}.json")
        self.addCleanup(server.__exit__)
        return server, server.ready()["port"]

    def serve(self, mode="arena", **more):
        return self.begin(mode, **more)[1]

    def bots(self, port, count, policy="wander"):
        bots = daemon.start_bots(port, count, 60, policy)
        self.addCleanup(bots.wait)
        self.addCleanup(bots.kill)

    def play(self, port, *arguments, hands="", seconds=6):
        """Plays so long; `hands` are lines of xdotool. What it said about its picture, and the picture."""
        path = self.folder / f"{self._testMethodName}.bmp"
        command = [daemon.program("arbiter-play"), "--connect", f"127.0.0.1:{port}", "--name", "ada",
                   "--seconds", seconds, "--screenshot", path, *arguments]
        script = self.folder / "hands.sh"
        # The hands wait until there is something to play.
        script.write_text("""said=$1
shift
"$@" 2>"$said" &
game=$!
for i in $(seq 200); do
    if grep -q joined "$said"; then break; fi
    sleep 0.1
done
sleep 0.7
""" + hands + "\nwait $game\necho status $? >>\"$said\"\n", encoding="utf-8")
        # X's own libraries keep what they took.
        environment = daemon.clean_environment({"ASAN_OPTIONS": "detect_leaks=0", "SDL_AUDIODRIVER": "dummy"})
        done = subprocess.run(["xvfb-run", "-a", "-s", "-screen 0 1280x800x24", "bash", script, self.folder / "said",
                               *map(str, command)],
                              capture_output=True, text=True, timeout=60, env=environment, check=False)
        # xvfb-run has a status of its own, when it could not tidy up.
        heard = (self.folder / "said").read_text(encoding="utf-8")
        self.assertTrue(heard.endswith("status 0\n"), done.stderr + heard)
        if "PLAY_PICTURES" in os.environ:
            shutil.copy(path, os.environ["PLAY_PICTURES"])
        said = json.loads(done.stdout)
        self.assertEqual(said["corrections"], 0, said)
        picture = Picture(path)
        self.assertEqual((picture.width, picture.height), (1280, 800))
        return said, picture

    def walls_in_view(self, said, map_name):
        """Middles, in pixels, of the map's circles and upright rectangles that nothing lies over."""
        with open(daemon.TOP / "config" / "maps" / map_name, encoding="utf-8") as file:
            found = json.load(file)
        scale = found["properties"][0]["value"]
        half_x, half_y = (found[side] * found[tile] * scale / 2 for side, tile in (("width", "tilewidth"),
                                                                                   ("height", "tileheight")))
        for wall in found["layers"][0]["objects"]:
            if wall["rotation"] or not wall["width"] or wall["type"] != "wall":
                continue
            x = (wall["x"] + wall["width"] / 2) * scale - half_x
            y = half_y - (wall["y"] + wall["height"] / 2) * scale
            pixel = pixel_of(said, (x, y))
            if is_clear(*pixel) and math.dist(pixel, pixel_of(said, said["own"])) > 80:
                yield pixel

    def recorded(self, path):
        """Lines of a recording, and how often fire was pressed in them."""
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([line["tick"] for line in lines], list(range(len(lines))))
        held = [False] + ["fire" in line["buttons"] for line in lines]
        return lines, sum(now and not before for before, now in zip(held, held[1:]))

    def replay(self, path, mode):
        port = self.serve(mode)
        command = [daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{port}", "--count", "1", "--policy",
                   f"replay:{path}", "--duration", "9", "--report", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=40, env=daemon.clean_environment(),
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["clients"][0]

    def test_arena_is_drawn_played_and_recorded(self):
        port = self.serve()
        self.bots(port, 5)
        recording = self.folder / "played.jsonl"
        # Walks to all sides and shoots four times; the network graph is on.
        hands = "xdotool key Tab key c\n" + "".join(
            f"xdotool mousemove {x} {y} keydown {key} mousedown 1\nsleep 0.5\nxdotool mouseup 1 keyup {key}\nsleep 0.3\n"
            for key, x, y in (("d", 900, 400), ("w", 640, 200), ("a", 300, 400), ("s", 640, 700)))
        said, picture = self.play(port, "--record", recording, hands=hands)
        self.assertEqual(said["players"], 6)
        self.assertGreaterEqual(said["entities"], 3)
        self.assertGreater(said["snapshots"], 30)
        self.assertGreater(said["inputs"], 60)
        self.assertEqual((said["exists"], said["moved"]), (1, 1))
        own = pixel_of(said, said["own"])
        self.assertTrue(near(picture.at(*own), colour_of_slot(said["slot"])) or not is_clear(*own), "the own character")
        walls = list(self.walls_in_view(said, "arena_crossfire.tmj"))
        self.assertGreater(len(walls), 0, said)
        for pixel in walls:
            self.assertTrue(near(picture.at(*pixel), WALL), f"no wall at {pixel}: {picture.at(*pixel)}, {said}")
        self.assertGreater(picture.count((90, 200, 130), 8, 124, 504, 155), 200, "snapshots in the graph")

        lines, presses = self.recorded(recording)
        self.assertGreater(len(lines), 60)
        self.assertTrue(any(line["move"] == [127, 0] for line in lines))
        # What was pressed before the match was heard of is in no recording.
        self.assertTrue(2 <= presses <= said["fired"], f"{presses} of {said}")
        self.assertEqual(self.replay(recording, "arena")["edges_sent"]["fire"], presses)

    def test_serpent_is_drawn_steered_and_recorded(self):
        port = self.serve("serpent", serpent__respawn_ms=200)
        self.bots(port, 8)
        recording = self.folder / "played.jsonl"
        hands = "xdotool keydown a\nsleep 1\nxdotool mousedown 1\nsleep 1\nxdotool mouseup 1"
        said, picture = self.play(port, "--record", recording, hands=hands)
        self.assertEqual(said["players"], 9)
        self.assertEqual(said["exists"], 1)
        own = colour_of_slot(said["slot"])
        head_x, head_y = pixel_of(said, said["own"])
        self.assertTrue(near(picture.at(head_x, head_y), own) or not is_clear(head_x, head_y), "the own head")
        body = sum(near(picture.at(x, y), tuple(part * shade / 100 for part in own))
                   for x in range(max(head_x - 110, 0), min(head_x + 110, 1280))
                   for y in range(max(head_y - 110, 0), min(head_y + 110, 800))
                   for shade in (86, 100))
        self.assertTrue(body > 400 or not is_clear(head_x, head_y), "its body lies behind it")
        lines, presses = self.recorded(recording)
        self.assertTrue(any(line["move"] == [-127, 0] for line in lines), "it turned to the left")
        self.assertTrue(1 <= presses <= said["fired"], f"{presses} of {said}")
        self.assertEqual(self.replay(recording, "serpent")["edges_sent"]["boost"], presses)

    def test_spectator_sees_the_followed_player(self):
        port = self.serve()
        self.bots(port, 3)
        hands = "xdotool mousemove 700 600\n" + "xdotool click 1\nsleep 0.8\n" * 4
        said, picture = self.play(port, "--spectate", hands=hands, seconds=6)
        self.assertEqual((said["exists"], said["inputs"]), (0, 0))
        seen = [slot for slot in range(3) if picture.count(colour_of_slot(slot), 10, 120, 1270, 760) +
                picture.count(colour_of_slot(slot), 10, 10, 920, 120) > 300]
        self.assertGreater(len(seen), 0, f"a player is in view, {said}")

    def test_it_comes_back_after_its_line_was_dead(self):
        server, port = self.begin()
        relay = subprocess.Popen([daemon.program("arbiter-netsim"), "--listen", "127.0.0.1:0", "--to",
                                  f"127.0.0.1:{port}", "--profile", "lan"], stderr=subprocess.PIPE, text=True,
                                 env=daemon.clean_environment())
        self.addCleanup(relay.stderr.close)
        self.addCleanup(relay.wait)
        self.addCleanup(relay.kill)
        through = int(relay.stderr.readline().split()[-1])
        # Dead for longer than the client waits, 10 s, and for less than the server keeps its place.
        hands = f"sleep 2\nkill -STOP {relay.pid}\nsleep 13\nkill -CONT {relay.pid}"
        said, _ = self.play(through, hands=hands, seconds=20)
        self.assertEqual((said["exists"], said["players"], said["slot"]), (1, 1, 0), "the same player in its place")
        hellos = [entry for entry in server.lines if entry.get("event") == "hello"]
        self.assertEqual(len(hellos), 2)

    def test_each_end_has_its_status(self):
        def status(*arguments):
            command = [daemon.program("arbiter-play"), *map(str, arguments)]
            environment = daemon.clean_environment({"ASAN_OPTIONS": "detect_leaks=0", "SDL_VIDEODRIVER": "dummy"})
            return subprocess.run(command, capture_output=True, timeout=40, env=environment, check=False).returncode

        self.assertEqual(status(), 64)
        self.assertEqual(status("--connect", "127.0.0.1"), 64)
        self.assertEqual(status("--connect", "127.0.0.1:1", "--screenshot", "x.bmp"), 64, "a picture of which moment?")
        self.assertEqual(status("--connect", "127.0.0.1:1", "--record", "/nowhere/file"), 74)
        self.assertEqual(status("--connect", "host.invalid:1"), 69)
        self.assertEqual(status("--connect", "127.0.0.1:9", "--seconds", "1"), 69)
        port = self.serve()
        self.assertEqual(status("--connect", f"127.0.0.1:{port}", "--seconds", "1"), 0)
        self.assertEqual(status("--connect", f"[::ffff:127.0.0.1]:{port}", "--seconds", "1"), 0)


if __name__ == "__main__":
    for tool in ("xvfb-run", "xdotool"):
        if shutil.which(tool) is None:
            sys.exit(77)
    if not (pathlib.Path(os.environ.get("ARBITER_BUILD", "build/debug")) / "bin" / "arbiter-play").exists():
        print("arbiter-play is not built here: no SDL2")
        sys.exit(77)
    unittest.main()
