#!/usr/bin/env python3
"""Arguments and exit statuses of arbiterd that start nothing."""
import json
import subprocess
import unittest

import daemon


class Arguments(daemon.Case):
    def test_wrong_arguments_exit_64_and_name_the_argument(self):
        for arguments in (["--nonsense"], ["config.json"], ["--config"], ["--set"], ["--schemas"],
                          ["--configuration", "x"], ["-h"]):
            with self.subTest(arguments):
                done = daemon.run(*arguments)
                self.assertEqual(done.returncode, 64)
                self.assertIn(arguments[0], done.stderr)
                self.assertIn("usage:", done.stderr)
                self.assertEqual(done.stdout, "")

    def test_synctest_wants_a_number_of_ticks(self):
        for value in ("0", "121", "-1", "x", "3x", ""):
            done = daemon.run("--config", daemon.ARENA, "--synctest", value)
            self.assertEqual(done.returncode, 64, value)
            self.assertIn("1 to 120 ticks", done.stderr)

    def test_set_without_a_value_is_an_argument_error(self):
        done = daemon.run("--config", daemon.ARENA, "--set", "net.port")
        self.assertEqual(done.returncode, 64)
        self.assertIn("net.port", done.stderr)

    def test_help_and_version(self):
        done = daemon.run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--check-config", done.stdout)
        done = daemon.run("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^arbiterd \d+\.\d+\.\d+, protocol \d+\n$")

    def test_each_tool_answers_help_and_names_what_it_does_not_know(self):
        for tool in ("arbiter-bots", "arbiter-netsim", "arbiter-sim", "arbiter-replay", "arbiter-play"):
            def run(*arguments, tool=tool):
                done = subprocess.run([daemon.program(tool), *arguments], capture_output=True, text=True, timeout=daemon.LIMIT_S,
                                      env=daemon.clean_environment(), check=False)
                return done.returncode, done.stdout, done.stderr
            try:
                daemon.program(tool)
            except FileNotFoundError:
                self.assertEqual(tool, "arbiter-play", "all but the one that needs SDL2 are built")
                continue
            for before in ([], ["--name", "ada"] if tool == "arbiter-play" else ["--seed", "1"]):
                status, said, errors = run(*before, "--help")
                self.assertEqual((status, errors), (0, ""), tool)
                self.assertTrue(said.startswith(f"usage: {tool} "), said)
            status, said, errors = run("--frobnicate")
            self.assertEqual((status, said), (64, ""), tool)
            self.assertIn("--frobnicate", errors.splitlines()[0])

    def test_schema_is_json(self):
        done = daemon.run("--schema")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout)["type"], "object")

    def test_check_config_starts_nothing(self):
        done = daemon.run("--config", daemon.ARENA, "--check-config")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_both_forms_of_an_option_and_its_value(self):
        for arguments in (["--config", str(daemon.ARENA), "--set", "net.port=4711"],
                          [f"--config={daemon.ARENA}", "--set=net.port=4711"]):
            done = daemon.run(*arguments, "--print-config")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(json.loads(done.stdout)["net"]["port"], 4711)

    def test_set_wins_over_environment_over_file(self):
        config = json.loads(daemon.ARENA.read_text(encoding="utf-8"))
        config.setdefault("net", {})["port"] = 1
        config["match"]["map"] = str(daemon.ARENA.parent / config["match"]["map"])
        file = self.folder / "x.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        print_port = ["--config", file, "--print-config"]
        done = daemon.run(*print_port)
        self.assertEqual(json.loads(done.stdout)["net"]["port"], 1)
        done = daemon.run(*print_port, environment={"ARBITER_NET_PORT": "2"})
        self.assertEqual(json.loads(done.stdout)["net"]["port"], 2)
        done = daemon.run(*print_port, "--set", "net.port=3", environment={"ARBITER_NET_PORT": "2"})
        self.assertEqual(json.loads(done.stdout)["net"]["port"], 3)

    def test_unknown_variable_is_only_warned_of(self):
        done = daemon.run("--config", daemon.ARENA, "--check-config",
                          environment={"ARBITER_SERVICE_HOST": "10.0.0.1"})
        self.assertEqual(done.returncode, 0)
        self.assertIn("ARBITER_SERVICE_HOST", done.stderr)

    def test_what_a_view_does_not_keep_is_warned_of(self):
        short = ["--config", daemon.ARENA, "--set", "net.port=0", "--set", "match.join_timeout_s=1",
                 "--set", "match.result_path="]
        done = daemon.run(*short, "--set", "interest.enter_m=29")
        self.assertIn("weapons reach farther than interest.enter_m", done.stderr)
        done = daemon.run(*short)
        self.assertNotIn("weapons reach", done.stderr)
        self.assertNotIn("spectator.delay_s", done.stderr)
        done = daemon.run(*short, "--set", "interest.line_of_sight=true", "--set", "spectator.max=4")
        self.assertIn("set spectator.delay_s", done.stderr)


if __name__ == "__main__":
    unittest.main()
