#!/usr/bin/env python3
"""Plants faults in a copy of the tree, one at a time, and sees that a test notices each. README.md here says more."""
import argparse
import contextlib
import dataclasses
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
README = HERE / "README.md"
TABLE_HEAD = "| fault | what it does | caught by |\n| --- | --- | --- |\n"
# Of one test without a fault, only against hanging; with one, so many times of what it took without, and at least a
# minute: what hangs has noticed something.
LIMIT_S, LIMIT_TIMES, LIMIT_LEAST_S = 1800, 10, 60
COMPILED = ("golden", "unit", "sim")
FAILURES = re.compile(r"^(?:\[FAIL\] (\S+?::\S+?): |(?:FAIL|ERROR): (\w+) )", re.MULTILINE)


class Trouble(Exception):
    """Why a mutant, or all of them, cannot be tried."""


@dataclasses.dataclass
class Mutant:
    """One file of this folder."""
    name: str
    what: str = ""
    tests: list = dataclasses.field(default_factory=list)
    edits: list = dataclasses.field(default_factory=list)  # [path, lines before, lines after]


def read_mutant(path):
    """Comment lines, then a unified diff. Its line numbers do not count: its lines are unique in their file."""
    mutant = Mutant(path.stem)
    source = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# caught by: "):
            mutant.tests = line.removeprefix("# caught by: ").split(", ")
        elif line.startswith("# "):
            mutant.what = f"{mutant.what} {line[2:]}".strip()
        elif line.startswith("--- a/"):
            source = line.removeprefix("--- a/")
        elif line.startswith("@@"):
            mutant.edits.append([source, "", ""])
        elif line[:1] in (" ", "-", "+") and mutant.edits and not line.startswith("+++ "):
            mutant.edits[-1][1] += line[1:] + "\n" if line[0] != "+" else ""
            mutant.edits[-1][2] += line[1:] + "\n" if line[0] != "-" else ""
    if not (mutant.what and mutant.tests and mutant.edits):
        raise Trouble(f"{path.name}: says not what it is, which test is to notice it, or what it changes")
    return mutant


class Scratch:
    """The copy of the tree with its build folder."""

    def __init__(self, folder, jobs):
        self.tree = folder / "tree"
        self.build_folder = folder / "build"
        self.log = folder / "log"
        self.jobs = jobs
        self.seconds = {}  # of the tests that pass without a fault
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            if (TOP / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TOP / name, self.tree / name)
        (self.tree / ".deps").symlink_to(TOP / ".deps")
        self.command(["cmake", "--preset", "debug", "-B", str(self.build_folder), "-DCMAKE_C_FLAGS_DEBUG=-O0"])

    def command(self, arguments):
        with open(self.log, "w", encoding="utf-8") as log:
            status = subprocess.run(arguments, cwd=self.tree, stdout=log, stderr=log, check=False).returncode
        if status != 0:
            text = self.log.read_text(encoding="utf-8", errors="replace")
            raise Trouble(f"{' '.join(arguments[:2])} fails:\n{text[-3000:]}")

    def tests(self):
        """All compiled ones."""
        return [f"{label}/{path.stem}" for label in COMPILED
                for path in sorted((self.tree / "tests" / label).glob("*.c"))]

    def build(self, tests):
        """What these need and no more; a script needs the programs."""
        compiled = [test.replace("/", "_") for test in tests if test.split("/")[0] in COMPILED]
        targets = compiled if len(compiled) == len(tests) else ["all"]
        self.command(["ninja", "-C", str(self.build_folder), f"-j{self.jobs}", *targets])

    def run(self, test, limit_s=LIMIT_S):
        """None: passed; else what failed, sorted."""
        label, stem = test.split("/")
        program = [str(self.build_folder / "tests" / f"{label}_{stem}")]
        if label not in COMPILED:
            program = [sys.executable, str(self.tree / "tests" / label / f"{stem}.py")]
        with open(self.log, "w", encoding="utf-8") as log:
            process = subprocess.Popen(program, cwd=self.tree, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env={**os.environ, "ARBITER_BUILD": str(self.build_folder)},
                                       start_new_session=True)
            try:
                status = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                return [f"no end within {limit_s:.0f} s"]
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # it and what it started
                process.wait()
        if status == 0:
            return None
        found = FAILURES.findall(self.log.read_text(encoding="utf-8", errors="replace"))
        return sorted({a or b for a, b in found}) or [f"status {status}"]

    def expect_passing(self, tests):
        """A test that fails anyway would catch everything."""
        fresh = [test for test in tests if test not in self.seconds]
        self.build(tests)
        for test in fresh:
            start = time.monotonic()
            failed = self.run(test)
            if failed is not None:
                raise Trouble(f"{test} fails without any fault: {', '.join(failed)}")
            self.seconds[test] = time.monotonic() - start

    def edit(self, path, before, after):
        """Returns the text that was there."""
        text = (self.tree / path).read_text(encoding="utf-8")
        places = ("\n" + text).count("\n" + before)
        if places != 1:
            raise Trouble(f"no longer applies: its lines are in {path} {places} times")
        changed = ("\n" + text).replace("\n" + before, "\n" + after)[1:]
        (self.tree / path).write_text(changed, encoding="utf-8")
        return text

    @contextlib.contextmanager
    def planted(self, mutant):
        originals = {}
        try:
            for path, before, after in mutant.edits:
                originals.setdefault(path, self.edit(path, before, after))
            yield
        finally:
            for path, text in originals.items():
                (self.tree / path).write_text(text, encoding="utf-8")

    def try_one(self, mutant, tests):
        """(test, what failed in it) of the first test that notices; None: none does."""
        with self.planted(mutant):
            self.build(tests)
            for test in tests:
                failed = self.run(test, max(LIMIT_LEAST_S, LIMIT_TIMES * self.seconds[test]))
                if failed is not None:
                    return test, failed
        return None


