"""Samples as (image, link-time address), read from each profiler's own file format."""
import os
import re
import struct
import subprocess

import elf
import profilers

MMAP = re.compile(r"PERF_RECORD_MMAP2 (-?\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*\]: \S+ (.*)")
FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
SAMPLE = re.compile(r"^\s*(.*?)\s+(\d+)\s+([0-9a-f]+)(?:\s+ABI:\d+\s+IP:0x([0-9a-f]+))?\s*$")
HOLD = "bench-hold"


class Maps:
    """Where files are mapped in one process; a later mapping hides an earlier one."""

    def __init__(self):
        self.spans = []  # (lo, hi, file offset, path), newest first

    def add(self, lo, size, offset, path):
        self.spans.insert(0, (lo, lo + size, offset, path))

    def find(self, address):
        """(path, link-time address): path "-" for code in no file."""
        for lo, hi, offset, path in self.spans:
            if lo <= address < hi:
                file = elf.load(path)
                at = address - lo + offset
                vaddr = file.vaddr_of(at) if file else None
                return path, at if vaddr is None else vaddr
        return "-", address


def perf_lines(file, *fields, events=False):
    command = ["perf", "script", "--no-inline", "-i", file, "-F", ",".join(fields)]
    command += ["--show-mmap-events", "--show-task-events"] if events else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace") as process:
        yield from process.stdout


def perf_leaves(file):
    """User-mode addresses of all samples of a flat `perf record --user-regs=ip`: where the program was,
    or where it entered the kernel."""
    maps = {}
    leaves = {}
    for line in perf_lines(file, "comm", "pid", "ip", "uregs", events=True):
        found = MMAP.search(line)
        if found:
            pid, lo, size, offset, path = found.groups()
            maps.setdefault(int(pid), Maps()).add(int(lo, 16), int(size, 16), int(offset, 16), path)
            continue
        found = FORK.search(line)
        if found:
            child, parent = map(int, found.groups())
            if child != parent and parent in maps and child not in maps:
                maps[child] = Maps()
                maps[child].spans = list(maps[parent].spans)
            continue
        found = SAMPLE.match(line)
        if not found or found[1] == HOLD or not found[4]:
            continue
        where = maps[int(found[2])].find(int(found[4], 16)) if int(found[2]) in maps else ("-", 0)
        leaves[where] = leaves.get(where, 0) + 1
    return leaves


def perf_stacks(file):
    """(samples, samples whose stack reaches a root)."""
    samples = complete = 0
    name, frames, rooted = None, 0, False
    for line in perf_lines(file, "comm", "pid", "ip", "sym"):
        if not line.strip():
            if frames and name != HOLD:
                samples += 1
                complete += rooted
            name, frames, rooted = None, 0, False
        elif name is None:
            name = line.split()[0]
        else:
            frames += 1
            rooted |= elf.is_root_name(line.split(None, 1)[1].strip().split("+")[0])
    return samples, complete


def gperftools_records(file):
    """(count, [addresses, leaf first]) and the maps of one CPU profile of gperftools: 64-bit words
    0 3 0 period 0, then records count, depth, addresses; ended by 0 1 0 and /proc/self/maps as text."""
    with open(file, "rb") as f:
        data = f.read()
    words = struct.unpack_from(f"<{len(data) // 8}Q", data)
    records = []
    at = 2 + words[1] if len(words) > 5 else len(words)  # a process that never ended well leaves nothing
    while at + 2 <= len(words):
        count, depth = words[at:at + 2]
        if count == 0 and depth == 1:
            at += 3
            break
        records.append((count, words[at + 2:at + 2 + depth]))
        at += 2 + depth
    maps = Maps()
    for line in data[8 * at:].decode(errors="replace").splitlines():
        parts = line.split(None, 5)
        if len(parts) == 6 and "x" in parts[1]:
            lo, hi = (int(x, 16) for x in parts[0].split("-"))
            maps.add(lo, hi - lo, int(parts[2], 16), parts[5].strip())
    return records, maps


def gperftools_stacks(folder):
    samples = complete = 0
    for file in profilers.files_of(folder, "cpuprofile*"):
        records, maps = gperftools_records(file)
        for count, stack in records:
            samples += count
            if any(elf.is_root(*maps.find(address)) for address in stack[-3:]):
                complete += count
    return samples, complete


def gperftools_leaves(folder):
    leaves = {}
    for file in profilers.files_of(folder, "cpuprofile*"):
        records, maps = gperftools_records(file)
        for count, stack in records:
            where = maps.find(stack[0])
            leaves[where] = leaves.get(where, 0) + count
    return leaves


def penumbra_flat(tools, file):
    """What bench-flat prints of a profile: {"taken": n, "truncated": n, "nodes": n, "leaves": {...},
    "complete": n, "incomplete": n}. A stack is complete if its outermost frame is a root function by
    the same address ranges as for gperftools, whatever the profile says of itself."""
    done = subprocess.run([tools.file("bench/bench-flat"), file], stdout=subprocess.PIPE, text=True,
                          errors="replace", check=True)
    out = {"leaves": {}, "complete": 0, "incomplete": 0, "unattributed": 0, "strays": {}}
    for line in done.stdout.splitlines():
        word, rest = line.split(" ", 1)
        if word in ("taken", "truncated", "nodes"):
            out[word] = int(rest)
        elif word == "broken":
            out["incomplete"] += int(rest)
        elif word == "unattributed":
            out["unattributed"] += int(rest)
        else:
            count, offset, path = rest.split(" ", 2)
            count, offset = int(count), int(offset, 16)
            if os.path.basename(path) == HOLD:
                continue
            if word == "leaf":
                out["leaves"][path, offset] = out["leaves"].get((path, offset), 0) + count
            elif elf.is_root(path, offset):
                out["complete"] += count
            else:
                out["incomplete"] += count
                stray = f"{os.path.basename(path)}+{offset:#x}"
                out["strays"][stray] = out["strays"].get(stray, 0) + count
    return out


def functions(leaves):
    """Samples by function: {"image:start": count}. A function is what lies between two starts in the
    image's .eh_frame_hdr, which stripped files have too; the vdso and code in no file count as one each."""
    out = {}
    for (path, vaddr), count in leaves.items():
        file = elf.load(path) if path.startswith("/") else None
        image = os.path.basename(os.path.realpath(path))
        key = f"{image}:{file.function_of(vaddr):x}" if file else image
        out[key] = out.get(key, 0) + count
    return out
