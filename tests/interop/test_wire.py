"""The Python codec, written from PROTOCOL.md, against the bytes of the C codec (tests/golden/proto_bytes.txt)."""
import struct
import unittest

import arbiter_wire as wire
from arbiter_snapshot import decode_snapshot, entity

GOLDEN = {}
for line in (wire.ROOT / "tests" / "golden" / "proto_bytes.txt").read_text(encoding="ascii").splitlines():
    name, digits = line.split(" ")
    GOLDEN[name] = bytes.fromhex(digits)


def field(name, kind, bits, values):
    return wire.Field([f"`{name}`", kind, bits, values])


# Tables of the samples' own state and parameters (tests/support/proto_samples.c).
OWN = [field("x", "f32", "32", "-4096..4096"), field("vx", "f32", "32", "-65536..65536"),
       field("heading", "f32", "32", "-3.2..3.2"),
       field("magazine", "u16", "4 x 10", "0..1000"), field("lean", "i8", "5", "-16..15"),
       field("boost", "u8", "1", "0..1"), field("push", "i16", "16", "-32768..32767"),
       field("drift", "i32", "32", "-2147483648..2147483647")]
PARAMETERS = [field("mover", "u8", "8", "0..2"), field("rate", "u16", "16", "20..128"),
              field("speed", "f32", "32", "0..1000"), field("rounds", "u16", "3 x 16", "0..65535")]


TICK = 0xFFF8


def base_of(entities):
    """The samples' baseline, six ticks before."""
    single = struct.unpack("<2f", struct.pack("<2f", 8.3, 1.5))
    own = {"starved_ticks": 0xFFFE, "outside_changes": 0x7001, "x": -4096.0, "vx": single[0], "heading": single[1],
           "magazine": [1, 1000, 511, 3], "lean": 15, "boost": 0, "push": -7, "drift": 1999999999}
    return {"tick": TICK - 6, "own": own, "controlled": (3, 1), "entities": entities}


def arena_base():
    standing = [1, 2, 3, 4, 5, 6, 7, 8, 1, 10]
    return base_of({
        (0, 1): entity("arena", 0, [1024, 15, -2097000, 2097151, -300, 8191, 4062, 1023, 3, 254], age=5),
        (1, 0xFFFF): entity("arena", 0, standing),
        (2, 7): entity("arena", 0, [0] * 10, age=1),
        (4, 1): entity("arena", 0, standing, age=2),
        (0xFFFF, 300): entity("arena", 1, [0] * 4),
    })


def serpent_base():
    body = [(256, -512), (0, -512), (-250, -490), (-420, -310)]
    return base_of({
        (7, 2): entity("serpent", 0, [3, 400, -510, 16000, 0, 65534, 4], body),
        (8, 2): entity("serpent", 0, [0, 8, 0, 0, 0, 0, 0], age=3),
        (300, 69): entity("serpent", 1, [0, 0, 0]),
        (301, 1): entity("serpent", 1, [5, 0, 0]),
        (302, 1): entity("serpent", 1, [6, 0, 0], age=9),
    })


class Tables(unittest.TestCase):
    """Messages that are one table, both ways."""

    cases = {
        "HELLO": ("hello", {"version": 0x1234, "schema_hash": 0x0123456789ABCDEF, "name": "Zoë 🐍",
                            "role": 1, "resume": 1, "token": bytes(range(0x3C, 0x4C))}),
        "REFUSED": ("refused", {"reason": 6, "server_version": 0x8001, "client_version": 0x7FFE,
                                "server_hash": 0xFEDCBA9876543210, "client_hash": 0x8000000000000001}),
        "PING": ("ping", {"sequence": 0xFFF1}),
        "PONG": ("pong", {"sequence": 0xFFF1, "tick": 0xFFFFFFF0, "fraction": 0x8765, "wait_us": 1234567}),
        "SPECTATE": ("spectate", {"number": 0xFFF2, "has_ack": 1, "ack_snapshot": 0x8004, "ack_mask": 0xC0000005,
                                  "follow": 1023, "x": -4096.0, "y": 12.375}),
        "COUNTS": ("counts", {"ticks": 0x80000001, "inputs_consumed": 2, "inputs_starved": 3, "inputs_late": 4,
                              "inputs_duplicate": 5, "inputs_refused": 0xFFFFFFFF,
                              "edges": [0x01010101 * (i + 1) for i in range(16)]}),
        "LATE": ("late", {"tick": 0xFFFFFFF4, "late_ms": 0x8102}),
    }

    def test_encode_gives_the_golden_bytes(self):
        for name, (golden, values) in self.cases.items():
            self.assertEqual(wire.encode(name, values), GOLDEN[golden], name)

    def test_decode_gives_the_values(self):
        for name, (golden, values) in self.cases.items():
            self.assertEqual(wire.decode(name, GOLDEN[golden]), values, name)

    def test_cut_and_longer_messages_are_malformed(self):
        for name, (golden, _) in self.cases.items():
            for size in range(len(GOLDEN[golden])):
                with self.assertRaises(wire.Malformed):
                    wire.decode(name, GOLDEN[golden][:size])
            with self.assertRaises(wire.Malformed):
                wire.decode(name, GOLDEN[golden] + b"\0")


