#!/usr/bin/env python3
"""Spectators of real matches over UDP on loopback: the daemon, arbiter-bots, the log and the result."""
import json
import subprocess
import time
import unittest

import daemon


def start_bots(port, *arguments):
    command = [daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{port}", "--report", "json", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=daemon.clean_environment())


class Spectators(daemon.Case):
    def options(self, **more):
        return {"match.duration_s": 4, "match.countdown_s": 1, "match.result_s": 1, "match.min_players": 3,
                "match.max_players": 3, "match.result_path": self.folder / "result.json",
                **{key.replace("__", "."): value for key, value in more.items()}}

    def finish(self, bots):
        out, errors = bots.communicate(timeout=daemon.LIMIT_S)
        self.assertEqual(bots.returncode, 0, errors)
        return json.loads(out)

    def test_they_watch_a_match_to_its_end(self):
        with daemon.Daemon(self.options()) as server:
            bots = start_bots(server.ready()["port"], "--count", 3, "--spectators", 5, "--seed", 7, "--duration", 600)
            report = self.finish(bots)
            self.assertEqual(server.end(), 0)
            roles = [entry["role"] for entry in server.lines if entry.get("event") == "hello"]
            self.assertEqual(sorted(roles), ["player"] * 3 + ["spectator"] * 5)
            ticks = server.event("ticks")
            self.assertLess(ticks["live_allocations"], ticks["run"] / 8)
            seen = server.event("spectators")
            self.assertEqual((seen["came"], seen["most"], seen["refused"], seen["events_dropped"]), (5, 5, 0, 0))
        found = self.check_result(self.folder / "result.json", end_reason="time")
        self.assertEqual(len(found["players"]), 3)
        self.assertEqual(report["totals"]["spectators"], 5)
        for client in report["clients"]:
            if client.get("spectator"):
                self.assertEqual(client["inputs_sent"], 0)
                self.assertGreater(client["snapshots"], 100)

    def test_with_a_delay_the_daemon_stays_until_they_saw_the_end(self):
        with daemon.Daemon(self.options(spectator__delay_s=3)) as server:
            port = server.ready()["port"]
            watching = start_bots(port, "--count", 0, "--spectators", 2, "--duration", 600)
            for _ in range(2):
                server.await_event("hello")
            players = start_bots(port, "--count", 3, "--duration", 600)
            self.finish(players)
            ended = server.await_event("match_ended")
            report = self.finish(watching)
            self.assertEqual(server.end(), 0)
            self.assertGreater(daemon.seconds_between(ended, server.event("ticks")), 2.5)
            self.assertEqual(server.event("spectators")["came"], 2)
            self.assertGreater(server.event("spectator_snapshots")["sent"], 200)
        for client in report["clients"]:
            self.assertGreater(client["snapshots"], 100)

    def test_beyond_the_places_they_are_refused_and_players_are_not(self):
        options = self.options(spectator__max=1)
        with daemon.Daemon(options) as server:
            port = server.ready()["port"]
            first = start_bots(port, "--count", 0, "--spectators", 1, "--duration", 600)
            server.await_event("hello")
            second = start_bots(port, "--count", 0, "--spectators", 1, "--duration", 600)
            _, errors = second.communicate(timeout=daemon.LIMIT_S)
            self.assertEqual(second.returncode, 69)
            self.assertIn("no place for another spectator", errors)
            refused = server.await_event("refused")
            self.assertEqual((refused["reason"], refused["role"]), ("full", "spectator"))
            players = start_bots(port, "--count", 3, "--duration", 600)
            self.finish(players)
            self.finish(first)
            self.assertEqual(server.end(), 0)

    def test_who_only_watches_is_nobody(self):
        with daemon.Daemon(self.options(match__join_timeout_s=2)) as server:
            bots = start_bots(server.ready()["port"], "--count", 0, "--spectators", 2, "--duration", 600)
            bots.communicate(timeout=daemon.LIMIT_S)
            self.assertEqual(server.end(), 0)
        self.check_result(self.folder / "result.json", end_reason="nobody")

    def test_a_stop_does_not_wait_for_them(self):
        with daemon.Daemon(self.options(spectator__delay_s=60)) as server:
            port = server.ready()["port"]
            watching = start_bots(port, "--count", 0, "--spectators", 1, "--duration", 600)
            players = start_bots(port, "--count", 3, "--duration", 600)
            self.finish(players)
            ended = server.await_event("match_ended")
            time.sleep(0.5)
            self.assertIsNone(server.process.poll())
            server.process.terminate()
            self.assertEqual(server.end(), 0)
            self.assertLess(daemon.seconds_between(ended, server.event("ticks")), 50)
            watching.communicate(timeout=daemon.LIMIT_S)


if __name__ == "__main__":
    unittest.main()
