#!/usr/bin/env python3
"""server/ops/README.md against the code: its tables have each event that the server logs, and none that it does not."""
import pathlib
import re
import sys

SERVER = pathlib.Path(__file__).resolve().parents[2] / "server"


def main():
    guide = (SERVER / "ops" / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## The log\n(.*?)^## ", guide, flags=re.DOTALL | re.MULTILINE)[1]
    told = set()
    for cell in re.findall(r"^\| (`.*?`) \| ", section, flags=re.MULTILINE):
        told.update(re.findall(r"`(\w+)`", cell))
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(SERVER.rglob("*.c")))
    # Most are named where they are logged; some by whoever calls the function that logs them.
    logged = set(re.findall(r'ops_log(?:_fields)?\(\s*[^,;"]*,\s*"(\w+)"', code))
    named = set(re.findall(r'"(\w+)"', code))
    problems = [f"the event {event} is not told" for event in sorted(logged - told)]
    problems += [f"nothing logs {event}" for event in sorted(told - named)]
    if len(logged) < 20:
        problems.append(f"only {len(logged)} events were found in the code")
    for problem in problems:
        print(f"server/ops/README.md: {problem}")
    print(f"{len(told)} events, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
