#!/usr/bin/env python3
"""arbiter-play in a virtual window, played with key and mouse events: what is in the window, its recording, its ends.
PLAY_PICTURES: a folder where the last picture of each test is left (XWD)."""
import collections
import json
import math
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

import daemon

WIDTH, HEIGHT = 1280, 800
GROUND, WALL, GRAPH, OWN_EDGE = (30, 35, 43), (104, 116, 134), (90, 205, 125), (235, 240, 245)


def colour_of_slot(slot):
    hue = 0.6 + 2.399963 * slot
    return tuple(int(158 + 92 * math.cos(hue - turn)) for turn in (0, 2.0944, -2.0944))


class Screen:
    """An X server of its own whose picture lies in a file."""

    def __init__(self, folder):
        self.file = folder / "Xvfb_screen0"
        reading, writing = os.pipe()
        self.process = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{WIDTH}x{HEIGHT}x24",
                                         "-fbdir", str(folder), "-nolisten", "tcp"], pass_fds=[writing],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading) as said:
            self.display = f":{said.readline().strip()}"

    def hands(self, *arguments):
        """One call of xdotool."""
        subprocess.run(["xdotool", *map(str, arguments)], check=True, timeout=daemon.LIMIT_S, capture_output=True,
                       env={**os.environ, "DISPLAY": self.display})

    def colours(self, x0=0, y0=0, x1=WIDTH, y1=HEIGHT):
        """Counter of (r, g, b) in that part. The file is an XWD dump of 32-bit pixels."""
        data = self.file.read_bytes()
        size, line, count = (struct.unpack_from(">I", data, at)[0] for at in (0, 48, 76))
        first = size + 12 * count
        pixels = collections.Counter()
        for y in range(y0, y1):
            pixels.update(memoryview(data)[first + y * line + 4 * x0:first + y * line + 4 * x1].cast("I"))
        found = collections.Counter()
        for p, n in pixels.items():  # the highest byte says nothing, and may be anything
            found[p >> 16 & 255, p >> 8 & 255, p & 255] += n
        return found

    def count(self, wanted, *part):
        """Pixels of about that colour."""
        return sum(n for colour, n in self.colours(*part).items()
                   if all(abs(a - b) <= 6 for a, b in zip(colour, wanted)))

    def end(self):
        self.process.kill()
        self.process.wait()


