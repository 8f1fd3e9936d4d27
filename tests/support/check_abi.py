#!/usr/bin/env python3
"""What other languages and other compilers rely on: arbiter_client.h as C99, C11, C17 and C++17; plain structs that lie
in memory as tests/golden/client_abi.txt says, with each compiler here; only arbiter_* leaves the libraries, all that the
header declares; the shared library's size.

usage: check_abi.py PACKAGE [--tools PREFIX] [--enet ARCHIVE] [--any-size]     PACKAGE: the folder with both libraries
ARBITER_RENEW=1 writes the golden file anew. A change of it after a release wants another ARBITER_CLIENT_ABI.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
HEADER = TOP / "shared/client/arbiter_client.h"
GOLDEN = TOP / "tests/golden/client_abi.txt"
SIZE_MAX = 250_000  # bytes stripped, ENet aside

# What each language's foreign-function interface knows.
SCALARS = {"bool", "char", "float", "double", "int", "void",
           *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64))}

COMPILERS = [
    ["cc", "-std=c99"], ["cc", "-std=c11"], ["cc", "-std=c17"], ["c++", "-std=c++17"],
    ["clang", "-std=c11"], ["clang++", "-std=c++17"],
    ["x86_64-w64-mingw32-gcc", "-std=c11"], ["aarch64-linux-gnu-gcc", "-std=c11"],
]


def declarations():
    """The header without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", " ", HEADER.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def members(body):
    """(type, name) of each member of a struct's body; the type without const and pointers."""
    for line in filter(None, (part.strip() for part in body.split(";"))):
        match = re.match(r"(?:const\s+)?((?:struct\s+|enum\s+)?\w+)\s+(.*)", line, re.S)
        for declarator in match[2].split(","):
            yield match[1], re.sub(r"\s*\[.*|\W", "", declarator, flags=re.S)


def structs(text):
    """name -> [(type, member)] in the header's order."""
    found = re.findall(r"struct\s+(\w+)\s*\{(.*?)\}\s*;", text, re.S)
    return {name: list(members(body)) for name, body in found}


def functions(text):
    text = re.sub(r"(struct|enum)\s+\w*\s*\{.*?\}\s*;", "", text, flags=re.S)
    return sorted(set(re.findall(r"\b(arbiter_\w+)\s*\([^;]*\)\s*;", text)) - {"arbiter_tick_function"})


def not_plain(text, all_structs):
    known = {f"struct {name}" for name in all_structs} | set(re.findall(r"enum\s+\w+", text))
    known |= SCALARS | {"arbiter_tick_function", "struct arbiter_client"}
    for name, rows in all_structs.items():
        for type_name, member in rows:
            if re.sub(r"\s+", " ", type_name) not in known:
                yield f"struct {name}: {member} has type {type_name}, which not each language knows"
    for body in re.findall(r"struct\s+\w+\s*\{(.*?)\}", text, re.S):
        yield from (f"a bit-field: {part.strip()}" for part in re.findall(r"[^;]*\w\s*:\s*\d[^;]*;", body))
    if "..." in text:
        yield "a variadic function"
    if re.search(r"\bunion\b", text):
        yield "a union"


def measure(all_structs, folder):
    """Lines 'struct member offset size' of this machine's compiler; member '.' is the whole."""
    rows = []
    for name, its in all_structs.items():
        rows.append(f'printf("{name} . 0 %zu\\n", sizeof(struct {name}));')
        rows += [f'printf("{name} {m} %zu %zu\\n", offsetof(struct {name}, {m}), sizeof(((struct {name} *)0)->{m}));'
                 for _, m in its]
    source = folder / "measure.c"
    source.write_text(f'#include "{HEADER}"\n#include <stdio.h>\nint main(void)\n{{\n'
                      f'printf("abi . 0 %u\\n", ARBITER_CLIENT_ABI);\n' + "\n".join(rows) + "\nreturn 0;\n}\n")
    subprocess.run(["cc", "-std=c11", str(source), "-o", str(folder / "measure")], check=True)
    return subprocess.run([str(folder / "measure")], capture_output=True, text=True, check=True).stdout


