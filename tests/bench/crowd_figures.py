#!/usr/bin/env python3
"""What replication costs the real daemon, on scenes with fixed seeds over real UDP; one JSON object per scene.

usage: crowd_figures.py [SCENE...] [--seconds 12] [--windows 4] [--server-core 0] [--bots-core 1] [--realtime]
       (no scene: all; ARBITER_BUILD: build folder, release for figures)

The server is measured from outside, by the user and system time of its process; `cpu_us_per_tick` is the least of
several windows, since only a window that nobody disturbed says what the program costs. The clients are bots --light.
--realtime puts both before everything else that this machine runs (needs the right to; ends with them).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0] / "faults"))
sys.path.insert(0, str(HERE.parents[0] / "scenes"))
import crowd_map  # noqa: E402
import daemon  # noqa: E402

ENET_BYTES = 12  # of a datagram with one unreliable message
# Nobody dies and nobody aims: moving, colliding and shooting cost what they cost (tests/scenes/scenes.c).
PRACTICE = {"arena.weapons": json.dumps([{"name": "probe", "start": True, "range_m": 20, "damage": 0,
                                          "damage_far": 0, "interval_ms": 1}])}

# So that the welcome of a large map silences no snapshot: on loopback nothing else limits them.
BUDGET = 1000000


def arena(players, side_m, enter_m, interval_ticks=2, **more):
    return {"mode": "arena", "players": players, "side_m": side_m, "boxes": crowd_map.ARENA_BOXES,
            "options": {"interest.enter_m": enter_m, "interest.retain_m": enter_m * 1.06,
                        "interest.cell_m": max(1, enter_m / 4), "snapshot.interval_ticks": interval_ticks,
                        "snapshot.budget_bytes_per_s": BUDGET, **PRACTICE, **more}}


def serpent(players, side_m, enter_m, **more):
    return {"mode": "serpent", "players": players, "side_m": side_m, "boxes": crowd_map.SERPENT_BOXES,
            "options": {"interest.enter_m": enter_m, "interest.retain_m": enter_m * 1.06,
                        "interest.cell_m": max(1, enter_m / 4), "snapshot.budget_bytes_per_s": BUDGET,
                        "snapshot.interval_ticks": 2, "serpent.respawn_ms": 500, **more}}


def growing(players):
    """64 players on 80 m see 20 of them; the same room for each."""
    return arena(players, round(80 * (players / 64) ** 0.5), 26)


SCENES = {
    # 100 clients, 100 wandering objects that all of them see, a state of each 60 times a second. The objects are the
    # clients' own characters, so that each also simulates, rewinds and answers inputs: more than the public scene does.
    "public": arena(100, 60, 120, 1),
    "arena64": arena(64, 80, 32),
    "arena1000": arena(1000, 205, 23),
    "serpent1000": serpent(1000, 474, 26, **{"serpent.food_count": 2000, "serpent.food_max": 4000,
                                             "serpent.spawn_candidates": 2}),
    **{f"constant{players}": growing(players) for players in (64, 128, 256, 512)},
    **{f"growing{players}": arena(players, 80, 26) for players in (64, 128, 256, 512)},
}


def cpu_s(pid):
    """User and system time of all threads, in nanoseconds' resolution (/proc/PID/stat has 10 ms)."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="utf-8").split()[0]) for task in tasks) / 1e9


def memory_kib(pid, what="VmHWM"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"no {what}")


def settle(pid, core, realtime):
    """A core of its own, if there is one."""
    if os.cpu_count() > core:
        os.sched_setaffinity(pid, {core})
    if realtime:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))


def windows(pid, seconds, count, tick_rate=60):
    """CPU microseconds per tick in each of `count` windows."""
    costs = []
    for _ in range(count):
        begun, before = time.monotonic(), cpu_s(pid)
        time.sleep(seconds / count)
        passed = time.monotonic() - begun
        costs.append((cpu_s(pid) - before) * 1e6 / (passed * tick_rate))
    return costs


