#!/usr/bin/env python3
"""Projectiles in figures, from arbiter-sim: prints the table of tests/bench/README.md, fails when anything is not 0 that
has to be.

While a projectile is caught up its shooter's client draws on; each character of those frames against where the server
let the projectile meet it at that moment. Up to the later frame of the launch's view (`certain`) it must be the same;
between the later snapshots that the client held when it fired (`held`) it is, but for characters that one of these left
out or no longer showed; of what it got afterwards (`assumed`) the server takes nothing for lost. ARBITER_BUILD is the
build folder."""
import argparse
import json
import sys

import lagcomp_table

WEAPON = {"kind": "projectile", "start": True, "automatic": True, "projectile_speed": 18, "interval_ms": 300}
SETS = ["match.map=maps/arena_duel.tmj", "lagcomp.max_rewind_ms=700", "lagcomp.projectile_catchup_ms=700",
        "arena.weapons=" + json.dumps([{"name": name, **WEAPON} for name in "abcd"])]
SHORT = ["snapshot.budget_bytes_per_s=5000", "snapshot.interval_ticks=1"]
HEAD = ("| profile | drawn | launches | certain | differ | held | differ | mean m | assumed | differ | mean m |\n"
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |")


def row(profile, draw, ticks, seed, more=(), name=""):
    figures = lagcomp_table.simulate(lagcomp_table.DRAWS[draw], [*SETS, *more], profile=profile, clients=6, ticks=ticks,
                                     seed=seed)["flights"]
    cells = [name or profile, draw, f"{figures['launches']:,}"]
    for kind in ("certain", "held", "assumed"):
        places = figures[kind]
        cells += [f"{places['count']:,}", f"{places['errors'] + places['missing']:,}"]
        cells += [] if kind == "certain" else [f"{places['mean_error_m']:.2g}"]
    print(f"| {' | '.join(cells)} |", flush=True)
    certain = figures["certain"]
    return certain["errors"] + certain["missing"] == 0 and figures["launches"] >= 100


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=7200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(HEAD)
    good = True
    for profile in lagcomp_table.PROFILES:
        for draw in lagcomp_table.DRAWS:
            good &= row(profile, draw, arguments.ticks, arguments.seed)
    good &= row("average", "interpolating", arguments.ticks, arguments.seed, SHORT, "average, budget short")
    if not good:
        sys.exit("something differs that must not, or there were too few launches")


if __name__ == "__main__":
    main()
