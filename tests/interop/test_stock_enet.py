"""A client that is not ours, on Debian's ENet binding, plays a match on the real daemon from PROTOCOL.md alone."""
import math
import pathlib
import random
import sys
import time
import unittest

try:
    import enet  # noqa: F401
    import stock_client
except ImportError:
    stock_client = None

import arbiter_wire as wire

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import daemon as arbiterd  # noqa: E402

LIVE = 2
MATCH = {"match.min_players": 1, "match.max_players": 4, "match.countdown_s": 0, "match.duration_s": 600}


@unittest.skipIf(stock_client is None, "python3-enet is not installed")
class StockEnet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            arbiterd.program("arbiterd")
        except FileNotFoundError as error:
            raise unittest.SkipTest(str(error)) from error

    def joined(self, port, name):
        player = stock_client.Player(port)
        self.assertTrue(player.join(name), f"{name}: {player.refused}")
        return player

    def ended(self, daemon):
        """Ends the daemon; what it counted of messages."""
        daemon.signal()
        self.assertIn(daemon.end(), (0, 1))
        return daemon.event("messages")

    def assert_moves(self, player, move):
        """Held for half a second, it goes that way or stands at a wall, and never against it; metres gone."""
        self.assertTrue(player.play(0.5))
        before = player.own()
        generation = player.snapshot["controlled"]
        self.assertTrue(player.play(0.5, move=move))
        after = player.own()
        self.assertEqual(player.snapshot["controlled"], generation, "still the same character")
        length = math.hypot(*move)
        gone = ((after["x"] - before["x"]) * move[0] + (after["y"] - before["y"]) * move[1]) / length
        self.assertGreater(gone, -0.1, f"moved against {move}")
        return gone

    def test_plays_for_a_while_and_leaves(self):
        with arbiterd.Daemon(MATCH) as daemon:
            port = daemon.ready()["port"]
            player = self.joined(port, "stock")
            welcome = player.welcome
            self.assertEqual((welcome["mode"], welcome["tick_rate"]), ("arena", 60))
            self.assertTrue(player.play_until(lambda: player.phase() == LIVE and player.own() is not None))

            self.assertTrue(player.play_until(lambda: player.baselines > 10), "snapshots come as differences")

            # Its own entity, where its own state says.
            entity, own = player.own_entity(), player.own()
            self.assertIsNotNone(entity)
            self.assertEqual((entity["kind"], entity["owner"]), ("character", welcome["player_slot"] + 1))
            self.assertAlmostEqual(entity["x"], own["x"], delta=1 / 512)
            self.assertAlmostEqual(entity["y"], own["y"], delta=1 / 512)
            for axis in "xy":
                self.assertTrue(welcome[f"bounds.low.{axis}"] < own[axis] < welcome[f"bounds.high.{axis}"])

            # Where it steers, there it goes: a wall may stand on one side, not on both.
            for axis in ((127, 0), (0, 127)):
                there = self.assert_moves(player, axis)
                back = self.assert_moves(player, (-axis[0], -axis[1]))
                self.assertGreater(max(there, back), 0.5, f"along {axis}")

            # It looks where it aims, and a press is one edge.
            edges = player.counts["edges"][0]
            player.play(0.1, aim=16384)
            player.edges = wire.FIRE
            player.play(0.3, aim=16384)
            self.assertAlmostEqual(player.own()["heading"], math.pi / 2, delta=1e-3)
            self.assertTrue(player.play_until(lambda: player.counts["edges"][0] > edges), player.counts)
            self.assertEqual(player.counts["edges"][0], edges + 1)

            # The stream held all the while.
            ids = player.snapshot_ids
            self.assertGreater(len(ids), 100)
            self.assertTrue(all(wire.Assembly.newer(b, a) for a, b in zip(ids, ids[1:])))
            self.assertGreater(player.received["PONG"], 10)
            self.assertTrue(player.play_until(lambda: player.counts["inputs_consumed"] > 200))
            if daemon.event("time_dropped") is None:  # else its own clock was ahead for a while, which is no fault
                self.assertEqual(player.counts["inputs_refused"], 0, player.counts)
            names = {event["name"] for event in player.events}
            self.assertTrue({"PLAYER", "PHASE", "REBIND"} <= names, names)
            self.assertTrue(player.close(), "the server acknowledges the disconnect")
            counted = self.ended(daemon)
            self.assertEqual([counted[reason] for reason in ("empty", "unknown", "short", "long", "range", "order")],
                             [0] * 6)

    def test_steers_a_serpent(self):
        serpent = arbiterd.TOP / "config" / "serpent.json"
        with arbiterd.Daemon(MATCH, config=serpent) as daemon:
            player = self.joined(daemon.ready()["port"], "stock")
            self.assertEqual(player.welcome["mode"], "serpent")
            self.assertTrue(player.play_until(lambda: player.phase() == LIVE and player.own() is not None))
            player.play(0.1)
            before = player.own()

            def turned():
                return math.remainder(player.own()["heading"] - before["heading"], math.tau)
            self.assertTrue(player.play_until(lambda: abs(turned()) > 0.1, move=(-127, 0)))
            self.assertGreater(turned(), 0, "left is counter-clockwise")
            self.assertTrue(player.play_until(lambda: math.dist(
                (before["x"], before["y"]), (player.own()["x"], player.own()["y"])) > 0.3, move=(-127, 0)), "it goes")
            after, entity = player.own(), player.own_entity()
            self.assertEqual(entity["kind"], "head")
            self.assertGreater(len(entity["body"]), 1)
            self.assertLess(math.dist(entity["body"][0], (after["x"], after["y"])), entity["length"] + 1)
            self.assertTrue(player.close())

    def test_another_version_or_hash_is_refused_naming_both(self):
        page = wire.PAGE
        with arbiterd.Daemon(MATCH) as daemon:
            port = daemon.ready()["port"]
            for version, schema_hash in ((page.version + 1, page.schema_hash), (page.version, page.schema_hash ^ 1)):
                client = stock_client.Connection(port)
                self.assertTrue(client.wait(lambda: client.connected))
                client.hello(version=version, schema_hash=schema_hash)
                self.assertTrue(client.wait(lambda: client.refused is not None and client.disconnected))
                self.assertEqual(client.refused, {
                    "reason": page.refusals["VERSION"], "server_version": page.version, "client_version": version,
                    "server_hash": page.schema_hash, "client_hash": schema_hash})
            # One of another version may say more after the two.
            client = stock_client.Connection(port)
            self.assertTrue(client.wait(lambda: client.connected))
            hello = wire.encode("HELLO", {"version": 9, "schema_hash": 5, "name": "", "role": 0,
                                          "resume": 0, "token": bytes(16)})
            client.reliable(hello + bytes(range(200)))
            self.assertTrue(client.wait(lambda: client.refused is not None))
            self.assertEqual(client.refused["client_version"], 9)

    def test_garbage_is_counted_and_disturbs_nobody(self):
        dice = random.Random(5)
        with arbiterd.Daemon(MATCH) as daemon:
            port = daemon.ready()["port"]
            player = self.joined(port, "honest")
            self.assertTrue(player.play_until(lambda: player.phase() == LIVE and player.own() is not None))
            player.play(0.5)
            before, snapshots = player.own(), len(player.snapshot_ids)
            vandal = stock_client.Connection(port)
            self.assertTrue(vandal.wait(lambda: vandal.connected))
            vandal.hello(name="vandal")
            self.assertTrue(vandal.wait(lambda: vandal.received.get("PART", 0) > 0))
            garbage = [
                wire.encode("PING", {"sequence": 1})[:2],                     # short
                wire.encode("PING", {"sequence": 1}) + b"\0",                  # long
                bytes([wire.PAGE.types["WELCOME"], 1, 2, 3]),                   # a server's message
                bytes([77]) + bytes(20),                                        # unknown
                wire.encode_input(0, [])[:1],                                   # cut
                bytes([wire.PAGE.types["INPUT"]]) + dice.randbytes(60),
                dice.randbytes(1000),
            ]
            for message in garbage:
                vandal.unsequenced(message)
                vandal.reliable(message)
                vandal.pump(5)
                player.play(0.05)
            end = time.monotonic() + stock_client.LIMIT_S
            while vandal.refused is None and not vandal.disconnected and time.monotonic() < end:
                vandal.reliable(dice.randbytes(30))
                vandal.pump(1)
                player.play(0.02)
            self.assertIsNotNone(vandal.refused, "who goes on is disconnected")
            self.assertEqual(vandal.refused["reason"], wire.PAGE.refusals["PROTOCOL"])
            self.assertTrue(player.play_until(lambda: len(player.snapshot_ids) > snapshots + 20))
            player.play(0.5)
            after = player.own()
            self.assertAlmostEqual(after["x"], before["x"], delta=1e-6, msg="nobody steered")
            self.assertAlmostEqual(after["y"], before["y"], delta=1e-6)
            self.assertEqual(after["outside_changes"], before["outside_changes"])
            self.assertFalse(player.disconnected)
            counted = self.ended(daemon)
            self.assertGreaterEqual(counted["short"], 2, counted)
            self.assertGreaterEqual(counted["long"], 2, counted)
            self.assertGreaterEqual(counted["unknown"], 4, counted)
            self.assertEqual(counted["cut_offenders"], 1, counted)


if __name__ == "__main__":
    unittest.main()
