#!/usr/bin/env python3
"""What people did in the demos of a Doom WAD (FreeDM: DEMO1 to DEMO4, three or four people each) as recordings of inputs
for bots (tools/bots/README.md), a line of JSON for each tick of 60 a second.

usage: convert_demo.py WAD FOLDER [SECONDS]: FOLDER/demo1-p0.jsonl and so on; with SECONDS in parts of that length,
FOLDER/demo1-p0-000.jsonl with the second that it begins at, and what is left at the end is dropped.

A demo has 35 tics a second, and of each person in each the step forward and to the right (signed bytes, 50 and 40 when
running), the turn (signed byte, 1/256 turn) and the buttons. Tick k is what tic k * 35 / 60, rounded down, says: some
tics fill two ticks, others one; nothing is made up between them. The aim is the sum of the turns, beginning with 0,
which is +x; the step, turned by it, becomes the move, at most 127 along either axis. Attack is "fire", use is "use".
"""
import json
import math
import pathlib
import struct
import sys

from convert_lib import doom_lumps

TICS_A_SECOND, TICKS_A_SECOND = 35, 60
VERSION = 109                # of Doom 1.9, the format that FreeDM's demos are in
HEADER_BYTES, FLAGS_AT = 13, 9
END = 0x80
RUN = 50                     # a step forward at full speed
BUTTONS = ((1, "fire"), (2, "use"))


def people(demo):
    """For each person the tics: (forward, side, turn, buttons)."""
    if demo[0] != VERSION:
        raise ValueError(f"a demo of version {demo[0]}, not {VERSION}")
    count = sum(flag != 0 for flag in demo[FLAGS_AT:HEADER_BYTES])
    body = demo[HEADER_BYTES:]
    tics = 0
    while body[4 * count * tics] != END:
        tics += 1
    return [[struct.unpack_from("<bbbB", body, 4 * (tic * count + person)) for tic in range(tics)]
            for person in range(count)]


def clip(value):
    return max(-127, min(127, round(value)))


def record(tics):
    """The tics of one person as inputs of ticks, without their numbers."""
    aim, states = 0, []
    for forward, side, turn, buttons in tics:
        aim = (aim + 256 * turn) % 65536
        angle = math.tau * aim / 65536
        x = forward * math.cos(angle) + side * math.sin(angle)
        y = forward * math.sin(angle) - side * math.cos(angle)
        states.append({"move": [clip(127 * x / RUN), clip(127 * y / RUN)], "aim": aim,
                       "buttons": [name for bit, name in BUTTONS if buttons & bit]})
    ticks = len(tics) * TICKS_A_SECOND // TICS_A_SECOND
    return [states[k * TICS_A_SECOND // TICKS_A_SECOND] for k in range(ticks)]


def convert(wad_path, folder, seconds=None):
    """Writes the recordings; their names, in order."""
    lumps = doom_lumps(pathlib.Path(wad_path).read_bytes())
    names = []
    for lump, demo in lumps:
        if not lump.startswith("DEMO"):
            continue
        for person, tics in enumerate(people(demo)):
            inputs = record(tics)
            step = seconds * TICKS_A_SECOND if seconds else len(inputs)
            for begin in range(0, len(inputs) - step + 1, step):
                part = f"-{begin // TICKS_A_SECOND:03}" if seconds else ""
                names.append(f"{lump.lower()}-p{person}{part}.jsonl")
                with open(pathlib.Path(folder) / names[-1], "w", encoding="utf-8") as out:
                    for tick, state in enumerate(inputs[begin:begin + step]):
                        out.write(json.dumps({"tick": tick, **state}, separators=(",", ":")) + "\n")
    return names


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    convert(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else None)
