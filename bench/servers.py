"""Servers under their load's generators, and two threads that hand over to each other: what recording costs those that switch.

A round starts four copies of a server on one core (native, native again, under penumbra, under perf), each with a closed loop that
loads it from another core. First all are loaded at the same time. Then they take turns, for the threads of copies that share a core
are switched to each other, and how many requests a thread finds at once decides what one costs. What is compared is the CPU
time of the server's processes for a request, and in turns the requests a second and the latency as well."""
import glob
import math
import os
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

import pairs
import profilers
import server_kinds
import store
import switching
from server_kinds import Place

NAMES = ["redis", "memcached", "nginx", "haproxy", "postgres", "mariadb", "switching"]
WAYS = ["native", "null", "penumbra", "perf"]
SECONDS, WARM_SECONDS = 6, 1
TURNS, TURN_SECONDS = 15, 1  # many short ones: what else the machine does changes slowly
DISTURBED = 0.02  # of the processors' time, which niced processes and other guests have in a turn
HZ = 997
TICK_NS = 1000000000 // os.sysconf("SC_CLK_TCK")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def tree(root):
    """`root` and its living descendants, with the fields of /proc/PID/stat behind the name."""
    stats = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", errors="replace") as f:
                stats[int(name)] = f.read().rpartition(")")[2].split()
        except OSError:
            continue
    chosen = {root} & stats.keys()
    while more := {pid for pid, fields in stats.items() if int(fields[1]) in chosen} - chosen:
        chosen |= more
    return {pid: stats[pid] for pid in chosen}


def cpu_ns(root):
    """CPU time of a process tree: by the living ones' clocks, and of those reaped in ticks."""
    total = 0
    for pid, fields in tree(root).items():
        try:
            total += time.clock_gettime_ns((~pid << 3) | 2)
        except OSError:
            continue
        total += (int(fields[13]) + int(fields[14])) * TICK_NS
    return total


def others_ns():
    """Time of all processors that niced processes and the host's other guests have had so far."""
    with open("/proc/stat") as f:
        fields = f.readline().split()
    return (int(fields[2]) + int(fields[8])) * TICK_NS


