#!/usr/bin/env python3
"""Compares compiled unwind tables with binutils' reading of the same files, row by row.

    check_rows.py DUMP_ROWS [FILE...]

DUMP_ROWS is the program of dump_rows.c. What readelf prints for every row of every FDE must be what
all rows of the table say that begin or lie within it. Without FILEs, a set of system libraries is
taken, and the C compiler proper.
"""
import bisect
import os
import re
import subprocess
import sys

LIBRARIES = ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libcrypto.so.3", "libstdc++.so.6",
             "libgcc_s.so.1", "liblzma.so.5", "libz.so.1"]
DIRECTORIES = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"]
HEADER = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ (?:(CIE) \"(.*?)\"|FDE cie=([0-9a-f]+) "
                    r"pc=([0-9a-f]+)\.\.([0-9a-f]+))")
ROW = re.compile(r"^[0-9a-f]{16} ")
CFA = re.compile(r"^(\w+?)([+-]\d+)$")


def default_files():
    found = []
    for name in LIBRARIES:
        paths = [os.path.join(d, name) for d in DIRECTORIES]
        found += [p for p in paths if os.path.exists(p)][:1]
    compiler = subprocess.run(["cc", "-print-prog-name=cc1"], capture_output=True, text=True)
    if os.path.isabs(compiler.stdout.strip()):
        found.append(compiler.stdout.strip())
    return found


def rule_of(row, signal):
    """The packed rule that a row of readelf's must become: (kind or set of kinds, offset, slot)."""
    match = CFA.match(row["CFA"])
    register, offset = (match[1], int(match[2])) if match else (None, 0)
    fits = offset > 0 and offset % 8 == 0 and offset // 8 < 1 << 20
    if row.get("ra") == "u":
        return ({"root"}, offset // 8 if register == "rsp" and fits else 0, 0)
    if signal:
        return ({"complex"}, 0, 0) if match else ({"signal", "complex"}, 0, 0)
    rbp = row.get("rbp", "u")
    slot = 0
    if rbp not in ("u", "s"):
        saved = re.match(r"^c-(\d+)$", rbp)
        if not saved or int(saved[1]) % 8 or int(saved[1]) // 8 > 255:
            return ({"complex"}, 0, 0)
        slot = int(saved[1]) // 8
    if row.get("ra") != "c-8" or row.get("rsp", "u") not in ("u", "v+0"):
        return ({"complex"}, 0, 0)
    if not match:
        return ({"plt", "complex"}, None, 0)
    if register not in ("rsp", "rbp") or not fits:
        return ({"complex"}, 0, 0)
    return ({register}, offset // 8, slot)


def parse(path):
    """Yields (lo, hi, [(pc, rule)]) of every FDE."""
    # Its status is 1 where a separate debug file is missing; a failure shows as a wrong FDE count.
    text = subprocess.run(["readelf", "-W", "--debug-dump=frames-interp", path],
                          capture_output=True, text=True, check=False).stdout
    cies, current, columns = {}, None, ""
    functions, rules = [], {}
    for line in text.splitlines():
        if current is not None and ROW.match(line):
            key = (line[16:], columns, current["signal"])  # few of them, in very many rows
            if key not in rules:
                cells = re.sub(r" \(\w+\)", "", line).split()
                rules[key] = rule_of(dict(zip(columns.split(), cells)), current["signal"])
            current["rows"].append((int(line[:16], 16), rules[key]))
            continue
        header = HEADER.match(line)
        if header:
            if header[1]:
                current = {"signal": "S" in header[2], "rows": []}
                cies[int(line.split()[0], 16)] = current
            else:
                cie = cies[int(header[3], 16)]
                current = {"signal": cie["signal"], "rows": [], "cie": cie,
                           "lo": int(header[4], 16), "hi": int(header[5], 16)}
                functions.append(current)
        elif line.startswith("   LOC"):
            columns = line
    for f in functions:
        rows = f["rows"] or [(f["lo"], rule) for _, rule in f["cie"]["rows"]]
        yield f["lo"], f["hi"], rows


class Table:
    def __init__(self, dump, path):
        lines = subprocess.run([dump, path], capture_output=True, text=True, check=True).stdout
        header, *rows = lines.splitlines()
        fields = header.split()
        self.lo, self.hi = int(fields[1], 16), int(fields[2], 16)
        self.fdes, self.bad, self.complex = map(int, fields[3:])
        split = [row.split(None, 1) for row in rows]
        made = {text: self.rule(*text.split()) for text in {text for _, text in split}}
        self.rules = [made[text] for _, text in split]
        self.pcs = [int(pc, 16) for pc, _ in split]

    @staticmethod
    def rule(kind, offset, slot):
        return kind, int(offset), int(slot)

    def between(self, begin, end):
        """The rows that say something of [begin, end)."""
        return range(bisect.bisect_right(self.pcs, begin) - 1, bisect.bisect_left(self.pcs, end))


def agrees(got, want):
    kinds, offset, slot = want
    if got[0] == "code": # what the code itself says, where there is no FDE
        return "none" in kinds
    return got[0] in kinds and (got[0] == "plt" or got[1] == (offset or 0)) and got[2] == slot


def check(dump, path):
    table = Table(dump, path)
    functions = sorted((lo, hi, rows) for lo, hi, rows in parse(path)
                       if table.lo <= lo < table.hi and lo < hi)
    compared = wrong = 0

    def compare(begin, end, want):
        nonlocal compared, wrong
        for row in table.between(begin, end):
            compared += 1
            if not agrees(table.rules[row], want):
                wrong += 1
                if wrong <= 10:
                    print(f"{path}: {max(begin, table.pcs[row]):#x}: the table says "
                          f"{table.rules[row]}, readelf {want}")

    previous = table.lo
    none = ({"none"}, 0, 0)
    for lo, hi, rows in functions:
        if lo > previous:
            compare(previous, previous + 1, none)
            compare(lo - 1, lo, none)
        ends = [pc for pc, _ in rows[1:]] + [hi]
        for (pc, want), end in zip(rows, ends):
            if end > pc:
                compare(pc, end, want)
        previous = max(previous, hi)
    print(f"{path}: {len(functions)} FDEs, {len(table.pcs)} rows, {table.complex} complex, "
          f"{table.bad} bad; {compared} comparisons, {wrong} wrong")
    if wrong or table.bad or table.fdes != len(functions) or compared < len(functions):
        print(f"{path}: FAILED")
        return False
    return True


def main():
    results = [check(sys.argv[1], path) for path in sys.argv[2:] or default_files()]
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
