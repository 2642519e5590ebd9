"""What each process has used, told by the kernel when it ends: taskstats, by netlink (needs root).

The program under shadows is the collector's child, and so are its shadows: what wait4 tells of the collector is all
of them together. Here each is told apart. CPU time is the scheduler's own sum, in nanoseconds; the time for giving back
memory at the very end is not in it."""
import errno
import os
import socket
import struct
import threading
from dataclasses import dataclass

NETLINK_GENERIC, SO_RCVBUFFORCE, BUFFER = 16, 33, 16 << 20
CONTROL_FAMILY, GET_FAMILY, NAME, NUMBER = 16, 3, 2, 1
GET, REGISTER, AGGREGATE_PID, STATS = 1, 3, 4, 3  # linux/taskstats.h
REQUEST, ACKNOWLEDGE = 1, 4
SCHED_IDLE = 5


class Refused(Exception):
    """The kernel does not tell: says why."""


@dataclass
class Task:
    pid: int
    tgid: int
    parent: int
    cpu_ns: int
    faults: int
    idle: bool


def attribute(kind, data):
    size = 4 + len(data)
    return struct.pack("HH", size, kind) + data + bytes(-size % 4)


def attributes(data):
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if size < 4:
            return
        yield kind & 0x3fff, data[4:size]
        data = data[(size + 3) & ~3:]


def message(family, command, payload):
    body = struct.pack("BBH", command, 1, 0) + payload
    return struct.pack("IHHII", 16 + len(body), family, REQUEST | ACKNOWLEDGE, 1, 0) + body


def task_of(s):
    """struct taskstats, version 12 or later."""
    if len(s) < 376:
        raise Refused("taskstats of this kernel are too old (Linux 5.18 is the first that has thread groups in them)")
    pid, parent = struct.unpack_from("II", s, 128)
    return Task(pid=pid, parent=parent, tgid=struct.unpack_from("I", s, 368)[0],
                cpu_ns=struct.unpack_from("Q", s, 72)[0], faults=struct.unpack_from("Q", s, 168)[0],
                idle=s[112] == SCHED_IDLE)


def answer(sock):
    """The error number of an acknowledgement, and the attributes of an answer before it."""
    found = {}
    while True:
        data = sock.recv(1 << 16)
        size, kind = struct.unpack_from("IH", data)
        if kind == 2:
            return -struct.unpack_from("i", data, 16)[0], found
        found = dict(attributes(data[20:size]))


class Listener(threading.Thread):
    """Keeps all tasks that end between start and stop. Use as a context manager."""

    def __init__(self):
        super().__init__(daemon=True)
        self.tasks, self.error = [], None
        self.lock = threading.Lock()
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
            self.sock.bind((0, 0))
            self.sock.send(message(CONTROL_FAMILY, GET_FAMILY, attribute(NAME, b"TASKSTATS\0")))
            failed, found = answer(self.sock)
            if not failed:
                family = struct.unpack("H", found[NUMBER])[0]
                cores = f"0-{os.cpu_count() - 1}\0".encode()
                self.sock.send(message(family, GET, attribute(REGISTER, cores)))
                failed, _ = answer(self.sock)
        except OSError as e:
            failed = e.errno
        if failed:
            raise Refused(f"the kernel does not tell what each process used (taskstats): {os.strerror(failed)}; shadows are "
                          "measured as root")
        self.sock.settimeout(0.1)

    def take(self):
        """One message; False: there was none."""
        try:
            data = self.sock.recv(1 << 16)
        except TimeoutError:
            return False
        for kind, value in attributes(data[20:]):
            if kind == AGGREGATE_PID:
                stats = dict(attributes(value)).get(STATS)
                with self.lock:
                    self.tasks.append(task_of(stats))
        return True

    def run(self):
        try:
            while not self.stopping.is_set():
                self.take()
            while self.take():
                continue
        except (OSError, Refused) as e:
            lost = isinstance(e, OSError) and e.errno == errno.ENOBUFS
            self.error = "too many processes ended at once" if lost else str(e)

    def __enter__(self):
        self.stopping = threading.Event()
        self.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()
        self.sock.close()

    def finish(self):
        """All tasks that have ended. (A task's message comes before its parent can bury it.)"""
        self.stopping.set()
        self.join()
        if self.error:
            raise Refused(self.error)
        return self.tasks


def tree_of(tasks, pid):
    """Thread groups of a process and its descendants, but for shadows, which are the only ones to run idle."""
    tree, before = {pid}, 0
    while len(tree) != before:
        before = len(tree)
        tree |= {t.tgid for t in tasks if t.parent in tree and not t.idle}
    return tree


def used_by(tasks, pid):
    """(CPU nanoseconds, minor page faults) of a process and its descendants without shadows."""
    tree = tree_of(tasks, pid)
    own = [t for t in tasks if t.tgid in tree and not t.idle]
    return sum(t.cpu_ns for t in own), sum(t.faults for t in own)


def shadows_of(tasks, pid, collector):
    """CPU nanoseconds of the shadows of a process: children of the collector, or of a guard below the process."""
    parents = tree_of(tasks, pid) | {collector}
    return sum(t.cpu_ns for t in tasks if t.idle and t.parent in parents)
