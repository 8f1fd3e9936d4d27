"""The stream of a snapshot in Python, written from shared/proto/PROTOCOL.md "Snapshot stream" alone.

A snapshot is a dictionary: "tick" (low 16 bits), "own" (own part and own state, or None), "controlled" (id,
generation), "entities": {(id, generation): entity}. An entity: "kind" (its name), its fields in their units, "body"
(points in m) when its kind has one, "age", and "q", "points": the same as whole numbers.
"""
import math
import struct

from arbiter_wire import PAGE, Malformed, Reader, read_small

TURN = 1 << 16
NOTHING = {"tick": 0, "own": None, "controlled": (0, 0), "entities": {}}
AIM = struct.unpack("<f", struct.pack("<f", 2 * math.pi))[0] / TURN


# ---- differences ----

def _signed(value, bits):
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def _width(data, name, bits):
    return min((PAGE.steps[name] + [bits])[data.get(2)], bits)


def _unfold(folded):
    return -(folded + 1) // 2 if folded % 2 else folded // 2


def _difference(data, name, bits):
    return _unfold(data.get(_width(data, name, bits)))


def _pair(data, name, bits):
    width = _width(data, name, bits)
    return _unfold(data.get(width)), _unfold(data.get(width))


def _into(field, value):
    return _signed(value, field.bits) if field.is_signed else value % (1 << field.bits)


# ---- the own part ----

def _single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _place_of(value):
    pattern = struct.unpack("<I", struct.pack("<f", value))[0]
    return ~(pattern & 0x7FFFFFFF) % (1 << 32) if pattern >> 31 else pattern


def _float_at(place):
    pattern = (~place % (1 << 32)) | 1 << 31 if place >> 31 else place
    return struct.unpack("<f", struct.pack("<I", pattern))[0]


def _nearest_aim(angle):
    steps = math.floor(abs(angle) / AIM + 0.5)
    return (steps if angle >= 0 else -steps) % TURN


def _read_float(data, field, own, before, ticks, rate):
    if field.name == "heading" and data.get(1):
        aim = (_nearest_aim(before["heading"]) + _difference(data, "heading", 16)) % TURN
        return _single((aim - TURN if aim > 32768 else aim) * AIM)
    expected = before[field.name]
    speed = "v" + field.name
    if field.name in ("x", "y") and speed in own and ticks and before["known"]:
        expected = _single(expected + (before[speed] * (ticks - 1.0) + own[speed] * (ticks + 1.0)) / (2.0 * rate))
    return _float_at((_place_of(expected) + _difference(data, "float", 32)) % (1 << 32))


def _read_number(data, field, before):
    value = before + _difference(data, "own", field.bits)
    return _signed(value, field.bits) if field.type[0] == "i" else value % (1 << field.bits)


def _read_row(data, field, before):
    if not data.get(1):
        return before
    if field.count == 1:
        return _read_number(data, field, before)
    return [_read_number(data, field, value) if data.get(1) else value for value in before]


def _read_own(data, table, base, ticks, rate):
    before = {field.name: 0 if field.count == 1 else [0] * field.count for field in table}
    before.update({"starved_ticks": 0, "outside_changes": 0, "known": base is not None}, **(base or {}))
    own = {}
    for name in ("starved_ticks", "outside_changes"):
        own[name] = (before[name] + read_small(data, "own count")) % TURN
    floats = [field for field in table if field.type == "f32"]
    for field in sorted(floats, key=lambda field: field.name in ("x", "y")):
        own[field.name] = _read_float(data, field, own, before, ticks, rate)
    differ = data.get(1)
    for field in table:
        if field.type != "f32":
            own[field.name] = _read_row(data, field, before[field.name]) if differ else before[field.name]
    for field in table:
        for value in own[field.name] if field.count > 1 else [own[field.name]]:
            if not field.limits[0] <= value <= field.limits[1]:
                raise Malformed(f"{field.name} is {value}")
    return own


# ---- bodies ----

def _add(a, b):
    return (a[0] + b[0], a[1] + b[1])


def _sub(a, b):
    return (a[0] - b[0], a[1] - b[1])


def _read_steps(data, field, count, last, step):
    """`count` points, each by its step."""
    points = []
    for _ in range(count):
        bits = (3, 8, 12, field.bits + 3)[data.get(2)]
        step = _add(step, (data.signed(bits), data.signed(bits)))
        last = _add(last, step)
        if any(not -(1 << (field.bits - 1)) <= value < 1 << (field.bits - 1) for value in last):
            raise Malformed("a point out of the world")
        points.append(last)
    return points


def _read_whole_body(data, field):
    count = read_small(data, "point count")
    if count > PAGE.limits["points of a body"]:
        raise Malformed("points")
    if count == 0:
        return []
    first = (field.read(data), field.read(data))
    return [first] + _read_steps(data, field, count - 1, first, (0, 0))