class Copy:
    """One running copy of a server."""

    def __init__(self, a, kind, way, behind, port):
        self.a, self.kind, self.way = a, kind, way
        self.place = Place(tempfile.mkdtemp(prefix="pnb-"), port, behind)
        self.out = tempfile.mkdtemp(prefix="pnb-out-")
        if kind.user:
            shutil.chown(self.out, kind.user, kind.user)
        kind.prepare(self.place)
        self.process = self.load = None

    def start(self):
        command = self.kind.command(self.place)
        command[0] = shutil.which(command[0]) or command[0]
        held = [self.a.tools.hold, "--core", str(self.a.core), "--ready", f"{self.out}/ready", "--cwd", self.place.folder,
                "--stderr", f"{self.out}/stderr", "--", *command]
        if self.way == "penumbra":
            held = [self.a.tools.penumbra, "record", "-q", "-o", f"{self.out}/penumbra.pnb", "--", *held]
        elif self.way == "perf":
            held = ["perf", "record", "-q", "-o", f"{self.out}/perf.data", "-e", "cpu-clock", "-F", str(HZ), "-g", "--", *held]
        with open(f"{self.out}/log", "wb") as log:
            self.process = subprocess.Popen([*server_kinds.run_as(self.kind.user), *held], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)

    def said(self):
        texts = []
        for name in ("log", "stderr"):
            try:
                with open(f"{self.out}/{name}", errors="replace") as f:
                    texts.append(f.read()[-400:].strip())
            except OSError:
                continue
        return "\n".join(filter(None, texts))

    def answers(self):
        if self.process.poll() is not None:
            raise pairs.RoundError(f"{self.kind.name} under {self.way} ended with {self.process.returncode}: {self.said()}")
        return subprocess.run(self.kind.asks(self.place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=60).returncode == 0

    def wait_ready(self):
        server_kinds.wait_until(self.answers, f"an answer of {self.kind.name} under {self.way}")
        with open(f"{self.out}/ready") as f:
            self.pid = int(f.read())
        self.kind.fill(self.place)

    def begin_load(self, seconds):
        self.before = self.kind.count(self.place)
        self.cpu_before, self.others_before, self.began = cpu_ns(self.pid), others_ns(), time.monotonic()
        with open(f"{self.out}/load", "wb") as said:
            self.load = subprocess.Popen(["taskset", "-c", str(self.a.load_core), *self.kind.load(self.place, seconds)],
                                         stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)

    def end_load(self, seconds):
        if self.kind.endless:
            time.sleep(max(0, self.until - time.monotonic()))
            self.load.kill()
        status = self.load.wait(seconds + 60)
        took, others = time.monotonic() - self.began, others_ns() - self.others_before
        with open(f"{self.out}/load", errors="replace") as f:
            said = f.read()
        if status not in (0, -signal.SIGKILL if self.kind.endless else 0):
            raise pairs.RoundError(f"{self.kind.load_name} under {self.way} exited {status}: {said[-400:]}")
        requests, p99_us = self.kind.result(said, self.place, self.before)
        if not requests:
            raise pairs.RoundError(f"{self.kind.name} under {self.way} has answered nothing")
        return {"requests": requests, "p99_us": p99_us, "cpu_ns": cpu_ns(self.pid) - self.cpu_before, "seconds": took,
                "others": others / (1e9 * took * os.cpu_count())}

    def stop(self):
        """Ends the server as its users do."""
        try:
            os.kill(self.pid, getattr(signal, "SIG" + self.kind.stop_signal))
            self.process.wait(60)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            raise pairs.RoundError(f"{self.kind.name} under {self.way} did not end: {self.said()}") from None

    def stated(self):
        """What the profile says of its cost, in percent of what is left without it, and samples by mechanism."""
        report = profilers.penumbra_totals(self.a.tools, f"{self.out}/penumbra.pnb")
        share = report["overhead"]["percent_of_cpu"]
        return {"stated": 100 * share / (100 - share), "samples": report["samples"],
                "coverage": report["coverage"]["percent"], "dropped": {k: v for k, v in report["dropped"].items() if v}}

    def remove(self):
        for process in (self.load, self.process):
            if process and process.poll() is None:
                for pid in tree(process.pid):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                process.wait()
        shutil.rmtree(self.place.folder, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)


def loaded(copies, seconds):
    """One load for all copies at the same time."""
    for c in copies:
        c.begin_load(seconds)
    for c in copies:
        c.until = time.monotonic() + seconds
    return {c.way: c.end_load(seconds) for c in copies}


def in_turns(copies, turns):
    """Each copy loaded alone, the others idle: {way: its turns}."""
    found = {}
    for turn in range(turns):
        for c in copies[turn % len(copies):] + copies[:turn % len(copies)]:
            found.setdefault(c.way, []).append(loaded([c], TURN_SECONDS)[c.way])
    return found


def one_round(a, kind, behind):
    copies = []
    try:
        for way, port in zip(WAYS, free_ports(len(WAYS))):
            copies.append(Copy(a, kind, way, behind, port))
        for c in copies:
            c.start()
        for c in copies:
            c.wait_ready()
        loaded(copies, WARM_SECONDS)
        found = {"together": loaded(copies, int(a.seconds or SECONDS)), "turns": in_turns(copies, a.turns)}
        for c in copies:
            c.stop()
        found["profile"] = next(c for c in copies if c.way == "penumbra").stated()
        found["load_average"] = round(os.getloadavg()[0], 1)
        return found
    finally:
        for c in copies:
            c.remove()


class Behind:
    """The server that the proxies' copies share, on the load's core."""

    def __init__(self, a):
        self.folder = tempfile.mkdtemp(prefix="pnb-")
        self.port = free_ports(1)[0]
        server_kinds.nginx_configure(self.folder, self.port, 1)
        self.process = subprocess.Popen(["taskset", "-c", str(a.load_core), *server_kinds.nginx_command(self.folder)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self.port

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def cost_of(r, part, way):
    """CPU time for a request."""
    found = r[part][way] if part == "turns" else [r[part][way]]
    return sum(t["cpu_ns"] for t in found) / sum(t["requests"] for t in found)


def cost_percent(r, part, way):
    """CPU time for a request, above the native copy's of the round."""
    return 100 * (cost_of(r, part, way) / cost_of(r, part, "native") - 1)


def throughput_percent(r, part, way):
    """Requests for a second of CPU time, above the native copy's."""
    return 100 * (1 / (1 + cost_percent(r, part, way) / 100) - 1)


def rate(turn):
    return turn["requests"] / turn["seconds"]


def p99(turn):
    return turn["p99_us"]


def quiet_turns(rounds):
    """The rows of turns, one of each way, in none of which others were at work: {way: turn}."""
    rows = [dict(zip(r["turns"], row)) for r in rounds for row in zip(*r["turns"].values())]
    return [row for row in rows if all(turn["others"] <= DISTURBED for turn in row.values())]


def above_native(rounds, way, value):
    """Of each quiet row: the value above that of the native copy's turn, in percent."""
    return [100 * (value(row[way]) / value(row["native"]) - 1) for row in quiet_turns(rounds)
            if value(row[way]) and value(row["native"])]


def between(values):
    """Where the median lies, with a probability of 95%: two of the values, whatever their distribution (the signs of their
    differences from the true median are coins)."""
    ordered, n = sorted(values), len(values)
    below = max(0, math.floor((n - 1.96 * n ** 0.5) / 2))
    return ordered[below], ordered[n - 1 - below]


def summary(rounds):
    out = []
    for way in WAYS[1:]:
        values = [statistics.median(cost_percent(r, part, way) for r in rounds) for part in ("together", "turns")]
        text = f"{way} together {values[0]:.2f}%, in turns {values[1]:.2f}%"
        for name, value in (("rate", rate), ("p99", p99)):
            found = above_native(rounds, way, value)
            if found:
                least, most = between(found)
                text += f", {name} {statistics.median(found):+.1f}% ({least:+.1f} to {most:+.1f})"
        out.append(text)
    stated = statistics.median(r["profile"]["stated"] for r in rounds)
    return "; ".join(out) + f"; stated {stated:.2f}%"


def run_servers(a, say):
    a.load_core = max(os.sched_getaffinity(0) - {a.core}, default=a.core)
    os.environ["PATH"] += "".join(":" + folder for folder in ("/usr/sbin", *glob.glob("/usr/lib/postgresql/*/bin")))
    for kind in server_kinds.kinds(a.tools):
        if a.only_servers and kind.name not in a.only_servers:
            continue
        rounds = [] if a.fresh else store.load("servers").get(kind.name, {}).get("rounds", [])
        with Behind(a) as behind:
            for _ in range(a.rounds):
                rounds.append(one_round(a, kind, behind))
                data = store.load("servers")
                data[kind.name] = {"server": kind.name, "load": kind.load_name, **store.when_and_what(a), "rounds": rounds}
                store.save("servers", data)
        say(f"{kind.name}, {len(rounds)} rounds: {summary(rounds)}")


def run(a, say):
    run_servers(a, say)
    if not a.only_servers or "switching" in a.only_servers:
        switching.run(a, say)
