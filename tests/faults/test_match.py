#!/usr/bin/env python3
"""Whole matches of real processes over UDP on loopback: the daemon, arbiter-bots, the result and the report; and how
arbiter-bots ends when it cannot play."""
import json
import random
import socket
import subprocess
import unittest

import daemon

SERPENT = daemon.TOP / "config" / "serpent.json"


def run_bots(*arguments, timeout=daemon.LIMIT_S):
    return subprocess.run([daemon.program("arbiter-bots"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, env=daemon.clean_environment(), check=False)


class Match(daemon.Case):
    def play(self, config, count, policies, seconds, seed, arguments=()):
        """A match of that many bots; returns result and report."""
        of_daemon = arguments
        result = self.folder / "result.json"
        options = {"match.duration_s": seconds, "match.countdown_s": 1, "match.result_s": 1,
                   "match.min_players": count, "match.max_players": count, "match.result_path": result}
        with daemon.Daemon(options, config=config, arguments=of_daemon) as server:
            port = server.ready()["port"]
            arguments = [part for policy in policies for part in ("--policy", policy)]
            done = run_bots("--connect", f"127.0.0.1:{port}", "--count", count, *arguments, "--seed", seed,
                            "--duration", 600, "--report", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.end(), 0)
            # A stall of a busy machine may grow a pool now and then; what a tick needs is needed in each.
            ticks = server.event("ticks")
            self.assertLess(ticks["live_allocations"], ticks["run"] / 8)
        found = self.check_result(result, end_reason="time")
        self.assertEqual(len(found["players"]), count)
        return found, json.loads(done.stdout)

    def check_report(self, report, count):
        clients = report["clients"]
        self.assertEqual(len(clients), count)
        for client in clients:
            # A busy machine starves some inputs (how few it is else: tests/sim); a clock that is wrong makes all late.
            self.assertGreater(client["inputs_consumed"], 20, client["id"])
            self.check_edges(client)
            self.assertEqual(client["corrections"]["count"], 0, client["id"])
            self.assertGreater(client["snapshots"], 0)

    def test_arena_of_sixteen(self):
        found, report = self.play(daemon.ARENA, 16, ["aim"], 8, 101)
        self.check_report(report, 16)
        by_name = {player["name"]: player for player in found["players"]}
        self.assertEqual(len(by_name), 16)
        self.assertEqual(sum(client["kills"] for client in report["clients"]),
                         sum(player["kills"] for player in found["players"]))

    def test_every_tick_again_from_twelve_before(self):
        for config in (daemon.ARENA, SERPENT):
            with self.subTest(config.name):
                self.play(config, 8, ["aim"], 4, 103, arguments=("--synctest", "12"))

    def test_serpent_of_sixty_four(self):
        _, report = self.play(SERPENT, 64, ["aim"], 8, 102)
        self.check_report(report, 64)

    def recording(self, name, seed):
        """A player who taps: every press lasts one to five ticks, some buttons at the same time."""
        source = random.Random(seed)
        held = {}
        lines = []
        for tick in range(360):
            held = {button: left - 1 for button, left in held.items() if left > 1}
            for button in ("fire", "use", "dash", "reload"):
                if button not in held and source.random() < 0.15:
                    held[button] = source.randint(1, 5)
            lines.append(json.dumps({"tick": tick, "move": [source.randint(-127, 127), source.randint(-127, 127)],
                                     "aim": source.randrange(65536), "buttons": sorted(held)}))
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return lines, path

    def test_each_recorded_press_is_one_edge_at_the_server(self):
        recordings = [self.recording(f"p{i}.jsonl", 200 + i) for i in range(3)]

        def play(config, names):
            """How many clients were not set back by a stall of this machine: what they pressed is all there."""
            _, report = self.play(config, 3, [f"replay:{path}" for _, path in recordings], 9, 103)
            self.check_report(report, 3)
            whole = [(client, lines) for client, (lines, _) in zip(report["clients"], recordings, strict=True)
                     if client["resyncs"] == 0]
            for client, lines in whole:
                records = [set(json.loads(line)["buttons"]) for line in lines]
                for name in names:
                    recorded = "fire" if name == "boost" else name
                    presses = sum(recorded in now and recorded not in before
                                  for before, now in zip([set(), *records], records))
                    self.assertEqual(client["edges"].get(name, 0), presses, f"{client['id']} {name}")
            return len(whole)
        for config, names in ((daemon.ARENA, ("fire", "use", "dash", "reload")), (SERPENT, ("boost",))):
            self.assertTrue(any(play(config, names) > 0 for _ in range(10)), "somebody's presses are all looked at")


class Ends(daemon.Case):
    def status(self, *arguments):
        done = run_bots(*arguments, timeout=daemon.LIMIT_S)
        self.assertTrue(done.stderr, arguments)
        return done.returncode

    def test_wrong_arguments(self):
        for arguments in ((), ("--connect", "nowhere"), ("--connect", "127.0.0.1:1", "--count", "0"),
                          ("--connect", "127.0.0.1:1", "--policy", "nonsense"), ("--bogus",)):
            self.assertEqual(self.status(*arguments), 64, arguments)

    def test_recordings(self):
        malformed = self.folder / "malformed.jsonl"
        malformed.write_text('{"tick":0,"move":[0,0],"aim":0,"buttons":["jump"]}\n', encoding="utf-8")
        self.assertEqual(self.status("--connect", "127.0.0.1:1", "--policy", f"replay:{malformed}"), 65)
        self.assertEqual(self.status("--connect", "127.0.0.1:1", "--policy", f"replay:{self.folder}/none"), 74)

    def test_nobody_answers(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            port = silent.getsockname()[1]
            self.assertEqual(self.status("--connect", f"127.0.0.1:{port}", "--count", "1", "--duration", "600"), 69)


if __name__ == "__main__":
    unittest.main()
