#!/usr/bin/env python3
"""What the client library takes and corrects: memory of each further client, from real bots of a real daemon, and the
distance of corrections per profile where players push each other, from arbiter-sim. One line per row.

usage: client_figures.py [memory] [corrections] [--ticks 3600] [--clients 16] (ARBITER_BUILD: build folder)
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import daemon  # noqa: E402

PROFILES = ("lan", "good", "average", "bad", "mobile")
FEW, MANY = 2, 34


def resident_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1))


def bots_kib(clients):
    with daemon.Daemon({"match.max_players": MANY, "match.min_players": clients, "match.duration_s": 60,
                        "match.countdown_s": 0}) as server:
        port = server.ready()["port"]
        bots = subprocess.Popen([daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{port}", "--count",
                                 str(clients), "--duration", "20"], stdout=subprocess.DEVNULL)
        time.sleep(15)
        peak = resident_kib(bots.pid)
        bots.wait()
        return peak


def memory():
    few, many = bots_kib(FEW), bots_kib(MANY)
    print(json.dumps({"clients": [FEW, MANY], "peak_kib": [few, many],
                      "kib_per_further_client": round((many - few) / (MANY - FEW), 1)}), flush=True)


def corrections(arguments):
    for profile in PROFILES:
        command = [daemon.program("arbiter-sim"), "--config", str(daemon.ARENA), "--clients", str(arguments.clients),
                   "--profile", profile, "--seed", "1", "--ticks", str(arguments.ticks), "--report", "json",
                   "--set", f"match.max_players={arguments.clients}", "--set", "match.min_players=1",
                   "--set", "match.duration_s=600", "--set", "match.countdown_s=0", "--policy", "wander",
                   "--set", "arena.player_push=true", "--set", "match.map=maps/arena_duel.tmj"]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(json.dumps({"profile": profile, "inputs": found["inputs"], **found["corrections"],
                          "inputs_starved": found["inputs_starved"]}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=[])
    parser.add_argument("--ticks", type=int, default=3600)
    parser.add_argument("--clients", type=int, default=16)
    arguments = parser.parse_args()
    if not arguments.what or "memory" in arguments.what:
        memory()
    if not arguments.what or "corrections" in arguments.what:
        corrections(arguments)


if __name__ == "__main__":
    main()
