#!/usr/bin/env python3
"""Recorded matches by the hundred, made from seeds, and every build that plays them again to the same states.

usage: corpus.py make FOLDER [--sample N]     the journals: both modes, bots and people, every option (corpus_plan.py)
       corpus.py verify FOLDER [COMMAND...]   each is played again by COMMAND (build/release/bin/arbiter-replay; an
                                              emulator and the program of another processor as well)
       corpus.py renew FOLDER                 makes all and writes tests/golden/corpus.txt
       corpus.py everywhere FOLDER [BUILD...] builds arbiter-replay with every compiler, level and processor (or those
                                              named), below FOLDER, and verifies with each
       corpus.py options                      status 1 when an option of the simulation is in no row of the plan

--sample N: every N-th match only. ARBITER_BUILD is the build folder with arbiter-sim, which makes them; JOBS runs at a
time. What people did comes from the demos in Debian's freedm (tests/support/convert_demo.py). A match passes when every
checksum in its journal is met, and its states are those of tests/golden/corpus.txt. Last line: 'N passed, N failed' and
how many were skipped where this processor has no x86-64-v3.
"""
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

import corpus_plan
from corpus_plan import TOP

sys.path.insert(0, str(TOP / "tests/support"))
import convert_demo  # pylint: disable=wrong-import-position

GOLDEN = TOP / "tests/golden/corpus.txt"
WAD = pathlib.Path("/usr/share/games/doom/freedm.wad")
PART_S = 40  # of a recording; a match is shorter
BUILD = pathlib.Path(os.environ.get("ARBITER_BUILD", TOP / "build/release"))
JOBS = int(os.environ.get("JOBS", os.cpu_count() or 1))
V3 = "-O3 -march=x86-64-v3"
V3_NEEDS = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}


def gcc(compiler, flags):
    return ["--preset", "release", "-DARBITER_LTO=OFF", f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Corpus",
            f"-DCMAKE_C_FLAGS_CORPUS={flags}"]


# What arbiter-replay is built with, and what runs it.
BUILDS = {
    **{f"{compiler} {flags}": (gcc(compiler, flags), []) for compiler in ("gcc", "clang") for flags in ("-O0", "-O2", V3)},
    "gcc -O2 with link-time optimisation": (["--preset", "release"], []),
    "arm64": (["--preset", "arm64"], ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]),
    "s390x (big-endian)": (["--preset", "s390x"], ["qemu-s390x", "-L", "/usr/s390x-linux-gnu"]),
    "i386 (SSE2)": (["--preset", "i386"], ["qemu-i386", "-L", "/usr/i686-linux-gnu"]),
}


def processor_has_v3():
    found = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii"), re.MULTILINE)
    return found is not None and V3_NEEDS <= set(found.group(1).split())


def in_parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(function, items))


def run(command, **options):
    return subprocess.run(list(map(str, command)), cwd=TOP, capture_output=True, text=True, check=False, **options)


def finish(passed, failures, skipped=0):
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{passed} passed, {len(failures)} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failures or passed + skipped == 0 else 0


# ---- making ----

def record_people(folder):
    """The recordings below FOLDER, and one checksum over them."""
    if not WAD.exists():
        sys.exit(f"corpus.py: {WAD} is missing: Debian's package freedm (tools/deps)")
    folder.mkdir(parents=True, exist_ok=True)
    names = convert_demo.convert(WAD, folder, PART_S)
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in names)).hexdigest()
    return [folder / name for name in names], digest


def make(folder, sample):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.journal"):
        old.unlink()
    people, digest = record_people(folder / "people")
    golden = read_golden()
    if golden and golden.get("people") != digest:
        print(f"corpus.py: the recordings of {WAD} are not those of {GOLDEN.name}: matches of people will differ")
    plan = [corpus_plan.match(index, people) for index in range(0, corpus_plan.COUNT, sample)]

    def play(item):
        name, arguments = item
        done = run([BUILD / "bin/arbiter-sim", *arguments, "--journal", folder / f"{name}.journal"], timeout=1200)
        return None if done.returncode == 0 else f"{name} ({done.returncode}): {done.stderr.strip()}"
    began = time.monotonic()
    failures = list(filter(None, in_parallel(play, plan)))
    print(f"made {len(plan)} matches with {len(people)} parts of people's recordings in {time.monotonic() - began:.0f} s")
    (folder / "people.sha256").write_text(digest, encoding="ascii")
    return finish(len(plan) - len(failures), failures)


# ---- playing again ----

