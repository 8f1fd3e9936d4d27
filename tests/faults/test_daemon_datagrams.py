#!/usr/bin/env python3
"""Whatever comes to the port: it is counted, and the match goes on as if nothing had come."""
import os
import random
import socket
import unittest

import daemon

OPTIONS = {"match.min_players": 2, "match.countdown_s": 0, "match.result_s": 0, "match.duration_s": 600,
           "shutdown.on_term": "abort"}


class Datagrams(daemon.Case):
    def flood(self, port, datagrams):
        """As fast as they are read: what the kernel drops proves nothing."""
        kernel = daemon.Port(port)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for i, data in enumerate(datagrams):
                stranger.sendto(data, ("127.0.0.1", port))
                if i % 4 == 3:
                    kernel.until_read(at_most=32768)
        kernel.until_read()

    def play_beside(self, datagrams):
        """A match of two bots while the datagrams come, over and over; returns its last lines."""
        result = self.folder / "result.json"
        with daemon.Daemon({**OPTIONS, "match.result_path": result}) as server:
            port = server.ready()["port"]
            self.bots(port, 2, 600)
            for _ in range(2):
                server.await_event("hello")
            begun = server.tick()
            while server.tick() < begun + 200:
                self.flood(port, datagrams)
            server.run_on(30)
            server.signal()
            self.assertEqual(server.end(), 0)
            lines = {name: server.event(name) for name in ("datagrams", "messages", "ticks")}
        found = self.check_result(result, end_reason="aborted")
        self.assertEqual(len(found["players"]), 2)
        # A junk flood costs ticks no time: the usual one, and it comes in most of them, is done before the next is due.
        self.assertLess(lines["ticks"]["work_p50_us"], 1000000 / 60)
        self.assertEqual(sum(lines["messages"][key] for key in
                             ("unknown", "short", "long", "range", "order")), 0)
        return lines

    def test_random_bytes(self):
        source = random.Random(1)
        junk = [source.randbytes(source.randint(1, 1200)) for _ in range(2000)]
        counted = self.play_beside(junk)["datagrams"]
        refused = sum(counted[key] for key in ("refused_size", "refused_header", "refused_command",
                                               "refused_length", "refused_stranger"))
        self.assertGreaterEqual(refused, 1500)

    def test_every_size(self):
        sizes = [0, 1, 2, 3, 4, 28, 1223, 1224, 4096, 5000, 65507] * 20
        counted = self.play_beside([os.urandom(size) for size in sizes])["datagrams"]
        self.assertGreaterEqual(counted["refused_size"], 20 * 3)

    def test_truncated_and_altered_connects(self):
        source = random.Random(2)
        whole = daemon.enet_connect()
        datagrams = [whole[:n] for n in range(len(whole))]
        for _ in range(1000):
            altered = bytearray(whole)
            altered[source.randrange(len(altered))] = source.randrange(256)
            datagrams.append(bytes(altered))
        self.play_beside(datagrams)

    def test_strangers_that_only_connect_do_not_keep_players_out(self):
        with daemon.Daemon({**OPTIONS, "auth.timeout_ms": 1000}) as server:
            ready = server.ready()
            self.flood(ready["port"], [daemon.enet_connect() for _ in range(500)])
            self.bots(ready["port"], 2, 600)
            server.await_event("hello")
            self.assertLess(daemon.seconds_between(ready, server.await_event("hello")), 30)


if __name__ == "__main__":
    unittest.main()
