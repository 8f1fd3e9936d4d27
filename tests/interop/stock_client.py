"""A player on a stock ENet client (Debian's python3-enet) that speaks what PROTOCOL.md says."""
import math
import time

import enet

import arbiter_snapshot
import arbiter_wire as wire

LEAD_TICKS = 4
KEPT_PONGS = 8  # the time is that of the fastest of so many: a server that was late drops time, and goes on behind
LIMIT_S = 120  # only against hanging
KEPT_FRAMES = 64  # newest committed snapshots; the server's baselines are among them
TURN = 65536


class Connection:
    """ENet with two channels; what came in is kept by message name."""

    def __init__(self, port):
        self.host = enet.Host(None, 1, 2, 0, 0)
        self.peer = self.host.connect(enet.Address(b"127.0.0.1", port), 2)
        self.connected = self.disconnected = False
        self.refused = None
        self.received = {}

    def pump(self, milliseconds=0):
        """Handles what is there, waiting so long for the first."""
        event = self.host.service(milliseconds)
        while event.type != enet.EVENT_TYPE_NONE:
            if event.type == enet.EVENT_TYPE_CONNECT:
                self.connected = True
            elif event.type == enet.EVENT_TYPE_DISCONNECT:
                self.disconnected = True
            else:
                self._message(bytes(event.packet.data))
            event = self.host.service(0)

    def _message(self, message):
        name = wire.type_name(message)
        self.received[name] = self.received.get(name, 0) + 1
        if name == "REFUSED":
            self.refused = wire.decode("REFUSED", message)
        else:
            self.on_message(name, message)

    def on_message(self, name, message):
        """For players."""

    def reliable(self, message):
        self.peer.send(0, enet.Packet(message, enet.PACKET_FLAG_RELIABLE))

    def unsequenced(self, message):
        self.peer.send(1, enet.Packet(message, enet.PACKET_FLAG_UNSEQUENCED))

    def hello(self, version=wire.PAGE.version, schema_hash=wire.PAGE.schema_hash, name="stock", token=None):
        self.reliable(wire.encode("HELLO", {"version": version, "schema_hash": schema_hash, "name": name, "role": 0,
                                            "resume": token is not None, "token": token or bytes(16)}))

    def wait(self, condition, seconds=LIMIT_S):
        """Pumps until condition() holds; whether it did."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self.pump(2)
        return True

    def close(self, for_good=True):
        self.peer.disconnect(1 if for_good else 0)
        return self.wait(lambda: self.disconnected)


class Player(Connection):
    """Keeps time, sends an input a tick with all that are not consumed yet, commits snapshots, collects events."""

    def __init__(self, port):
        super().__init__(port)
        self.parts, self.assembly = wire.Parts(), wire.Assembly()
        self.welcome = self.header = self.snapshot = self.counts = None
        self.events, self.snapshot_ids, self.scores = [], [], {}
        self.frames, self.baselines = {}, 0  # newest snapshots by id; how many came as a difference
        self.pings, self.offset, self.best_rtt, self.drawn = {}, None, math.inf, None
        self.pongs = []  # (rtt, offset), the newest
        self.sequence, self.tick, self.control = 0, None, 0
        self.waiting = []  # (sequence, control, input), not yet consumed
        self.held = {}
        self.edges = 0

    # ---- what comes in ----

    def on_message(self, name, message):
        if name == "PART":
            whole = self.parts.add(wire.decode_part(message))
            if whole is not None:
                self.welcome = wire.decode_welcome(whole)
        elif name == "SNAPSHOT":
            self._chunk(*wire.decode_chunk(message))
        elif name == "PONG":
            self._pong(wire.decode("PONG", message))
        elif name == "EVENT":
            self._event(wire.decode_event(message))
        elif name == "EVENTS":
            for event in wire.decode_events(message):
                self._event(event)
        elif name == "SCORES":
            self.scores.update(wire.decode_scores(message)["lines"])
        elif name == "COUNTS":
            self.counts = wire.decode("COUNTS", message)
        elif name == "LATE":
            wire.decode("LATE", message)
        else:
            raise AssertionError(f"a server does not send {name}")

    def _event(self, event):
        self.events.append(event)
        if event["name"] == "REBIND":
            self.control = event["event"]["control"]

    def _chunk(self, header, payload):
        whole = self.assembly.add(header, payload)
        if whole is None:
            return
        header, stream = whole
        base = None
        if header["baseline"]:
            base = self.frames.get((header["id"] - header["baseline"]) % TURN)
            if base is None:
                raise AssertionError("the server names a baseline that was not acknowledged")
        self.header = header
        self.snapshot = arbiter_snapshot.decode_snapshot(stream, self.welcome["mode"], header["tick"], base,
                                                         self.welcome["tick_rate"])
        self.frames[header["id"]] = self.snapshot
        self.frames = dict(list(self.frames.items())[-KEPT_FRAMES:])
        self.baselines += base is not None
        self.snapshot_ids.append(header["id"])
        self.control = self.header["control"]
        consumed = self.header["last_sequence"]
        self.waiting = [entry for entry in self.waiting if wire.Assembly.newer(entry[0] % TURN, consumed)]

    def _pong(self, pong):
        sent = self.pings.pop(pong["sequence"], None)
        if sent is None:
            return
        rtt = max(0.0, time.monotonic() - sent - pong["wait_us"] * 1e-6)
        rate = self.welcome["tick_rate"]
        stands = pong["tick"] + pong["fraction"] / TURN + rtt / 2 * rate
        self.pongs = [*self.pongs, (rtt, stands - time.monotonic() * rate)][-KEPT_PONGS:]
        self.best_rtt, self.offset = min(self.pongs)

    # ---- what goes out ----

    def server_tick(self):
        return self.offset + time.monotonic() * self.welcome["tick_rate"]

    def ping(self):
        number = (len(self.pings) + self.received.get("PONG", 0)) % TURN
        self.pings[number] = time.monotonic()
        self.unsequenced(wire.encode("PING", {"sequence": number}))

    def _mask(self):
        known = set(self.snapshot_ids[-40:])
        return sum(1 << i for i in range(32) if (self.header["id"] - 1 - i) % TURN in known)

    def _view_delay(self):
        if self.drawn is None:
            return 0
        half_way = self.best_rtt / 2 * self.welcome["tick_rate"]
        return min(max(round(16 * (self.server_tick() - half_way - self.drawn)), 0), 0xFFFF)

    def _send_inputs(self):
        entries = [entry for entry in self.waiting if (self.control - entry[1]) % 256 <= 1][-32:]
        older = sum(entry[1] != self.control for entry in entries)
        ack = self.header["id"] if self.header else None
        self.unsequenced(wire.encode_input(
            self.control, [entry[2] for entry in entries], sequence=(entries[0][0] if entries else 0) % TURN, older=older,
            ack=ack, mask=self._mask() if self.header else 0, view_delay=self._view_delay()))

    def step(self):
        """One tick: waits for it, makes its input, sends."""
        wanted = math.floor(self.server_tick()) + LEAD_TICKS
        if self.tick is None or abs(wanted - self.tick) > 30:
            self.tick = wanted - 1
        while self.tick + 1 > self.server_tick() + LEAD_TICKS:
            self.pump(1)
        self.tick += 1
        self.sequence += 1
        view = None
        if self.header is not None:
            published = self.tick - (self.tick - self.header["tick"]) % TURN
            view = (published, published, 0, self.header["id"])
            self.drawn = published
        item = wire.new_input(tick=self.tick, edges=self.edges, view=view, **self.held)
        self.edges = 0
        self.waiting.append((self.sequence, self.control, item))
        self._send_inputs()
        if self.sequence % 15 == 0:
            self.ping()
        self.pump()

    def join(self, name):
        """Connects, says hello, waits for welcome and time; whether all came."""
        if not self.wait(lambda: self.connected):
            return False
        self.hello(name=name)
        if not self.wait(lambda: self.welcome is not None or self.disconnected) or self.welcome is None:
            return False
        for _ in range(8):
            self.ping()
            self.wait(lambda: not self.pings)
        return self.offset is not None

    def play(self, seconds, **held):
        """Holds these parts of the input for so many inputs, until the server has consumed them."""
        self.held = held
        for _ in range(round(seconds * self.welcome["tick_rate"])):
            self.step()
        last = self.sequence
        return self.play_until(lambda: not any(entry[0] <= last for entry in self.waiting), **held)

    def play_until(self, condition, **held):
        """Plays on, without steering unless told, until condition() holds; whether it did."""
        self.held = held
        end = time.monotonic() + LIMIT_S
        while not condition():
            if self.disconnected or time.monotonic() > end:
                return False
            self.step()
        return True

    # ---- what is known ----

    def phase(self):
        phases = [event["event"]["phase"] for event in self.events if event["name"] == "PHASE"]
        return phases[-1] if phases else None

    def own(self):
        return self.snapshot["own"] if self.snapshot else None

    def own_entity(self):
        return self.snapshot["entities"].get(self.snapshot["controlled"]) if self.snapshot else None
