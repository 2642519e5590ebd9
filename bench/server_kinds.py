"""The servers that are measured: how each is started, what loads it, and what its load's generator says."""
import glob
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

import pairs

CONNECTIONS = 32
ROWS = 10000  # of a table
MARIA = ["--no-defaults", "--user=root"]


def run_as(user):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []


@dataclass
class Place:
    """What one copy of a server has to itself."""
    folder: str   # short: a socket's path has 107 bytes
    port: int
    behind: int   # the port of what is behind a proxy, for all copies

    def file(self, name):
        return os.path.join(self.folder, name)


def do(command, what, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise pairs.RoundError(f"{what}: {command[0]} exited {done.returncode}: {done.stdout[-400:]}")
    return done.stdout


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def found(pattern, text):
    match = re.search(pattern, text)
    if not match:
        raise pairs.RoundError(f"no {pattern!r} in what a load said: {text[-400:]}")
    return float(match[1])


class Kind:
    """A server. `command` is started; `load` is what loads it for some seconds; `result` is (requests, p99 in
    microseconds or None) of what a load has said since `before`, which `count` returned."""
    name = load_name = ""
    stop_signal = "TERM"
    endless = False  # the load must be ended
    user = ""        # who runs it and its profiler, if not who runs the benchmark

    def prepare(self, place):
        """Data and configuration."""

    def fill(self, place):
        """What the running server must have before it is loaded."""

    def count(self, place):
        return 0


def middle_half(values):
    ordered, out = sorted(values), len(values) // 4
    return ordered[out:len(ordered) - out]


class Redis(Kind):
    name, load_name, endless = "redis", "redis-benchmark -t get", True
    batch = 5000

    def command(self, place):
        return ["redis-server", "--port", str(place.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                "--dir", place.folder]

    def asks(self, place):
        return ["redis-cli", "-p", str(place.port), "ping"]

    def load(self, place, seconds):
        return ["stdbuf", "-oL", "redis-benchmark", "-p", str(place.port), "-t", "get", "-c", str(CONNECTIONS), "-n", str(self.batch), "-l",
                "--csv"]

    def count(self, place):
        stats = do(["redis-cli", "-p", str(place.port), "info", "stats"], "asking redis")
        return found(r"total_commands_processed:(\d+)", stats)

    def result(self, said, place, before):
        batches = re.findall(r'^"GET"((?:,"[0-9.]+")+)', said, re.M)
        last = [float(b.split(",")[6].strip('"')) for b in batches]
        # It tells latencies in steps of 2%: a median would be one of them.
        return self.count(place) - before, 1000 * statistics.mean(middle_half(last)) if last else None


class Memcached(Kind):
    name, load_name = "memcached", "bench/memcached.c"

    def __init__(self, tools):
        self.client = tools.file("bench/bench-memcached")

    def command(self, place):
        return ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(place.port), "-t", "4"]

    def asks(self, place):
        return [self.client, str(place.port), "1", "0"]

    def load(self, place, seconds):
        return [self.client, str(place.port), str(CONNECTIONS), str(seconds)]

    def result(self, said, place, before):
        return found(r"(\d+) requests", said), found(r"p99 (\d+)", said)


UNITS = {"us": 1, "ms": 1000, "s": 1000000}


class Web(Kind):
    load_name = f"wrk -c {CONNECTIONS}"

    def asks(self, place):
        return ["wrk", "-c", "1", "-t", "1", "-d", "1", f"http://127.0.0.1:{place.port}/page"]

    def load(self, place, seconds):
        return ["wrk", "-c", str(CONNECTIONS), "-t", "1", "-d", str(seconds), "--latency",
                f"http://127.0.0.1:{place.port}/page"]

    def result(self, said, place, before):
        wrong = re.search(r"(Non-2xx.*|Socket errors.*)", said)
        if wrong:
            raise pairs.RoundError(f"{self.name}: {wrong[1]}")
        number, unit = re.search(r"99%\s+([0-9.]+)(us|ms|s)", said).groups()
        return found(r"(\d+) requests in", said), float(number) * UNITS[unit]


def nginx_configure(folder, port, workers):
    os.makedirs(os.path.join(folder, "html"), exist_ok=True)
    write(os.path.join(folder, "html/page"), "a page of some bytes\n" * 40)
    temporary = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    write(os.path.join(folder, "nginx.conf"),
          f"daemon off; user root; worker_processes {workers}; pid {folder}/pid; error_log stderr crit;\n"
          f"events {{ worker_connections 1024; }}\nhttp {{ {temporary}access_log off; keepalive_requests 1000000000;\n"
          f"server {{ listen 127.0.0.1:{port} reuseport; root {folder}/html; default_type text/plain; }} }}\n")


def nginx_command(folder):
    return ["nginx", "-p", folder, "-e", "stderr", "-c", os.path.join(folder, "nginx.conf")]


class Nginx(Web):
    name = "nginx"

    def prepare(self, place):
        nginx_configure(place.folder, place.port, 2)

    def command(self, place):
        return nginx_command(place.folder)


class Haproxy(Web):
    name = "haproxy"

    def prepare(self, place):
        write(place.file("haproxy.cfg"),
              "global\n  nbthread 2\n  maxconn 1000\ndefaults\n  mode http\n  timeout connect 10s\n  timeout client 60s\n"
              f"  timeout server 60s\nlisten all\n  bind 127.0.0.1:{place.port}\n"
              f"  server behind 127.0.0.1:{place.behind}\n")

    def command(self, place):
        return ["haproxy", "-db", "-f", place.file("haproxy.cfg")]


def template(name, make):
    """A folder with data, made once a run and copied for each copy of a server."""
    if name not in template.made:
        template.made[name] = tempfile.TemporaryDirectory(prefix=f"pnb-{name}-")
        make(template.made[name].name)
    return template.made[name].name


template.made = {}


class Postgres(Kind):
    name, load_name, stop_signal = "postgres", "pgbench -S", "INT"
    user = "postgres"  # it refuses to run as root
    sampled = 0.1  # of the transactions, whose latency is logged

    def initialize(self, folder):
        shutil.chown(folder, self.user, self.user)
        do([*run_as(self.user), "initdb", "-A", "trust", "-N", "-D", f"{folder}/data"], "making a database", cwd=folder)

    def prepare(self, place):
        do(["cp", "-a", template(self.name, self.initialize) + "/data", place.folder], "copying a database")
        shutil.chown(place.folder, self.user, self.user)

    def command(self, place):
        return ["postgres", "-D", place.file("data"), "-k", place.folder, "-h", "", "-c", "fsync=off",
                "-c", "log_min_messages=fatal", "-c", "autovacuum=off"]

    def asks(self, place):
        return ["psql", "-h", place.folder, "-U", "postgres", "-Atc", "select 1"]

    def fill(self, place):
        do(["pgbench", "-h", place.folder, "-U", "postgres", "-i", "-q", "-s", "1", "postgres"], "filling a table")

    def load(self, place, seconds):
        return ["pgbench", "-h", place.folder, "-U", "postgres", "-n", "-S", "-M", "prepared", "-c", "8", "-T", str(seconds),
                "-l", f"--sampling-rate={self.sampled}", "--log-prefix", place.file("latency"), "postgres"]

    def result(self, said, place, before):
        times = []
        for name in glob.glob(place.file("latency.*")):
            with open(name) as f:
                times += [int(line.split()[2]) for line in f]
            os.unlink(name)
        times.sort()
        return found(r"actually processed: (\d+)", said), times[len(times) * 99 // 100] if times else None


class Mariadb(Kind):
    name, load_name = "mariadb", "sysbench oltp_point_select"

    def initialize(self, folder):
        do(["mariadb-install-db", *MARIA, f"--datadir={folder}/data", "--auth-root-authentication-method=normal",
            "--skip-test-db", "--innodb-log-file-size=8M"], "making a database")

    def prepare(self, place):
        do(["cp", "-a", template(self.name, self.initialize) + "/data", place.folder], "copying a database")

    def command(self, place):
        return ["mariadbd", *MARIA, f"--datadir={place.file('data')}", f"--socket={place.file('s')}", "--skip-networking",
                "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0", "--pid-file=" + place.file("pid")]

    def asks(self, place):
        return ["mariadb", "--no-defaults", "-u", "root", "-S", place.file("s"), "-e", "create database if not exists bench"]

    def words(self, place, *more):
        return ["sysbench", "oltp_point_select", f"--mysql-socket={place.file('s')}", "--mysql-user=root",
                "--mysql-db=bench", f"--table-size={ROWS}", *more]

    def fill(self, place):
        do(self.words(place, "prepare"), "filling a table")

    def load(self, place, seconds):
        return self.words(place, "--threads=8", f"--time={seconds}", "--percentile=99", "run")

    def result(self, said, place, before):
        return found(r"transactions:\s+(\d+)", said), 1000 * found(r"99th percentile:\s+([0-9.]+)", said)


def kinds(tools):
    return [Redis(), Memcached(tools), Nginx(), Haproxy(), Postgres(), Mariadb()]


def wait_until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise pairs.RoundError(f"{what} did not happen in {seconds} s")
        time.sleep(0.1)
