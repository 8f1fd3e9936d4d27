#!/usr/bin/env python3
"""What is wrong with configuration or map: exit 78, one line, nothing started."""
import os
import unittest

import daemon


class Config(daemon.Case):
    def check_refused(self, arguments, *words):
        done = daemon.run(*arguments)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def check_text(self, text, *words):
        file = self.folder / "wrong.json"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.check_refused(["--config", file, "--check-config"], str(file), *words)

    def test_wrong_files_name_line_column_and_path(self):
        rows = [('{"net": {\n  "prot": 1}}', ":2:", "net.prot"),
                ('{"net": {"port": "1"}}', ":1:", "net.port"),
                ('{"net": {"port": 65536}}', ":1:", "net.port", "65535"),
                ('{"net": {"port": 1, "port": 2}}', ":1:", "net.port"),
                ('{"net": {"port": 1', ":1:"),
                ('{"net": {"port": NaN}}', ":1:"),
                ('', ":1:"),
                (b'{"match": {"mode": "\xff"}}', ":1:")]
        for text, *words in rows:
            with self.subTest(text):
                self.check_text(text, *words)

    def test_file_that_is_not_there(self):
        missing = self.folder / "no.json"
        self.check_refused(["--config", missing], str(missing))

    def test_huge_file_is_refused_at_once(self):
        file = self.folder / "huge.json"
        file.touch()
        os.truncate(file, 100 * 1024 * 1024)
        self.check_refused(["--config", file], str(file))

    def test_wrong_set(self):
        for text in ("net.port=x", "net.prot=1", "=1", "net.port=70000"):
            with self.subTest(text):
                self.check_refused(["--config", daemon.ARENA, "--set", text], "--set")

    def test_missing_map(self):
        self.check_refused(["--config", daemon.ARENA, "--set", "match.map=maps/no.tmj"], "no.tmj")

    def test_broken_map(self):
        broken = self.folder / "broken.tmj"
        broken.write_text('{"layers": [', encoding="utf-8")
        self.check_refused(["--config", daemon.ARENA, "--set", f"match.map={broken}"], "broken.tmj:1:")

    def test_open_to_the_world_needs_a_word(self):
        open_wide = ["--config", daemon.ARENA, "--set", "net.address=0.0.0.0"]
        self.check_refused([*open_wide], "net.address", "auth.open_anywhere")
        done = daemon.run(*open_wide, "--set", "auth.open_anywhere=true", "--check-config")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_relations_between_options(self):
        self.check_refused(["--config", daemon.ARENA, "--set", "interest.enter_m=50", "--set",
                            "interest.retain_m=40"], "interest.")
        self.check_refused(["--config", daemon.ARENA, "--set",
                            "snapshot.chunk_payload_bytes=8000"], "snapshot.chunk_payload_bytes")
        serpent = daemon.TOP / "config" / "serpent.json"
        self.check_refused(["--config", serpent, "--set", "match.teams=2"], "match.teams", "allowed: 0")


if __name__ == "__main__":
    unittest.main()
