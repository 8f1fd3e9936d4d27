#!/usr/bin/env python3
"""Players who end without a word and come back by resume token, over UDP on loopback: the daemon, arbiter-bots, the log
and the result."""
import subprocess
import unittest

import daemon


class Returns(daemon.Case):
    def options(self, **more):
        return {"match.duration_s": 9, "match.countdown_s": 0, "match.result_s": 1, "match.min_players": 3,
                "match.max_players": 3, "match.result_path": self.folder / "result.json",
                **{key.replace("__", "."): value for key, value in more.items()}}

    def test_all_come_back_to_their_places_and_have_one_line_each(self):
        with daemon.Daemon(self.options()) as server:
            command = [daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{server.ready()['port']}", "--count", "3",
                       "--seed", "7", "--rejoin", "1", "--duration", "600"]
            bots = subprocess.run(command, capture_output=True, text=True, timeout=daemon.LIMIT_S, check=False,
                                  env=daemon.clean_environment())
            self.assertEqual(bots.returncode, 0, bots.stderr)
            self.assertEqual(server.end(), 0)
            hellos = [entry for entry in server.lines if entry.get("event") == "hello"]
            resumed = [entry for entry in hellos if entry["resume"] == 1]
            self.assertEqual(len(hellos) - len(resumed), 3)
            self.assertGreaterEqual(len(resumed), 3)
            replaced = [entry for entry in server.lines
                        if entry.get("event") == "refused" and entry["reason"] == "replaced"]
            self.assertEqual(len(replaced), len(resumed), "who was not missed yet is told on the old connection")
            self.assertFalse([line for line in server.lines if "token" in line], "no secret in the log")
        found = self.check_result(self.folder / "result.json", end_reason="time")
        self.assertEqual(len(found["players"]), 3)

    def test_whoever_stays_away_leaves_when_the_grace_is_over(self):
        options = self.options(match__rejoin_grace_s=2, match__idle_exit_s=1, match__duration_s=120)
        with daemon.Daemon(options) as server:
            bots = self.bots(server.ready()["port"], 3, 600)
            for _ in range(3):
                server.await_event("hello")
            bots.kill()
            bots.wait()
            self.assertEqual(server.end(), 0)
            self.assertLess(server.seconds_to_end("session_ended"), 15, "the grace is half a minute unless set")
        found = self.check_result(self.folder / "result.json", end_reason="empty")
        self.assertEqual(len(found["players"]), 3)


if __name__ == "__main__":
    unittest.main()
