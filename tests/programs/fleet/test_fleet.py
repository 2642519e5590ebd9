"""A fleet's store, a real ClickHouse server: what was acknowledged is there, once, whatever happens to the server,
the connection, the sender and the disk. Skipped where there is no clickhouse-server."""
import ctypes
import errno
import http.client
import http.server
import json
import os
import random
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import PATIENCE, PENUMBRA, expect, main, run, target  # noqa: E402
from clickhouse import FEW, PASSWORD, SKIPPED, USER, Server  # noqa: E402

SEND = os.environ["FLEET_SEND"]
HOSTILE = b"</script>\t\n\\'\"'; DROP TABLE samples; --\x1b\xff".decode(errors="surrogateescape")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None
REFUSED, DETACH = 119, 2
TAKEN = {"web.service": 7, "db.service": 5}  # samples a batch
A_BATCH = 13  # of all three
# The end of an hour that is long over: batches before it lie in hours whose middle is as well.
END = int(time.time()) // 3600 * 3600


def begin_of(minutes):
    return END - minutes * 60


def send(spool, url, host="alpha", begin=0, count=0, status=0, seconds=60, cpus=2, **more):
    result = run([SEND, spool, url, host, str(begin), str(count), str(seconds), str(cpus)], **more)
    expect(result.returncode == status, f"fleet_send {url}: {result.returncode} {result.stderr.decode(errors='replace')}")
    return result.stderr.decode(errors="replace")


def query(server, *options, status=0, **more):
    result = run([PENUMBRA, "query", "--store", server.url, *options], **more)
    expect(result.returncode == status, f"{options}: {result.returncode} {result.stderr.decode(errors='replace')}")
    return (result.stderr if status else result.stdout).decode(errors="surrogateescape")


def range_of(minutes):
    return "--from", f"@{begin_of(minutes)}", "--to", f"@{END}"


def expect_once(server, hosts, minutes):
    """Of each host so many batches, each once, in rows of intervals and in sums of hours."""
    for host in hosts:
        found = server.numbers("SELECT count(), uniq(batch), sum(slots) FROM penumbra.samples WHERE kind = 0 AND "
                               f"host = '{host}'")
        expect(found == [minutes] * 3, f"{host}: {found} slots, not {minutes}")
    for kind in (1, 2, 5, 6):
        found = server.numbers(f"SELECT sum(taken) FROM penumbra.samples WHERE kind = {kind}")
        expect(found == [A_BATCH * minutes * len(hosts)], f"kind {kind}: {found} samples of {minutes} minutes")
    expect(server.numbers("SELECT sum(slots) FROM penumbra.samples WHERE kind = 4") == [minutes * len(hosts)], "hours")
    lost = "SELECT count() FROM penumbra.samples WHERE kind = 2 AND item NOT IN (SELECT id FROM penumbra.stacks)"
    expect(server.numbers(lost) == [0], "stacks that are missing")
    lost = "SELECT count() FROM penumbra.stacks ARRAY JOIN frames AS f WHERE f NOT IN (SELECT id FROM penumbra.frames)"
    expect(server.numbers(lost) == [0], "frames that are missing")