class Events(unittest.TestCase):
    def test_decode_gives_the_values(self):
        cases = {
            "event_player": {"slot": 1023, "present": 1, "team": 2, "player_id": 0xF123456789ABCDEF,
                             "name": "0123456789012345678901234567890"},
            "event_rebind": {"key": (42, 0x8003), "control": 255},
            "event_death": {"victim": (0xFFFF, 4), "victim_slot": 7, "killer_slot": wire.NO_SLOT, "cause": 4},
            "event_score": {"slot": 5, "score": -70000, "kills": 65535, "deaths": 3, "deaths_by_nobody": 2},
            "event_phase": {"phase": 4, "round": 9, "end_tick": 0x80000000},
            "event_result": {"reason": 4, "winner_slot": 12, "winner_team": 2},
        }
        for golden, values in cases.items():
            event = wire.decode_event(GOLDEN[golden])
            self.assertEqual(event["event"], values, golden)
            self.assertEqual(event["tick"], 0xFFFFFFF8)
            self.assertEqual(event["name"], golden.split("_")[1].upper())

    def test_a_hit_has_its_place(self):
        hit = wire.decode_event(GOLDEN["event_hit"])["event"]
        self.assertEqual((hit["victim"], hit["shooter_slot"], hit["victim_slot"]), ((3, 9), 1, 300))
        self.assertEqual((hit["damage"], hit["part"], hit["x"]), (999, 1, -4096.0))
        self.assertAlmostEqual(hit["y"], 0.1, places=6)


class Lists(unittest.TestCase):
    def test_events_come_in_order_with_their_ticks(self):
        events = wire.decode_events(GOLDEN["events"])
        self.assertEqual([event["tick"] for event in events], [0xFFFFFFF8, 0xFFFFFFF8, 0xFFFFFFFF, 300, 65000])
        self.assertEqual([event["name"] for event in events], ["PLAYER", "DEATH", "PHASE", "IMPACT", "RESULT"])
        self.assertEqual(events[0]["event"], {"slot": 9, "present": 1, "team": 1, "player_id": 77, "name": "Z"})
        self.assertEqual(events[1]["event"], {"victim": (5, 6), "victim_slot": 7, "killer_slot": 8, "cause": 3})
        self.assertEqual(events[4]["event"], {"reason": 1, "winner_slot": 1, "winner_team": 2})

    def test_scores_are_lines_by_slot(self):
        scores = wire.decode_scores(GOLDEN["scores"])
        self.assertEqual(scores["tick"], 0xFFFFFFF8)
        rows = {0: (7, 0, 1, 0), 1: (-1, 16, 0, 65535), 40: (-8192, 1, 255, 3), 1023: (-2**31, 65535, 2, 1)}
        names = ("score", "kills", "deaths", "deaths_by_nobody")
        self.assertEqual({slot: tuple(line[name] for name in names) for slot, line in scores["lines"].items()}, rows)

    def test_cut_and_longer_ones_are_malformed(self):
        for decode, name in ((wire.decode_events, "events"), (wire.decode_scores, "scores")):
            for bad in [GOLDEN[name][:size] for size in range(len(GOLDEN[name]))] + [GOLDEN[name] + b"\0"]:
                with self.assertRaises(wire.Malformed):
                    decode(bad)


class Long(unittest.TestCase):
    def test_part(self):
        part = wire.decode_part(GOLDEN["part"])
        self.assertEqual((part["message"], part["index"], part["count"]), (0xFFFF, 3, 1000))
        self.assertEqual(part["bytes"], bytes([0x00, 0xFF, 0x10, 0x80, 0x07]))

    def test_parts_join_in_order_only(self):
        parts = wire.Parts()
        self.assertIsNone(parts.add({"index": 0, "count": 2, "bytes": b"ab"}))
        self.assertEqual(parts.add({"index": 1, "count": 2, "bytes": b"c"}), b"abc")
        with self.assertRaises(wire.Malformed):
            parts.add({"index": 1, "count": 2, "bytes": b"c"})

    def test_welcome(self):
        welcome = wire.decode_welcome(GOLDEN["welcome"], PARAMETERS)
        self.assertEqual(welcome["mode"], "arena")
        self.assertEqual(welcome["match_id"], bytes(range(0xF0, 0x100)))
        self.assertEqual(welcome["token"], bytes(range(0x90, 0xA0)))
        self.assertEqual(welcome["player_id"], 0x8000000000000005)
        self.assertEqual((welcome["player_slot"], welcome["player_capacity"]), (15, 16))
        self.assertEqual((welcome["tick"], welcome["tick_rate"]), (0xFFFFFF00, 60))
        self.assertEqual(welcome["bounds.low.y"], -20)
        self.assertEqual([shape["type"] for shape in welcome["shapes"]], [1, 2, 3, 3])
        self.assertEqual(welcome["shapes"][0], {"type": 1, "radius": 0.5, "points": [(1.5, -2.5)]})
        self.assertEqual(len(welcome["shapes"][3]["points"]), 8)
        self.assertEqual(welcome["parameters"], {"mover": 2, "rate": 128, "speed": 12.75, "rounds": [1, 30, 65535]})


