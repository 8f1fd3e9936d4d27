#!/usr/bin/env python3
"""A Teeworlds map (datafile version 4) as a Tiled map: solid tiles of the game layer, merged into rectangles, and its
spawns (any, red, blue). One tile is 1.5 m.

usage: convert_teeworlds.py MAP OUT.tmj
"""
import struct
import sys
import zlib

from convert_lib import PIXELS_PER_TILE, TiledMap

METRES_PER_TILE = 1.5
ITEM_LAYER = 5
LAYER_TILES = 2
GAME_LAYER = 1
SOLID = {1, 3}
SPAWN_TEAMS = {192: 0, 193: 1, 194: 2}


class DataFile:
    """Items of integers and compressed blobs, as the game stores all its data."""

    def __init__(self, data):
        magic, version, _, _, types, items, blobs, item_bytes, _ = struct.unpack_from("<4s8i", data)
        if magic != b"DATA" or version != 4:
            raise ValueError("no Teeworlds datafile of version 4")
        at = 36 + 12 * types
        offsets = struct.unpack_from(f"<{items}i", data, at)
        at += 4 * items
        self.blob_offsets = struct.unpack_from(f"<{blobs}i", data, at)
        at += 8 * blobs                     # and their sizes before compression
        self.items = []
        for offset in offsets:
            kind, size = struct.unpack_from("<Ii", data, at + offset)
            values = struct.unpack_from(f"<{size // 4}i", data, at + offset + 8)
            self.items.append((kind >> 16, values))
        self.blobs = data[at + item_bytes:]

    def blob(self, index):
        return zlib.decompressobj().decompress(self.blobs[self.blob_offsets[index]:])


def game_layer(data_file):
    """Width, height and the tile numbers row by row."""
    for kind, values in data_file.items:
        if kind != ITEM_LAYER or values[1] != LAYER_TILES or not values[6] & GAME_LAYER:
            continue
        version, width, height = values[3:6]
        tiles = []
        for index, _, skip, _ in struct.iter_unpack("<4B", data_file.blob(values[14])):
            tiles += [index] * (skip + 1 if version >= 4 else 1)
        return width, height, tiles[:width * height]
    raise ValueError("no game layer")


def rectangles(width, height, solid):
    """Covers the solid tiles: as wide as possible, then as high as possible."""
    left = set(solid)
    for y in range(height):
        for x in range(width):
            if (x, y) not in left:
                continue
            w = h = 1
            while (x + w, y) in left:
                w += 1
            while all((i, y + h) in left for i in range(x, x + w)):
                h += 1
            left -= {(i, k) for i in range(x, x + w) for k in range(y, y + h)}
            yield x, y, w, h


def convert(map_path, out_path):
    with open(map_path, "rb") as file:
        width, height, tiles = game_layer(DataFile(file.read()))
    size = PIXELS_PER_TILE
    tiled = TiledMap(width * size, height * size, METRES_PER_TILE / size)
    places = [(i % width, i // width, tile) for i, tile in enumerate(tiles)]
    for x, y, w, h in rectangles(width, height, {(x, y) for x, y, t in places if t in SOLID}):
        tiled.wall_rectangle(x * size, y * size, w * size, h * size)
    for x, y, tile in places:
        if tile in SPAWN_TEAMS:
            tiled.spawn((x + 0.5) * size, (y + 0.5) * size, SPAWN_TEAMS[tile])
    tiled.write(out_path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    convert(*sys.argv[1:])
