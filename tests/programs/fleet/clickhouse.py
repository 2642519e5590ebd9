"""A ClickHouse server of a test's own: on loopback, with a folder and a port of its own."""
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import PATIENCE, Failure  # noqa: E402

SKIPPED = 77
USER, PASSWORD = "fleet", "se cret'\\%+&:7"
FEW = "host"  # a user that may insert and read, and make nothing; its password is the other's
CONFIG = """<yandex><logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<http_port>{port}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><user_files_path>{folder}/files/</user_files_path>
<format_schema_path>{folder}/schemas/</format_schema_path><users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size></yandex>"""
USERS = """<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default>
<few><allow_ddl>0</allow_ddl></few></profiles>
<users>{users}</users><quotas><default></default></quotas></yandex>"""
ONE = """<{name}><password>{password}</password><networks><ip>127.0.0.1</ip></networks><profile>{profile}</profile>
<quota>default</quota></{name}>"""


def program():
    """Its path, or the test is skipped."""
    found = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
    if not found:
        print("skipped: there is no clickhouse-server (Debian 12 has 18.16.1)")
        sys.exit(SKIPPED)
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """Not started yet: start()."""

    def __init__(self):
        self.program = program()
        self.process = None
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/penumbra"
        escaped = PASSWORD.replace("&", "&amp;")
        users = "".join(ONE.format(name=name, password=word, profile=profile) for name, word, profile in
                        (("default", "", "default"), (USER, escaped, "default"), (FEW, escaped, "few")))
        for name, text in (("config.xml", CONFIG), ("users.xml", USERS)):
            with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
                file.write(text.format(folder=self.folder.name, port=self.port, tcp=free_port(), users=users))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.folder.cleanup()

    def start(self):
        config = os.path.join(self.folder.name, "config.xml")
        with open(os.path.join(self.folder.name, "out"), "ab") as out:
            self.process = subprocess.Popen([self.program, f"--config-file={config}"], stdout=out, stderr=out)
        end = time.time() + PATIENCE
        while not self.answers():
            if self.process.poll() is not None or time.time() > end:
                with open(os.path.join(self.folder.name, "out"), encoding="utf-8", errors="replace") as out:
                    raise Failure(f"the server did not start: {out.read()[-2000:]}")
            time.sleep(0.1)
        return self

    def answers(self):
        try:
            return self.ask("SELECT 1") == "1\n"
        except OSError:
            return False

    def kill(self):
        """As by a machine that fails: nothing is put in order."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, statement):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", "/", statement.encode())
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        if answer.status != 200:
            raise Failure(f"{statement}: {text}")
        return text

    def numbers(self, statement):
        return [int(n) for n in self.ask(statement).split()]