class Inputs(unittest.TestCase):
    def test_a_bare_acknowledgement_has_the_golden_bytes(self):
        self.assertEqual(wire.encode_input(9, [], ack=0xFFFE, mask=0xA0000001, view_delay=0x8001),
                         GOLDEN["bare_ack"])

    def test_inputs_have_the_golden_bytes(self):
        fire, dash, reload = 1, 4, 8
        tick = 0x1FFFC
        held = {"buttons": fire | 0x8000, "move": (-100, 127), "muzzle": 128, "aim": 65500}
        past = {**held, "buttons": reload, "move": (5, 127), "aim": 36}
        inputs = [
            wire.new_input(tick=tick, edges=fire | dash, view=(0x1FFE0, 0x1FFE2, 256, 0xFFFE), **held),
            wire.new_input(tick=tick + 1, view=(0x1FFE0, 0x1FFE2, 17, 0xFFFE), **held),
            wire.new_input(tick=tick + 2, view=(0x1FFE2, 0x1FFE2, 1000, 3), **{**held, "aim": 36}),
            wire.new_input(tick=tick + 502, **past),
            wire.new_input(tick=tick + 503, **past),
            wire.new_input(tick=tick + 504, edges=0x1000, **{**past, "muzzle": 0}),
            wire.new_input(tick=tick + 505, edges=fire, **{**past, "muzzle": 0, "aim": 30000}),
            wire.new_input(tick=tick + 506, edges=fire, view=(0x1FC00, 0x20010, 1, 4),
                           **{**past, "muzzle": 0, "aim": 30000}),
        ]
        message = wire.encode_input(255, inputs, sequence=0xFFFD, older=3, ack=3, mask=0xFFFFFFFF,
                                    view_delay=100)
        self.assertEqual(message.hex(), GOLDEN["input"].hex())


