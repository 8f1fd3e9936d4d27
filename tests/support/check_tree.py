#!/usr/bin/env python3
"""The tree as a reader expects it: a README in each folder, tests that are picked up, scripts that can be started, no private leftovers."""
import os
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOTS = ("server", "shared", "config", "tests", "tools")
LINES_MAX = 900

LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|not implemen" r"ted")


def folders():
    """The roots and the folders right below them that hold any file."""
    for root in ROOTS:
        yield TOP / root
        for folder in sorted((TOP / root).glob("*/")):
            if folder.name != "__pycache__" and any(f.is_file() for f in folder.rglob("*")):
                yield folder


def files():
    for root in ROOTS:
        for path in sorted((TOP / root).rglob("*")):
            if path.is_file() and path.suffix in {".c", ".h", ".py", ".sh", ".md", ".cmake", ".txt"}:
                yield path


def missing_readmes():
    return [f"{folder.relative_to(TOP)}: has no README.md"
            for folder in folders() if not (folder / "README.md").is_file()]


def unregistered_scripts():
    """tests/CMakeLists.txt runs test_*; a program of another name there would never run."""
    problems = []
    for label in ("faults", "interop"):
        for path in sorted((TOP / "tests" / label).glob("*.*")):
            is_program = path.suffix == ".sh" or "__main__" in path.read_text(encoding="utf-8")
            if is_program and not path.name.startswith("test_"):
                problems.append(f"{path.relative_to(TOP)}: a program that is not named test_*, so it never runs")
    return problems


def not_to_be_started():
    """A script is started as the texts say it: by its name."""
    return [f"{path.relative_to(TOP)}: begins with #! but is not executable" for path in files()
            if path.read_text(encoding="utf-8").startswith("#!") and not os.access(path, os.X_OK)]


def bad_texts():
    problems = []
    for path in files():
        lines = path.read_text(encoding="utf-8").splitlines()
        name = path.relative_to(TOP)
        if path.suffix in {".c", ".h"} and len(lines) > LINES_MAX:
            problems.append(f"{name}: {len(lines)} lines; more than {LINES_MAX} are hard to read")
        for number, line in enumerate(lines, 1):
            if LEFTOVER.search(line):
                problems.append(f"{name}:{number}: unfinished: {line.strip()}")
    return problems


def main():
    problems = missing_readmes() + unregistered_scripts() + not_to_be_started() + bad_texts()
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
