"""Starts the real programs from the build folder (ARBITER_BUILD) and reads what they say. Python's own modules only."""
import collections
import datetime
import json
import os
import pathlib
import random
import re
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
# Only against hanging. No test may depend on how fast this machine is: it waits for what it is about.
LIMIT_S = 300


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


def run(*arguments, environment=None, timeout=LIMIT_S):
    """Runs arbiterd to its end; returns subprocess.CompletedProcess with text."""
    return subprocess.run([program("arbiterd"), *map(str, arguments)], capture_output=True,
                          text=True, timeout=timeout, env=clean_environment(environment), check=False)


def until(holds, what, timeout=LIMIT_S):
    """Waits for holds() to be true; returns what it returned."""
    end = time.monotonic() + timeout
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not in {timeout} s: {what}")
        time.sleep(0.02)


def seconds_between(first, second):
    """Of two lines of the log, by the daemon's own clock."""
    moments = [datetime.datetime.fromisoformat(line["ts"].replace("Z", "+00:00")) for line in (first, second)]
    return (moments[1] - moments[0]).total_seconds()


def until_written(journal, tick):
    """Waits until a process that is killed now goes on at that tick or behind it. The file may be in the making."""
    def is_written():
        said = subprocess.run([program("arbiter-replay"), "verify", str(journal)], capture_output=True, text=True,
                              timeout=LIMIT_S, env=clean_environment(), check=False)
        found = re.search(r"up to (?:tick )?(\d+)", said.stdout + said.stderr)
        return found is not None and int(found[1]) >= tick
    until(is_written, f"tick {tick} is in {journal}")


class Daemon:
    """A running arbiterd whose log is read as it comes. Use as a context; whatever happens, it is gone at the end."""

    def __init__(self, options=None, config=ARENA, arguments=()):
        options = {"net.port": 0, "log.format": "json", "log.level": "debug", **(options or {})}
        chosen = ["--config", str(config)] if config else []
        command = [program("arbiterd"), *chosen, *sets(options), *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        text=True, env=clean_environment())
        self.lines = []
        self.asked = collections.Counter()  # lines of an event that await_event has returned
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"event": "", "text": line}
            with self.news:
                self.lines.append(entry)
                self.news.notify_all()
        with self.news:
            self.silent = True
            self.news.notify_all()

    silent = False  # nothing more comes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()

    def await_event(self, event, timeout=LIMIT_S):
        """The next line of that event, from those of it not yet asked for."""
        def found():
            return [entry for entry in self.lines if entry.get("event") == event][self.asked[event]:]
        with self.news:
            self.news.wait_for(lambda: found() or self.silent, timeout)
            if not found():
                newest = "\n".join(map(str, self.lines[-15:]))
                raise AssertionError(f"no {event} {'until its end' if self.silent else f'in {timeout} s'}:\n{newest}")
            entry = found()[0]
        self.asked[event] += 1
        return entry

    def tick(self):
        """Where the match is, as its answer to a SIGHUP says: it needs its --config, or --reload, unchanged."""
        self.signal(signal.SIGHUP)
        told = self.await_event("reloaded")
        if told["changed"] != 0:
            raise RuntimeError(f"the file was changed: {told}")
        return told["tick"]

    def run_on(self, ticks):
        """Waits until so many ticks more have run; returns where the match is then."""
        first = last = self.tick()
        end = time.monotonic() + LIMIT_S
        while last < first + ticks:
            if time.monotonic() > end:
                raise AssertionError(f"from tick {first} only to {last} in {LIMIT_S} s")
            time.sleep(0.1)  # the log takes no more than twenty lines of an event in a second
            last = self.tick()
        return last

    def ready(self):
        return self.await_event("ready")

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def end(self, timeout=LIMIT_S):
        """Waits for the exit; returns its status. All lines are read then."""
        status = self.process.wait(timeout)
        self.reader.join()
        return status

    def event(self, name):
        """The newest line of that event, or None."""
        found = [entry for entry in self.lines if entry.get("event") == name]
        return found[-1] if found else None

    def seconds_to_end(self, name):
        """From the newest line of that event to the end of the match, without the time that was dropped because the
        machine was busy. Of a match of 60 ticks a second, that is over."""
        return seconds_between(self.event(name), self.event("match_ended")) - self.event("ticks")["dropped"] / 60


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


class Port:
    """What the kernel knows of the UDP socket that is bound to that port of 127.0.0.1."""

    def __init__(self, port):
        self.port = port

    def waiting_bytes(self):
        """Bytes that nobody has read yet; None: no such socket."""
        for line in pathlib.Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if int(fields[1].split(":")[1], 16) == self.port and fields[1].startswith("0100007F"):
                return int(fields[4].split(":")[1], 16)
        return None

    def until_read(self, at_most=0):
        """Waits until no more than that is unread, or the socket is gone."""
        until(lambda: (self.waiting_bytes() or 0) <= at_most, f"port {self.port} is read")


def ports_towards(port):
    """Local ports of the UDP sockets that are connected to that port of 127.0.0.1."""
    lines = pathlib.Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]
    return {line.split()[1] for line in lines if line.split()[2] == f"0100007F:{port:04X}"}


def catches(pid, number):
    """Whether that process has a handler for the signal yet."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("SigCgt:")[1].split()[0], 16) >> (number - 1) & 1 == 1


def answer_ms(port):
    """How long the first datagram of someone who joins is without an answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(LIMIT_S)
        client.connect(("127.0.0.1", port))
        begun = time.perf_counter()
        client.send(enet_connect())
        client.recv(2048)
        return (time.perf_counter() - begun) * 1000


def waking_ms(port, times, asleep_s):
    """How long a daemon that sleeps takes to answer; beside each, how long this machine takes to wake a thread that
    does nothing but answer."""
    waits = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as echo:
        echo.bind(("127.0.0.1", 0))

        def answer():
            for _ in range(times):
                echo.sendto(b"", echo.recvfrom(2048)[1])
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        for _ in range(times):
            time.sleep(asleep_s)
            waits.append((answer_ms(port), answer_ms(echo.getsockname()[1])))
        thread.join()
    return waits


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

    def check_edges(self, client):
        """Of one client of a report: each press that it sent is one at the server. A stall of a quarter second sets its
        time anew, and the ticks that it made inputs for may be none of the server's then: nothing is counted twice."""
        if client["resyncs"] == 0:
            self.assertEqual(client["edges"], client["edges_sent"], client["id"])
        for name, count in client["edges"].items():
            self.assertLessEqual(count, client["edges_sent"][name], f"{client['id']} {name}")

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