def _read_explicit(data, field, count, body, after):
    """What stands behind `body`; after: the first old point that was not kept, or None."""
    if count == 0:
        return []
    step = _sub(body[-1], body[-2]) if len(body) > 1 else (0, 0)
    if not body:
        first = (field.read(data), field.read(data))
    elif after is None or not data.get(1):
        first = _read_steps(data, field, 1, body[-1], step)[0]
    else:
        part, off = data.get(8), _pair(data, "cut", field.bits)
        first = tuple(_into(field, a + ((b - a) * part + 128 >> 8) + d) for a, b, d in zip(body[-1], after, off))
    step = _sub(first, body[-1]) if body else (0, 0)
    return [first] + _read_steps(data, field, count - 1, first, step)


def _read_body_update(data, field, old):
    if data.get(1):
        return old
    added = read_small(data, "added")
    count = len(old) + _difference(data, "count", 11)
    explicit = read_small(data, "explicit")
    kept = count - added - explicit
    if not 0 <= kept <= len(old) or (kept == 0 and added) or count > PAGE.limits["points of a body"]:
        raise Malformed("body")
    front = []
    if added:
        step = _sub(old[0], old[1]) if len(old) > 1 else (0, 0)
        front = _read_steps(data, field, added, old[0], step)[::-1]
    body = front + old[:kept]
    return body + _read_explicit(data, field, explicit, body, old[kept] if kept < len(old) else None)


# ---- entities ----

def _shown(kind, q, points, age):
    name, fields, has_body = kind
    entity = {"kind": name, "q": q, "points": points, "age": age}
    entity.update({field.name: q[field.name] * field.unit for field in fields})
    if has_body:
        unit = next(field.unit for field in fields if field.name == "x")
        entity["body"] = [(x * unit, y * unit) for x, y in points]
    return entity


def entity(mode, kind, values, points=(), age=0):
    """One from its whole numbers in the order of its table."""
    kind = PAGE.kinds(mode)[kind]
    return _shown(kind, dict(zip((field.name for field in kind[1]), values)), list(points), age)


def _read_entered(data, kinds):
    kind = kinds[data.get((len(kinds) - 1).bit_length())]
    q = {field.name: field.read(data) for field in kind[1]}
    points = _read_whole_body(data, next(f for f in kind[1] if f.name == "x")) if kind[2] else []
    return _shown(kind, q, points, 0)


def _read_update(data, kind, old, ticks, rate):
    fields = {field.name: field for field in kind[1]}
    before, q = old["q"], dict(old["q"])
    moves = "vx" in fields
    if moves:
        for name, step in zip(("vx", "vy"), _pair(data, "speed", fields["vx"].bits)):
            q[name] = _into(fields[name], before[name] + step)
    for name, step in zip("xy", _pair(data, "place" if moves else "moved", fields["x"].bits)):
        led = 0
        if moves and ticks:
            ratio = round(fields["vx"].unit / fields["x"].unit)
            twice = before["v" + name] * (ticks - 1) + q["v" + name] * (ticks + 1)
            led = (twice * ratio + rate) // (2 * rate)
        q[name] = _into(fields[name], before[name] + led + step)
    if "heading" in fields:
        q["heading"] = _into(fields["heading"], before["heading"] + _difference(data, "heading", fields["heading"].bits))
    if data.get(1):
        for name, field in fields.items():
            if name not in ("x", "y", "vx", "vy", "heading") and data.get(1):
                q[name] = _into(field, before[name] + _difference(data, "other", field.bits))
    points = _read_body_update(data, fields["x"], old["points"]) if kind[2] else []
    return _shown(kind, q, points, 0)


def _read_known(data, kinds, old, ticks, rate):
    """The entity as it is now, or None when it is gone."""
    kind = next(kind for kind in kinds if kind[0] == old["kind"])
    owned = any(field.name == "owner" for field in kind[1])
    if data.get(1):
        said = "update" if owned else "unchanged"
    elif data.get(1):
        said = "unchanged" if owned else "update"
    else:
        said = "left out" if data.get(1) else "gone"
    if said == "gone":
        return None
    if said == "unchanged":
        return {**old, "age": 0}
    age = old["age"] + ticks
    if age > 0xFFFF:
        raise Malformed("too old")
    return {**old, "age": age} if said == "left out" else _read_update(data, kind, old, age, rate)


def decode_snapshot(stream, mode, tick, base=None, rate=60, own_table=None):
    """base: the snapshot it is a difference to; rate: tick_rate of the welcome."""
    data, kinds = Reader(stream), PAGE.kinds(mode)
    ticks = (tick - base["tick"]) % TURN if base else 0
    base = base or NOTHING
    own = None
    if data.get(1):
        own = _read_own(data, own_table or PAGE.table(f"own {mode}"), base["own"], ticks, rate)
    controlled = base["controlled"] if data.get(1) else (data.get(16), data.get(16))
    known = {key: _read_known(data, kinds, base["entities"][key], ticks, rate) for key in sorted(base["entities"])}
    entities = {key: entity for key, entity in known.items() if entity is not None}
    ids, last = {key[0] for key in entities}, None
    while data.get(1):
        step, generation = read_small(data, "id step"), read_small(data, "generation")
        number = (last or 0) + step
        if generation == 0 or number > 0xFFFF or (step == 0 and last is not None) or number in ids:
            raise Malformed("key")
        entities[(number, generation)] = _read_entered(data, kinds)
        last = number
    data.end()
    return {"tick": tick, "own": own, "controlled": controlled, "entities": dict(sorted(entities.items()))}
