#!/usr/bin/env python3
"""Figures of the real daemon on this machine: time to ready, to be back from sleep, memory, and how late its ticks begin.

usage: daemon_figures.py [--seconds 60] [--starts 20] [--bots 16]   (ARBITER_BUILD: build folder, release for figures)
Prints one JSON object; tests/bench/README.md keeps them per machine.
"""
import argparse
import json
import os
import pathlib
import platform
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import daemon  # noqa: E402  (lies beside the tests that use it too)


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def time_to_answer():
    """ms from fork to the first answered connect, and the log's own ready_ms."""
    port = free_port()
    hello = daemon.enet_connect()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", port))
        client.settimeout(0.0005)
        begun = time.perf_counter()
        with daemon.Daemon({"net.port": port}) as server:
            while True:
                try:
                    client.send(hello)
                    client.recv(2048)
                    break
                except (ConnectionRefusedError, TimeoutError):
                    time.sleep(0.0002)
            answered = time.perf_counter() - begun
            return answered * 1000, server.ready()["ready_ms"]


def time_to_be_back(times=8):
    """ms from the first datagram of a client that joins to its answer, while the daemon sleeps."""
    with daemon.Daemon({"match.join_timeout_s": 60, "match.max_players": times}) as server:
        waits = daemon.waking_ms(server.ready()["port"], times, asleep_s=2.5)
        return [ours for ours, _ in waits]


def memory_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise RuntimeError("no VmHWM")


def play(bots, seconds):
    """A live match of that many bots; returns its `ticks` line and the peak RSS."""
    options = {"match.min_players": bots, "match.max_players": bots, "match.countdown_s": 0,
               "match.duration_s": seconds, "match.result_s": 0, "match.seed": 1,
               "log.level": "info"}
    with daemon.Daemon(options) as server:
        port = server.ready()["port"]
        clients = daemon.start_bots(port, bots, seconds + 10, policy="aim", seed=1)
        time.sleep(seconds - 1)
        peak = memory_kib(server.process.pid)
        server.await_event("match_ended", timeout=30)
        clients.kill()
        clients.wait()
        server.end(20)
        ticks = {key: value for key, value in server.event("ticks").items()
                 if key not in ("ts", "level", "event")}
        ticks["off_by"] = round(ticks["run"] - ticks["ticking_s"] * 60, 1)
        return ticks, peak


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--bots", type=int, default=16)
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "-C", str(daemon.TOP), "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True, check=False).stdout.strip()
    floor = subprocess.Popen([daemon.program("bench_timer_floor"), str(arguments.seconds)],
                             stdout=subprocess.PIPE, text=True)
    ticks, peak = play(arguments.bots, arguments.seconds)
    words = floor.communicate()[0].split()
    backs = time_to_be_back()
    starts = [time_to_answer() for _ in range(arguments.starts)]
    print(json.dumps({
        "commit": commit, "processor": processor(), "cores": os.cpu_count(), "seed": 1,
        "bots": arguments.bots, "seconds": arguments.seconds,
        "answer_ms_median": round(statistics.median(start[0] for start in starts), 2),
        "ready_ms_median": round(statistics.median(start[1] for start in starts), 2),
        "back_ms_median": round(statistics.median(backs), 2), "back_ms_most": round(max(backs), 2),
        "peak_rss_kib": peak, "ticks": ticks,
        "bare_timerfd": dict(zip(words[0::2], map(float, words[1::2]))),
    }, indent=2))


if __name__ == "__main__":
    main()
