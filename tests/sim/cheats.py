#!/usr/bin/env python3
"""cheats.py [--shots N]: does lying about what it saw pay a client? For each way to cheat (arbiter-sim --cheat) and for
an honest client that fires alike, on the same link with the same seeds, N shots; prints hit shares with their binomial
error, and fails when a cheat gains more than three standard errors.

How often an enemy is in sight is the luck of a run, and shots follow each other, so the binomial error says too little
and the hit shares alone say little: compared is the share of hits less the share of presses with somebody in sight in
the true picture, which is what an honest client hits; the error is that of independent runs. ARBITER_BUILD is the build
folder."""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
SIM = TOP / os.environ.get("ARBITER_BUILD", "build/release") / "bin" / "arbiter-sim"
CHEATS = ("random", "old", "recent", "alternating", "future", "stall", "lag", "held", "freeze", "ahead")
# It never needs to reload, hits where it aims, and nobody dies of it: every press is a shot.
WEAPON = {"range_m": 30, "damage": 0, "damage_far": 0, "falloff_from_m": 8, "falloff_to_m": 24, "spread_rad": 0,
          "spread": "uniform", "pellets": 1, "pierce": 0, "pierce_factor": 0.5, "interval_ms": 50, "magazine": 0,
          "reserve": 0, "reserve_max": 0, "reload_ms": 0, "automatic": False, "start": True}
WEAPONS = json.dumps([{"name": f"tester{i}", **WEAPON} for i in range(4)])


def play(cheat, seed, arguments):
    """(shots, hits, share that it hit beyond what it had in sight) of client 0."""
    words = [str(SIM), "--config", str(TOP / "config/arena.json"), "--report", "json", "--clients", "4", "--seed",
             str(seed), "--ticks", "6000", "--profile", arguments.profile, "--policy", "wander", "--cheat", cheat]
    for text in (f"arena.weapons={WEAPONS}", "match.duration_s=3000", "match.rounds=1", *arguments.set):
        words += ["--set", text]
    done = subprocess.run(["nice", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cheat {cheat}, seed {seed}: status {done.returncode}\n{done.stderr}")
    figures = json.loads(done.stdout)["rewind"]["cheat"]
    if not figures["shots"]:
        sys.exit(f"cheat {cheat}, seed {seed}: no shot")
    beyond = figures["hits"] / figures["shots"] - figures["in_sight"] / figures["presses"]
    return figures["shots"], figures["hits"], beyond


def shots_of(runs):
    return sum(shots for shots, _, _ in runs)


def binomial(runs):
    """Hit share and its standard error."""
    shots = shots_of(runs)
    share = sum(hits for _, hits, _ in runs) / shots
    return share, math.sqrt(share * (1 - share) / shots)


def beyond(runs):
    """Mean and its standard error."""
    values = [value for _, _, value in runs]
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=10000, help="of each cheat, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", default="average")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], help="of arbiter-sim, for all runs")
    parser.add_argument("cheats", nargs="*", default=CHEATS)
    arguments = parser.parse_args()
    results = {name: [] for name in ("honest", *arguments.cheats)}
    seed = arguments.seed
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        while min(map(shots_of, results.values())) < arguments.shots:
            seeds = range(seed, seed + 2 * arguments.jobs)
            waiting = {name: pool.map(lambda s, name=name: play(name, s, arguments), seeds) for name in results}
            for name, runs in waiting.items():
                results[name] += runs
            seed += len(seeds)
    gains = 0
    honest, honest_error = beyond(results["honest"])
    print("| client 0 | shots | hit share | binomial error | against the honest one | error |\n"
          "| --- | --: | --: | --: | --: | --: |")
    for name, runs in results.items():
        share, error = binomial(runs)
        value, value_error = beyond(runs)
        gain, gain_error = value - honest, math.hypot(value_error, honest_error)
        gains += name != "honest" and gain > 3 * gain_error
        compared = "| |" if name == "honest" else f"{100 * gain:+.2f} % | {100 * gain_error:.2f} % |"
        print(f"| {name} | {shots_of(runs):,} | {100 * share:.2f} % | {100 * error:.2f} % | {compared}")
    print(f"{len(results) - 1 - gains} passed, {gains} failed")
    return 1 if gains else 0


if __name__ == "__main__":
    sys.exit(main())