def without_head(entry):
    return {key: value for key, value in entry.items() if key not in ("ts", "level", "event")}


def measure(name, arguments):
    scene = SCENES[name]
    players, settle_s = scene["players"], 4 + scene["players"] / 150
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.tmj"
        path.write_text(json.dumps(crowd_map.make(scene["side_m"], 1, scene["boxes"])), encoding="utf-8")
        length_s = settle_s + arguments.seconds
        options = {"match.mode": scene["mode"], "match.map": path, "match.max_players": players,
                   "match.min_players": players, "match.countdown_s": 0, "match.duration_s": int(length_s),
                   "match.result_s": 1, "match.seed": 1, "match.result_path": "", "log.level": "info",
                   **scene["options"]}
        config = daemon.TOP / "config" / f"{scene['mode']}.json"
        with daemon.Daemon(options, config=config) as server:
            settle(server.process.pid, arguments.server_core, arguments.realtime)
            port = server.ready()["port"]
            command = [daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{port}", "--count", str(players),
                       "--light", "--report", "json", "--duration", str(int(length_s) + 60), "--seed", "1"]
            bots = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                    env=daemon.clean_environment())
            try:
                settle(bots.pid, arguments.bots_core, arguments.realtime)
                time.sleep(settle_s)
                costs = windows(server.process.pid, arguments.seconds, arguments.windows)
                peak, bots_cpu = memory_kib(server.process.pid), cpu_s(bots.pid)
                bots_peak = memory_kib(bots.pid)
                server.await_event("match_ended", 60)
                report = json.loads(bots.communicate(timeout=60)[0])["totals"]
                if bots.returncode != 0:  # who has left costs nothing
                    sys.exit(f"{name}: the bots ended with status {bots.returncode}")
            finally:
                bots.kill()
                bots.wait()
            server.end(20)
            return summary(name, players, costs, peak, bots_peak, bots_cpu, report, server)


def summary(name, players, costs, peak, bots_peak, bots_cpu, report, server):
    ticks = without_head(server.event("ticks"))
    log = {}
    for entry in server.lines:
        if entry.get("event") in ("ticks", "messages", "datagrams", "snapshots"):
            log[entry["event"]] = without_head(entry)
        elif entry.get("event") in ("snapshot_kind", "messages_down", "messages_up"):
            log.setdefault(entry["event"], []).append(without_head(entry))
    tick_rate, snapshots = 60, report["messages_down"]["SNAPSHOT"]
    per_s = tick_rate / SCENES[name]["options"]["snapshot.interval_ticks"]
    return {
        "scene": name, "players": players,
        "cpu_us_per_tick": round(min(costs)), "cpu_us_per_tick_median": round(statistics.median(costs)),
        "cpu_us_per_client_tick": round(min(costs) / players, 2),
        "rss_mib": round(peak / 1024, 1), "work_p99_us": ticks["work_p99_us"], "dropped_ticks": ticks["dropped"],
        "bots_rss_mib": round(bots_peak / 1024, 1), "bots_cpu_s": round(bots_cpu, 1),
        "visible": round(sum(kind["in_view"] for kind in log["snapshot_kind"]), 1),
        "snapshot_bytes": round(snapshots["bytes"] / report["snapshots"], 1),
        "down_bytes_per_s": round((snapshots["bytes"] / report["snapshots"] + ENET_BYTES) * per_s),
        "down_all_bytes_per_s": round(report["bytes_down"] / report["snapshots"] * per_s),
        "up_bytes_per_s": round(report["bytes_up"] / report["inputs_sent"] * tick_rate),
        "bots": report, "log": log,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=", ".join(SCENES))
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--windows", type=int, default=4)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--bots-core", type=int, default=1)
    parser.add_argument("--realtime", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.scenes:
        if name not in SCENES:
            parser.error(f"no scene {name}: {', '.join(SCENES)}")
    for name in arguments.scenes or SCENES:
        print(json.dumps(measure(name, arguments)), flush=True)


if __name__ == "__main__":
    main()
