#!/usr/bin/env python3
"""Who may include whom: the layers of the tree and the fences around other people's libraries.

Prints one line per include that points the wrong way and per header that does not compile alone.
usage: check_includes.py [--compiler CC] [--system DIR]...
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]

# Folder -> folders and single headers that it may include; always also its own. Left is lower.
LAYERS = {
    "shared/base": [],
    "shared/proto": ["shared/base"],
    "shared/move": ["shared/base"],
    "shared/transport": ["shared/base"],
    "shared/view": ["shared/base", "shared/proto", "shared/move"],
    "shared/client": ["shared/base", "shared/proto", "shared/move", "shared/view",
                      "shared/transport"],
    "server/world": ["shared/base", "shared/proto", "shared/move"],
    "server/collide": ["shared/base", "shared/move", "server/world"],
    "server/rewind": ["shared/base", "shared/move", "shared/proto", "shared/view", "server/world",
                      "server/collide"],
    "server/interest": ["shared/base", "shared/move", "shared/proto", "shared/view",
                        "server/world", "server/rewind"],
    # match/port.h is a leaf: the table through which packets leave.
    "server/replicate": ["shared/base", "shared/move", "shared/proto", "shared/view", "server/world",
                         "server/rewind", "server/interest", "server/match/port.h"],
    # A mode: its table and the world; option.h is a leaf with which it describes its options.
    "server/rules": ["shared/base", "shared/move", "shared/proto", "shared/view", "server/world",
                     "server/collide/collide.h", "server/rewind/rewind.h",
                     "server/rewind/rewind_flight.h",
                     "server/config/option.h"],
    # The engine sees only the rules' interface, never a mode.
    "server/match": ["shared/base", "shared/proto", "shared/move", "shared/view", "server/world",
                     "server/collide", "server/rewind", "server/interest", "server/replicate",
                     "server/rules/rules.h", "server/config/option.h", "server/journal"],
    # Bytes in, bytes out: what they say is the match's business.
    "server/journal": ["shared/base"],
    "server/config": ["shared/base", "shared/move", "shared/proto", "server/world",
                      "server/rules/rules.h", "server/match/match_config.h"],
    # Sessions know peers and bytes, never entities: of the match only its port.
    "server/net": ["shared/base", "shared/proto", "shared/transport", "server/match/port.h"],
    # Reads published copies, never the live world.
    "server/ops": ["shared/base", "shared/proto", "server/config", "server/match/match_result.h",
                   "server/match/match_shot.h", "server/match/match_views.h",
                   "server/match/match_fairness.h"],
    "server/loop": ["shared", "server"],
    "server": ["shared", "server"],
    "tools": ["shared", "server", "tools"],
    "tests": ["shared", "server", "tools", "tests"],
}

# Foreign header -> the folders that may include it.
FENCES = {
    r"enet/": ["shared/transport", "tests/support/outside"],
    r"sodium(\.h|/)": ["shared/transport", "server/net"],
    r"box2d/": ["shared/move", "server/collide", "server/rewind", "tests"],
    r"xxhash\.h": ["shared/base"],
    r"zstd\.h": ["server/journal", "tests"],
    r"uv(\.h|/)": ["server/loop", "server/ops", "tools"],
    r"(cjson/)?cJSON\.h": ["server/config", "server/ops", "tools", "tests"],
    r"SDL(2/|_ttf\.h|\.h)": ["tools/play", "tests"],
    r"criterion/": ["tests"],
}

# Who looks into another folder: the simulator compares what a client holds with what it was sent.
INSIDE = {("tools/sim", "shared/client/arbiter_client_internal.h")}

# Nothing but C17 in what games build; libuv's headers want more of the system's.
SYSTEM_FOLDERS = ("server/loop", "server/ops", "tools", "tests")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(suffixes):
    for root in ("shared", "server", "tools", "tests"):
        for path in sorted((TOP / root).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path.relative_to(TOP)


def layer_of(path):
    """The longest row of LAYERS that the file lies in."""
    folder = path.parent.as_posix()
    rows = [row for row in LAYERS if folder == row or folder.startswith(row + "/")]
    return max(rows, key=len) if rows else None


def inside(name, place):
    return name == place or name.startswith(place + "/")


def why_not(path, layer, quote, name):
    """The reason why `path` may not include `name`, or None."""
    for pattern, places in FENCES.items():
        if re.match(pattern, name) and not any(inside(path.as_posix(), p) for p in places):
            return f"belongs to {', '.join(places)}"
    if quote == "<":
        return None
    if not (TOP / name).is_file():
        return "is no file below the top of the repository"
    if name.endswith("_internal.h") and not inside(path.as_posix(), "tests"):
        if pathlib.PurePath(name).parent != path.parent and (path.parent.as_posix(), name) not in INSIDE:
            return "is internal to its folder"
    if any(inside(name, place) for place in [layer, *LAYERS[layer]]):
        return None
    return f"is not below {layer}"


def wrong_includes():
    problems = []
    for path in sources({".c", ".h"}):
        layer = layer_of(path)
        if layer is None:
            problems.append(f"{path}: its folder has no row in {pathlib.Path(__file__).name}")
            continue
        text = (TOP / path).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            reason = match and why_not(path, layer, match[1], match[2])
            if reason:
                problems.append(f"{path}:{number}: {match[2]} {reason}")
    return problems


def compile_alone(header, compiler, system):
    flags = ["-std=c17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c", f"-I{TOP}"]
    flags += [f"-isystem{folder}" for folder in system]
    if any(inside(header.as_posix(), folder) for folder in SYSTEM_FOLDERS):
        flags.append("-D_GNU_SOURCE")
    run = subprocess.run([compiler, *flags, "-include", str(TOP / header), "/dev/null"],
                         capture_output=True, text=True)
    first = (run.stderr.strip().splitlines() or [""])[0].replace(f"{TOP}/", "")
    return None if run.returncode == 0 else f"{header}: does not compile alone: {first}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--system", action="append", default=[], help="folder of foreign headers")
    arguments = parser.parse_args()
    problems = wrong_includes()
    headers = list(sources({".h"}))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda h: compile_alone(h, arguments.compiler, arguments.system), headers)
        problems += [problem for problem in results if problem]
    for problem in problems:
        print(problem)
    print(f"{len(headers)} headers, {len(problems)} problems")
    return 1 if problems or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
