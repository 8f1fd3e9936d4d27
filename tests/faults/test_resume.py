#!/usr/bin/python3
"""arbiterd --resume: matches that were killed at any moment go on from their journal, with their players.

ARBITER_KILLS=N kills the one of the first test N times instead of three, SEED=S at the moments of an earlier run.
"""
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import time
import unittest

import daemon

KILLS = int(os.environ.get("ARBITER_KILLS", "3"))


def replay(*arguments):
    return subprocess.run([daemon.program("arbiter-replay"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, env=daemon.clean_environment(), check=False)


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Resume(daemon.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "journal"
        self.port = free_port()
        self.options = {"net.port": self.port, "match.duration_s": 14, "match.countdown_s": 0, "match.result_s": 1,
                        "match.min_players": 4, "match.rejoin_grace_s": 20, "journal.flush_ms": 100,
                        "journal.keyframe_s": 3, "match.result_path": self.folder / "result.json"}

    def start(self, resume=None, **more):
        if resume is None:
            return daemon.Daemon({**self.options, "journal.path": self.path, **more})
        return daemon.Daemon({**self.options, **more}, arguments=("--resume", str(resume)))

    def verify(self, status=0):
        done = replay("verify", self.path)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def ticks(self):
        return int(self.verify().split(" ticks up to ")[1].split(",")[0])

    def come_back(self, seconds):
        """Four bots of which one a second ends like a game that crashed, and comes back by its token."""
        bots = subprocess.Popen([daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{self.port}", "--count", "4",
                                 "--policy", "aim", "--duration", str(seconds), "--seed", "1", "--rejoin", "1"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=daemon.clean_environment())
        self.addCleanup(bots.wait)
        self.addCleanup(bots.kill)

    def kill(self, server):
        server.signal(signal.SIGKILL)
        server.process.wait()

    def test_killed_again_and_again_a_match_comes_to_its_one_result(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print(f"seed {seed}")
        self.options["match.duration_s"] = 8 + 2 * KILLS
        moments = random.Random(seed)
        with self.start() as server:
            ready = server.ready()
            self.come_back(30 + 6 * KILLS)
            time.sleep(3 + moments.random())
            self.kill(server)
        reached = self.ticks()
        self.assertGreater(reached, 60)
        first = reached
        for _ in range(KILLS - 1):
            with self.start(self.path) as server:
                if moments.random() < 0.25:  # while it starts, plays the journal, or goes on in the file
                    time.sleep(0.1 * moments.random())
                    self.kill(server)
                    self.assertGreaterEqual(self.ticks(), reached)
                    reached = self.ticks()
                    continue
                resumed = server.await_event("resumed")
                again = server.ready()
                self.assertEqual((again["match_id"], again["seed"]), (ready["match_id"], ready["seed"]))
                self.assertEqual(resumed["tick"], reached)
                self.assertEqual(resumed["players"], 4)
                time.sleep(0.2 + 2 * moments.random())
                self.kill(server)
            before, reached = reached, self.ticks()
            self.assertGreaterEqual(reached, before)
        with self.start(self.path) as server:
            server.ready()
            self.assertEqual(server.end(60 + 4 * KILLS), 0)
        self.assertIn("with its result", self.verify())
        result = self.check_result(self.folder / "result.json", end_reason="time", match_id=ready["match_id"])
        lines = [json.loads(line) for line in replay("export", self.path).stdout.splitlines()]
        ends = [line for line in lines if "end" in line]
        self.assertGreaterEqual(len(ends), 1)
        self.assertEqual({line["checksum"] for line in ends}, {result["checksum"]})
        self.assertEqual(len(result["players"]), 4, "one line a player, however often the server died")
        # They came back to their places, after the first start as well.
        returns = [line["tick"] for line in lines for command in line.get("commands", [])
                   if command["command"] == "return" and "slot" in command]
        self.assertGreater(max(returns, default=0), first)

    def test_a_torn_block_is_cut_off_and_the_match_goes_on_before_it(self):
        with self.start() as server:
            server.ready()
            self.bots(self.port, 4, 60)
            time.sleep(3)
            self.kill(server)
        whole = self.path.read_bytes()
        self.path.write_bytes(whole[:-17])
        self.verify(status=65)
        with self.start(self.path, **{"match.rejoin_grace_s": 20}) as server:
            server.await_event("resumed")
            time.sleep(1)
            self.kill(server)
        self.verify()

    def test_a_match_that_had_ended_hands_its_result_out_again(self):
        with self.start(**{"match.duration_s": 3, "match.result_s": 0}) as server:
            server.ready()
            self.bots(self.port, 4, 20)
            self.assertEqual(server.end(40), 0)
        result = self.folder / "result.json"
        first = json.loads(result.read_text(encoding="utf-8"))
        result.unlink()
        with self.start(self.path, **{"match.duration_s": 3, "match.result_s": 0}) as server:
            self.assertEqual(server.end(20), 0)
        second = json.loads(result.read_text(encoding="utf-8"))
        for key in ("match_id", "checksum", "ticks", "end_reason", "players"):
            self.assertEqual(first[key], second[key], key)
        self.verify()

    def test_what_cannot_be_resumed_is_refused_and_left_alone(self):
        with self.start() as server:
            server.ready()
            self.bots(self.port, 4, 20)
            time.sleep(2)
            with self.start(self.path, **{"net.port": 0}) as second:
                self.assertEqual(second.end(20), 74)
                self.assertIn("another process may be writing it", second.event("failed")["text"])
            self.kill(server)
        before = self.path.read_bytes()
        with self.start(self.path, **{"match.duration_s": 15}) as server:
            self.assertEqual(server.end(20), 78)
            self.assertIn("it is of another configuration", server.event("failed")["text"])
        bad = self.folder / "bad"
        bad.write_bytes(b"no journal at all")
        with self.start(bad) as server:
            self.assertEqual(server.end(20), 65)
        with self.start(self.folder / "none") as server:
            self.assertEqual(server.end(20), 74)
        self.assertEqual(self.path.read_bytes(), before)
        self.assertEqual(pathlib.Path(bad).read_bytes(), b"no journal at all")


if __name__ == "__main__":
    unittest.main()