def assertions(golden):
    lines = [f'#include "{HEADER}"',
             "#ifdef __cplusplus", "#define CHECK(e) static_assert(e, #e)", "#elif __STDC_VERSION__ >= 201112L",
             "#define CHECK(e) _Static_assert(e, #e)", "#else", "#define CHECK(e) extern char check[(e) ? 1 : -1]",
             "#endif"]
    for line in golden.splitlines():
        name, member, offset, size = line.split()
        if name == "abi":
            lines.append(f"CHECK(ARBITER_CLIENT_ABI == {size});")
        elif member == ".":
            lines.append(f"CHECK(sizeof(struct {name}) == {size});")
        else:
            lines.append(f"CHECK(offsetof(struct {name}, {member}) == {offset});")
            lines.append(f"CHECK(sizeof(((struct {name} *)0)->{member}) == {size});")
    return "\n".join(lines) + "\n"


def compilers_disagree(golden, folder):
    count = 0
    for command in COMPILERS:
        if shutil.which(command[0]) is None:
            continue
        count += 1
        source = folder / ("check.cc" if command[0].endswith("++") else "check.c")
        source.write_text(assertions(golden))
        run = subprocess.run([*command, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(source)],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            yield f"{' '.join(command)}: {(run.stderr.strip().splitlines() or ['?'])[0]}"
    print(f"header: {count} compilers and standards")


def symbols(path, tools):
    """Names that a library gives to whoever links it."""
    if path.suffix == ".dll":
        text = subprocess.run([f"{tools}objdump", "-p", path], capture_output=True, text=True, check=True).stdout
        table = text.split("[Ordinal/Name Pointer] Table", 1)[1].split("\n\n", 1)[0]
        return set(re.findall(r"\[\s*\d+\]\s+(\S+)", table))
    option = ["-D"] if ".so" in path.name else []
    text = subprocess.run([f"{tools}nm", "-g", "--defined-only", *option, path], capture_output=True, text=True,
                          check=True).stdout
    return {line.split()[2] for line in text.splitlines() if len(line.split()) == 3}


def wrong_symbols(path, wanted, tools):
    found = symbols(path, tools)
    yield from (f"{path.name} exports {name}" for name in sorted(found - wanted))
    yield from (f"{path.name} lacks {name}" for name in sorted(wanted - found))


def code_bytes(archive, tools):
    if archive is None:
        return 0
    text = subprocess.run([f"{tools}size", archive], capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[0]) + int(line.split()[1]) for line in text.splitlines()[1:])


def too_large(path, enet, tools, folder):
    stripped = folder / "stripped"
    subprocess.run([f"{tools}strip", "-o", stripped, path], check=True)
    size, foreign = stripped.stat().st_size, code_bytes(enet, tools)
    print(f"{path.name}: {size} bytes stripped, {size - foreign} without ENet (at most {SIZE_MAX})")
    if size - foreign > SIZE_MAX:
        yield f"{path.name} is larger than {SIZE_MAX} bytes"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--tools", default="", help="what the names of nm, size, strip and objdump begin with")
    parser.add_argument("--enet", type=pathlib.Path, help="ENet's archive, which does not count")
    parser.add_argument("--any-size", action="store_true", help="for a build without optimisation")
    arguments = parser.parse_args()
    text = declarations()
    all_structs, wanted = structs(text), set(functions(text))
    problems = list(not_plain(text, all_structs))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        measured = measure(all_structs, folder)
        if os.environ.get("ARBITER_RENEW"):
            GOLDEN.write_text(measured, encoding="utf-8")
        golden = GOLDEN.read_text(encoding="utf-8")
        if golden != measured:
            changed = sorted(set(measured.splitlines()) ^ set(golden.splitlines()))
            problems.append(f"structs lie otherwise than {GOLDEN.relative_to(TOP)} says (ARBITER_RENEW=1 renews it; "
                            f"after a release ARBITER_CLIENT_ABI goes up): {changed[0]}, ...")
        problems += compilers_disagree(measured, folder)
        shared = [p for p in (arguments.package / "arbiter_client.dll", arguments.package / "libarbiter_client.so")
                  if p.is_file()]
        for library in [arguments.package / "libarbiter_client.a", *shared]:
            problems += wrong_symbols(library, wanted, arguments.tools)
        for library in [] if arguments.any_size else shared:
            problems += too_large(library, arguments.enet, arguments.tools, folder)
        if not shared:
            problems.append(f"no shared library in {arguments.package}")
    for problem in problems:
        print(problem)
    print(f"{len(all_structs)} structs, {len(wanted)} functions, {len(problems)} problems")
    return 1 if problems or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
