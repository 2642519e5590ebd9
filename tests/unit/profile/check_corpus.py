#!/usr/bin/env python3
"""check_corpus.py REWRITE: files of version 1 are read as they were written.

Each file in corpus/ is read and written again by today's code; read_pnb.py must find the same fields in
both. Lists of reasons may have grown since: of counts by reason, the sums are compared.

The files are never made again. corpus/sample-1.pnb is what `dump_sample FILE small` wrote when version 1
was fixed, corpus/sample-2.pnb when there were several triggers. corpus/parts-1.pnb is what `dump_sample
FILE parts` wrote when merged files had parts."""
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def fields(path):
    text = subprocess.run([sys.executable, os.path.join(HERE, "read_pnb.py"), path],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in text.splitlines():
        what, *values = line.split("\t")
        if what in ("drops", "truncated"):
            yield f"{what}\t{sum(map(int, values))}"
        elif what not in ("drop reasons", "truncation reasons"):
            yield line


def main():
    files = glob.glob(os.path.join(HERE, "corpus", "*.pnb"))
    assert files, "there is a corpus"
    with tempfile.TemporaryDirectory() as directory:
        for path in files:
            again = os.path.join(directory, "again.pnb")
            subprocess.run([sys.argv[1], path, again], check=True)
            before, after = sorted(fields(path)), sorted(fields(again))
            assert len(before) > 500, "the file has fields"
            for a, b in zip(before, after):
                if a != b:
                    sys.exit(f"{path}: written {a!r}, read {b!r}")
            assert len(before) == len(after), path
            print(f"{path}: {len(before)} fields' lines agree")


main()