class Snapshots(unittest.TestCase):
    def test_chunk(self):
        header, payload = wire.decode_chunk(GOLDEN["chunk"])
        self.assertEqual(header, {"id": 0xFFF0, "tick": 0x1002, "confirmed_tick": 0x1001, "last_sequence": 0x8000,
                                  "buffer_ticks": -3, "control": 200, "chunk_index": 62,
                                  "chunk_count": 64, "baseline": 63})
        self.assertEqual(payload, bytes([0x00, 0xFF, 0x10, 0x80, 0x07]))

    def check_own(self, snapshot):
        own = snapshot["own"]
        self.assertEqual((own["starved_ticks"], own["outside_changes"]), (0xFFFF, 0x8001))
        single = struct.unpack("<3f", struct.pack("<3f", -4095.9, 7.3, 3.1))
        self.assertEqual((own["x"], own["vx"], own["heading"]), single)
        self.assertEqual(own["magazine"], [1, 1000, 512, 3])
        self.assertEqual((own["lean"], own["boost"], own["push"], own["drift"]), (-16, 1, -32768, 2000000000))

    def check_characters(self, entities):
        first = entities[(0, 1)]
        self.assertEqual((first["kind"], first["owner"], first["team"], first["age"]), ("character", 1024, 15, 0))
        self.assertEqual((first["x"], first["y"]), (-4096.0, 2097151 / 512))
        self.assertEqual((first["vx"], first["vy"]), (-128.0, 8191 / 64))
        self.assertEqual(list(first["q"].values())[6:], [4095, 1023, 3, 255])
        self.assertEqual(list(entities[(1, 0xFFFF)]["q"].values()), [1, 2, 3, 4, 5, 6, 7, 8, 1, 10])
        pickup = entities[(0xFFFF, 300)]
        self.assertEqual((pickup["kind"], pickup["type"], pickup["value"]), ("pickup", 2, 1023))
        self.assertAlmostEqual(pickup["x"], -1 / 512)

    def test_arena(self):
        snapshot = decode_snapshot(GOLDEN["arena"], "arena", TICK, own_table=OWN)
        self.check_own(snapshot)
        self.assertEqual(snapshot["controlled"], (0xFFFF, 0x8001))
        self.assertEqual(list(snapshot["entities"]), [(0, 1), (1, 0xFFFF), (0xFFFF, 300)])
        self.check_characters(snapshot["entities"])

    def test_arena_against_a_baseline(self):
        snapshot = decode_snapshot(GOLDEN["arena_delta"], "arena", TICK, arena_base(), own_table=OWN)
        self.check_own(snapshot)
        self.assertEqual(snapshot["controlled"], (0xFFFF, 0x8001))
        self.assertEqual(list(snapshot["entities"]), [(0, 1), (1, 0xFFFF), (3, 1), (4, 1), (0xFFFF, 300)])
        self.check_characters(snapshot["entities"])
        self.assertEqual(snapshot["entities"][(3, 1)]["q"], snapshot["entities"][(0, 1)]["q"])
        self.assertEqual(snapshot["entities"][(4, 1)]["age"], 8, "left out")

    def check_serpents(self, entities):
        body = [(512, -512), (256, -512), (0, -512), (-250, -490), (-400, -300), (-1400, 900),
                (2097151, -2097152), (-2097152, 2097151)]
        self.assertEqual(entities[(7, 2)]["body"], [(x / 512, y / 512) for x, y in body])
        self.assertEqual(list(entities[(7, 2)]["q"].values()), [3, 512, -512, 16384, 1, 65535, 4])
        self.assertEqual(entities[(8, 2)]["body"], [])
        self.assertEqual(entities[(300, 70)]["value"], 255)

    def test_serpent(self):
        snapshot = decode_snapshot(GOLDEN["serpent"], "serpent", TICK, own_table=OWN)
        self.assertIsNone(snapshot["own"])
        self.assertEqual(snapshot["controlled"], (3, 1))
        self.check_serpents(snapshot["entities"])

    def test_serpent_against_a_baseline(self):
        snapshot = decode_snapshot(GOLDEN["serpent_delta"], "serpent", TICK, serpent_base(), own_table=OWN)
        self.assertIsNone(snapshot["own"])
        self.assertEqual(snapshot["controlled"], (3, 1))
        self.assertEqual(list(snapshot["entities"]), [(7, 2), (8, 2), (300, 70), (301, 1), (302, 1)])
        self.check_serpents(snapshot["entities"])
        self.assertEqual(snapshot["entities"][(8, 2)]["x"], 9 / 512)
        self.assertEqual([snapshot["entities"][(i, 1)]["age"] for i in (301, 302)], [0, 15])

    def lose_each(self, group, head):
        """A parity chunk makes up for any one that is lost."""
        chunks = [b"abcd", b"efgh", b"ij"]
        parity = bytes(a ^ b ^ c for a, b, c in zip(b"abcd", b"efgh", b"ij\0\0"))
        for lost in range(4):
            whole = None
            for index, payload in enumerate(chunks + [parity]):
                if index != lost:
                    self.assertIsNone(whole)
                    more = {"last_bytes": 2} if index == 3 else {}
                    whole = group.add({**head(84 + lost, index), **more}, payload)
            self.assertEqual(whole[1], b"abcdefghij", lost)
        self.assertIsNone(group.add(head(90, 0), b"abcd"))
        self.assertIsNone(group.add(head(90, 1), b"efgh"))
        self.assertIsNone(group.add({**head(90, 3), "last_bytes": 1}, parity), "something left behind the last")
        self.assertIsNone(group.add(head(90, 2), b"ij"), "dead")

    def test_chunks_assemble_as_the_page_says(self):
        def head(snapshot, index, count=3, **more):
            return {"id": snapshot, "chunk_index": index, "chunk_count": count, **more}

        group = wire.Assembly()
        self.assertIsNone(group.add(head(81, 2), b"c"))
        self.assertIsNone(group.add(head(81, 0), b"a"))
        self.assertEqual(group.add(head(81, 1), b"b")[1], b"abc")
        self.assertIsNone(group.add(head(81, 1), b"b"), "stale")
        self.assertIsNone(group.add(head(82, 0), b"a"))
        self.assertIsNone(group.add(head(82, 0), b"x"), "conflict")
        self.assertIsNone(group.add(head(82, 1), b"b"))
        self.assertIsNone(group.add(head(82, 2), b"c"), "dead")
        self.assertEqual(group.add(head(83, 0, 1), b"z")[1], b"z")
        self.lose_each(group, head)
        group.committed, group.group = 0xFFFF, None
        self.assertEqual(group.add(head(0, 0, 1), b"w")[1], b"w", "ids wrap")


if __name__ == "__main__":
    unittest.main()