def answered():
    """Two hosts: services, functions, trees, filters, a profile, a difference and the page; names are data."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        server.start()
        print("tested with ClickHouse", server.ask("SELECT version()").strip())
        for host in ("alpha", "beta"):
            send(os.path.join(folder, host), server.url, host, begin_of(240), 48, seconds=300)
        expect_once(server, ("alpha", "beta"), 48)
        for options, hosts in ((range_of(240), 2), ((*range_of(240), "--host", "beta"), 1)):
            found = {s["service"]: s["samples"] for s in json.loads(query(server, *options, "--json", "services"))}
            wanted = {name: n * 48 * hosts for name, n in TAKEN.items()}
            expect({k: v for k, v in found.items() if k in wanted} == wanted, f"{options}: {found}")
            expect(len(found) == 3 and "DROP TABLE" in max(found, key=len), found)
            report = json.loads(query(server, *options, "--json"))
            expect(sum(f["self"] for f in report["functions"]) == A_BATCH * 48 * hosts, report["functions"])
            main_total = sum(f["total"] for f in report["functions"] if f["name"] == "main")
            expect(main_total == A_BATCH * 48 * hosts, f"main: {main_total}")
        # Ranges below three hours are exact to an interval.
        for minutes in (5, 35, 100):
            report = json.loads(query(server, *range_of(minutes), "--json", "--service", "web.service"))
            expect(sum(f["self"] for f in report["functions"]) == 7 * minutes // 5 * 2, f"{minutes}: {report['functions']}")
        # Longer ones have whole hours, whose middle is in them.
        report = json.loads(query(server, "--from", f"@{begin_of(240) + 1801}", "--to", f"@{END}", "--json"))
        expect(sum(f["self"] for f in report["functions"]) == A_BATCH * 36 * 2, "three hours of four")
        for options, samples in ((("--program", "sqld"), 5), (("--function", "main"), A_BATCH), (("--binary", "httpd"), 7),
                                 (("--binary", "/usr/bin/sqld"), 5), (("--service", HOSTILE), 1)):
            report = json.loads(query(server, *range_of(240), "--json", *options))
            expect(sum(f["self"] for f in report["functions"]) == samples * 96, f"{options}: {report['functions']}")
        for options in (("--function", "nobody"), ("--binary", "x' OR '1"), ("--host", "gamma"), ("--service", "\\")):
            query(server, *range_of(240), "--json", *options, status=127)
        text = query(server, *range_of(240), "services")
        expect("\x1b" not in text and "\t\n" not in text, text)
        out = os.path.join(folder, "out.pnb")
        query(server, *range_of(240), "-o", out)
        expect(b"main" in run([PENUMBRA, "report", out]).stdout, "a profile for report")
        middle = f"@{begin_of(120)}"
        diff = query(server, "diff", "--before", f"@{begin_of(240)}..{middle}", "--after", f"{middle}..@{END}")
        expect(diff.count(f" {A_BATCH * 24 * 2} samples of cpu") == 2, diff)
        expect("0 of 3 functions changed beyond chance, by their own samples" in diff, diff)
        expect(all(re.search(rf"^ *{share} +{share} +\+0.00% .*\[{name}\+", diff, re.M)
                   for share, name in (("38.46%", "sqld"), ("53.85%", "httpd"))), diff)
        served(server)
        dropped(server)


def served(server):
    process = subprocess.Popen([PENUMBRA, "serve", "--store", server.url, "--quiet"], stdout=subprocess.PIPE, text=True)
    try:
        base, token = process.stdout.readline().strip().split("/?token=")
        asked = f"from=@{begin_of(240)}&to=@{END}"
        for path in (f"/api/services?{asked}", f"/api/report?{asked}", f"/api/load?{asked}", f"/?{asked}",
                     f"/api/load?{asked}&host=beta", f"/api/profile.pnb?{asked}"):
            connection = http.client.HTTPConnection("127.0.0.1", int(base.rsplit(":", 1)[1]), timeout=PATIENCE)
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            body = answer.read()
            expect(answer.status == 200 and (b"</script>\t" not in body or "pnb" in path), f"{path}: {answer.status} {body[:300]}")
            if "load" in path:
                # 13 samples of 50 ms in five minutes of each host.
                cpus = [n for n in json.loads(body)["cpus"] if n]
                expect(cpus and all(abs(n - A_BATCH * 0.05 / 300) < 1e-6 for n in cpus), f"{path}: {cpus}")
            if "services" in path:
                expect(json.loads(body) == json.loads(query(server, *range_of(240), "--json", "services")), body)
    finally:
        process.terminate()
        process.communicate()


def dropped(server):
    """db gc removes days, of all tables."""
    days = server.numbers("SELECT uniq(day) FROM penumbra.samples")[0]
    kept = run([PENUMBRA, "db", "--store", server.url, "--keep", "30d", "gc"])
    expect(kept.stdout == b"0 days removed\n", kept.stdout + kept.stderr)
    old = begin_of(240) - 86400 * 40
    with tempfile.TemporaryDirectory() as folder:
        send(folder, server.url, "old", old, 3)
    gone = run([PENUMBRA, "db", "--store", server.url, "--keep", "30d", "gc"])
    expect(gone.stdout == b"1 days removed\n", gone.stdout + gone.stderr)
    for table in ("samples", "stacks", "frames"):
        left = server.numbers(f"SELECT uniq(day) FROM penumbra.{table}")[0]
        expect(left == days, f"{table}: {left} days, not {days}")


def wide():
    """Squares of weights whose sum has more than 64 bits: what comes out is not what is left of it modulo 2^64."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        server.start()
        begin = begin_of(30)
        send(folder, server.url, "alpha", begin, 1)
        found = json.loads(query(server, *range_of(40), "--json"))
        expect(found["effective_samples"] == A_BATCH, found["effective_samples"])
        for batch in (1, 2):
            for kind, host in ((1, "alpha"), (5, "")):
                server.ask(f"INSERT INTO penumbra.samples SELECT toDate('1970-01-01') + {begin // 86400}, {kind}, "
                           f"{begin // 3600 * 3600}, '{host}', 'web.service', 'httpd', 0, {batch if host else 0}, "
                           f"{begin}000000000, {begin + 60}000000000, 1, 0, 0, 50000, {1 << 63}, 0, 0, 0, 0, 0")
        server.ask("OPTIMIZE TABLE penumbra.samples FINAL")
        found = json.loads(query(server, *range_of(240), "--json"))
        expect(found["effective_samples"] < 1, found["effective_samples"])
        found = json.loads(query(server, *range_of(40), "--json"))
        expect(found["effective_samples"] < 1, found["effective_samples"])
        # Two samples of no stack that is there, besides the others.
        expect(any(f"{200 / (A_BATCH + 2):.2f}% are in call paths that are not among the heaviest" in note
                   for note in found["notes"]), found["notes"])


