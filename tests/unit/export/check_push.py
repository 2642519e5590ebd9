"""penumbra push to a collector on this machine: what is sent, what is tried again, what is said, what stays.

usage: check_push.py WRITE_SAMPLE PENUMBRA"""
import gzip
import http.server
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

write_sample, penumbra = map(os.path.abspath, sys.argv[1:])
for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
    del os.environ[name]


class Collector:
    """Answers requests one after the other with (status, fields, body), the last one from then on."""

    def __init__(self, *answers, certificate=None):
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, dict(self.headers), body, time.monotonic()))
                status, fields, answer = answers[min(len(outer.requests), len(answers)) - 1]
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        if certificate:
            self.url = self.url.replace("http:", "https:")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, certificate + ".key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def push(d, *options, status=0, says=()):
    with open(os.path.join(d, "sample.pnb"), "rb") as f:
        before = f.read()
    done = subprocess.run([penumbra, "push", *options], cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=600)
    assert done.returncode == status, (options, done)
    for words in says:
        assert words in done.stderr.decode(), (options, words, done.stderr)
    with open(os.path.join(d, "sample.pnb"), "rb") as f:
        assert f.read() == before, "the profile is changed"
    return done.stderr.decode()


def test_sent(d):
    want = subprocess.run([penumbra, "export", "-f", "otlp", "sample.pnb"], cwd=d, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout
    with Collector((200, {}, b"")) as c:
        push(d, "--otlp", c.url, "sample.pnb", says=[" samples, "])
        (path, fields, body, _), = c.requests
        assert path == "/v1development/profiles", path
        assert fields["Content-Type"] == "application/x-protobuf" and fields["Content-Encoding"] == "gzip", fields
        assert gzip.decompress(body) == want and len(want) > 500
        assert push(d, "--otlp", c.url + "/v1/other?a=b", "-q", "sample.pnb") == ""
        assert c.requests[1][0] == "/v1/other?a=b"


def test_tried_again(d):
    with Collector((503, {"Retry-After": "1"}, b"busy"), (429, {}, b""), (202, {}, b"")) as c:
        push(d, "--otlp", c.url, "sample.pnb", says=["HTTP status 503; trying again in 1 s", "429; trying again in 2 s"])
        assert len(c.requests) == 3 and len({body for _, _, body, _ in c.requests}) == 1
        times = [at for _, _, _, at in c.requests]
        assert times[1] - times[0] >= 1 and times[2] - times[1] >= 2, times


def test_not_tried_again(d):
    for code in 400, 404, 500:
        with Collector((code, {}, b"")) as c:
            push(d, "--otlp", c.url, "sample.pnb", status=124, says=[f"status {code}", "sample.pnb is as it was"])
            assert len(c.requests) == 1
    with Collector((504, {}, b"")) as c:
        push(d, "--otlp", c.url, "--retries", "0", "sample.pnb", status=124, says=["status 504"])
        assert len(c.requests) == 1
    # field 1, a message: 3 profiles were rejected
    with Collector((200, {}, b"\x0a\x02\x08\x03")) as c:
        push(d, "--otlp", c.url, "sample.pnb", status=124, says=["a part of the profile only"])
        assert len(c.requests) == 1


def test_no_secret_is_said(d):
    """The query of an address may hold a token."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        gone = f"http://127.0.0.1:{unused.getsockname()[1]}"
    for answer, status in ((200, {}, b""), 0), ((503, {}, b""), 124), ((403, {}, b""), 124), ((200, {}, b"\x0a\x02\x08\x03"), 124):
        with Collector(answer) as c:
            said = push(d, "--otlp", c.url + "/v1?token=hidden-word#hidden", "--retries", "1", "sample.pnb", status=status,
                        says=[c.url + "/v1"])
            assert c.requests[0][0] == "/v1?token=hidden-word", c.requests[0][0]
            assert "hidden" not in said, said
    for url, status in (gone, 124), ("ftp://127.0.0.1/x", 2), ("http://127.0.0.1:x/y", 2), ("nothing", 2):
        said = push(d, "--otlp", url + "?token=hidden-word", "--retries", "0", "sample.pnb", status=status, says=[url])
        assert "hidden" not in said, said


def test_unreachable(d):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    push(d, "--otlp", f"http://127.0.0.1:{port}", "--retries", "1", "sample.pnb", status=124,
         says=["connect to server; trying again in 1 s", "connect to server; sample.pnb is as it was"])


def test_silent(d):
    """A collector that takes the connection, and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        start = time.monotonic()
        push(d, "--otlp", url, "--retries", "1", "--timeout", "300ms", "sample.pnb", status=124,
             says=["timed out after 3", "trying again in 1 s", "received; sample.pnb is as it was"])
        assert 1.6 <= time.monotonic() - start < 60


def test_cut_off(d):
    """One that closes in the middle of its answer, or speaks another language."""
    for answer in b"HTTP/1.", b"SSH-2.0-OpenSSH_9.2p1\r\n", b"":
        with socket.create_server(("127.0.0.1", 0)) as server:
            def serve(server=server, answer=answer):
                connection, _ = server.accept()
                with connection:
                    connection.recv(1 << 20)
                    connection.sendall(answer)
            thread = threading.Thread(target=serve)
            thread.start()
            push(d, "--otlp", f"http://127.0.0.1:{server.getsockname()[1]}", "--retries", "0", "sample.pnb", status=124,
                 says=["sample.pnb is as it was"])
            thread.join()


def certify(d, name, host):
    path = os.path.join(d, name)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName={host}", "-keyout", path + ".key", "-out", path],
                   check=True, stderr=subprocess.DEVNULL)
    return path


