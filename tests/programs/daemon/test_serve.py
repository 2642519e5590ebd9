"""penumbra serve: who has the token reads the database, and nobody else; answers are those of penumbra query."""
import json
import os
import sqlite3
import sys
from urllib.parse import quote

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, expect, main, run  # noqa: E402
from serving import HOSTILE, Serving  # noqa: E402

KEPT = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def refused():
    """Without the token, under another name, with another method, with too much: nothing is told."""
    with Serving() as s:
        right = {"Authorization": f"Bearer {s.token}"}
        cookie = f"penumbra-{s.port}="
        for path, method, headers, status in (
                ("/", "GET", {"X": "y"}, 403),
                ("/?token=" + s.token[:-1], "GET", {"X": "y"}, 403),
                ("/?token=" + "0" * len(s.token), "HEAD", {"X": "y"}, 403),
                ("/?token=0", "GET", {"Cookie": cookie + s.token}, 403),
                ("/api/services", "GET", {"Authorization": "Bearer "}, 403),
                ("/", "GET", {"Cookie": cookie + "0" * len(s.token)}, 403),
                ("/", "GET", {**right, "Host": "hostile.invalid"}, 403),
                ("/", "GET", {**right, "Host": "localhost.hostile.invalid"}, 403),
                ("/", "POST", right, 405),
                ("/../../etc/passwd", "GET", right, 404),
                ("/api/report?last=soon", "GET", right, 400),
                ("/api/report?from=9999-12-31", "GET", right, 400),
                ("/api/diff?before=1h", "GET", right, 400),
                ("/api/report?service=nobody", "GET", right, 404),
                ("/?service=" + "x" * 40000, "GET", right, 414),
                ("/", "GET", {"Cookie": cookie + s.token}, 200),
                ("/", "GET", {**right, "Host": "localhost:1"}, 200)):
            found, body, _ = s.ask(path, method, **headers)
            expect(found == status, f"{method} {path[:99]} {headers}: {found}, not {status}")
            expect(found == 200 or b"web.service" not in body, f"{path}: {body}")
        _, _, headers = s.ask("/?token=" + s.token, X="y")
        expect("HttpOnly; SameSite=Strict" in headers["Set-Cookie"], headers)
        expect(headers["Content-Security-Policy"] == "frame-ancestors 'none'", headers)
        for task in os.listdir(f"/proc/{s.process.pid}/task"):
            with open(f"/proc/{s.process.pid}/task/{task}/status", encoding="ascii") as file:
                rights = [int(line.split()[1], 16) for line in file if line.startswith(("CapEff", "CapPrm"))]
            expect(not any(r & ~KEPT for r in rights), f"capabilities {rights}")
        with open("/proc/net/tcp", encoding="ascii") as file:
            listens = [line.split()[1] for line in file if f":{s.port:04X} 00000000:0000 0A" in line]
        expect(listens == [f"0100007F:{s.port:04X}"], f"it listens on {listens}")


def answered():
    """As penumbra query answers; names are data; the database stays as it is, and may be written meanwhile."""
    with Serving() as s, open(s.db, "rb") as file:
        before = file.read()
        last, first = f"@{s.begin}..@{s.end}", f"@{s.begin - 7200}..@{s.end - 7200}"
        hour = f"from=@{s.begin}&to=@{s.end}"
        asked = ("--from", f"@{s.begin}", "--to", f"@{s.end}")
        hostile = quote(HOSTILE)
        writer = sqlite3.connect(s.db)
        writer.execute("BEGIN IMMEDIATE")
        for path, options in ((f"/api/services?{hour}", (*asked, "services")),
                              (f"/api/report?{hour}", asked),
                              (f"/api/report?{hour}&service=web.service", (*asked, "--service", "web.service")),
                              (f"/api/report?{hour}&service={hostile}", (*asked, "--service", HOSTILE)),
                              (f"/api/report?{hour}&function=main&program=httpd", (*asked, "--function", "main", "--program", "httpd")),
                              (f"/api/diff?before={first}&after={last}", ("diff", "--before", first, "--after", last))):
            status, body, _ = s.ask(path)
            expect(status == 200, f"{path}: {status} {body}")
            queried = run([PENUMBRA, "query", "--db", s.db, "--json", *options])
            wanted, got = json.loads(queried.stdout), json.loads(body)
            for side in ("before", "after") if "diff" in path else ():
                wanted[side][0]["file"] = side
            expect(got == wanted, f"{path}: {got}, not {wanted}")
        status, body, _ = s.ask(f"/api/profile.pnb?{hour}&service=web.service")
        with open(s.db + ".pnb", "wb") as out:
            out.write(body)
        expect(b"work" in run([PENUMBRA, "report", s.db + ".pnb"]).stdout, "a profile for report")
        status, body, _ = s.ask("/api/load?from=-4h&service=web.service")
        cpus = [n for n in json.loads(body)["cpus"] if n]
        expect(len(cpus) > 100 and all(abs(n - 20 / 3600) < 1e-4 for n in cpus), f"{status} {cpus}")
        status, body, _ = s.ask(f"/?{hour}&service={hostile}")
        expect(status == 200 and b"<img" not in body and b"\x1b" not in body, "the page's names are escaped")
        writer.rollback()
        writer.close()
        file.seek(0)
        expect(file.read() == before, "the database is as it was")
        os.rename(s.db, s.db + ".away")
        status, body, _ = s.ask("/")
        expect(status == 200 and b"penumbra daemon makes one" in body, f"without a database: {status}")


main({test.__name__: test for test in (refused, answered)})