def read_golden():
    """{name: "ticks states"}, and "people": the checksum of the recordings."""
    if not GOLDEN.exists():
        return {}
    lines = GOLDEN.read_text(encoding="ascii").splitlines()
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


def play_again(folder, command):
    """[(name, "ticks states" or None, what was said)]"""
    def play(path):
        done = run([*command, "verify", path], timeout=3600)
        found = re.search(r"verified: (\d+) ticks .*; states ([0-9a-f]{16});", done.stdout)
        good = done.returncode == 0 and found
        return path.stem, " ".join(found.groups()) if good else None, done.stdout + done.stderr
    return in_parallel(play, sorted(folder.glob("*.journal")))


def verify(folder, command):
    """How many matches passed, and what failed."""
    golden = read_golden()
    failures = []
    began = time.monotonic()
    played = play_again(folder, command)
    for name, states, said in played:
        if states is None:
            failures.append(f"{name}: {said.strip()}")
        elif states != golden.get(name):
            failures.append(f"{name}: played as recorded, but {states} is not {golden.get(name)} of {GOLDEN.name}: the "
                            "simulation changed, or who plays in it (corpus.py renew)")
    ticks = sum(int(states.split()[0]) for _, states, _ in played if states)
    print(f"played {len(played)} matches, {ticks} ticks, in {time.monotonic() - began:.0f} s: {' '.join(map(str, command))}",
          flush=True)
    return len(played) - len(failures), failures


def renew(folder):
    status = make(folder, 1)
    played = play_again(folder, [BUILD / "bin/arbiter-replay"])
    bad = [f"{name}: {said.strip()}" for name, states, said in played if states is None]
    if status != 0 or bad:
        return finish(0, bad or ["nothing was written"])
    people = (folder / "people.sha256").read_text(encoding="ascii")
    lines = ["# The recorded matches of tests/sim/corpus.py: name, ticks, one checksum over the states of all ticks.",
             "# Renew: tests/sim/corpus.py renew FOLDER", f"people {people}"]
    GOLDEN.write_text("\n".join(lines + [f"{name} {states}" for name, states, _ in played]) + "\n", encoding="ascii")
    return finish(len(played), [])


def build(folder, name):
    """The arbiter-replay of that build, or what went wrong."""
    arguments, _ = BUILDS[name]
    place = folder / "builds" / re.sub(r"[^a-zA-Z0-9]+", "-", name).strip("-")
    steps = (["cmake", *arguments, "-B", place, "-DBUILD_TESTING=OFF"], ["cmake", "--build", place, "--target", "arbiter-replay"])
    for step in steps:
        done = run(step)
        if done.returncode != 0:
            sys.exit(f"corpus.py: {name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    program = place / "bin/arbiter-replay"
    if V3 in name:
        fused = re.findall(r"\bvfn?m(?:add|sub)\w+", run(["objdump", "-d", "--no-show-raw-insn", program]).stdout)
        if fused:
            sys.exit(f"corpus.py: {name}: {len(fused)} fused instructions although contraction is off: {set(fused)}")
    return program


def everywhere(folder, names):
    total, failures, skipped = 0, [], 0
    for name in names:
        _, emulator = BUILDS[name]
        if V3 in name and not processor_has_v3():
            print(f"{name}: skipped, this processor lacks some of {' '.join(sorted(V3_NEEDS))}")
            skipped += 1
            continue
        print(f"{name}: ", end="", flush=True)
        passed, wrong = verify(folder, [*emulator, build(folder, name)])
        total += passed
        failures += [f"{name}: {text}" for text in wrong]
    return finish(total, failures, skipped)


def options():
    left_out = corpus_plan.options_left_out()
    for option in left_out:
        print(f"tests/sim/corpus_plan.py: no row sets {option}: add it to one, or to WITHOUT_EFFECT with its reason")
    return 1 if left_out else 0


def main(words):
    sample = 1
    if "--sample" in words:
        at = words.index("--sample")
        sample = int(words[at + 1])
        del words[at:at + 2]
    if words == ["options"]:
        return options()
    if len(words) < 2:
        sys.exit(__doc__)
    folder = pathlib.Path(words[1]).resolve()
    if words[0] == "make" and len(words) == 2:
        return make(folder, sample)
    if words[0] == "verify":
        return finish(*verify(folder, words[2:] or [BUILD / "bin/arbiter-replay"]))
    if words[0] == "renew" and len(words) == 2:
        return renew(folder)
    if words[0] == "everywhere" and set(words[2:]) <= set(BUILDS):
        return everywhere(folder, words[2:] or BUILDS)
    return sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
