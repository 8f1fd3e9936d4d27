#!/usr/bin/python3
"""journal.path and arbiter-replay: real matches written down, played again, cut off, damaged, and on a full disk."""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import unittest

import daemon

SERPENT = daemon.TOP / "config" / "serpent.json"


def replay(*arguments, timeout=daemon.LIMIT_S):
    return subprocess.run([daemon.program("arbiter-replay"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, env=daemon.clean_environment(), check=False)


# What a browser gives the page, as far as it asks: the page is played to its end.
BROWSER = """
const fs = require('fs'), page = fs.readFileSync(process.argv[1], 'utf8');
const parts = [...page.matchAll(/<script[^>]*>([^]*?)<\\/script>/g)].map(found => found[1]);
const pen = new Proxy({}, {get: (own, name) => name in own ? own[name] : () => {}, set: (own, name, value) => {
  own[name] = value; return true; }});
const rows = [], elements = {
  match: {textContent: parts[0]}, view: {getContext: () => pen, clientWidth: 800, clientHeight: 600},
  time: {}, clock: {}, speed: {value: '16'}, about: {}, play: {},
  scores: {set textContent(_) { rows.length = 0; }, insertRow() { const row = {cells: [], style: {}, insertCell() {
    const cell = {}; row.cells.push(cell); return cell; }}; rows.push(row); return row; }}};
global.document = {getElementById: id => elements[id]};
let next = null, now = 0;
global.requestAnimationFrame = call => { next = call; };
(0, eval)(parts[1]);
for (let i = 0; i < 2000; i++) { now += 16; next(now); }
elements.time.oninput({target: {value: 3}});
elements.speed.value = '0';
next(now + 16);
const early = elements.clock.textContent;
elements.time.oninput({target: {value: elements.time.max}});
next(now + 32);
console.log(JSON.stringify({clock: elements.clock.textContent, early, about: elements.about.textContent,
  rows: rows.map(row => row.cells.map(cell => cell.textContent))}));
"""


class Journal(daemon.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "journal"

    def options(self, **more):
        return {"match.duration_s": 5, "match.countdown_s": 0, "match.result_s": 1, "match.min_players": 4,
                "match.result_path": self.folder / "result.json", "journal.path": self.path,
                "journal.keyframe_s": 2, **more}

    def play(self, options, config=daemon.ARENA, count=6, policy="aim"):
        """A match to its end; the log's line about the journal."""
        with daemon.Daemon(options, config=config) as server:
            self.bots(server.ready()["port"], count, 600, policy=policy)
            self.assertEqual(server.end(), 0)
            self.lines = server.lines
            return server.event("journal")

    def verify(self, path, status=0):
        done = replay("verify", path)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_match_is_played_again_to_the_bit(self):
        for config in (daemon.ARENA, SERPENT):
            with self.subTest(config=config.name):
                self.path = self.folder / f"{config.stem}-%m"
                told = self.play(self.options(**{"input.hold_ticks": 3}), config=config)
                path = pathlib.Path(told["path"])
                result = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
                self.assertEqual(path.name, f"{config.stem}-{result['match_id']}")
                self.assertEqual((told["level"], told["gaps"], told["failures"], told["error"]), ("info", 0, 0, ""))
                self.assertEqual(told["bytes"], path.stat().st_size)
                self.assertEqual(path.stat().st_mode & 0o777, 0o600)
                text = self.verify(path)
                self.assertIn(f"verified: {told['ticks']} ticks", text)
                self.assertIn("with its result", text)
                lines = [json.loads(line) for line in replay("export", path).stdout.splitlines()]
                self.assertEqual(lines[0]["match_id"], result["match_id"])
                self.assertEqual(lines[0]["seed"], result["seed"])
                self.assertEqual(sum("tick" in line for line in lines), told["ticks"])
                self.assertEqual(sum("keyframe" in line for line in lines), told["keyframes"])
                end = [line for line in lines if "end" in line]
                self.assertEqual(len(end), 1)
                self.assertEqual(end[0]["checksum"], result["checksum"])
                self.assertEqual(end[0]["ticks"], result["ticks"])
                self.assertEqual([player["score"] for player in end[0]["players"]],
                                 [player["score"] for player in result["players"]])
                self.assertIn(f"match       {result['match_id']}", replay("info", path).stdout)
                self.assertEqual(replay("diff", path, path).returncode, 0)

    def test_killed_at_any_moment_at_most_the_flush_time_is_lost(self):
        options = self.options(**{"journal.flush_ms": 200, "journal.keyframe_s": 60, "match.duration_s": 600})
        with daemon.Daemon(options) as server:
            self.bots(server.ready()["port"], 6, 600, policy="aim")
            server.await_event("hello")
            told = server.run_on(300)
            server.signal(signal.SIGKILL)
            server.process.wait()
        text = self.verify(self.path)
        self.assertIn("without a result", text)
        # Twelve ticks, if the disk takes them at once; the keyframe before is five seconds ago.
        reached = int(text.split(" up to ")[1].split(",")[0])
        self.assertGreater(reached, told - 180)
        lines = replay("export", self.path).stdout.splitlines()
        self.assertIn('"tick":', lines[-1])

    def test_what_is_cut_or_damaged_is_good_up_to_a_tick(self):
        self.play(self.options(), count=4, policy="wander")
        whole = self.path.read_bytes()
        bad = self.folder / "bad"
        bad.write_bytes(whole[:-30])
        text = self.verify(bad, status=65)
        self.assertIn("good up to tick", text)
        self.assertIn("the file ends in the middle of a block", text)
        good = int(text.split("good up to tick ")[1].split(":")[0])
        self.assertGreater(good, 100)
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 4
        bad.write_bytes(flipped)
        self.assertIn("a block is damaged", self.verify(bad, status=65))
        bad.write_bytes(whole[:8] + b"\x07" + whole[9:])
        self.assertIn("another version of the format", self.verify(bad, status=65))
        bad.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
        self.assertIn("its head is damaged", self.verify(bad, status=65))
        bad.write_bytes(b"{}\n")
        self.assertIn("it is no journal", self.verify(bad, status=65))
        with open(bad, "wb") as file:
            file.write(whole)
            file.truncate(4 << 30)  # gigabytes of zeros that take no room
        text = self.verify(bad, status=65)
        self.assertIn("a block is damaged", text)
        bad.write_bytes(b"")
        os.truncate(bad, 4 << 30)
        self.assertIn("it is no journal", self.verify(bad, status=65))
        for command in ("info", "export"):
            self.assertEqual(replay(command, bad).returncode, 65)
        self.assertEqual(replay("verify", self.folder / "none").returncode, 74)

    def test_a_part_is_a_journal_of_its_own(self):
        self.play(self.options(**{"journal.keyframe_s": 1}), count=4)
        clip = self.folder / "clip"
        done = replay("clip", self.path, 130, 200, clip)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("up to tick 201", done.stdout)
        self.assertLess(clip.stat().st_size, self.path.stat().st_size)
        self.assertIn("verified: 81 ticks up to 201", self.verify(clip))
        here, there = (replay("seek", path, 190) for path in (self.path, clip))
        self.assertEqual(here.returncode, 0, here.stderr)
        self.assertEqual(here.stdout, there.stdout)
        lines = [json.loads(line) for line in replay("export", self.path).stdout.splitlines()]
        recorded = next(line["checksum"] for line in lines if line.get("tick") == 189)
        self.assertRegex(here.stdout, f"^tick 190, checksum [0-9a-f]*{recorded},")
        self.assertEqual(replay("clip", self.path, 1, 2, clip).returncode, 74, "it is never overwritten")
        done = replay("diff", clip, clip)
        self.assertEqual((done.returncode, done.stdout), (0, "the same up to tick 201\n"))

    def test_ticks_that_are_not_there_are_told_as_such(self):
        self.play(self.options(), count=4, policy="wander")
        end = int(self.verify(self.path).split(" up to ")[1].split(",")[0])
        for tick, text in ((0, "begins with 1"), (end + 1, f"ends with {end}")):
            done = replay("seek", self.path, tick)
            self.assertEqual(done.returncode, 65)
            self.assertIn(f"tick {tick} is not in it: it {text}\n", done.stderr)
        clip = self.folder / "clip"
        done = replay("clip", self.path, end + 1, end + 9, clip)
        self.assertEqual(done.returncode, 65)
        self.assertIn(f"nothing of ticks {end + 1} to {end + 9} is in it", done.stderr)
        self.assertEqual(replay("clip", self.path, 9, 8, clip).returncode, 64, "backwards")
        self.assertFalse(clip.exists())
        self.assertEqual(replay("clip", self.path, 1, 50, clip).returncode, 0)
        done = replay("diff", self.path, clip)
        self.assertEqual((done.returncode, done.stdout),
                         (1, f"the same up to tick 51\n{clip} ends there, the other goes on\n"))

    def test_a_page_holds_the_match_and_loads_nothing(self):
        for config in (daemon.ARENA, SERPENT):
            with self.subTest(config=config.name):
                self.path = self.folder / config.stem
                told = self.play(self.options(), config=config, count=4)
                done = replay("render", self.path)
                self.assertEqual(done.returncode, 0, done.stderr)
                for word in ("http", "src=", "href", "import", "fetch("):
                    self.assertNotIn(word, done.stdout)
                page = self.folder / "page.html"
                page.write_text(done.stdout, encoding="utf-8")
                text = done.stdout.split('<script id="match" type="application/json">')[1].split("</script>")[0]
                match = json.loads(text)
                ticks = [frame[0] for frame in match["frames"]]
                self.assertEqual(ticks, sorted(set(ticks)))
                self.assertGreater(len(ticks), told["ticks"] // 3 - 2)
                self.assertGreater(len(match["shapes"]), 0)
                names = {line[1] for frame in match["frames"] for line in frame[5]}
                self.assertEqual(len(names), 4)
                if shutil.which("node") is None:
                    continue
                seen = subprocess.run(["node", "-e", BROWSER, str(page)], capture_output=True, text=True, timeout=daemon.LIMIT_S,
                                      check=False)
                self.assertEqual(seen.returncode, 0, seen.stderr)
                seen = json.loads(seen.stdout)
                self.assertTrue(seen["clock"].endswith(", ended") or "result" in seen["clock"], seen["clock"])
                self.assertIn(f"tick {ticks[3]},", seen["early"])
                result = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
                shown = {row[0]: row[1] for row in seen["rows"]}
                here = {player["name"]: player["score"] for player in result["players"]}
                self.assertEqual({name: here[name] for name in shown}, shown)

    def test_a_full_disk_costs_a_gap_and_nothing_else(self):
        """The file may not grow beyond 12 KB for a while, as on a disk that is full: ticks go on as ever."""
        options = self.options(**{"match.duration_s": 600, "journal.flush_ms": 50, "shutdown.on_term": "abort"})
        with daemon.Daemon(options) as server:
            self.bots(server.ready()["port"], 6, 600, policy="aim")
            server.await_event("hello")
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (12288, resource.RLIM_INFINITY))
            trouble = server.await_event("journal_trouble")
            self.assertEqual(trouble["error"], "File too large")
            server.run_on(120)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE,
                             (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            server.await_event("journal_recovered")
            server.run_on(60)
            server.signal()
            self.assertEqual(server.end(), 0)
            told = server.event("journal")
            self.assertEqual(sum(line.get("event") == "journal_trouble" for line in server.lines), 1, "told once")
        self.assertGreater(told["failures"], 1)
        self.assertEqual(told["error"], "")
        self.assertIn("verified", self.verify(self.path))
        self.check_result(self.folder / "result.json", end_reason="aborted")

    def test_a_disk_that_stays_full_ends_the_file_whole(self):
        options = self.options(**{"match.duration_s": 600, "journal.flush_ms": 50, "shutdown.on_term": "abort"})
        with daemon.Daemon(options) as server:
            self.bots(server.ready()["port"], 6, 600, policy="aim")
            server.await_event("hello")
            server.run_on(60)
            limit = self.path.stat().st_size + 2000
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
            server.await_event("journal_trouble")
            server.run_on(120)
            server.signal()
            self.assertEqual(server.end(), 0, "the result does not depend on the journal")
            told = server.event("journal")
            self.assertIsNotNone(server.event("journal_behind"))
        self.assertEqual((told["level"], told["error"]), ("warn", "File too large"))
        text = self.verify(self.path)
        self.assertIn("without a result", text)
        self.assertIn(f" {told['ticks']} ticks up to", text, "those in the file, not those that were handed over")
        self.assertGreater(told["missing_ticks"], 60)
        self.check_result(self.folder / "result.json", end_reason="aborted")

    def test_a_journal_is_never_overwritten(self):
        self.path.write_text("somebody's", encoding="utf-8")
        done = daemon.run("--config", daemon.ARENA, "--set", "net.port=0", "--set", "match.result_path=", "--set",
                          f"journal.path={self.path}")
        self.assertEqual(done.returncode, 74)
        self.assertIn("a journal is never overwritten", done.stderr)
        self.assertEqual(self.path.read_text(encoding="utf-8"), "somebody's")
        done = daemon.run("--config", daemon.ARENA, "--set", "net.port=0", "--set", "match.result_path=", "--set",
                          "journal.path=/nowhere/journal")
        self.assertEqual(done.returncode, 74)
        self.assertIn("journal.path: /nowhere/journal: cannot write it: No such file", done.stderr)

    def test_the_check_tries_the_file_and_leaves_none(self):
        for path, text in (("/nowhere/%m", "cannot write it: No such file"), (self.folder, "never overwritten"),
                           (self.folder / ("%m" * 50), "journal.path: longer than "),
                           (self.folder / "%m", None)):
            done = daemon.run("--config", daemon.ARENA, "--set", "match.result_path=", "--set", f"journal.path={path}",
                              "--check-config")
            self.assertEqual(done.returncode, 0 if text is None else 74, done.stderr)
            self.assertIn(text or "", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_arguments(self):
        for arguments in (["verify"], ["info", "a", "b"], ["diff", "a"], ["seek", "a", "x"], ["clip", "a", 1, "b"]):
            done = replay(*arguments)
            self.assertEqual(done.returncode, 64)
            self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    unittest.main()
