"""Arbiter's messages in Python, written from shared/proto/PROTOCOL.md alone: the tables are read from that page, the
rest follows its text. Messages are dictionaries; names are those of the tables. Malformed bytes raise Malformed.
"""
import pathlib
import re
import struct

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "shared" / "proto" / "PROTOCOL.md"
NO_SLOT = 0xFFFF
FIRE = 1


class Malformed(Exception):
    """The bytes are no message of the protocol."""


def _malformed(what):
    raise Malformed(what)


class Writer:
    """Bits, lowest first."""

    def __init__(self):
        self.value = 0
        self.size = 0

    def put(self, value, bits):
        self.value |= (value & ((1 << bits) - 1)) << self.size
        self.size += bits

    def bytes(self):
        return self.value.to_bytes((self.size + 7) // 8, "little")


class Reader:
    """Bits, lowest first; end() checks that all was read."""

    def __init__(self, data):
        self.value = int.from_bytes(data, "little")
        self.left = 8 * len(data)

    def get(self, bits):
        if bits > self.left:
            raise Malformed("ended early")
        value = self.value & ((1 << bits) - 1)
        self.value >>= bits
        self.left -= bits
        return value

    def signed(self, bits):
        value = self.get(bits)
        return value - (1 << bits) if value >> (bits - 1) else value

    def end(self):
        if self.left > 7:
            raise Malformed("bytes left over")
        if self.value:
            raise Malformed("filled with ones")


# ---- the page's tables ----

def _rows(text, name):
    found = re.search(rf"<!-- table: {re.escape(name)} -->\n(.*?)<!-- end -->", text, re.S)
    if found is None:
        raise KeyError(name)
    lines = found.group(1).strip().split("\n")[2:]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


class Field:
    """A row of a table of fields."""

    def __init__(self, row):
        self.name, self.type, bits, values = row[0].strip("`"), row[1], row[2], row[3]
        self.count = int(bits.split(" x ")[0]) if " x " in bits else 1
        self.bits = int(bits.split(" x ")[-1]) if re.fullmatch(r"(\d+ x )?\d+", bits) else None
        self.text_max = int(values.rsplit(" ", 1)[1]) if self.type == "text" else None
        limits = re.fullmatch(r"(-?[\d.e+]+)\.\.(-?[\d.e+]+)", values)
        self.limits = tuple(float(limit) for limit in limits.groups()) if limits else None

    def write_one(self, out, value):
        if self.type == "f32":
            out.put(struct.unpack("<I", struct.pack("<f", value))[0], 32)
        elif self.type == "key":
            out.put(value[0], 16)
            out.put(value[1], 16)
        elif self.type == "bytes":
            out.put(int.from_bytes(value, "little"), self.bits)
        elif self.type == "text":
            data = value.encode()
            out.put(len(data), 8)
            out.put(int.from_bytes(data, "little"), 8 * len(data))
        else:
            out.put(value, self.bits)

    def read_one(self, data):
        if self.type == "key":
            return (data.get(16), data.get(16))
        if self.type == "bytes":
            return data.get(self.bits).to_bytes(self.bits // 8, "little")
        if self.type == "text":
            return self.read_text(data)
        if self.type == "f32":
            value = struct.unpack("<f", struct.pack("<I", data.get(32)))[0]
        else:
            value = data.signed(self.bits) if self.type[0] == "i" else data.get(self.bits)
        if self.limits is not None and not self.limits[0] <= value <= self.limits[1]:
            raise Malformed(f"{self.name} is {value}")
        return value

    def read_text(self, data):
        length = data.get(8)
        if length > self.text_max:
            raise Malformed(f"{self.name} too long")
        try:
            text = data.get(8 * length).to_bytes(length, "little").decode()
        except UnicodeDecodeError as error:
            raise Malformed(f"{self.name} is not UTF-8") from error
        if any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in text):
            raise Malformed(f"{self.name} holds control characters")
        return text


def write_table(out, table, values):
    for field in table:
        value = values[field.name]
        for element in value if field.count > 1 else [value]:
            field.write_one(out, element)


def read_table(data, table):
    values = {}
    for field in table:
        elements = [field.read_one(data) for _ in range(field.count)]
        values[field.name] = elements if field.count > 1 else elements[0]
    return values


class KindField:
    """A row of a table of an entity kind."""

    def __init__(self, row):
        self.name, self.bits, self.is_signed, self.unit = row[0].strip("`"), int(row[1]), row[2] == "yes", float(row[3])

    def read(self, data):
        return data.signed(self.bits) if self.is_signed else data.get(self.bits)


class Page:
    """PROTOCOL.md: limits, tables, kinds."""

    def __init__(self, path=DOCUMENT):
        self.text = path.read_text(encoding="utf-8")
        limits = {row[0]: int(row[1], 0) for row in _rows(self.text, "limits")}
        self.limits = limits
        self.version, self.schema_hash = limits["protocol version"], limits["schema hash"]
        self.types = {row[1]: int(row[0]) for row in _rows(self.text, "messages")}
        self.refusals = {row[1]: int(row[0]) for row in _rows(self.text, "refusals")}
        self.events = {int(row[0]): row[1] for row in _rows(self.text, "events")}
        self.small = {row[0]: [int(bits) for bits in row[1:]] for row in _rows(self.text, "small values")}
        self.steps = {row[0]: [int(bits) for bits in row[1:]] for row in _rows(self.text, "differences")}

    def table(self, name):
        return [Field(row) for row in _rows(self.text, name)]

    def kinds(self, mode):
        """A list of (name, fields, has_body), by kind."""
        names = re.findall(rf"<!-- table: kind {mode} (\d+) (\w+) -->", self.text)
        kinds = []
        for number, name in sorted(names, key=lambda pair: int(pair[0])):
            rows = _rows(self.text, f"kind {mode} {number} {name}")
            kinds.append((name, [KindField(row) for row in rows if row[0] != "body"], rows[-1][0] == "body"))
        return kinds


PAGE = Page()
HELLO, REFUSED, PING, PONG, SPECTATE, COUNTS, LATE = (
    PAGE.table(name) for name in ("HELLO", "REFUSED", "PING", "PONG", "SPECTATE", "COUNTS", "LATE"))


def encode(name, values):
    """A message that is one table."""
    out = Writer()
    out.put(PAGE.types[name], 8)
    write_table(out, PAGE.table(name), values)
    return out.bytes()


def _open(name, message):
    data = Reader(message)
    if data.get(8) != PAGE.types[name]:
        raise Malformed(f"not a {name}")
    return data


def decode(name, message):
    """The inverse of encode()."""
    data = _open(name, message)
    values = read_table(data, PAGE.table(name))
    data.end()
    return values


def type_name(message):
    names = {number: name for name, number in PAGE.types.items()}
    return names.get(message[0]) if message else None


# ---- small values ----

def write_small(out, name, value):
    for number, bits in enumerate(PAGE.small[name]):
        if value >> bits == 0:
            out.put(number, 2)
            out.put(value, bits)
            return
    raise ValueError(value)


def read_small(data, name):
    return data.get(PAGE.small[name][data.get(2)])


# ---- PART, WELCOME ----

def decode_part(message):
    data = _open("PART", message)
    values = read_table(data, PAGE.table("PART"))
    values["bytes"] = message[7:]
    if values["index"] >= values["count"] or not values["bytes"]:
        raise Malformed("part")
    return values


class Parts:
    """Joins parts; add() gives the long message when it is whole."""

    def __init__(self):
        self.collected = []

    def add(self, part):
        if part["index"] != len(self.collected):
            raise Malformed("parts out of order")
        self.collected.append(part["bytes"])
        if len(self.collected) < part["count"]:
            return None
        whole, self.collected = b"".join(self.collected), []
        return whole


def _f32(data):
    return struct.unpack("<f", struct.pack("<I", data.get(32)))[0]


def decode_welcome(message, parameters=None):
    data = _open("WELCOME", message)
    welcome = read_table(data, PAGE.table("WELCOME"))
    welcome["shapes"] = []
    for _ in range(welcome["shape_count"]):
        kind, count, radius = data.get(8), data.get(8), _f32(data)
        if kind not in (1, 2, 3) or count not in {1: (1,), 2: (2,), 3: range(3, 9)}[kind]:
            raise Malformed("shape")
        points = [(_f32(data), _f32(data)) for _ in range(count)]
        welcome["shapes"].append({"type": kind, "radius": radius, "points": points})
    welcome["parameters"] = read_table(data, parameters or PAGE.table("parameters"))
    data.end()
    return welcome


# ---- INPUT ----

def new_input(**values):
    """buttons, edges, move (x, y), aim, muzzle, view: None or (from, to, fraction, held)."""
    return {"buttons": 0, "edges": 0, "move": (0, 0), "aim": 0, "muzzle": 0, "view": None, **values}


def _write_buttons(out, buttons):
    wide = buttons >> 4 != 0
    out.put(wide, 1)
    out.put(buttons, 16 if wide else 4)


def _write_view(out, view, newest, ack):
    out.put(view is not None, 1)
    if view is None:
        return
    same = newest is not None and view[:2] == newest[:2]
    out.put(same, 1)
    if not same:
        out.put(view[1], 16)
        write_small(out, "view gap", view[1] - view[0])
    out.put(view[2], 9 if view[0] < view[1] else 16)
    same_held = newest is not None and view[3] == newest[3]
    out.put(same_held, 1)
    if not same_held:
        write_small(out, "view held", (ack - view[3]) % 0x10000)


def _write_changes(out, item, before, step):
    out.put(step != 1, 1)
    if step != 1:
        out.put(step, 16)
    out.put(item["buttons"] != before["buttons"], 1)
    if item["buttons"] != before["buttons"]:
        _write_buttons(out, item["buttons"])
    out.put(item["edges"] != 0, 1)
    if item["edges"]:
        _write_buttons(out, item["edges"])
    out.put(item["move"] != before["move"], 1)
    if item["move"] != before["move"]:
        out.put(item["move"][0], 8)
        out.put(item["move"][1], 8)
    out.put(item["aim"] != before["aim"], 1)
    if item["aim"] != before["aim"]:
        step = (item["aim"] - before["aim"] + 0x8000) % 0x10000 - 0x8000
        near = -1024 <= step < 1024
        out.put(not near, 1)
        out.put(step if near else item["aim"], 11 if near else 16)
    out.put(item["muzzle"] != before["muzzle"], 1)
    if item["muzzle"] != before["muzzle"]:
        out.put(item["muzzle"], 8)


def encode_input(control, inputs, sequence=0, older=0, ack=None, mask=0, view_delay=0):
    """inputs: new_input() each with "tick", oldest first, the first one's sequence given; the first `older` of them were
    made under the control number before; ack: snapshot id or None; view_delay in 1/16 tick."""
    out = Writer()
    out.put(PAGE.types["INPUT"], 8)
    out.put(control, 8)
    out.put(ack is not None, 1)
    if ack is not None:
        out.put(ack, 16)
        out.put(mask == 0xFFFFFFFF, 1)
        if mask != 0xFFFFFFFF:
            out.put(mask, 32)
    write_small(out, "view delay", view_delay)
    out.put(len(inputs), 6)
    if inputs:
        out.put(older != 0, 1)
        if older:
            out.put(older, 6)
    before, view = new_input(), None
    for number, item in enumerate(inputs):
        if number == 0:
            out.put(sequence, 16)
            out.put(item["tick"], 16)
        step = item["tick"] - before["tick"] if number else 1
        keys = ("buttons", "move", "aim", "muzzle")
        changed = step != 1 or item["edges"] != 0 or any(item[key] != before[key] for key in keys)
        out.put(changed, 1)
        if changed:
            _write_changes(out, item, before, step)
        if (item["buttons"] | item["edges"]) & FIRE:
            _write_view(out, item["view"], view, 0 if ack is None else ack)
            view = item["view"]
        before = item
    return out.bytes()


# ---- SNAPSHOT ----

def decode_chunk(message):
    data = _open("SNAPSHOT", message)
    header = read_table(data, PAGE.table("SNAPSHOT"))
    late, index, last, last_bytes = 0, 0, 0, None
    if data.get(1):
        late = data.get(16) or _malformed("late by 0")
    if data.get(1):
        index, last = data.get(6), data.get(6)
        if index > last + 1 or last == 0:
            raise Malformed("chunk")
        last_bytes = data.get(13) if index > last else None
    if data.get(data.left % 8) or data.left == 0:
        raise Malformed("no payload")
    payload = message[-(data.left // 8):]
    if last_bytes is not None and not 1 <= last_bytes <= len(payload):
        raise Malformed("parity")
    header.update(confirmed_tick=(header["tick"] - late) % 0x10000, chunk_index=index, chunk_count=last + 1)
    if last_bytes is not None:
        header["last_bytes"] = last_bytes
    return header, payload


class Assembly:
    """The receiver's group of chunks; add() gives (header, stream) when it is whole."""

    def __init__(self):
        self.group, self.chunks, self.dead, self.committed = None, {}, False, None

    @staticmethod
    def newer(a, b):
        return b is None or 0 < (a - b) % 0x10000 < 0x8000

    def add(self, header, payload):
        index, count = header["chunk_index"], header["chunk_count"]
        shared = {name: value for name, value in header.items() if name not in ("chunk_index", "last_bytes")}
        content = (payload, header.get("last_bytes"))
        if not self.newer(header["id"], self.committed):
            return None
        if self.group is None or self.newer(header["id"], self.group["id"]):
            self.group, self.chunks, self.dead = shared, {}, False
        if header["id"] != self.group["id"] or self.dead:
            return None
        if shared != self.group or self.chunks.get(index, content) != content:
            self.dead = True
            return None
        self.chunks[index] = content
        missing = [i for i in range(count) if i not in self.chunks]
        if missing and (len(missing) > 1 or count not in self.chunks):
            return None
        self.dead = True
        chunks = {i: self.chunks[i][0] for i in range(count) if i in self.chunks}
        if missing:
            chunks = self.repaired(chunks, count, missing[0])
            if chunks is None:
                return None
        self.committed = header["id"]
        return header, b"".join(chunks[i] for i in range(count))

    def repaired(self, chunks, count, missing):
        """With the missing chunk, from the parity; None when that does not fit."""
        parity, last_bytes = self.chunks[count]
        sizes = [len(parity)] * (count - 1) + [last_bytes]
        if any(len(payload) != sizes[i] for i, payload in chunks.items()):
            return None
        left = int.from_bytes(parity, "little")
        for payload in chunks.values():
            left ^= int.from_bytes(payload, "little")
        if left >> (8 * sizes[missing]):
            return None
        return {**chunks, missing: left.to_bytes(sizes[missing], "little")}


# ---- EVENT ----

def decode_event(message):
    data = _open("EVENT", message)
    event = read_table(data, PAGE.table("EVENT"))
    if event["kind"] not in PAGE.events:
        raise Malformed("kind of event")
    event["name"] = PAGE.events[event["kind"]]
    event.update({"event": read_table(data, PAGE.table(f"EVENT {event['name']}"))})
    data.end()
    return event


def decode_events(message):
    """The events of an EVENTS, as decode_event() gives them."""
    data = _open("EVENTS", message)
    head = read_table(data, PAGE.table("EVENTS"))
    events, tick = [], head["tick"]
    for _ in range(head["count"]):
        tick = (tick + read_small(data, "id step")) % 2**32
        kind = data.get(8)
        if kind not in PAGE.events:
            raise Malformed("kind of event")
        name = PAGE.events[kind]
        events.append({"tick": tick, "kind": kind, "name": name,
                       "event": read_table(data, PAGE.table(f"EVENT {name}"))})
    data.end()
    return events


def decode_scores(message):
    """The lines of a SCORES, by slot, as the table EVENT SCORE names them."""
    data = _open("SCORES", message)
    head = read_table(data, PAGE.table("SCORES"))
    lines, slot = {}, -1
    for _ in range(head["count"]):
        slot += 1 + read_small(data, "id step")
        if slot > 1023:
            raise Malformed("slot")
        folded = read_small(data, "score")
        lines[slot] = {"slot": slot, "score": -(folded // 2) - 1 if folded & 1 else folded // 2,
                       **{name: read_small(data, "tally") for name in ("kills", "deaths", "deaths_by_nobody")}}
    data.end()
    return {"tick": head["tick"], "lines": lines}
