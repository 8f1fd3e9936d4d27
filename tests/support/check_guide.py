#!/usr/bin/env python3
"""shared/client/README.md against what it tells of: its listing is the client that is built outside the tree, its table
has each option of struct arbiter_config with the default that the library sets, and its pictures and files are there."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
CLIENT = TOP / "shared" / "client"
LISTING_LINES_MAX = 60

UNITS = {"_ms": "ms", "_m": "m", "_ticks": "ticks", "_bytes": "bytes"}


def read(path):
    return path.read_text(encoding="utf-8")


def listing_problems(guide):
    source = read(TOP / "tests" / "support" / "outside" / "first_client.c")
    source = re.sub(r"^/\*.*?\*/\n", "", source, count=1, flags=re.DOTALL)
    listings = re.findall(r"^```c\n(.*?)^```$", guide, flags=re.DOTALL | re.MULTILINE)
    if not listings or listings[0] != source:
        yield "its first listing is not tests/support/outside/first_client.c"
    if source.count("\n") > LISTING_LINES_MAX:
        yield f"a first client takes more than {LISTING_LINES_MAX} lines"


def members():
    """Names in struct arbiter_config, in order."""
    body = re.search(r"^struct arbiter_config \{\n(.*?)^\};", read(CLIENT / "arbiter_client.h"),
                     flags=re.DOTALL | re.MULTILINE)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    for statement in body.split(";"):
        name = re.search(r"(\w+)(\[\w+\])?\s*$", statement)
        if name:
            yield name[1]


def defaults():
    """Member -> what arbiter_config_default sets, as a number or a text."""
    body = re.search(r"^void arbiter_config_default\(.*?^\}", read(CLIENT / "arbiter_client.c"),
                     flags=re.DOTALL | re.MULTILINE)[0]
    found = {}
    for name, value in re.findall(r"\.(\w+) = (.*?),\n", body):
        product = re.fullmatch(r"[\d. *F]+", value)
        if product:
            number = 1.0
            for factor in value.replace("F", "").split("*"):
                number *= float(factor)
            found[name] = number
        else:
            found[name] = value.strip('"')
    return found


def option_problems(guide):
    rows = {}
    for name, default, unit, effect in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", guide, re.MULTILINE):
        rows[name] = (default, unit, effect)
    known, set_to = list(members()), defaults()
    for name in known:
        if name not in rows:
            yield f"no row for the option {name}"
            continue
        default, unit, effect = rows[name]
        value = set_to.get(name)
        if isinstance(value, float):
            same = re.fullmatch(r"[\d.]+", default) and float(default) == value
        else:
            same = value is None or value in default
        if not same:
            yield f"the default of {name} is {value}, not {default}"
        wanted = [text for suffix, text in UNITS.items() if name.endswith(suffix)]
        if wanted and unit != wanted[0]:
            yield f"the unit of {name} is {wanted[0]}, not {unit}"
        if len(effect) < 10:
            yield f"the effect of {name} is not told"
    for name in rows:
        if name not in known:
            yield f"{name} is no option"


def link_problems(guide):
    for target in re.findall(r"\]\(([^)#]+)", guide):
        if "://" not in target and not (CLIENT / target).exists():
            yield f"there is no {target}"


def main():
    guide = read(CLIENT / "README.md")
    problems = [*listing_problems(guide), *option_problems(guide), *link_problems(guide)]
    for problem in problems:
        print(f"shared/client/README.md: {problem}")
    print(f"{len(list(members()))} options, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