def test_encrypted(d):
    mine, other, elsewhere = (certify(d, *args) for args in (("mine", "IP:127.0.0.1"), ("other", "IP:127.0.0.1"),
                                                             ("elsewhere", "DNS:collector.example")))
    with Collector((503, {}, b""), (200, {}, b""), certificate=mine) as c:
        push(d, "--otlp", c.url, "--cacert", mine, "sample.pnb", says=["503; trying again", f"-> {c.url}"])
        assert len(c.requests) == 2 and c.requests[0][:3:2] == c.requests[1][:3:2]
        # one that nobody vouches for, another's, and none
        for options, words in ((), "certificate"), (("--cacert", other), "certificate"), (("--cacert", "no-file"), "no-file"):
            push(d, "--otlp", c.url, *options, "sample.pnb", status=124, says=[words, "sample.pnb is as it was"])
        push(d, "--otlp", c.url.replace("https", "http"), "--retries", "0", "sample.pnb", status=124, says=["cannot send"])
        assert len(c.requests) == 2
    with Collector((200, {}, b""), certificate=elsewhere) as c:
        push(d, "--otlp", c.url, "--cacert", elsewhere, "sample.pnb", status=124, says=["127.0.0.1"])
        assert not c.requests


def test_date(d):
    """The server may name the time, not the seconds: one that is over is no wait."""
    with Collector((503, {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, b""), (200, {}, b"x" * 200000)) as c:
        push(d, "--otlp", c.url, "sample.pnb", says=["503; trying again in 1 s"])
        assert len(c.requests) == 2


def test_loaded(d):
    """libcurl is loaded by push only, and not before it is needed."""
    def opened(*arguments):
        subprocess.run(["strace", "-f", "-o", "trace", "-e", "trace=openat", penumbra, *arguments], cwd=d, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(d, "trace")) as f:
            return "libcurl" in f.read()
    if not shutil.which("strace"):
        return
    assert opened("push", "--otlp", "http://127.0.0.1:1", "--retries", "0", "sample.pnb")
    assert not opened("report", "sample.pnb") and not opened("push", "--help")


def test_refused(d):
    push(d, "sample.pnb", status=2, says=["--otlp"])
    for url in ("localhost:4318", "http://", "http://:80", "ftp://host", "http://h:x", "http://h:123456789", "http://[::1",
                "http://[]:1", "http://u:p@h/", "http://h/a b", "http://h/\r\nX: y", "file:///etc/passwd"):
        push(d, "--otlp", url, "sample.pnb", status=2, says=["http://HOST:PORT"])
    push(d, "--otlp", "http://127.0.0.1:1", "missing.pnb", status=127, says=["missing.pnb"])
    push(d, "--otlp", "http://127.0.0.1:1", "a", "b", status=2, says=["one profile at a time"])


for name, test in list(globals().items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([write_sample, "hand", directory], check=True)
            test(directory)
        print(f"{name}: ok", flush=True)
