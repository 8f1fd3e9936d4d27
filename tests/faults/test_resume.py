#!/usr/bin/env python3
"""arbiterd --resume: matches that are killed at random moments (KILLS, 8; SEED), and what the command line makes of files
that are none."""
import os
import subprocess
import unittest

import daemon
import kill_resume


class Resume(daemon.Case):
    def journal(self, **more):
        """Of a short match that nobody came to, and that is over."""
        path = self.folder / "m.journal"
        options = {"journal.path": path, "match.join_timeout_s": 1,
                   **{key.replace("__", "."): value for key, value in more.items()}}
        with daemon.Daemon(options) as server:
            self.assertEqual(server.end(), 0)
        return path

    def test_matches_that_are_killed_go_on_and_have_one_result(self):
        seed = int(os.environ.get("SEED", 20261130))
        kills = int(os.environ.get("KILLS", 8))
        self.assertEqual(kill_resume.play_all(kills, seed), [])

    def test_a_match_that_is_over_stays_as_it_is(self):
        path = self.journal(match__result_path=self.folder / "r.json")
        (self.folder / "r.json").unlink()
        before = path.read_bytes()
        found = daemon.run("--resume", path)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("was handed out", found.stderr)
        self.assertEqual(path.read_bytes(), before)
        self.assertFalse((self.folder / "r.json").exists())

    def test_what_is_no_journal_is_refused_and_left_alone(self):
        good = self.journal().read_bytes()
        for name, content, status in (("empty", b"", 65), ("text", b"{}" * 50, 65), ("head", good[:40], 65),
                                      ("flipped", good[:60] + b"\xff" + good[61:], 65)):
            path = self.folder / name
            path.write_bytes(content)
            found = daemon.run("--resume", path)
            self.assertEqual(found.returncode, status, (name, found.stderr))
            self.assertIn(str(path), found.stderr)
            self.assertEqual(path.read_bytes(), content)
        self.assertEqual(daemon.run("--resume", self.folder / "nowhere").returncode, 74)

    def test_only_what_is_of_the_process_can_be_set(self):
        path = self.journal()
        found = daemon.run("--resume", path, "--set", "match.duration_s=5")
        self.assertEqual(found.returncode, 78)
        self.assertIn("goes on with its own numbers", found.stderr)
        self.assertEqual(daemon.run("--resume", path, "--config", daemon.ARENA).returncode, 64)
        printed = daemon.run("--resume", path, "--set", "net.port=12345", "--print-config")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertIn("12345", printed.stdout)
        before = path.read_bytes()
        self.assertEqual(daemon.run("--resume", path, "--check-config").returncode, 0, "its own file is no hindrance")
        self.assertEqual(path.read_bytes(), before)

    def test_two_processes_never_have_one_match(self):
        path = self.folder / "m.journal"
        with daemon.Daemon({"journal.path": path}) as server:
            server.ready()
            found = subprocess.run([daemon.program("arbiterd"), "--resume", str(path)], capture_output=True, text=True,
                                   timeout=daemon.LIMIT_S, env=daemon.clean_environment(), check=False)
            self.assertEqual(found.returncode, 74, found.stderr)
            self.assertIn("another process has this match", found.stderr)


if __name__ == "__main__":
    unittest.main()