def few():
    """Where the tables are there, a host needs no right to make them."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        server.start()
        host = {**os.environ, "PENUMBRA_STORE_USER": FEW, "PENUMBRA_STORE_PASSWORD": PASSWORD}
        said = send(folder, server.url, "alpha", begin_of(5), 5, status=1, env=host)
        expect("DDL" in said and len(os.listdir(folder)) == 5, said)
        made = run([PENUMBRA, "db", "--store", server.url, "make"])
        expect(made.returncode == 0, made.stderr)
        send(folder, server.url, env=host)
        expect(not os.listdir(folder), "nothing waits")
        expect_once(server, ("alpha",), 5)
        query(server, *range_of(5), "services", env=host)


def sizes():
    """Hosts of different sizes: the most processors that one has, of intervals and of hours, in which order they came."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        server.start()
        for host, cpus in (("alpha", 4), ("beta", 64), ("gamma", 8)):
            send(os.path.join(folder, host), server.url, host, begin_of(100), 1, cpus=cpus)
        server.ask("OPTIMIZE TABLE penumbra.samples FINAL")
        for minutes in (110, 240):
            report = json.loads(query(server, *range_of(minutes), "--json"))
            expect(report["cpus"] == 64, f"{minutes}: {report['cpus']} processors")


def away():
    """A server that is away at the start: batches wait, and are there once when it comes."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        said = send(folder, server.url, "alpha", begin_of(30), 30, status=1)
        expect(f":{server.port}" in said, said)
        expect(len(os.listdir(folder)) == 30, "batches wait")
        query(server, "services", status=124)
        server.start()
        send(folder, server.url)
        expect(not os.listdir(folder), "nothing waits")
        expect_once(server, ("alpha",), 30)


def unreadable():
    """A batch that a failing disk does not give stays; those after it are sent, and it is once it can be read."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        server.start()
        send(folder, "-", "alpha", begin_of(30), 30)
        broken = sorted(os.listdir(folder))[0]
        said = send(folder, server.url, status=1, env={**os.environ, "FLEET_SEND_BROKEN": broken})
        expect(os.strerror(errno.EIO) in said and broken in said, said)
        expect(os.listdir(folder) == [broken], f"{os.listdir(folder)} wait")
        send(folder, server.url)
        expect(not os.listdir(folder), "nothing waits")
        expect_once(server, ("alpha",), 30)


