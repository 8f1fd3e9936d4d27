#!/usr/bin/env python3
"""Maps for crowds, too large to be kept: a square with boxes strewn over it and one spawn that is all of it.

usage: crowd_map.py SIDE_M [--seed 1] [--boxes-per-m2 0.0167] > map.tmj
The same arguments give the same map. As tests/scenes/scenes.c has them: boxes of 1..3 m by 0.6..1.6 m, one per 60 m2.
"""
import argparse
import json
import random
import sys

PIXELS_PER_M = 16
ARENA_BOXES = 1 / 60
SERPENT_BOXES = 0.002


def layer(number, name, objects):
    return {"id": number, "name": name, "type": "objectgroup", "draworder": "topdown", "objects": objects,
            "opacity": 1, "visible": True, "x": 0, "y": 0}


def item(number, kind, x, y, width, height):
    """Metres, from the upper left corner."""
    place = {key: round(value * PIXELS_PER_M, 3) for key, value in
             {"x": x, "y": y, "width": width, "height": height}.items()}
    return {"id": number, "name": kind, "type": kind, "rotation": 0, "visible": True, **place}


def make(side_m, seed=1, boxes_per_m2=ARENA_BOXES):
    """The map as Tiled would write it."""
    rng = random.Random(seed)
    walls = []
    for number in range(int(side_m * side_m * boxes_per_m2)):
        width, height = rng.uniform(1, 3), rng.uniform(0.6, 1.6)
        x, y = rng.uniform(0, side_m - width), rng.uniform(0, side_m - height)
        walls.append(item(number + 2, "wall", x, y, width, height))
    spawn = item(1, "spawn", 1, 1, side_m - 2, side_m - 2)
    return {"type": "map", "version": "1.10", "orientation": "orthogonal", "renderorder": "right-down",
            "infinite": False, "width": side_m, "height": side_m, "tilewidth": PIXELS_PER_M,
            "tileheight": PIXELS_PER_M, "tilesets": [], "nextlayerid": 3, "nextobjectid": len(walls) + 2,
            "properties": [{"name": "metres_per_pixel", "type": "float", "value": 1 / PIXELS_PER_M}],
            "layers": [layer(1, "walls", walls), layer(2, "spawns", [spawn])]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("side_m", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--boxes-per-m2", type=float, default=ARENA_BOXES)
    arguments = parser.parse_args()
    json.dump(make(arguments.side_m, arguments.seed, arguments.boxes_per_m2), sys.stdout)


if __name__ == "__main__":
    main()
