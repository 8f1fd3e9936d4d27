#!/usr/bin/python3
"""SIGHUP: numbers of the game change in a running match, all else is refused, and the journal is played again exactly."""
import copy
import json
import os
import signal
import subprocess
import unittest

import daemon


class Reload(daemon.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "journal"
        self.file = self.folder / "c.json"
        self.numbers = json.loads(daemon.ARENA.read_text(encoding="utf-8"))
        self.numbers["match"].update({
            "map": str(daemon.ARENA.parent / self.numbers["match"]["map"]), "duration_s": 600, "countdown_s": 0,
            "result_path": ""})
        self.numbers["journal"].update({"path": str(self.path), "flush_ms": 50})
        self.numbers["shutdown"]["on_term"] = "abort"
        self.write(self.numbers)

    def write(self, numbers):
        """As an editor does it: there is always a whole file."""
        text = numbers if isinstance(numbers, str) else json.dumps(numbers)
        fresh = self.folder / "c.json.new"
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, self.file)

    def changed(self, section, **values):
        numbers = copy.deepcopy(self.numbers)
        numbers[section].update(values)
        return numbers

    def server(self, **more):
        return daemon.Daemon(config=self.file, **more)

    def hang_up(self, server, event):
        server.signal(signal.SIGHUP)
        return server.await_event(event)

    def play(self, server):
        port = server.ready()["port"]
        self.bots(port, 4, 600, policy="aim")
        for _ in range(4):
            server.await_event("hello")
        server.run_on(30)

    def finish(self, server):
        server.signal(signal.SIGTERM)
        self.assertEqual(server.end(), 0, server.lines[-10:])

    def replay(self, command):
        done = subprocess.run([daemon.program("arbiter-replay"), command, str(self.path)], capture_output=True,
                              text=True, timeout=daemon.LIMIT_S, env=daemon.clean_environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def reloads(self):
        """{tick: numbers} of the journal."""
        found = {}
        for line in self.replay("export").splitlines():
            entry = json.loads(line)
            for command in entry.get("commands", []):
                if command["command"] == "reload":
                    found[entry["tick"]] = command["numbers"]
        return found

    def test_numbers_of_the_game_change_at_a_tick_that_the_journal_has(self):
        with self.server() as server:
            self.play(server)
            self.write(self.changed("arena", health=50, kill_score=3))
            told = self.hang_up(server, "reloaded")
            self.assertEqual(told["changed"], 2)
            self.assertIn("arena.health: 100 to 50, arena.kill_score: 1 to 3", told["text"])
            again = self.hang_up(server, "reloaded")
            self.assertEqual(again["changed"], 0, "they are in force")
            weapons = copy.deepcopy(self.numbers["arena"]["weapons"])
            weapons[0]["damage"] = weapons[0]["damage_far"] = 40
            self.write(self.changed("arena", health=50, kill_score=3, weapons=weapons))
            third = self.hang_up(server, "reloaded")
            self.assertIn("arena.weapons[0].damage: ", third["text"])
            server.run_on(60)
            self.finish(server)
        self.replay("verify")
        found = self.reloads()
        self.assertEqual(sorted(found), [told["tick"], third["tick"]])
        self.assertEqual(found[told["tick"]]["arena.health"], 50)
        self.assertEqual(found[third["tick"]]["arena.weapons[0].damage"], 40)

    def test_what_is_wrong_is_told_with_its_place_and_changes_nothing(self):
        good = json.dumps(self.numbers)
        wrong = (
            ("{", "c.json:1:2: "),
            ("{\n \"arena\": {\"healt\": 5}}", "c.json:2:12: arena.healt: unknown key; allowed: "),
            (self.changed("arena", health=0), "arena.health: 0 is not allowed; allowed: an integer from 1 to 1000"),
            (self.changed("arena", health=500), "arena.health is 500: at most arena.health_max (100)"),
            (self.changed("match", duration_s=61), "match.duration_s is 61, the match runs with 600: this option "
                                                   "needs a new match"),
            (self.changed("arena", max_speed=7, health=50), "arena.max_speed is 7, the match runs with 6"),
            (good[:-1], ": "),
            ("[" * 100000, ": "),
            (" " * 2000000, "is too large; allowed: at most 1048576 bytes"),
        )
        with self.server() as server:
            server.ready()
            for content, told in wrong:
                self.write(content)
                self.assertIn(told, self.hang_up(server, "reload_refused")["text"])
            self.file.unlink()
            self.assertIn("No such file", self.hang_up(server, "reload_refused")["text"])
            os.mkfifo(self.file)
            self.assertIn("no regular file", self.hang_up(server, "reload_refused")["text"])
            self.file.unlink()
            self.write(good)
            self.assertEqual(self.hang_up(server, "reloaded")["changed"], 0)
            self.finish(server)
            self.assertIsNone(server.event("journal_trouble"))
        self.replay("verify")
        self.assertEqual(self.reloads(), {})

    def test_without_a_file_there_is_nothing_to_read(self):
        options = {"match.map": daemon.ARENA.parent / "maps" / "arena_duel.tmj"}
        with daemon.Daemon(options, config=None) as server:
            server.ready()
            self.assertIn("neither --config nor --reload", self.hang_up(server, "reload_refused")["text"])
            self.assertIsNone(server.process.poll())

    def test_what_an_operator_set_over_the_file_stays_over_it(self):
        with self.server(options={"arena.health": 70}) as server:
            server.ready()
            self.write(self.changed("arena", health=50, respawn_ms=1234))
            told = self.hang_up(server, "reloaded")
            self.assertEqual((told["changed"], told["text"]), (1, "arena.respawn_ms: 2000 to 1234"))

    def test_a_match_that_was_killed_goes_on_with_the_numbers_that_were_in_force(self):
        with self.server() as server:
            self.play(server)
            self.write(self.changed("arena", health=50))
            told = self.hang_up(server, "reloaded")
            self.assertEqual(told["changed"], 1)
            daemon.until_written(self.path, told["tick"] + 1)
            server.process.kill()
            server.process.wait()
        arguments = ("--resume", str(self.path), "--reload", str(self.file), "--set", "net.port=0", "--set",
                     "log.format=json")
        command = [daemon.program("arbiterd"), *arguments]
        self.assertEqual(daemon.run(*arguments, "--check-config").returncode, 0, command)
        with daemon.Daemon(config=None, arguments=arguments[:4]) as server:
            server.await_event("resumed")
            server.ready()
            self.assertEqual(self.hang_up(server, "reloaded")["changed"], 0, "50 is what is in force")
            self.write(self.changed("arena", health=60))
            self.assertIn("arena.health: 50 to 60", self.hang_up(server, "reloaded")["text"])
            self.write(self.changed("match", rounds=2))
            self.assertIn("match.rounds", self.hang_up(server, "reload_refused")["text"])
            self.finish(server)
        self.replay("verify")
        self.assertEqual([numbers["arena.health"] for numbers in self.reloads().values()], [50, 60])


if __name__ == "__main__":
    unittest.main()
