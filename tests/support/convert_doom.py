#!/usr/bin/env python3
"""A level of a Doom WAD (FreeDM: MAP01 to MAP32) as a Tiled map: impassable lines become thin walls, deathmatch
starts become spawns. 16 units are one metre.

usage: convert_doom.py WAD LEVEL OUT.tmj
"""
import struct
import sys

from convert_lib import TiledMap, doom_lumps

UNITS_PER_METRE = 16
MARGIN = 32          # units around the level
THICKNESS_M = 0.2
DEATHMATCH_START = 11
IMPASSABLE = 1
NO_SIDE = 0xFFFF


def lumps_of_level(wad, level):
    """The lumps that follow the level's marker, by name."""
    lumps = doom_lumps(wad)
    start = [name for name, _ in lumps].index(level)
    return dict(lumps[start + 1:start + 11])


def convert(wad_path, level, out_path):
    with open(wad_path, "rb") as file:
        lumps = lumps_of_level(file.read(), level)
    vertices = list(struct.iter_unpack("<hh", lumps["VERTEXES"]))
    lines = [line for line in struct.iter_unpack("<7H", lumps["LINEDEFS"])
             if line[6] == NO_SIDE or line[2] & IMPASSABLE]
    used = [vertices[i] for line in lines for i in line[:2]]
    left = min(x for x, _ in used) - MARGIN
    top = max(y for _, y in used) + MARGIN
    width = max(x for x, _ in used) + MARGIN - left
    height = top - min(y for _, y in used) + MARGIN
    tiled = TiledMap(width, height, 1 / UNITS_PER_METRE)
    for line in lines:
        (x0, y0), (x1, y1) = vertices[line[0]], vertices[line[1]]
        if (x0, y0) != (x1, y1):
            tiled.wall_line(x0 - left, top - y0, x1 - left, top - y1, THICKNESS_M)
    starts = {thing[:2] for thing in struct.iter_unpack("<hhHHH", lumps["THINGS"])
              if thing[3] == DEATHMATCH_START}
    for x, y in sorted(starts):
        tiled.spawn(x - left, top - y)
    tiled.write(out_path)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    convert(*sys.argv[1:])
