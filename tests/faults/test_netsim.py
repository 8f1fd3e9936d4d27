#!/usr/bin/env python3
"""arbiter-netsim: what it does to datagrams, many clients, how it ends; and whole matches of real processes over it."""
import json
import math
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time
import unittest

import daemon

SIDE = {"datagrams", "bytes", "delivered", "lost", "duplicated", "reordered", "corrupted", "queue_full", "blocked",
        "bad_checksum", "too_long", "overflow", "send_failed"}


class Netsim:
    """A running relay towards that port. Use as a context; whatever happens, it is gone at the end."""

    def __init__(self, port, profile, *arguments, host="127.0.0.1"):
        command = [daemon.program("arbiter-netsim"), "--listen", f"{host}:0", "--to", f"{host}:{port}",
                   "--profile", str(profile), *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=daemon.clean_environment())
        line = self.process.stderr.readline()
        if " port " not in line:
            raise AssertionError(line + self.process.stderr.read())
        self.port = int(line.rsplit(" ", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def until_idle(self, progress):
        """Waits until it has slept for half a second, and nothing came out of it: it has nothing more to pass on."""
        state = pathlib.Path(f"/proc/{self.process.pid}/stat")
        before, since = None, time.monotonic()
        while time.monotonic() < since + 0.5:
            now = progress()
            if now != before or state.read_text(encoding="ascii").rsplit(") ", 1)[1][0] != "S":
                before, since = now, time.monotonic()
            time.sleep(0.01)

    def end(self, number=signal.SIGTERM):
        """Ends it; returns its report."""
        if number is not None:
            self.process.send_signal(number)
        if self.process.wait(daemon.LIMIT_S) != 0:
            raise AssertionError(self.process.stderr.read())
        text = self.process.stdout.read()
        if text.count("\n") != 1:
            raise AssertionError(f"not one line: {text}")
        return json.loads(text)


class Echo:
    """A server that sends everything back, and remembers from whom it came."""

    def __init__(self, family=socket.AF_INET, host="127.0.0.1"):
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
        self.socket.bind((host, 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.seen = []
        self.is_open = True
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while self.is_open:
            try:
                data, address = self.socket.recvfrom(2048)
            except TimeoutError:
                continue
            self.seen.append((time.monotonic(), data, address))
            self.socket.sendto(data, address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_open = False
        self.thread.join()
        self.socket.close()


def client(family=socket.AF_INET):
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
    made.settimeout(daemon.LIMIT_S)
    return made


class Drain:
    """Reads all that comes to a socket, as it comes."""

    def __init__(self, made):
        self.made = made
        self.found = []
        self.is_open = True
        self.made.settimeout(0.1)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while self.is_open:
            try:
                self.found.append(self.made.recv(2048))
            except TimeoutError:
                continue

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_open = False
        self.thread.join()


def port_of_nobody():
    """Below those that the kernel gives to whoever asks for any."""
    while True:
        port = random.randrange(12000, 30000)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as place:
            try:
                place.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Relay(daemon.Case):
    def best_of_some(self, attempt, is_good):
        """Until one attempt is good: a busy machine makes some late; what a program does wrong is wrong in all."""
        found = []
        while len(found) < 20 and not (found and is_good(found[-1])):
            found.append(attempt())
        self.assertTrue(is_good(found[-1]), found)

    def profile(self, up, down, name="profile.json"):
        path = self.folder / name
        path.write_text(json.dumps({"up": up, "down": down}), encoding="utf-8")
        return path

    def exchange(self, profile, count, size=100, seed=1, first=0):
        """Sends numbered datagrams to an echo; returns echo's list, what came back, and the report. As fast as they are
        read, and until the relay has nothing more: it says in its report what it delivered."""
        with Echo() as echo, Netsim(echo.port, profile, "--seed", seed) as relay, client() as made, Drain(made) as drain:
            kernel = daemon.Port(relay.port)
            self.begun = time.monotonic()
            for i in range(count):
                made.sendto(bytes([first]) + i.to_bytes(4, "big") + bytes(size - 5), ("127.0.0.1", relay.port))
                if i % 50 == 49:
                    kernel.until_read(at_most=16384)
            kernel.until_read()
            relay.until_idle(lambda: (len(echo.seen), len(drain.found)))
            report = relay.end()
            daemon.until(lambda: len(echo.seen) == report["up"]["delivered"] and
                         len(drain.found) == report["down"]["delivered"], f"all that was delivered: {report}")
            return echo.seen, drain.found, report

    def test_delays_add_up_each_way(self):
        def attempt():
            with Echo() as echo, Netsim(echo.port, self.profile({"delay_ms": 120}, {"delay_ms": 60})) as relay, \
                    client() as made:
                begun = time.monotonic()
                made.sendto(b"hello", ("127.0.0.1", relay.port))
                self.assertEqual(made.recv(100), b"hello")
                ended = time.monotonic()
                self.assertGreaterEqual(echo.seen[0][0] - begun, 0.120)
                self.assertGreaterEqual(ended - begun, 0.180)
                report = relay.end(signal.SIGINT)
            self.assertEqual(report["clients"], 1)
            for name in ("up", "down"):
                self.assertEqual(set(report[name]), SIDE)
                self.assertEqual((report[name]["datagrams"], report[name]["bytes"], report[name]["delivered"]), (1, 5, 1))
            return ended - begun
        self.best_of_some(attempt, lambda took_s: took_s < 0.25)

    def test_a_clean_path_loses_nothing_and_keeps_order(self):
        seen, back, report = self.exchange(self.profile({"delay_ms": 5}, {"jitter_ms": 5}), 1000)
        numbers = list(range(1000))
        self.assertEqual([int.from_bytes(data[1:5], "big") for _, data, _ in seen], numbers)
        self.assertEqual([int.from_bytes(data[1:5], "big") for data in back], numbers)
        self.assertEqual(report["down"]["delivered"], 1000)

    def test_losses_and_doubles_are_counted_and_told(self):
        profile = self.profile({"loss": 0.3, "burst": 4}, {"duplicate": 0.2})
        seen, back, report = self.exchange(profile, 2000)
        up, down = report["up"], report["down"]
        self.assertEqual(up["datagrams"], 2000)
        self.assertEqual(len(seen), 2000 - up["lost"])
        self.assertAlmostEqual(up["lost"], 600, delta=180)
        self.assertEqual(len(back), len(seen) + down["duplicated"])
        self.assertAlmostEqual(down["duplicated"], len(seen) * 0.2, delta=80)

    def test_the_seed_decides_which_are_lost(self):
        runs = []
        for seed in (7, 7, 8):
            seen, _, _ = self.exchange(self.profile({"loss": 0.2}, {}), 300, seed=seed)
            runs.append([data for _, data, _ in seen])
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_a_corrupted_datagram_is_dropped_or_when_sealed_damaged(self):
        profile = self.profile({"corrupt": 0.3}, {})
        seen, _, report = self.exchange(profile, 500)
        self.assertEqual(report["up"]["bad_checksum"], report["up"]["corrupted"])
        self.assertEqual(len(seen), 500 - report["up"]["bad_checksum"])
        self.assertLess(len(seen), 420)
        self.assertTrue(all(data[5:] == bytes(95) for _, data, _ in seen))
        seen, _, report = self.exchange(profile, 500, first=0x40)
        self.assertEqual(len(seen), 500)
        sent = [bytes([0x40]) + i.to_bytes(4, "big") + bytes(95) for i in range(500)]
        damaged = sum(data != whole for (_, data, _), whole in zip(seen, sent, strict=True))
        self.assertEqual(damaged, report["up"]["corrupted"])
        self.assertGreater(report["up"]["corrupted"], 80)

    def test_a_rate_is_kept_and_its_queue_drops(self):
        profile = self.profile({"rate_kbps": 800, "queue_bytes": 30000}, {})

        def attempt():
            seen, _, report = self.exchange(profile, 100, size=952)
            self.assertEqual(len(seen) + report["up"]["queue_full"], 100)
            # 1,000 bytes each, 10 ms: none comes sooner.
            for i, (at, _, _) in enumerate(seen):
                self.assertGreater(at - self.begun, 0.0099 * (i + 1))
            return seen[-1][0] - self.begun, len(seen), report["up"]["queue_full"]
        self.best_of_some(attempt, lambda found: found[0] < 0.0115 * found[1] and found[2] > 50)

    def test_a_trace_gives_the_moments(self):
        (self.folder / "trace.up").write_text("1000\n1100\n5000\n", encoding="utf-8")
        profile = self.profile({"delay_ms": 0, "trace": "trace.up"}, {})

        def attempt():
            with Echo() as echo, Netsim(echo.port, profile) as relay, client() as made:
                for _ in range(3):
                    made.sendto(bytes(952), ("127.0.0.1", relay.port))
                for _ in range(3):
                    made.recv(2048)
                self.assertEqual(relay.end()["up"]["delivered"], 3)
                return [at - echo.seen[0][0] for at, _, _ in echo.seen]
        # 1,500 bytes at the first moment, the rest of the second and the third at the next.
        self.best_of_some(attempt, lambda times: abs(times[1] - 0.1) < 0.05 and abs(times[2] - 0.1) < 0.05)

    def test_the_server_sees_each_client_as_one_of_its_own(self):
        with Echo() as echo, Netsim(echo.port, "lan") as relay:
            clients = [client() for _ in range(40)]
            for turn in range(3):
                for i, made in enumerate(clients):
                    made.sendto(bytes([i, turn]), ("127.0.0.1", relay.port))
            for i, made in enumerate(clients):
                self.assertEqual([made.recv(10) for _ in range(3)], [bytes([i, turn]) for turn in range(3)])
                made.close()
            self.assertEqual(relay.end()["clients"], 40)
            self.assertEqual(len({address for _, _, address in echo.seen}), 40)

    def test_more_clients_than_places_are_refused_and_the_others_served(self):
        with Echo() as echo, Netsim(echo.port, "lan") as relay:
            clients = [client() for _ in range(260)]
            for made in clients:
                made.sendto(b"x", ("127.0.0.1", relay.port))
            self.assertEqual(clients[0].recv(10), b"x")
            clients[0].sendto(b"again", ("127.0.0.1", relay.port))
            self.assertEqual(clients[0].recv(10), b"again")
            for made in clients:
                made.close()
            report = relay.end()
        self.assertEqual((report["clients"], report["refused_clients"]), (256, 4))

    def test_what_the_path_cannot_carry_is_dropped(self):
        seen, _, report = self.exchange("lan", 1, size=1232)
        self.assertEqual(len(seen), 1)
        seen, _, report = self.exchange("lan", 1, size=1233)
        self.assertEqual((len(seen), report["up"]["too_long"]), (0, 1))

    def test_ipv6(self):
        with Echo(socket.AF_INET6, "::1") as echo, Netsim(echo.port, "lan", host="[::1]") as relay, \
                client(socket.AF_INET6) as made:
            made.sendto(b"six", ("::1", relay.port))
            self.assertEqual(made.recv(10), b"six")

    def test_a_server_that_is_not_there_yet_is_no_fault(self):
        port = port_of_nobody()
        with client() as made, Netsim(port, "lan") as relay:
            for _ in range(3):
                made.sendto(b"early", ("127.0.0.1", relay.port))
                time.sleep(0.05)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as late:
                late.bind(("127.0.0.1", port))
                late.settimeout(daemon.LIMIT_S)
                made.sendto(b"now", ("127.0.0.1", relay.port))
                data = None
                while data != b"now":  # a busy relay passes the early ones on only now
                    data, address = late.recvfrom(10)
                    self.assertIn(data, (b"early", b"now"))
                late.sendto(b"yes", address)
                self.assertEqual(made.recv(10), b"yes")
            relay.end()


class Ends(daemon.Case):
    def run_netsim(self, *arguments):
        return subprocess.run([daemon.program("arbiter-netsim"), *map(str, arguments)], capture_output=True, text=True,
                              timeout=daemon.LIMIT_S, env=daemon.clean_environment(), check=False)

    def test_duration_ends_it(self):
        with Netsim(9, "lan", "--duration", "0.5") as relay:
            report = relay.end(None)
        self.assertGreaterEqual(report["running_ms"], 500)
        self.assertEqual((report["profile"], report["seed"], report["clients"]), ("lan", 1, 0))

    def test_wrong_arguments(self):
        good = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--profile", "lan"]
        for arguments in ((), good[:4], good[2:], [*good, "--seed"], [*good, "--seed", "-1"], [*good, "--bogus", "1"],
                          [*good, "--duration", "0"], [*good, "--listen", "nowhere"], [*good, "--to", "127.0.0.1:0"],
                          [*good, "--to", "127.0.0.1:65536"], [*good, "--profile", ""]):
            done = self.run_netsim(*arguments)
            self.assertEqual((done.returncode, done.stdout), (64, ""), arguments)
            self.assertIn("usage", done.stderr)

    def test_bad_profile(self):
        broken = self.folder / "broken.json"
        broken.write_text('{"up": {"loss": 2}, "down": {}}', encoding="utf-8")
        for profile, text in (("awful", "awful"), (broken, f"{broken}:1:17: up.loss")):
            done = self.run_netsim("--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--profile", profile)
            self.assertEqual((done.returncode, done.stdout), (65, ""))
            self.assertIn(text, done.stderr)

    def test_address_that_is_not_to_be_had(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            done = self.run_netsim("--listen", f"127.0.0.1:{port}", "--to", "127.0.0.1:9", "--profile", "lan")
            self.assertEqual((done.returncode, done.stdout), (69, ""))
            self.assertIn(str(port), done.stderr)
        done = self.run_netsim("--listen", "127.0.0.1:0", "--to", "no.such.host.invalid:9", "--profile", "lan")
        self.assertEqual(done.returncode, 69)

    def test_help(self):
        done = self.run_netsim("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--profile", done.stdout)


class Match(daemon.Case):
    def play(self, profile, count, seconds):
        """A match of bots over the relay; returns the bots' report and the relay's."""
        result = self.folder / "result.json"
        options = {"match.duration_s": seconds, "match.countdown_s": 1, "match.result_s": 1,
                   "match.min_players": count, "match.max_players": count, "match.result_path": result}
        with daemon.Daemon(options) as server, Netsim(server.ready()["port"], profile, "--seed", 11) as relay:
            done = subprocess.run(
                [daemon.program("arbiter-bots"), "--connect", f"127.0.0.1:{relay.port}", "--count", str(count),
                 "--policy", "aim", "--seed", "5", "--duration", "600", "--report", "json"],
                capture_output=True, text=True, timeout=daemon.LIMIT_S, env=daemon.clean_environment(), check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.end(), 0)
            network = relay.end()
        found = self.check_result(result, end_reason="time")
        self.assertEqual(len(found["players"]), count)
        return json.loads(done.stdout)["clients"], network

    def check_clients(self, clients):
        for one in clients:
            self.check_edges(one)
            self.assertEqual(one["corrections"]["count"], 0, one["id"])
            self.assertGreater(one["snapshots"], 0)

    def test_average(self):
        clients, network = self.play("average", 8, 10)
        self.check_clients(clients)
        self.assertEqual(network["clients"], 8)
        sent = network["up"]["datagrams"] + network["down"]["datagrams"]
        lost = network["up"]["lost"] + network["down"]["lost"]
        self.assertLess(abs(lost - 0.01 * sent), 6 * math.sqrt(0.0099 * sent), "six standard deviations")
        self.assertEqual(network["up"]["send_failed"] + network["down"]["send_failed"], 0)
        for one in clients:
            # 80 ms and 10 ms of jitter each way; what comes on top is the rhythm of both ends, and this machine's.
            self.assertGreater(one["rtt_ms"], 65)

    def test_mobile(self):
        clients, network = self.play("mobile", 4, 6)
        self.assertEqual(network["clients"], 4)
        for one in clients:
            self.assertEqual(one["corrections"]["count"], 0, one["id"])
            self.assertGreater(one["rtt_ms"], 45)


if __name__ == "__main__":
    unittest.main()
