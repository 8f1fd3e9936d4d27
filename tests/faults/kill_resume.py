"""Matches that are killed (kill -9) at random moments and resumed, over and over; test_resume.py plays some.

Real bots play them and come back by their tokens. The kills fall into play, into the result phase, into a resume that has
just begun and into writes: the journal is flushed each 50 ms and synced. Whatever takes the result fails half of the time:
its place is a folder then. Each match must end with one result (a second copy only under the same key, the match id), a
journal that verifies from its beginning. Of the ticks that a process said it had run, right before it was killed, as many
are lost as fit into the flush time, and the rollback window that a third of them has; by the median of all kills, since a
disk may be late. Says a line per match, and a closing one."""
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import time

import daemon

FLUSH_MS = 50
PLAYERS = 4
PLAY_S = 8
TICK_S = 1 / 60
# Beyond the flush time, of the median: a wait of the writing thread for a processor. Without any flush between two
# keyframes it is a second.
SLACK_MS = 250


class Match:
    """One match from its begin to its end, however many processes that takes."""

    def __init__(self, folder, rng, mode):
        self.folder, self.rng = folder, rng
        self.journal = folder / "match.journal"
        self.result = folder / "result.json"
        self.config = folder / "config.json"
        self.window = rng.choice((0, 0, 12))  # ticks in which late inputs act
        self.write_config(mode)
        self.kills = 0
        self.lost_ms = []
        self.disk_ms = []
        self.results = []
        self.starts = 0
        self.port = 0

    def write_config(self, mode):
        """All in one file, so that each process can say where it is: see Daemon.tick."""
        config = json.loads((daemon.TOP / "config" / f"{mode}.json").read_text(encoding="utf-8"))
        config["match"].update({
            "map": str(daemon.TOP / "config" / config["match"]["map"]), "duration_s": PLAY_S, "countdown_s": 0,
            "result_s": 1, "min_players": PLAYERS, "max_players": PLAYERS, "result_path": str(self.result),
            "rejoin_grace_s": 60})
        config["journal"].update({"path": str(self.journal), "flush_ms": FLUSH_MS, "fsync": "flush", "keyframe_s": 2})
        config["rollback"]["window_ticks"] = self.window
        self.config.write_text(json.dumps(config), encoding="utf-8")

    def start(self):
        """A process for it: the first, or one that goes on."""
        self.starts += 1
        if self.result.is_dir():
            self.result.rmdir()  # a process looks at its place first, and refuses to begin
        if not self.journal.exists():
            return daemon.Daemon(config=self.config)
        return daemon.Daemon({"net.port": self.port}, config=None,
                             arguments=["--resume", str(self.journal), "--reload", str(self.config)])

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
            self.port = server.ready()["port"]
            resumed = server.event("resumed")
            if resumed and self.told is not None:
                self.lost_ms.append(max(0.0, (self.told - resumed["tick"] - self.window) * TICK_S * 1000))
            self.told = None
            if self.bots is None:
                self.bots = self.start_bots()
            time.sleep(self.rng.random() * 1.2)
            self.spoil_sink()
            if not kill:
                return server.end() == 0
            self.disk_ms.append(self.sync_ms())
            try:
                self.told = server.tick()
            except AssertionError:
                return server.end() == 0  # it was over before it could say so
            server.process.kill()
            self.kills += 1
            return False

    bots = None
    told = None  # where the process was that was killed

    def sync_ms(self):
        """How long this disk takes now for what a flush does."""
        begun = time.monotonic()
        with open(self.folder / "probe", "wb") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
        return (time.monotonic() - begun) * 1000

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
                               text=True, timeout=daemon.LIMIT_S, check=False)
        if check.returncode != 0:
            return f"verify: {check.stdout}{check.stderr}"
        return None


def play_all(kills, seed, say=print):
    """Matches, one after the other, until there were so many kills. Returns what went wrong, a line each."""
    rng = random.Random(seed)
    done, number, wrong, lost, disk, twice = 0, 0, [], [], [], 0
    while done < kills:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="arbiter-kill-"))
        match = Match(folder, rng, ("arena", "serpent")[number % 2])
        found = match.play(min(kills - done, rng.randrange(3, 12)))
        number += 1
        done += match.kills
        lost += match.lost_ms
        disk += match.disk_ms
        twice += len(match.results) - 1 if match.results else 0
        say(f"match {number}: {match.kills} kills, {match.starts} processes, {len(match.results)} results: "
            f"{found or 'good'}")
        if found:
            wrong.append(f"match {number} of seed {seed} ({folder}): {found}")
        else:
            shutil.rmtree(folder)
        if match.kills == 0 and found is None:
            done += 1  # it was over before the first one
    median, limit = statistics.median(lost or [0]), FLUSH_MS + SLACK_MS + max(disk, default=0)
    if median > limit:
        wrong.append(f"of play is lost at a kill: median {median:.0f} ms, more than {limit:.0f} ms: "
                     f"{[round(ms) for ms in lost]}")
    say(f"{done} kills, {number} matches, {len(wrong)} wrong; of play lost at a kill, beyond the window: median "
        f"{median:.0f} ms, worst {max(lost, default=0):.0f} ms; {twice} results came again under the same key; seed {seed}")
    return wrong

