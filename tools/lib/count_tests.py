#!/usr/bin/env python3
"""Adds up JUnit files of ctest: prints 'N passed, N failed, N skipped'; status 1 when any failed or none ran. Before it,
of each test that failed: its name, and the last lines of what it said.

A Criterion binary counts as its single tests (its closing line tells them), any other test as one.
usage: count_tests.py FILE...
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

LAST_LINES, LINE_MOST, NAMED_MOST = 30, 500, 10
NAMED = re.compile(r"^(\[FAIL\]|\[----\] \S+:\d+: |FAIL: |ERROR: )")
SYNTHESIS = re.compile(r"Tested:\D*(\d+)\D+Passing:\D*(\d+)\D+Failing:\D*(\d+)\D+Crashing:\D*(\d+)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m|\[0;[0-9;]*m|\[0m")


def count(case):
    """(passed, failed, skipped) of one ctest entry."""
    status = case.get("status")
    if status == "notrun":
        # A script that asked to be skipped; a binary that was not built is a failure.
        message = case.find("skipped").get("message", "") if case.find("skipped") is not None else ""
        return (0, 0, 1) if message.startswith("SKIP_") else (0, 1, 0)
    lines = SYNTHESIS.findall(COLOUR.sub("", case.findtext("system-out") or ""))
    passed = failed = 0
    if lines:
        _, passed, failing, crashing = map(int, lines[-1])
        failed = failing + crashing
    if status == "run":
        return (max(passed, 1), failed, 0)
    return (passed, max(failed, 1), 0)


def tell(case):
    """What is wanted of a log whose end alone is left."""
    failure = case.find("failure")
    why = failure.get("message", "") if failure is not None else case.get("status")
    said = COLOUR.sub("", case.findtext("system-out") or "").strip().splitlines()
    named = [line for line in said[:-LAST_LINES] if NAMED.match(line)][:NAMED_MOST]
    print(f"FAILED TEST {case.get('name')}: {why}")
    for line in named + said[-LAST_LINES:]:
        print(f"    {line[:LINE_MOST]}")


def main():
    total = [0, 0, 0]
    for name in sys.argv[1:]:
        try:
            cases = ElementTree.parse(name).getroot().iter("testcase")
        except (OSError, ElementTree.ParseError):
            total[1] += 1
            continue
        for case in cases:
            counted = count(case)
            total = [a + b for a, b in zip(total, counted)]
            if counted[1] > 0:
                tell(case)
    passed, failed, skipped = total
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
