"""The page of `arbiter-replay render` in a real browser (Debian's chromium-headless-shell): a local file that plays by
itself, and shows at a chosen moment what the journal says. Status 77: no such browser here."""
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import daemon  # pylint: disable=wrong-import-position
import picture_colours

BROWSER = "chromium-headless-shell"
PAUSED_AT = 0.6  # of the match
WALL, NIGHT = (0x55, 0x5B, 0x66), (0x16, 0x18, 0x1D)

# What a person does with the page: pulls the time line, and stops; has_seen once that is drawn. The canvas's place is
# left where the test finds it.
HANDS = """<script>
addEventListener('DOMContentLoaded', () => {
  const line = document.getElementById('time');
  line.value = Math.floor(line.max * %f);
  line.dispatchEvent(new Event('input'));
  document.getElementById('play').click();
  const box = document.getElementById('view').getBoundingClientRect();
  document.body.dataset.box = JSON.stringify([box.left, box.top, box.width, box.height]);
  requestAnimationFrame(() => requestAnimationFrame(has_seen));
});
</script>"""

# Somebody who only watches, and looks at a watch; has_seen after two seconds of the match.
EYES = """<script>
const clock = () => parseFloat(document.getElementById('clock').textContent) || 0;
const opened = performance.now(), first = clock();
function look() {
  const shown = clock();
  document.body.dataset.watch = JSON.stringify([shown - first, (performance.now() - opened) / 1000]);
  if (shown >= 2) has_seen();
  else requestAnimationFrame(look);
}
requestAnimationFrame(look);
</script>"""

# The browser takes its picture when all of the page has come: a picture of the page's comes once has_seen was called.
UNTIL_SEEN = """<script>function has_seen() { new Image().src = '%s/seen'; }</script><img hidden src="%s/wait">"""


class Gate(http.server.BaseHTTPRequestHandler):
    """Answers /wait when /seen was asked for."""

    def do_GET(self):  # pylint: disable=invalid-name
        if self.path == "/seen":
            self.server.seen.set()
        else:
            self.server.seen.wait(60)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def colour_of(slot):
    """hsl(slot * 137 mod 360, 70 %, 60 %), as bytes."""
    if slot < 0:
        return (0x99, 0xAA, 0x88)
    hue = slot * 137 % 360 / 60
    chroma, low = 0.56, 0.32
    near = chroma * (1 - abs(hue % 2 - 1))
    parts = ((chroma, near, 0), (near, chroma, 0), (0, chroma, near), (0, near, chroma), (near, 0, chroma), (chroma, 0, near))
    return tuple(round(255 * (low + part)) for part in parts[int(hue)])


class Browser(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def render(self, mode):
        journal = self.folder / mode
        subprocess.run([daemon.program("arbiter-sim"), "--config", daemon.TOP / f"config/{mode}.json", "--clients", "6",
                        "--seed", "5", "--ticks", "1500", "--set", "match.countdown_s=0", "--set", "match.rounds=1",
                        "--set", "match.duration_s=300", "--journal", journal], check=True, capture_output=True, timeout=daemon.LIMIT_S)
        page = subprocess.run([daemon.program("arbiter-replay"), "render", journal], check=True, capture_output=True,
                              text=True, timeout=daemon.LIMIT_S).stdout
        text = page.split('<script id="match" type="application/json">')[1].split("</script>")[0]
        return page, json.loads(text)

    def show(self, page, name):
        """The page after has_seen, and its picture; the console must have stayed empty."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gate)
        server.seen = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        address = f"http://127.0.0.1:{server.server_port}"
        file, picture = self.folder / f"{name}.html", self.folder / f"{name}.png"
        file.write_text(page + UNTIL_SEEN % (address, address), encoding="utf-8")
        done = subprocess.run([BROWSER, "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                               "--disable-background-networking", f"--user-data-dir={self.folder / 'profile'}",
                               "--enable-logging=stderr", "--window-size=1100,700", f"--screenshot={picture}", "--dump-dom",
                               file.as_uri()], capture_output=True, text=True, timeout=daemon.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(server.seen.is_set(), done.stderr)
        self.assertEqual([line for line in done.stderr.splitlines() if "CONSOLE" in line], [])
        kept = os.environ.get("BROWSER_PICTURES")
        if kept:
            shutil.copy(picture, kept)
        return done.stdout, picture

    def test_the_page_plays_by_itself(self):
        page, match = self.render("arena")
        seen, _ = self.show(page + EYES, "plays")
        seconds, tick = re.search(r'id="clock">([0-9.]+) s, tick (\d+),', seen).groups()
        self.assertGreaterEqual(float(seconds), 2, "it plays from the beginning, at once")
        shown, watched = json.loads(re.search(r'data-watch="([^"]*)"', seen).group(1))
        self.assertLess(shown, watched + 0.5, "and no faster than the match")
        self.assertAlmostEqual((int(tick) - match["frames"][0][0]) / match["rate"], float(seconds), delta=0.06)

    def test_it_shows_what_the_journal_says(self):
        for mode in ("arena", "serpent"):
            with self.subTest(mode=mode):
                page, match = self.render(mode)
                seen, picture = self.show(page + HANDS % PAUSED_AT, mode)
                frame = int((len(match["frames"]) - 1) * PAUSED_AT)
                self.assertIn(f"tick {match['frames'][frame][0]}, live", seen)
                entities, lines = {}, {}
                for _, _, moved, gone, _, told in match["frames"][:frame + 1]:
                    for key in gone:
                        del entities[key]
                    for key, x, y, _, *more in moved:
                        owner = more[1] if len(more) >= 3 else entities[key][2]
                        entities[key] = (x, y, owner)
                    lines.update((line[0], line) for line in told)
                rows = re.findall(r"<tr class=\"\w*\"[^>]*><td>(\w+)</td><td>(-?\d+)</td><td>(\d+)</td><td>(\d+)</td>", seen)
                self.assertEqual(sorted(rows), sorted((line[1], *map(str, line[4:7])) for line in lines.values() if line[2]))
                self.check_picture(match, entities.values(), seen, picture)

    def check_picture(self, match, entities, seen, picture):
        """Each entity that lies inside of the picture is there in its colour, and nothing is where nothing can be."""
        left, top, wide, high = json.loads(re.search(r'data-box="([^"]*)"', seen).group(1))
        low_x, low_y, high_x, high_y = match["bounds"]
        scale = min(wide / (high_x - low_x), high / (high_y - low_y))
        rows = list(picture_colours.rows(picture))

        def off(x, y, wanted):
            """By how much the likest pixel of nine differs: a head may be four pixels wide."""
            across = round(left + wide / 2 + scale * (x - (low_x + high_x) / 2))
            down = round(top + high / 2 - scale * (y - (low_y + high_y) / 2))
            return min(max(abs(here - its) for here, its in zip(rows[row][column], wanted))
                       for row in range(down - 1, down + 2) for column in range(across - 1, across + 2))
        people = [(x, y, owner) for x, y, owner in entities if owner >= 0]
        self.assertGreater(len(people), 3)
        unlike = [owner for x, y, owner in people
                  if off(x, y, colour_of(owner)) > 20]
        self.assertLessEqual(len(unlike), 1, "one may lie below another or a shot")
        colours = picture_colours.read(picture)
        self.assertGreater(colours[WALL], 1000)
        self.assertGreater(colours[NIGHT], wide * high / 4)


if __name__ == "__main__":
    if shutil.which(BROWSER) is None:
        print(f"browser: no {BROWSER} here")
        sys.exit(77)
    unittest.main()