def killed():
    """The server is killed again and again while it is sent to, and so is the sender."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        chance = random.Random(7)
        send(folder, "-", "alpha", begin_of(200), 200)
        turns = 0
        while os.listdir(folder):
            server.start()
            sender = subprocess.Popen([SEND, folder, server.url, "alpha", "0", "0", "1", "1"], stderr=subprocess.DEVNULL)
            # By what was sent, not by a time: the machine may be slow.
            left, end = len(os.listdir(folder)), time.time() + PATIENCE
            goal = left - chance.randrange(1, 60)
            while sender.poll() is None and len(os.listdir(folder)) > goal:
                expect(time.time() < end, "it goes on")
                time.sleep(0.001)
            time.sleep(chance.random() * 0.03)
            if turns % 3 == 2:
                sender.kill()
            server.kill()
            sender.kill()
            sender.wait()
            turns += 1
        expect(turns > 2, f"{turns} times")
        server.start()
        expect_once(server, ("alpha",), 200)


class Breaking(http.server.ThreadingHTTPServer):
    """Between the sender and the server: breaks the inserts of samples as `faults` says, one after the other.

    answer: the server gets all and its answer is lost; body: the server gets a part of the body; none: all is well."""
    daemon_threads = True

    def __init__(self, server, faults):
        super().__init__(("127.0.0.1", 0), BreakingHandler)
        self.server, self.faults, self.done = server, list(faults), []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/penumbra"
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def handle_error(self, *_):
        pass


class BreakingHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fault = "none"
        if "penumbra.samples" in self.path and "INSERT" in self.path and self.server.faults:
            fault = self.server.faults.pop(0)
            self.server.done.append(fault)
        to = socket.create_connection(("127.0.0.1", self.server.server.port))
        kept = [f"{k}: {v}" for k, v in self.headers.items() if k.lower() not in ("expect", "connection", "host")]
        head = "\r\n".join([f"POST {self.path} HTTP/1.1", "Host: x", "Connection: close", *kept, "", ""]).encode()
        to.sendall(head + (body[:len(body) // 2] if fault == "body" else body))
        if fault == "body":
            to.shutdown(socket.SHUT_WR)
        answer = b""
        while part := to.recv(65536):
            answer += part
        to.close()
        if fault == "none":
            # The connection stays: libraries send a request again where one that they used before ends.
            self.wfile.write(re.sub(b"(?i)connection: *close", b"Connection: Keep-Alive", answer, count=1))
            return
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_):
        pass


def broken():
    """An answer that is lost, and a request that is cut, at each step: nothing is there twice, and nothing is missing."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        server.start()
        faults = ["answer", "body", "none", "body", "body", "answer", "none", "answer", "answer", "body"]
        proxy = Breaking(server, faults)
        send(folder, "-", "alpha", begin_of(12), 12)
        tries = 0
        while os.listdir(folder):
            run([SEND, folder, proxy.url, "alpha", "0", "0", "1", "1"])
            tries += 1
            expect(tries < 40, "it ends")
        expect(proxy.done == faults, f"{proxy.done}")
        proxy.shutdown()
        proxy.server_close()
        expect_once(server, ("alpha",), 12)


def hanging():
    """A server that hangs before it reads an insert never gets its rows: it could not insert them later."""
    early, asked = [], []

    class Hanging(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_expect_100(self):
            asked.append(self.path)
            early.extend(select.select([self.connection], [], [], 1.5)[0])
            self.close_connection = True
            return False

        def do_POST(self):
            if "INSERT" in self.path:
                early.append("without being asked")
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"0\n")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hanging)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        send(folder, f"http://127.0.0.1:{server.server_address[1]}/penumbra", "alpha", begin_of(1), 1, status=1)
        expect(len(os.listdir(folder)) == 1, "the batch waits")
    expect(asked and not early, f"{asked} {early}")
    server.shutdown()
    server.server_close()


