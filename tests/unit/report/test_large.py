#!/usr/bin/env python3
"""test_large.py PENUMBRA WRITE_LARGE: a merge of 500 processes with five metrics is reported, and exported besides its
text, in memory of less than ten times its size, and says the same as where threads are told apart; exports have all
of its samples."""
import json
import os
import re
import subprocess
import sys
import tempfile

penumbra, write_large = sys.argv[1:]


def run(*arguments, wanted=-1):
    """Standard output, or so much of it, its size, and the peak memory in bytes: no less than this
    process has used before."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([penumbra, *arguments], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, arguments
        out.seek(0)
        return out.read(wanted).decode(), os.fstat(out.fileno()).st_size, usage.ru_maxrss * 1024


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "large.pnb")
        subprocess.run([write_large, path, "500", "2", "500"], check=True)
        size = os.path.getsize(path)
        for command in (("report",), ("report", "--tree"), ("export", "--format", "callgrind"),
                        ("export", "--format", "folded")):
            text, length, peak = run(*command, path, wanted=1000)
            print(f"{size} bytes, {' '.join(command)}: {peak} bytes, {peak / size:.1f} times as much")
            assert command[0] == "export" or "500 processes, 1000 threads; 500,000 samples" in text
            besides = 2 * length if command[0] == "export" else 0  # a buffer that doubles
            assert peak < 10 * size + besides, "less than ten times the file"

        subprocess.run([write_large, path, "20", "2", "500"], check=True)
        report = json.loads(run("report", "--json", path)[0])
        rows = re.findall(r"^ +([\d.]+)% +([\d.]+)% +([\d,]+)  ",
                          run("report", "--min", "0", "--limit", "0", path)[0], re.M)
        functions = [f for f in report["functions"] if f["self"]]
        assert [int(row[2].replace(",", ""))
                for row in rows[:len(functions)]] == [f["self"] for f in functions]
        folded = run("export", "--format", "folded", path)[0].splitlines()
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == 20 * 2 * 500
        apart = run("export", "--format", "folded", "--threads", path)[0].splitlines()
        joined = {}
        for line in apart:
            stack, weight = line.rsplit(" ", 1)
            stack = "program;" + stack.split(";", 1)[1]
            joined[stack] = joined.get(stack, 0) + int(weight)
        assert sorted(folded) == sorted(f"{stack} {weight}" for stack, weight in joined.items())


main()
