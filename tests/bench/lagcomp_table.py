#!/usr/bin/env python3
"""Lag compensation in figures, from arbiter-sim: prints the table of tests/bench/README.md and fails when anything in it
is not 0 that has to be.

Each row sums the runs at 60, 144 and 240 frames a second: shots whose view was honoured, the largest and the mean
distance between a drawn and a rewound shape, and hit decisions that differ; for characters of 6 m/s and of 60 m/s.
Delay 0 makes a client extrapolate. `clamped` is the share of shots that max_rewind_ms 250 does not honour, of the same
runs at 60 frames a second. ARBITER_BUILD is the build folder."""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
SIM = TOP / os.environ.get("ARBITER_BUILD", "build/release") / "bin" / "arbiter-sim"
PROFILES = ("lan", "good", "average", "bad", "mobile")
DRAWS = {"interpolating": [], "extrapolating": ["--interp-delay-ms", "0"]}
RATES = {60: 1, 30: 2, 20: 3}  # snapshots a second: ticks between them
FRAMES = (60, 144, 240)
SPEEDS = {6: [], 60: ["arena.max_speed=60", "arena.acceleration=600"]}  # m/s


def simulate(arguments, sets, **fixed):
    """The `rewind` part of one run's report."""
    words = [str(SIM), "--config", str(TOP / "config/arena.json"), "--report", "json"]
    for name, value in fixed.items():
        words += ["--" + name, str(value)]
    for text in sets:
        words += ["--set", text]
    done = subprocess.run(["nice", *words, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words + arguments)}: status {done.returncode}\n{done.stderr}")
    figures = json.loads(done.stdout)["rewind"]
    figures["command"] = " ".join(words[1:] + arguments)
    return figures


def shots_of(figures):
    return sum(figures[name] for name in ("shots", "clamped", "late", "starved", "blank", "unwitnessed"))


def summed(parts):
    shots, compared = sum(p["shots"] for p in parts), sum(p["compared"] for p in parts)
    mean = sum(p["mean_error_m"] * p["compared"] for p in parts) / max(compared, 1)
    return {"shots": shots, "max": max(p["max_error_m"] for p in parts), "mean": mean,
            "differ": sum(p["decisions_differing"] for p in parts),
            "clamped": 1 - shots / max(sum(map(shots_of, parts)), 1)}


def is_exact(row):
    return row["max"] == 0 and row["mean"] == 0 and row["differ"] == 0 and row["shots"] >= 100


def cells(row):
    return f"{row['shots']:,} | {row['max']:g} | {row['mean']:g} | {row['differ']}"


def plan(arguments):
    """Row names to the runs of that row."""
    rows = {}
    for profile, draw, rate in itertools.product(arguments.profiles, DRAWS, RATES):
        rows[profile, draw, rate] = {
            (speed, limit, frames): (DRAWS[draw], SPEEDS[speed] + [f"snapshot.interval_ticks={RATES[rate]}",
                                                                   f"lagcomp.max_rewind_ms={limit}"],
                                     {"profile": profile, "fps": frames})
            for speed, limit, frames in itertools.product(SPEEDS, (700, 250), FRAMES) if limit == 700 or frames == 60}
    return rows


def print_table(rows, results):
    print("| profile | drawn | snapshots/s | shots 6 m/s | max m | mean m | differ | shots 60 m/s | max m | mean m | "
          "differ | not honoured at 700 / 250 ms |")
    print("| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    exact = True
    for name, runs in rows.items():
        parts = {speed: summed([results[name, key] for key in runs if key[:2] == (speed, 700)]) for speed in SPEEDS}
        cut = summed([results[name, key] for key in runs if key[1] == 250])
        exact &= all(map(is_exact, parts.values()))
        whole = summed([results[name, key] for key in runs if key[1] == 700])
        print(f"| {name[0]} | {name[1]} | {name[2]} | {cells(parts[6])} | {cells(parts[60])} | "
              f"{100 * whole['clamped']:.1f} % / {100 * cut['clamped']:.1f} % |")
    return exact


def print_hard(run):
    """The budget is a quarter of the default, a fifth of all datagrams is lost, so many see each other in each tick that
    snapshots have to leave some out, and who is farther than 8 m comes with every second one only."""
    link = {"delay_ms": 40, "jitter_ms": 5, "loss": 0.2}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as profile:
        json.dump({"up": link, "down": link}, profile)
        profile.flush()
        sets = ["snapshot.budget_bytes_per_s=16384", "match.max_players=64", "lagcomp.max_rewind_ms=700",
                "interest.enter_m=100", "interest.retain_m=110", "snapshot.interval_ticks=1",
                "snapshot.far_m=8"]
        rows = {draw: run(DRAWS[draw], sets, profile=profile.name, fps=60, clients=48) for draw in DRAWS}
    exact = True
    print("\n| quarter of the budget, 20 % loss, 48 clients | shots | max m | mean m | differ | characters compared | "
          "of them left out of a snapshot |\n| --- | --: | --: | --: | --: | --: | --: |")
    for draw, figures in rows.items():
        row = summed([figures])
        exact &= is_exact(row) and figures["deferred"] > 0
        print(f"| {draw} | {cells(row)} | {figures['compared']:,} | {figures['deferred']:,} |")
    return exact


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=3600, help="of each run")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--profiles", nargs="*", default=PROFILES)
    arguments = parser.parse_args()

    def run(words, sets, **fixed):
        base = {"clients": arguments.clients, "seed": arguments.seed, "ticks": arguments.ticks}
        return simulate(words, sets, **{**base, **fixed})

    rows, results = plan(arguments), {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = {pool.submit(run, words, sets, **fixed): (name, key)
                   for name, runs in rows.items() for key, (words, sets, fixed) in runs.items()}
        for done in concurrent.futures.as_completed(waiting):
            results[waiting[done]] = done.result()
    exact = print_table(rows, results) & print_hard(run)
    for (name, key), figures in results.items():
        if figures["max_error_m"] or figures["decisions_differing"]:
            print(f"not exact: {figures['command']}", file=sys.stderr)
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
