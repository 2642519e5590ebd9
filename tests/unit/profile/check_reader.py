#!/usr/bin/env python3
"""check_reader.py DUMP_SAMPLE: what docs/format.md says, the writer does.

The sample is written compressed and stored, and one of two parts; read_pnb.py must find every field as
it was written."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def check(dump_sample, mode, path):
    least = 1000 if mode == "parts" else 3000
    written = subprocess.run([dump_sample, path, mode], stdout=subprocess.PIPE, check=True).stdout
    read = subprocess.run([sys.executable, os.path.join(HERE, "read_pnb.py"), path],
                          stdout=subprocess.PIPE, check=True).stdout
    assert written.count(b"\n") > least, "the sample is there"
    for line, (a, b) in enumerate(zip(written.splitlines(), read.splitlines()), 1):
        if a != b:
            sys.exit(f"{mode}: line {line}: written {a!r}, read {b!r}")
    if written != read:
        sys.exit(f"{mode}: {len(written)} bytes written, {len(read)} read")
    print(f"{mode}: {read.count(10)} fields' lines agree")


def main():
    modes = ["stored", "parts"]
    if shutil.which("zstd"):
        modes.append("compressed")
    else:
        print("no zstd command here (Debian package zstd): compressed files are not checked")
    with tempfile.TemporaryDirectory() as directory:
        for mode in modes:
            check(sys.argv[1], mode, os.path.join(directory, mode + ".pnb"))


main()
