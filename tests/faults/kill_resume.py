"""Matches that are killed (kill -9) at random moments and resumed, over and over; test_resume.py plays some.

Real bots play them and come back by their tokens. The kills fall into play, into the result phase, into a resume that has
just begun and into writes: the journal is flushed each 50 ms and synced. Whatever takes the result fails half of the time:
its place is a folder then. Each match must end with one result (a second copy only under the same key, the match id), a
journal that verifies from its beginning, and at most the flush time lost at each kill, and the rollback window that a
third of them has. Says a line per match, and a closing one."""
import json
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

import daemon

FLUSH_MS = 50
PLAYERS = 4
PLAY_S = 8
TICK_S = 1 / 60
# Beyond the flush time: how late this machine may run what we measure with. The worst and the mean are printed.
SLACK_MS = 1500


class Match:
    """One match from its begin to its end, however many processes that takes."""

    def __init__(self, folder, rng, mode):
        self.folder, self.rng = folder, rng
        self.journal = folder / "match.journal"
        self.result = folder / "result.json"
        self.config = daemon.TOP / "config" / f"{mode}.json"
        self.window = rng.choice((0, 0, 12))  # ticks in which late inputs act
        self.kills = 0
        self.lost_ms = []
        self.results = []
        self.starts = 0
        self.port = 0

    def options(self):
        return {"match.duration_s": PLAY_S, "match.countdown_s": 0, "match.result_s": 1, "match.min_players": PLAYERS,
                "match.max_players": PLAYERS, "match.result_path": self.result, "match.rejoin_grace_s": 60,
                "journal.path": self.journal, "journal.flush_ms": FLUSH_MS, "journal.fsync": "flush",
                "journal.keyframe_s": 2, "rollback.window_ticks": self.window}

    def start(self):
        """A process for it: the first, or one that goes on."""
        self.starts += 1
        if self.result.is_dir():
            self.result.rmdir()  # a process looks at its place first, and refuses to begin
        if not self.journal.exists():
            return daemon.Daemon(self.options(), config=self.config)
        return daemon.Daemon({"net.port": self.port}, config=None, arguments=["--resume", str(self.journal)])

    def spoil_sink(self):
        """Half of the time the result cannot be written. A result that is there is taken away, as its reader would."""
        self.collect()
        if self.result.is_dir():
            self.result.rmdir()
        if self.rng.random() < 0.5:
            self.result.mkdir()

    def collect(self):
        if self.result.is_file():
            self.results.append(json.loads(self.result.read_text(encoding="utf-8")))
            self.result.unlink()

    def run_one(self, kill):
        """One process until it ends (True: with the match) or is killed."""
        with self.start() as server:
            if self.rng.random() < 0.1 and self.starts > 1 and kill:
                time.sleep(self.rng.random() * 0.05)  # in the middle of the resume
                server.process.kill()
                self.kills += 1
                return False
            ready = server.ready()
            resumed = server.event("resumed")
            self.port = ready["port"]
            began = time.monotonic()
            first = resumed["tick"] if resumed else None
            if self.bots is None:
                self.bots = self.start_bots()
            if first is not None and self.killed_at is not None:
                expected = self.tick_then + (self.killed_at - self.began) / TICK_S
                self.lost_ms.append(max(0.0, (expected - first) * TICK_S * 1000))
            self.killed_at = None
            time.sleep(self.rng.random() * 1.2)
            self.spoil_sink()
            if not kill:
                return server.end(PLAY_S * 3 + 60) == 0
            if server.process.poll() is not None:
                return server.end() == 0
            phase_begun = first is not None  # ticks run from the first moment then
            server.process.kill()
            self.kills += 1
            if phase_begun:
                self.began, self.killed_at, self.tick_then = began, time.monotonic(), first
            return False

    bots = None
    killed_at = None
    began = tick_then = 0.0

    def start_bots(self):
        command = [daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{self.port}", "--count", str(PLAYERS),
                   "--policy", "aim", "--seed", str(self.rng.randrange(1000)), "--persist", "60", "--duration", "600"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=daemon.clean_environment())

    def play(self, kills_left):
        """Until it is over; kills at most so often. Returns what is wrong with it, or None."""
        try:
            for _ in range(400):
                if self.run_one(self.kills < kills_left):
                    return self.judge()
            return "it never ended"
        finally:
            if self.bots is not None:
                self.bots.kill()
                self.bots.wait()

    def judge(self):
        self.collect()
        if not self.results:
            return "no result"
        keys = {found["match_id"] for found in self.results}
        contents = {json.dumps({key: found[key] for key in found if key != "lagcomp"}) for found in self.results}
        if len(keys) != 1 or len(contents) != 1:
            return f"{len(self.results)} results of {len(keys)} keys and {len(contents)} contents"
        if len(self.results[0]["players"]) != PLAYERS:
            return f"{len(self.results[0]['players'])} lines in the result of {PLAYERS} players"
        check = subprocess.run([daemon.program("arbiter-replay"), "verify", str(self.journal)], capture_output=True,
                               text=True, timeout=60, check=False)
        if check.returncode != 0:
            return f"verify: {check.stdout}{check.stderr}"
        late = [ms for ms in self.lost_ms if ms > FLUSH_MS + SLACK_MS]
        return f"lost {late} ms of play" if late else None


def play_all(kills, seed, say=print):
    """Matches, one after the other, until there were so many kills. Returns what went wrong, a line each."""
    rng = random.Random(seed)
    done, number, wrong, lost, twice = 0, 0, [], [], 0
    while done < kills:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="arbiter-kill-"))
        match = Match(folder, rng, ("arena", "serpent")[number % 2])
        found = match.play(min(kills - done, rng.randrange(3, 12)))
        number += 1
        done += match.kills
        lost += match.lost_ms
        twice += len(match.results) - 1 if match.results else 0
        say(f"match {number}: {match.kills} kills, {match.starts} processes, {len(match.results)} results: "
            f"{found or 'good'}")
        if found:
            wrong.append(f"match {number} of seed {seed} ({folder}): {found}")
        else:
            shutil.rmtree(folder)
        if match.kills == 0 and found is None:
            done += 1  # it was over before the first one
    mean = sum(lost) / len(lost) if lost else 0.0
    say(f"{done} kills, {number} matches, {len(wrong)} wrong; of play lost at a kill: mean {mean:.0f} ms, worst "
        f"{max(lost, default=0):.0f} ms; {twice} results came again under the same key; seed {seed}")
    return wrong

