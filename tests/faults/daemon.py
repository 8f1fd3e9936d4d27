"""Starts the real programs from the build folder (ARBITER_BUILD) and reads what they say. Python's own modules only."""
import json
import os
import pathlib
import queue
import random
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
ARENA = TOP / "config" / "arena.json"


def program(name):
    """Path of a built program; the build folder comes from ARBITER_BUILD, else it is build/release."""
    build = pathlib.Path(os.environ.get("ARBITER_BUILD", TOP / "build" / "release"))
    for path in (build / "bin" / name, *build.rglob(name)):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise FileNotFoundError(f"{name} is not below {build}; set ARBITER_BUILD")


def clean_environment(extra=None):
    """This process's, without ARBITER_* (they are options of the daemon)."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ARBITER_")}
    return {**kept, **(extra or {})}


def sets(options):
    arguments = []
    for key, value in options.items():
        arguments += ["--set", f"{key}={value}"]
    return arguments


def run(*arguments, environment=None, timeout=20):
    """Runs arbiterd to its end; returns subprocess.CompletedProcess with text."""
    return subprocess.run([program("arbiterd"), *map(str, arguments)], capture_output=True,
                          text=True, timeout=timeout, env=clean_environment(environment), check=False)


class Daemon:
    """A running arbiterd whose log is read as it comes. Use as a context; whatever happens, it is gone at the end."""

    def __init__(self, options=None, config=ARENA, arguments=()):
        options = {"net.port": 0, "log.format": "json", "log.level": "debug", **(options or {})}
        chosen = ["--config", str(config)] if config else []
        command = [program("arbiterd"), *chosen, *sets(options), *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        text=True, env=clean_environment())
        self.lines = []
        self.fresh = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"event": "", "text": line}
            self.lines.append(entry)
            self.fresh.put(entry)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()

    def await_event(self, event, timeout=10):
        """The next line of that event, from those not yet asked for."""
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            try:
                entry = self.fresh.get(timeout=max(left, 0.01))
            except queue.Empty:
                raise AssertionError(f"no {event} in {timeout} s: {self.lines[-40:]}") from None
            if entry.get("event") == event:
                return entry

    def ready(self):
        return self.await_event("ready")

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def end(self, timeout=20):
        """Waits for the exit; returns its status. All lines are read then."""
        status = self.process.wait(timeout)
        self.reader.join()
        return status

    def event(self, name):
        """The newest line of that event, or None."""
        found = [entry for entry in self.lines if entry.get("event") == name]
        return found[-1] if found else None


def start_bots(port, count, duration_s, policy="wander", seed=1):
    """Real clients against that port."""
    command = [program("arbiter-bots"), "--connect", f"127.0.0.1:{port}", "--count", str(count),
               "--policy", policy, "--duration", str(duration_s), "--seed", str(seed)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env=clean_environment())


def enet_connect(channels=2, mtu=1223):
    """The first datagram of a stock ENet 1.3 client."""
    head = struct.pack(">HH", 0x8FFF, 0)
    command = struct.pack(">BBH", 0x82, 0xFF, 1)
    body = struct.pack(">HBB10I", 0, 0xFF, 0xFF, mtu, 65536, channels, 0, 0, 5000, 2, 2,
                       random.getrandbits(32), 0)
    return head + command + body


def waking_ms(port, times, asleep_s):
    """How long a daemon that sleeps takes to answer the first datagram of someone who joins: the least, and all."""
    waits = []
    for _ in range(times):
        time.sleep(asleep_s)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(5)
            client.connect(("127.0.0.1", port))
            begun = time.perf_counter()
            client.send(enet_connect())
            client.recv(2048)
            waits.append((time.perf_counter() - begun) * 1000)
    return min(waits), waits


class Case(unittest.TestCase):
    """A test with a folder of its own that is gone afterwards."""

    def setUp(self):
        keeper = tempfile.TemporaryDirectory()
        self.addCleanup(keeper.cleanup)
        self.folder = pathlib.Path(keeper.name)

    def bots(self, *arguments, **options):
        process = start_bots(*arguments, **options)

        def stop():
            if process.poll() is None:
                process.kill()
            process.wait()
        self.addCleanup(stop)
        return process

    def check_lagcomp(self, found):
        self.assertEqual(set(found), {"max_rewind_ms", "bucket_ms", "rewound_ms", "rewound_hit_ms", "cover_hit_ms",
                                      "claims", "late", "unseen", "spared"})
        for name in ("rewound_ms", "rewound_hit_ms", "cover_hit_ms"):
            histogram = found[name]
            self.assertEqual(sum(histogram["counts"]), histogram["count"], name)
            self.assertLessEqual(histogram["p50"], histogram["p90"], name)
            self.assertLessEqual(histogram["p99"], histogram["max"], name)
            self.assertLessEqual(histogram["max"], found["max_rewind_ms"], name)

    def check_result(self, path, **expected):
        """A whole result file of the documented form; returns it."""
        result = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(set(result), {"match_id", "mode", "map", "seed", "ticks", "end_reason",
                                       "players", "lagcomp", "checksum"})
        self.check_lagcomp(result["lagcomp"])
        self.assertRegex(result["match_id"], "^[0-9a-f]{32}$")
        self.assertRegex(result["checksum"], "^[0-9a-f]{16}$")
        self.assertRegex(result["seed"], "^[0-9]{1,20}$")
        for player in result["players"]:
            self.assertEqual(set(player), {"id", "name", "team", "score", "kills", "deaths",
                                           "deaths_by_nobody"})
            self.assertRegex(player["id"], "^[0-9]+$")
        kills = sum(player["kills"] for player in result["players"])
        deaths = sum(player["deaths"] for player in result["players"])
        by_nobody = sum(player["deaths_by_nobody"] for player in result["players"])
        self.assertEqual(deaths, kills + by_nobody)
        for key, value in expected.items():
            self.assertEqual(result[key], value, key)
        return result