def told(catch):
    test, failed = catch
    return f"{test}: {failed[0]}" + (f" and {len(failed) - 1} more" if len(failed) > 1 else "")


def try_all(scratch, mutants):
    """Name to the catch, None or the text of a trouble. First the tests that are to notice them, then the others."""
    results = {}

    def attempt(mutant, tests):
        start = time.monotonic()
        try:
            results[mutant.name] = scratch.try_one(mutant, tests)
        except Trouble as trouble:
            results[mutant.name] = str(trouble)
        result = results[mutant.name]
        outcome = result if isinstance(result, str) else f"caught by {told(result)}" if result else "survives so far"
        print(f"{mutant.name:36} {time.monotonic() - start:5.1f} s  {outcome}", flush=True)

    scratch.expect_passing(sorted({test for mutant in mutants for test in mutant.tests}))
    for mutant in mutants:
        attempt(mutant, mutant.tests)
    alive = [mutant for mutant in mutants if results[mutant.name] is None]
    if alive:
        print("All tests on what is left:", flush=True)
        scratch.expect_passing(scratch.tests())
        quick_first = sorted(scratch.tests(), key=scratch.seconds.get)
        for mutant in alive:
            attempt(mutant, quick_first)
    return results


def write_table(mutants, results):
    head, _, _ = README.read_text(encoding="utf-8").partition(TABLE_HEAD)
    rows = [f"| `{m.name}` | {m.what} | {told(results[m.name])} |\n" for m in mutants]
    README.write_text(head + TABLE_HEAD + "".join(rows), encoding="utf-8")


def choose(arguments):
    paths = sorted(HERE.glob("*.diff"))
    if unknown := set(arguments.names) - {path.stem for path in paths}:
        raise Trouble(f"no such mutants: {', '.join(sorted(unknown))}")
    if arguments.names:
        paths = [path for path in paths if path.stem in arguments.names]
    if arguments.sample:
        seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 32)
        print(f"a sample of {arguments.sample} of {len(paths)} by --seed {seed}")
        paths = sorted(random.Random(seed).sample(paths, min(arguments.sample, len(paths))))
    return [read_mutant(path) for path in paths]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="only so many, drawn by the seed")
    parser.add_argument("--seed", type=int, metavar="S", help="of the sample; a new one each time, printed")
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count(), help="of the build")
    parser.add_argument("--table", action="store_true", help="renew the table in README.md; all must be caught")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    arguments = parser.parse_args()
    if arguments.table and (arguments.names or arguments.sample):
        parser.error("--table is of all of them")
    start = time.monotonic()
    try:
        mutants = choose(arguments)
        with tempfile.TemporaryDirectory(prefix="arbiter-mutants-") as folder:
            results = try_all(Scratch(pathlib.Path(folder), arguments.jobs), mutants)
    except Trouble as trouble:
        print(f"{trouble}\n0 passed, 1 failed")
        return 1
    caught = sum(isinstance(result, tuple) for result in results.values())
    if arguments.table and caught == len(mutants):
        write_table(mutants, results)
    for name, result in results.items():
        if not isinstance(result, tuple):
            print(f"NOT CAUGHT {name}: {result or 'no test notices it'}")
    print(f"{time.monotonic() - start:.0f} s\n{caught} passed, {len(mutants) - caught} failed")
    return 0 if caught == len(mutants) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
