#!/usr/bin/env python3
"""Maps drawn by others: FreeDM's levels and Teeworlds' maps through the converters, Tiled's own examples exported by
Tiled, and our own. Each is loaded, or refused in one clear line; bots play on every one that loads. Packages: freedm, teeworlds-data, tiled; what is not installed is
skipped (77: none is)."""
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import daemon

sys.path.insert(0, str(daemon.TOP / "tests" / "support"))
import convert_doom  # noqa: E402
import convert_teeworlds  # noqa: E402

FREEDM = pathlib.Path("/usr/share/games/doom/freedm.wad")
TEEWORLDS = pathlib.Path("/usr/share/games/teeworlds/data/maps")
TILED_EXAMPLES = pathlib.Path("/usr/share/doc/tiled/examples")
TILED = shutil.which("tiled")


def tiled(*arguments, folder):
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_RUNTIME_DIR": str(folder)}
    return subprocess.run([TILED, *map(str, arguments)], env=environment, capture_output=True,
                          timeout=daemon.LIMIT_S, check=False)


class Maps(daemon.Case):
    def check(self, path):
        return daemon.run("--config", daemon.ARENA, "--set", f"match.map={path}", "--check-config")

    def check_loads(self, path):
        done = self.check(path)
        self.assertEqual((done.returncode, done.stderr), (0, ""), path)
        document = json.loads(path.read_text(encoding="utf-8"))
        for layer in document["layers"]:
            self.assertGreater(len(layer["objects"]), 5, f"{path}: {layer['name']}")

    def check_plays(self, path):
        """Sixteen bots for a minute of virtual time: nobody is ever inside a wall or outside the bounds."""
        done = subprocess.run([daemon.program("play_map"), daemon.ARENA, path, "60", "16", "1"], capture_output=True,
                              text=True, timeout=daemon.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, f"{path}: {done.stdout}{done.stderr[-2000:]}")

    def test_our_arenas(self):
        for path in sorted((daemon.TOP / "config" / "maps").glob("arena_*.tmj")):
            self.check_loads(path)
            self.check_plays(path)

    @unittest.skipUnless(FREEDM.exists(), "package freedm is not installed")
    def test_freedm(self):
        for number in range(1, 11):
            out = self.folder / f"MAP{number:02}.tmj"
            convert_doom.convert(FREEDM, out.stem, out)
            self.check_loads(out)
            self.check_plays(out)

    @unittest.skipUnless(TEEWORLDS.exists(), "package teeworlds-data is not installed")
    def test_teeworlds(self):
        for name in ("dm1", "dm2", "ctf1"):
            out = self.folder / f"{name}.tmj"
            convert_teeworlds.convert(TEEWORLDS / f"{name}.map", out)
            self.check_loads(out)
            self.check_plays(out)

    def export_examples(self):
        """Tiled's examples as .tmj with the one property that they cannot know."""
        shutil.copytree(TILED_EXAMPLES, self.folder / "examples")
        for packed in list((self.folder / "examples").rglob("*.gz")):
            packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        for source in sorted((self.folder / "examples").rglob("*.tmx")):
            out = source.with_suffix(".tmj")
            tiled("--export-map", source, out, folder=self.folder)
            if not out.exists():
                continue  # Tiled itself cannot read it
            document = json.loads(out.read_text(encoding="utf-8"))
            document.setdefault("properties", []).append(
                {"name": "metres_per_pixel", "type": "float", "value": 0.05})
            out.write_text(json.dumps(document, indent=1), encoding="utf-8")
            yield out

    @unittest.skipUnless(TILED and TILED_EXAMPLES.exists(), "package tiled is not installed")
    def test_examples_of_tiled(self):
        count = 0
        for path in self.export_examples():
            count += 1
            done = self.check(path)
            if done.returncode == 0:
                self.check_plays(path)
                continue
            self.assertEqual(done.returncode, 78, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith(f"{path}:"), done.stderr)
            if ".objects[" in done.stderr:
                self.assertRegex(done.stderr, r'layer "[^"]*", object \d+ "')
        self.assertGreater(count, 10)

    @unittest.skipUnless(TILED, "package tiled is not installed")
    def test_tiled_reads_our_maps_and_writes_the_same(self):
        for path in sorted((daemon.TOP / "config" / "maps").glob("*.tmj")):
            out = self.folder / path.name
            tiled("--export-map", path, out, folder=self.folder)
            ours = json.loads(path.read_text(encoding="utf-8"))
            theirs = json.loads(out.read_text(encoding="utf-8"))
            for layer, other in zip(ours["layers"], theirs["layers"], strict=True):
                self.assertEqual(layer["name"], other["name"])
                for a, b in zip(layer["objects"], other["objects"], strict=True):
                    for key in ("id", "x", "y", "width", "height", "rotation", "polygon", "polyline",
                                "point", "ellipse", "properties"):
                        self.assertEqual(a.get(key), b.get(key), f"{path.name} {a['id']} {key}")


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    if outcome.wasSuccessful() and len(outcome.skipped) == outcome.testsRun:
        sys.exit(77)
    sys.exit(0 if outcome.wasSuccessful() else 1)
