#!/usr/bin/env python3
"""What it costs to look at a large profile: a merge of 500 processes with five metrics.

usage: merged.py PENUMBRA WRITE_LARGE [ROUNDS [RECORDING...]]

WRITE_LARGE is built from tests/unit/report/write_large.c. Prints a table (docs/results/merged.md):
the least wall and CPU time of a few rounds, and the peak of the memory. `merge` reads 500 files of
one process each; of each RECORDING, which may have what tools counted, 500 copies."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

PROCESSES = 500
COMMANDS = (("report",), ("report", "--metric", "allocated"), ("report", "--tree"),
            ("report", "--json"), ("report", "--html"), ("export", "-f", "pprof"),
            ("export", "-f", "callgrind"), ("export", "-f", "folded"),
            ("export", "-f", "speedscope"), ("export", "-f", "firefox"))


def once(arguments):
    begin = time.monotonic()
    child = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"failed: {arguments}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(name, arguments, rounds, size):
    walls, cpus, peaks = zip(*(once(arguments) for _ in range(rounds)))
    print(f"| `{name}` | {min(walls):.2f} | {min(cpus):.2f} | {max(peaks):.0f} |"
          f" {max(peaks) * 2**20 / size:.1f} |", flush=True)


def main():
    penumbra, write_large = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "large.pnb")
        made = subprocess.run([write_large, path, str(PROCESSES), "2", "500"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()
        size = os.path.getsize(path)
        print(f"{made}; {size / 2**20:.1f} MiB\n")
        print("| | wall, s | CPU, s | peak, MiB | times the file |\n|---|---:|---:|---:|---:|")
        for command in COMMANDS:
            output = {"--html": [os.path.join(directory, "page.html")],
                      "pprof": ["-o", os.path.join(directory, "pprof")]}.get(command[-1], [])
            row(" ".join(command), [penumbra, *command, *output, path], rounds, size)
        parts = [os.path.join(directory, f"{i}.pnb") for i in range(PROCESSES)]
        for part in parts:
            subprocess.run([write_large, part, "1", "2", "500"], check=True,
                           stdout=subprocess.DEVNULL)
        merge = [penumbra, "merge", "-o", os.path.join(directory, "merged.pnb"), *parts]
        row(f"merge ({PROCESSES} files)", merge, 1, size)
        for recording in sys.argv[4:]:
            for part in parts:
                shutil.copyfile(recording, part)
            row(f"merge ({PROCESSES} copies of {os.path.basename(recording)})", merge, 1,
                os.path.getsize(recording))


main()
