#!/usr/bin/env python3
"""How often clients had two snapshots to draw between, by loss and interpolation delay: one line per run, under virtual
time, so the same on every machine.

usage: loss_figures.py [--clients 16] [--ticks 3600] [--delays 0,67,100,133] (ms; 0: it adapts, as clients do by default)
       (ARBITER_BUILD: build folder)
Each way 40 ms with up to 4 ms of jitter, and independent losses both ways.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import daemon  # noqa: E402

LOSSES = (0, 0.01, 0.05, 0.1, 0.2)


def run(loss, delay_ms, arguments, folder):
    way = {"delay_ms": 40, "jitter_ms": 4, "loss": loss}
    profile = pathlib.Path(folder) / "profile.json"
    profile.write_text(json.dumps({"up": way, "down": way}), encoding="utf-8")
    command = [daemon.program("arbiter-sim"), "--config", str(daemon.ARENA), "--clients", str(arguments.clients),
               "--profile", str(profile), "--seed", "1", "--ticks", str(arguments.ticks), "--report", "json",
               "--set", f"match.max_players={arguments.clients}", "--set", f"match.min_players={arguments.clients}"]
    if delay_ms > 0:
        command += ["--interp-delay-ms", str(delay_ms)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {"loss": loss, "delay_ms": delay_ms or "adapts", "interpolation_ms": found["interpolation_ms"],
            "between_two_percent": found["between_two_percent"], "frames": found["frames_drawn"],
            "bytes_per_s": found["bytes_per_second_per_client"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--ticks", type=int, default=3600)
    parser.add_argument("--delays", default="0,67,100,133")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for loss in LOSSES:
            for delay in arguments.delays.split(","):
                print(json.dumps(run(loss, int(delay), arguments, folder)), flush=True)


if __name__ == "__main__":
    main()
