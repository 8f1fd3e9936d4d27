"""What the converters share: a Tiled map as a dictionary, written as .tmj; the lumps of a Doom WAD."""
import json
import struct

PIXELS_PER_TILE = 16


def doom_lumps(wad):
    """All lumps in their order: (name, bytes)."""
    count, directory = struct.unpack_from("<ii", wad, 4)
    entries = [struct.unpack_from("<ii8s", wad, directory + 16 * i) for i in range(count)]
    return [(name.rstrip(b"\0").decode("ascii", "replace"), wad[at:at + size]) for at, size, name in entries]


class TiledMap:
    """Collects objects in pixels of the editor (y down)."""

    def __init__(self, width_px, height_px, metres_per_pixel):
        self.columns = -(-int(width_px) // PIXELS_PER_TILE)
        self.rows = -(-int(height_px) // PIXELS_PER_TILE)
        self.metres_per_pixel = metres_per_pixel
        self.walls = []
        self.spawns = []
        self.next_id = 1

    def _add(self, layer, kind, x, y, width=0, height=0, properties=(), **more):
        layer.append({
            "id": self.next_id, "name": "", "type": kind, "x": x, "y": y, "width": width,
            "height": height, "rotation": 0, "visible": True,
            "properties": [{"name": n, "type": t, "value": v} for n, t, v in properties], **more})
        self.next_id += 1

    def wall_rectangle(self, x, y, width, height):
        self._add(self.walls, "wall", x, y, width, height)

    def wall_line(self, x0, y0, x1, y1, thickness_m):
        self._add(self.walls, "wall", x0, y0, properties=[("thickness_m", "float", thickness_m)],
                  polyline=[{"x": 0, "y": 0}, {"x": x1 - x0, "y": y1 - y0}])

    def spawn(self, x, y, team=0):
        self._add(self.spawns, "spawn", x, y, properties=[("team", "int", team)], point=True)

    def _layer(self, number, name, objects):
        return {"id": number, "name": name, "type": "objectgroup", "draworder": "topdown", "x": 0,
                "y": 0, "opacity": 1, "visible": True, "objects": objects}

    def write(self, path):
        document = {
            "type": "map", "version": "1.10", "tiledversion": "1.10.2", "orientation": "orthogonal",
            "renderorder": "right-down", "compressionlevel": -1, "infinite": False,
            "width": self.columns, "height": self.rows,
            "tilewidth": PIXELS_PER_TILE, "tileheight": PIXELS_PER_TILE,
            "nextlayerid": 3, "nextobjectid": self.next_id, "tilesets": [],
            "properties": [{"name": "metres_per_pixel", "type": "float",
                            "value": self.metres_per_pixel}],
            "layers": [self._layer(1, "walls", self.walls), self._layer(2, "spawns", self.spawns)]}
        with open(path, "w", encoding="utf-8") as out:
            json.dump(document, out, indent=1)
            out.write("\n")
