"""A server of penumbra serve over a database that is made for it (write_database.c)."""
import http.client
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, expect, run  # noqa: E402

HOSTILE = "</script><img src=//hostile.invalid/x onerror=alert(1)>\"'&\\\x1b"
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # where nothing waits for a disk


class Serving:
    """With `db`, `url`, `token`, `port`, and the hour that is over now: `begin` and `end`."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.db = os.path.join(self.folder.name, "machine.db")
        made = run([os.environ["WRITE_DATABASE"], self.db])
        expect(made.returncode == 0, made.stderr)
        self.begin, self.end = map(int, made.stdout.split())
        self.process = subprocess.Popen([PENUMBRA, "serve", "--db", self.db, "--quiet"],
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        base, self.token = self.url.split("/?token=")
        self.port = int(base.rsplit(":", 1)[1])
        return self

    def __exit__(self, *_):
        self.process.terminate()
        status = self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()
        expect(status == 0, f"status {status}")

    def ask(self, path, method="GET", body=None, **headers):
        """Status, body and headers; with the token, unless there are other headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, body, headers or {"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        found = answer.status, answer.read(), answer.headers
        connection.close()
        return found