def lying():
    """Answers that are none: an error that says what is wrong, and no crash."""
    answers = [b"", b"\x00" * 99, b"1\t2\n", b"a\tb\tc\td\te\tf\tg\th\ti\n", b"\\", b"<html>" + b"x" * 70000,
               b"9" * 400 + b"\n", b"1\t1\t1\t1\t1\t1\t1\t1\t[1,2\n", b"1\t1\t1\t1\t1\t1\t1\t1\t[]\n" * 9]

    class Liar(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = answers[turn // 2]
            self.send_response(200 if turn % 2 == 0 else 500)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/penumbra"
    for turn in range(len(answers) * 2):
        for words in (("query", "services"), ("query", "top"), ("symbols", "upload", target("machine-split"))):
            if words[0] == "symbols" and turn % 2 == 0:
                continue  # an answer to what is inserted says nothing but its status
            result = run([PENUMBRA, words[0], "--store", url, *words[1:]])
            said = result.stderr.decode()
            expect(result.returncode in (3, 124, 127), f"{answers[turn // 2][:40]}: {result.returncode} {said}")
            expect(said and "\x00" not in said and len(said) < 2000, said)
    server.shutdown()
    server.server_close()


def refused():
    """Wrong addresses and credentials are said; a password is in no message and on no command line."""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        server.start()
        auth = os.path.join(folder, "auth")
        right = {"PENUMBRA_STORE_USER": USER, "PENUMBRA_STORE_PASSWORD": PASSWORD}
        send(os.path.join(folder, "spool"), server.url, "alpha", begin_of(5), 5)
        query(server, *range_of(5), "services", env={**os.environ, **right})
        with open(auth, "w", encoding="utf-8") as file:
            file.write(f"{USER}:{PASSWORD}\nmore\n")
        os.chmod(auth, 0o600)
        query(server, *range_of(5), "--store-auth", auth, "services")
        os.chmod(auth, 0o604)
        expect("chmod o=" in query(server, "--store-auth", auth, status=2), "a file that everybody reads")
        wrong = {**os.environ, **right, "PENUMBRA_STORE_PASSWORD": "wrong-one"}
        for said in (query(server, "services", status=124, env=wrong), symbols(server, SEND, status=124, env=wrong)):
            expect("wrong-one" not in said and USER in said, said)
        for text, status in (("user:pass\x01word", 2), ("nothing", 2), ("", 2)):
            with open(auth, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(auth, 0o600)
            query(server, "--store-auth", auth, status=status)
        query(server, "--store-auth", auth + "x", status=127)
        for url in ("nothing", "ftp://x/y", "http://user:hidden-word@127.0.0.1/x", "http://user:hidden-word@[/x",
                    "http://127.0.0.1/x?password=hidden-word", "http://127.0.0.1/a/b", "http://127.0.0.1/x;y",
                    "http://127.0.0.1/1x"):
            for command in ("query", "serve", "daemon", "symbols"):
                place = {"daemon": ("--db", os.path.join(folder, "d.db")), "symbols": ("upload", SEND)}.get(command, ())
                result = run([PENUMBRA, command, "--store", url, *place])
                expect(result.returncode == 2 and b"penumbra" in result.stderr, f"{command} {url}: {result}")
                expect(b"hidden-word" not in result.stderr, f"{command}: {result}")
        for options in (("--db", "x", "--store", server.url), ("--store-auth", auth)):
            expect(run([PENUMBRA, "query", *options]).returncode == 2, options)
        # A store is not what is meant where a database is named: its days stay.
        both = run([PENUMBRA, "db", "--db", "x", "--store", server.url, "--keep", "1s", "gc"])
        expect(both.returncode == 2 and b"different sources" in both.stderr, both)
        expect_once(server, ("alpha",), 5)
        for words in ((), ("nothing",)):
            result = run([PENUMBRA, "db", "--db", "x", *words])
            expect(result.returncode == 2 and b"make" in result.stderr, result)


class Daemon:
    """One that sends to a store."""

    def __init__(self, folder, url, *options, **environment):
        self.said = ""
        self.db = os.path.join(folder, "machine.db")
        self.spool = self.db + "-spool"
        self.process = subprocess.Popen([PENUMBRA, "daemon", "--db", self.db, "-F", "199", "--budget", "50%", "--interval",
                                         "0.3s", "--store", url, *options], stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        self.wait_for("every")

    def wait_for(self, words):
        while words not in self.said:
            line = self.process.stderr.readline()
            self.said += line
            if not line:
                if self.process.wait() == REFUSED:
                    print(f"skipped: {self.said.strip()}")
                    sys.exit(SKIPPED)
                expect(False, f"{words}: {self.said}")

    def sender(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            for pid in file.read().split():
                with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                    if name.read().strip() == "penumbra-send":
                        return int(pid)
        return 0

    def end(self):
        self.process.terminate()
        self.said += self.process.communicate()[1]
        expect(self.process.returncode == 0, self.said)


def wait_until(condition, what):
    end = time.time() + PATIENCE
    while not condition():
        expect(time.time() < end, what)
        time.sleep(0.05)


def by_name(report):
    """Samples of functions; those of one name are one, whatever file they are in."""
    found = {}
    for f in report["functions"]:
        self, total = found.get(f["name"], (0, 0))
        found[f["name"]] = self + f["self"], total + f["total"]
    return found


def work(folder):
    program = os.path.join(folder, "split-of-fleet")
    os.symlink(target("machine-split"), program)
    run([program, "600"])


def sampled():
    """A daemon whose server comes later and goes again, and whose sender is killed: what it sampled is found, by name."""
    with Server() as server, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        daemon = Daemon(folder, server.url, PENUMBRA_STORE_USER=USER, PENUMBRA_STORE_PASSWORD=PASSWORD)
        work(folder)
        daemon.wait_for("batches wait")
        first = daemon.sender()
        with open(f"/proc/{first}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
        expect(not int(status["CapEff"], 16) and not int(status["CapPrm"], 16), f"rights {status['CapEff']}")
        expect(len(os.listdir(f"/proc/{first}/fd")) <= 6, os.listdir(f"/proc/{first}/fd"))
        with open(f"/proc/{daemon.process.pid}/cmdline", "rb") as file:
            expect(PASSWORD.encode() not in file.read(), "the password is on the command line")
        server.start()
        daemon.wait_for("has all again")
        os.kill(first, 9)
        wait_until(lambda: daemon.sender() not in (0, first), "a sender is started again")
        server.kill()
        time.sleep(0.7)
        server.start()
        daemon.end()
        end = run([SEND, daemon.spool, server.url, "x", "0", "0", "1", "1"])
        expect(end.returncode == 0, end.stderr)
        local = run([PENUMBRA, "query", "--db", daemon.db, "--json", "--program", "split-of-fleet"])
        fleet = query(server, "--json", "--program", "split-of-fleet")
        found = [by_name(json.loads(text)) for text in (local.stdout, fleet)]
        expect("in_first" in found[0], f"{found[0]}")
        expect(found[0] == found[1], f"{set(found[0].items()) ^ set(found[1].items())}")
        slots = server.numbers("SELECT count(), uniq(batch), sum(missed) FROM penumbra.samples WHERE kind = 0")
        expect(slots[0] == slots[1] and slots[2] == 0, slots)


def symbols(server, *words, status=0, **more):
    result = run([PENUMBRA, "symbols", "--store", server.url, "upload", *words], **more)
    expect(result.returncode == status, f"{words}: {result.returncode} {result.stderr.decode(errors='replace')}")
    return result.stderr.decode(errors="replace")


def apart():
    """A stripped program has no names until they are uploaded; then by name, as from the program as it was built."""
    if not shutil.which("strip"):
        print("skipped: no strip")
        sys.exit(SKIPPED)
    with Server() as server, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        server.start()
        whole, stripped = target("machine-split"), os.path.join(folder, "stripped")
        subprocess.run(["strip", "-o", stripped, whole], check=True)
        # One that is loaded where it was linked.
        static, fixed = target("machine-split-static"), os.path.join(folder, "fixed")
        subprocess.run(["strip", "-o", fixed, static], check=True)
        # Two hosts: one that runs both has names of one build for both.
        for host, programs in (("a", (whole,)), ("b", (stripped, fixed))):
            os.mkdir(os.path.join(folder, host))
            daemon = Daemon(os.path.join(folder, host), server.url)
            for program in programs:
                run([program, "600"])
            daemon.end()
        # Neither host nor reader has the file then.
        os.unlink(stripped)
        os.unlink(fixed)
        of_whole, of_stripped = ("--program", "machine-split"), ("--program", "stripped")
        wanted = {name for name in by_name(json.loads(query(server, "--json", *of_whole))) if name.startswith("in_")}
        expect(len(wanted) >= 2, wanted)

        def named(program="stripped"):
            of = by_name(json.loads(query(server, "--json", "--program", program)))
            return {name: n for name, n in of.items() if name in wanted}
        expect(not named(), f"stripped: {named()}")
        query(server, *of_stripped, "--function", "in_first", status=127)
        before = json.loads(query(server, "--json", *of_stripped))

        # A store that was made before there were such names; and what has none to give.
        server.ask("DROP TABLE penumbra.symbols")
        expect(not named(), "a store without the table is read")
        text = os.path.join(folder, "text")
        os.makedirs(os.path.join(folder, "d", "deep"))
        with open(text, "w", encoding="ascii") as file:
            file.write("no program")
        subprocess.run(["strip", "-o", os.path.join(folder, "d", "none"), whole], check=True)
        nothing, link = os.path.join(folder, "nothing"), os.path.join(folder, "link")
        os.symlink(nothing, link)
        for words, status, said in (((text,), 3, "no ELF"), ((os.path.join(folder, "d", "none"),), 3, "stripped"),
                                    ((os.path.join(folder, "d"),), 127, "no file there"), ((nothing,), 127, "cannot read"),
                                    ((link,), 127, "a link to no file"), (("",), 127, "cannot read ''"),
                                    (("/dev/null",), 3, "neither a file nor a folder")):
            expect(said in symbols(server, *words, status=status), words)
        expect(not named(), "nothing was uploaded")

        debug = os.path.join(folder, "d", "deep", "x.debug")
        subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
        for _ in range(2):  # twice is as good as once
            said = symbols(server, os.path.join(folder, "d"))
            expect("of 1 file; 1 other file without" in said, said)
        expect(set(named()) == wanted, f"{named()} of {wanted}")
        after = json.loads(query(server, "--json", *of_stripped))
        expect(after["taken"] == before["taken"] and sum(f["self"] for f in after["functions"]) == after["taken"],
               f"{before['taken']}, then {after['taken']} samples")
        # They narrow, too: a function's total is all of its stacks.
        total = named()["in_first"][1]
        found = by_name(json.loads(query(server, "--json", *of_stripped, "--function", "in_first")))
        expect(found["in_first"][1] == total and sum(own for own, _ in found.values()) == total, found)
        os.unlink(debug)
        server.ask("OPTIMIZE TABLE penumbra.symbols FINAL")
        expect(set(named()) == wanted, "what is uploaded stays")
        expect(not named("fixed"), "names of another build")
        symbols(server, static)
        expect(set(named("fixed")) == wanted, f"{named('fixed')} of {wanted}")
        # A profile takes them along.
        out = os.path.join(folder, "out.pnb")
        query(server, "-o", out, *of_stripped)
        text = run([PENUMBRA, "report", out]).stdout.decode()
        expect(all(name in text for name in wanted), text)


def full():
    """A disk without room for the spool: said once; the daemon goes on, and the store knows what is missing."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Server() as server, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        spool = os.path.join(folder, "machine.db-spool")
        os.mkdir(spool)
        if os.geteuid() or libc.mount(b"none", spool.encode(), b"tmpfs", 0, b"size=1m"):
            print("skipped: a file system cannot be mounted here")
            sys.exit(SKIPPED)
        try:
            daemon = Daemon(folder, server.url)
            daemon.wait_for("batches wait")
            filler = os.path.join(spool, "filler")
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
            daemon.wait_for("cannot write to the spool")
            time.sleep(1)
            os.unlink(filler)
            daemon.wait_for("can be written again")
            server.start()
            daemon.wait_for("has all again")
            daemon.end()
            expect(daemon.said.count("cannot write to the spool") == 1, daemon.said)
            run([SEND, spool, server.url, "x", "0", "0", "1", "1"])
            missed, covered = server.numbers("SELECT sum(missed), sum(covered) FROM penumbra.samples WHERE kind = 0")
            span = server.numbers("SELECT intDiv(max(end_ns) - min(begin_ns), 1000) FROM penumbra.samples WHERE kind = 0")[0]
            expect(missed > 0 and abs(missed + covered - span) < 0.1 * span, f"{missed} + {covered} of {span} us")
            # The database has all of it: what the store has not is lost there.
            local = json.loads(run([PENUMBRA, "query", "--db", daemon.db, "--json"]).stdout)
            lost = server.numbers("SELECT sum(lost) FROM penumbra.samples WHERE kind = 0")[0] - local["dropped"]["lost"]
            taken = server.numbers("SELECT sum(taken) FROM penumbra.samples WHERE kind = 1")[0]
            expect(lost > 0 and taken + lost == local["taken"], f"{taken} + {lost} of {local['taken']} samples")
        finally:
            libc.umount2(spool.encode(), DETACH)


main({test.__name__: test for test in (answered, wide, few, sizes, away, unreadable, killed, broken, hanging, lying, refused, sampled, apart, full)})
