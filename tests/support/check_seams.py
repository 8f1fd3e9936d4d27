#!/usr/bin/env python3
"""What is simulated reaches clocks, sockets, random numbers and files through seams only: its object files ask the C
library for none of them. Prints one line per file and symbol.

usage: check_seams.py BUILD [NM]
"""
import pathlib
import subprocess
import sys

# Everything that runs in arbiter-sim, by library.
LIBRARIES = [
    "shared/libarbiter_base.a", "shared/libarbiter_proto.a", "shared/libarbiter_move.a",
    "shared/libarbiter_transport.a", "shared/libarbiter_client.a", "shared/libbox2d.a", "shared/libenet.a",
    "server/libarbiter_world.a", "server/libarbiter_collide.a", "server/libarbiter_rewind.a",
    "server/libarbiter_rules.a", "server/libarbiter_interest.a", "server/libarbiter_replicate.a",
    "server/libarbiter_match.a", "server/libarbiter_net.a", "tools/libarbiter_bot.a", "tools/libarbiter_sim.a",
]

# The seams' outer sides, which the simulator replaces or calls before it begins.
OUTSIDE = {
    "arb_socket_unix.c.o": "sockets and their stamps",
    "arb_client_resolve.c.o": "names of hosts",
    "arb_client_clock.c.o": "a clock for games; the library never asks it",
    "bot_recording.c.o": "a recording is read at the start",
    "clock.c.o": "the bots' program only",
    "sim_shrink.c.o": "runs in processes of their own",
    "timer.c.o": "Box2D's, for its own profile",
    "physics_world.c.o": "Box2D's, writes a dump nobody asks for",
}

FORBIDDEN = {
    "time", "gettimeofday", "clock", "clock_gettime", "timespec_get", "nanosleep", "clock_nanosleep", "usleep",
    "sleep", "localtime", "localtime_r", "gmtime", "gmtime_r",
    "rand", "rand_r", "random", "drand48", "getrandom", "getentropy", "arc4random",
    "socket", "bind", "connect", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "poll", "select",
    "open", "open64", "openat", "fopen", "fopen64", "getenv", "secure_getenv", "getaddrinfo", "getpid", "fork",
    "pthread_create",
}


def undefined(archive, nm):
    """(object, symbol) for each symbol that an object of the archive wants from elsewhere."""
    run = subprocess.run([nm, "-u", "-A", str(archive)], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        place, symbol = line.rsplit(None, 1)
        yield place.split(":")[1], symbol.split("@")[0]


def main():
    build, nm = pathlib.Path(sys.argv[1]), (sys.argv[2:] or ["nm"])[0]
    problems, checked = [], 0
    for library in LIBRARIES:
        if not (build / library).is_file():
            problems.append(f"{library}: not built")
            continue
        checked += 1
        for name, symbol in undefined(build / library, nm):
            if symbol in FORBIDDEN and name not in OUTSIDE:
                problems.append(f"{library}: {name} asks for {symbol}")
    for problem in sorted(set(problems)):
        print(problem)
    print(f"{checked} libraries, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