class Play(daemon.Case):
    def serve(self, mode="arena", **more):
        """A match that waits for nobody: the daemon."""
        options = {"match.min_players": 1, "match.countdown_s": 0, "match.duration_s": 600,
                   "match.result_path": self.folder / "result.json",
                   **{key.replace("__", "."): value for key, value in more.items()}}
        server = daemon.Daemon(options, config=daemon.TOP / "config" / f"{mode}.json")
        self.addCleanup(server.__exit__)
        server.port = server.ready()["port"]
        return server

    def play(self, server, *arguments, port=None):
        """The program in a window of its own, in the match."""
        screen = Screen(self.folder)
        self.addCleanup(screen.end)
        # X's own libraries keep what they took.
        environment = daemon.clean_environment({"ASAN_OPTIONS": "detect_leaks=0", "DISPLAY": screen.display})
        command = [daemon.program("arbiter-play"), "--connect", f"127.0.0.1:{port or server.port}", "--name", "ada",
                   *map(str, arguments)]
        game = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(lambda: (game.kill(), game.communicate()))
        self.until(lambda: screen.count(GROUND) > 200000, "the ground is seen")
        return screen, game

    def until(self, holds, what):
        daemon.until(holds, what)

    def leave(self, screen, game):
        """By the key; what it said of its connection."""
        if "PLAY_PICTURES" in os.environ:
            shutil.copy(screen.file, pathlib.Path(os.environ["PLAY_PICTURES"]) / f"{self._testMethodName}.xwd")
        screen.hands("key", "Escape")
        said, errors = game.communicate(timeout=daemon.LIMIT_S)
        self.assertEqual((game.returncode, errors), (0, ""))
        words = said.replace(",", "").split()
        figures = dict(zip(words[0::2], map(int, words[1::2])))
        self.assertEqual(figures["corrections"], 0, said)
        return figures

    def sees_itself(self, screen, slot):
        """Its character, or head, is drawn: not near the borders, where words are."""
        self.until(lambda: screen.count(OWN_EDGE, 200, 205, 1080, 755) > 100 and
                   screen.count(colour_of_slot(slot), 200, 205, 1080, 755) > 300, "the own character is seen")

    def hellos(self, server):
        """Who came, in order: names, and whether by the resume token."""
        return [(entry["name"], entry["resume"]) for entry in server.lines if entry.get("event") == "hello"]

    def bots_first(self, server, count):
        """So many bots are there, in the first slots."""
        self.bots(server.port, count, 600)
        self.until(lambda: len(self.hellos(server)) == count, "bots are there")

    def recorded(self, path):
        """Lines of a recording, and how often fire was pressed in them."""
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([line["tick"] for line in lines], list(range(len(lines))))
        held = [False] + ["fire" in line["buttons"] for line in lines]
        return lines, sum(now and not before for before, now in zip(held, held[1:]))

    def until_recorded(self, path, holds, what):
        """Waits for a line, behind all for which was waited before, that holds. They come by the second."""
        def found():
            lines = path.read_text(encoding="utf-8").splitlines()[:-1]
            for number in range(self.line, len(lines)):
                if holds(json.loads(lines[number])):
                    self.line = number + 1
                    return True
            return False
        self.until(found, f"{what} is recorded")

    line = 0

    def press(self, screen, recording, button, what):
        """The mouse's first, until it is recorded; and let go."""
        screen.hands("mousedown", 1)
        self.until_recorded(recording, lambda line: button in line["buttons"], what)
        screen.hands("mouseup", 1)
        self.until_recorded(recording, lambda line: button not in line["buttons"], f"the end of {what}")

    def replay(self, path, mode, seconds):
        server = self.serve(mode)
        command = [daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{server.port}", "--count", "1", "--policy",
                   f"replay:{path}", "--duration", str(seconds), "--report", "json"]
        for _ in range(10):
            done = subprocess.run(command, capture_output=True, text=True, timeout=daemon.LIMIT_S,
                                  env=daemon.clean_environment(), check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            client = json.loads(done.stdout)["clients"][0]
            if client["resyncs"] == 0:  # else a stall of this machine left ticks out
                break
        return client

    def test_arena_is_drawn_played_and_recorded(self):
        server = self.serve()
        self.bots_first(server, 5)
        recording = self.folder / "played.jsonl"
        screen, game = self.play(server, "--record", recording)
        self.sees_itself(screen, 5)
        self.until(lambda: screen.count(WALL) > 3000, "walls are seen")
        screen.hands("key", "Tab", "key", "c")
        self.until(lambda: screen.count(GRAPH, 16, 120, 500, 150) > 200, "snapshots are in the graph")
        # Walks to all sides and shoots four times.
        moves = ([127, 0], [0, 127], [-127, 0], [0, -127])
        for key, x, y, move in zip("dwas", (900, 640, 300, 640), (400, 200, 400, 700), moves):
            screen.hands("mousemove", x, y, "keydown", key)
            self.until_recorded(recording, lambda line, move=move: line["move"] == move, f"a move by {key}")
            self.press(screen, recording, "fire", "a shot")
            screen.hands("keyup", key)
        said = self.leave(screen, game)
        self.assertGreater(said["snapshots"], 30)
        lines, presses = self.recorded(recording)
        self.assertEqual(presses, 4)
        self.assertEqual(said["shots"], 4)
        seconds = len(lines) / 60 + 2
        self.assertEqual(self.replay(recording, "arena", seconds)["edges_sent"]["fire"], presses)

    def test_serpent_is_drawn_steered_and_recorded(self):
        server = self.serve("serpent", serpent__respawn_ms=200)
        self.bots_first(server, 8)
        recording = self.folder / "played.jsonl"
        screen, game = self.play(server, "--record", recording)
        self.sees_itself(screen, 8)
        screen.hands("keydown", "a")
        self.until_recorded(recording, lambda line: line["move"] == [-127, 0], "a turn to the left")
        self.press(screen, recording, "fire", "a boost")
        self.sees_itself(screen, 8)
        self.until(lambda: screen.count(colour_of_slot(8), 100, 205, 1180, 755) > 900, "its body lies behind it")
        self.leave(screen, game)
        lines, presses = self.recorded(recording)
        self.assertEqual(presses, 1)
        seconds = len(lines) / 60 + 2
        self.assertEqual(self.replay(recording, "serpent", seconds)["edges_sent"]["boost"], presses)

    def test_spectator_sees_the_followed_player(self):
        server = self.serve()
        self.bots_first(server, 3)
        screen, game = self.play(server, "--spectate")
        seen = set()

        def all_are_followed():
            screen.hands("mousemove", 700, 600, "click", 1)
            time.sleep(0.7)
            seen.update(slot for slot in range(3) if screen.count(colour_of_slot(slot), 200, 205, 1080, 755) > 300)
            return seen == {0, 1, 2}
        self.until(all_are_followed, "one after the other is followed")
        self.assertEqual(self.leave(screen, game)["inputs"], 0)

    def test_it_comes_back_after_its_line_was_dead(self):
        server = self.serve()
        relay = subprocess.Popen([daemon.program("arbiter-netsim"), "--listen", "127.0.0.1:0", "--to",
                                  f"127.0.0.1:{server.port}", "--profile", "lan"], stderr=subprocess.PIPE, text=True,
                                 env=daemon.clean_environment())
        self.addCleanup(relay.stderr.close)
        self.addCleanup(relay.wait)
        self.addCleanup(relay.kill)
        port = int(relay.stderr.readline().split()[-1])
        screen, game = self.play(server, port=port)
        # Dead until the client gives it up, after 10 s, and for less long than the server keeps its place.
        sockets = daemon.ports_towards(port)
        relay.send_signal(signal.SIGSTOP)
        self.until(lambda: daemon.ports_towards(port) - sockets, "another connection is tried")
        relay.send_signal(signal.SIGCONT)
        self.until(lambda: self.hellos(server) == [("ada", 0), ("ada", 1)], "the same player in its place")
        self.sees_itself(screen, 0)
        self.leave(screen, game)

    def test_it_outlives_its_server(self):
        journal = self.folder / "match.journal"
        first = self.serve(journal__path=journal, journal__flush_ms=50, match__rejoin_grace_s=60)
        self.bots_first(first, 1)
        screen, game = self.play(first)
        daemon.until_written(journal, first.tick())
        first.process.kill()
        first.process.wait()
        time.sleep(1)
        second = daemon.Daemon({"net.port": first.port}, config=None, arguments=["--resume", str(journal)])
        self.addCleanup(second.__exit__)
        self.until(lambda: ("ada", 1) in self.hellos(second), "the same player in its place")
        self.sees_itself(screen, 1)
        # One that is started anew knows nobody: then it joins as a new player.
        second.process.kill()
        second.process.wait()
        third = self.serve(net__port=first.port)
        self.until(lambda: ("ada", 0) in self.hellos(third), "a new player")
        self.sees_itself(screen, 0)
        self.leave(screen, game)

    def test_each_end_has_its_status_and_words(self):
        def run(*arguments, until_s=None, driver="dummy"):
            command = [daemon.program("arbiter-play"), *map(str, arguments)]
            environment = daemon.clean_environment({"ASAN_OPTIONS": "detect_leaks=0"})
            for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
                environment.pop(name, None)
            if driver is not None:
                environment["SDL_VIDEODRIVER"] = driver
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=environment) as game:
                if until_s is not None:
                    self.until(lambda: daemon.catches(game.pid, signal.SIGTERM), "it can be asked to end")
                    time.sleep(until_s)
                    game.send_signal(signal.SIGTERM)
                said, errors = game.communicate(timeout=daemon.LIMIT_S)
            return game.returncode, said, errors

        def status_in_match(wanted, *arguments):
            """After a while in the match: a longer one, where it takes longer to come into it."""
            for seconds in (2, 4, 8, 16, 32):
                status = run("--connect", *arguments, until_s=seconds)[0]
                if status == wanted:
                    break
            self.assertEqual(status, wanted, arguments)

        status, said, errors = run("--help")
        self.assertEqual((status, errors), (0, ""))
        self.assertTrue(said.startswith("usage: arbiter-play"))
        for wrong in ((), ("--connect", "127.0.0.1"), ("--connect", "127.0.0.1:1", "more"),
                      ("--connect", "127.0.0.1:1", "--frobnicate")):
            status, said, errors = run(*wrong)
            self.assertEqual((status, said), (64, ""), wrong)
            self.assertIn("--help", errors)
        self.assertIn("--frobnicate", errors)
        self.assertEqual(run("--connect", "127.0.0.1:1", "--record", "/nowhere/file")[0], 74)
        self.assertEqual(run("--connect", "127.0.0.1:1", "--font", "/nowhere/font")[0], 70)
        status, _, errors = run("--connect", "127.0.0.1:1", driver=None)
        self.assertEqual(status, 70)
        self.assertIn("no window: there is no display", errors)
        self.assertEqual(run("--connect", "host.invalid:1")[0], 69)
        self.assertEqual(run("--connect", "127.0.0.1:9", until_s=2)[0], 69)
        server = self.serve()
        for host in ("127.0.0.1", "[::ffff:127.0.0.1]"):
            status_in_match(0, f"{host}:{server.port}")
        status_in_match(74, f"127.0.0.1:{server.port}", "--record", "/dev/full")


if __name__ == "__main__":
    for tool in ("Xvfb", "xdotool"):
        if shutil.which(tool) is None:
            print(f"play: no {tool} here; tools/deps brings it")
            sys.exit(77)
    if not (pathlib.Path(os.environ.get("ARBITER_BUILD", "build/release")) / "bin" / "arbiter-play").exists():
        print("arbiter-play is not built here: no SDL2 or SDL2_ttf")
        sys.exit(77)
    unittest.main()
