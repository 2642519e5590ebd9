#!/usr/bin/env python3
"""check_dump.py PENUMBRA DUMP_SAMPLE READ_DIRECTORY: `report --dump` shows every byte of every section.

Each field is decoded again where the dump says that it is, as docs/format.md describes it: it must have
the value that the dump gives, and the fields of a section must fill it without gap or overlap."""
import os
import re
import subprocess
import sys
import tempfile

penumbra, dump_sample, here = sys.argv[1:]
sys.path.insert(0, here)
import read_pnb

SECTION = re.compile(r"section (\d+): (.*) \((required, )?(\d+) bytes\)")
FIELD = re.compile(r" *(\d+)  (.*): (\"(?:[^\"\\]|\\.)*\"|-?\d+)")


def unescape(text):
    return re.sub(rb"\\(x[0-9a-f]{2}|.)", lambda m: bytes.fromhex(m[1][1:].decode())
                  if m[1][:1] == b"x" and len(m[1]) == 3 else m[1], text[1:-1].encode())


def field_end(raw, at, value, following):
    """Where the field ends; None if it has another value."""
    c = read_pnb.Cursor(raw)
    c.at = at
    if value.startswith('"'):
        contents = unescape(value)
        if raw[at:at + len(contents)] == contents and at + len(contents) == following:
            return following  # a number of bytes, whose length came before
        return c.at if c.take(c.u()) == contents else None
    for read in c.u, c.s:
        c.at = at
        if read() == int(value):
            return c.at
    return None


def check_section(number, raw, fields):
    fields.sort()
    ends = [at for at, _, _ in fields[1:]] + [len(raw)]
    assert not fields or fields[0][0] == 0, f"section {number}: its first byte is not shown"
    for (at, what, value), following in zip(fields, ends):
        end = field_end(raw, at, value, following)
        if end != following:
            sys.exit(f"section {number}, byte {at}: {what}: {value} ends at {end}, the next field "
                     f"begins at {following}")


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "sample.pnb")
        subprocess.run([dump_sample, path, "stored"], stdout=subprocess.DEVNULL, check=True)
        text = subprocess.run([penumbra, "report", "--dump", path], stdout=subprocess.PIPE,
                              check=True).stdout.decode()
        with open(path, "rb") as file:
            sections = read_pnb.container(file.read())
        damaged = os.path.join(directory, "damaged.pnb")
        with open(path, "rb") as file, open(damaged, "wb") as copy:
            copy.write(file.read()[:-1])
        run = subprocess.run([penumbra, "report", "--dump", damaged], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        assert run.returncode != 0 and b"offset" in run.stderr, run
    shown = {}
    for line in text.splitlines():
        if head := SECTION.fullmatch(line):
            number = int(head[1])
            assert int(head[4]) == len(sections[number].data), line
            shown[number] = fields = []
        else:
            field = FIELD.fullmatch(line)
            assert field, line
            fields.append((int(field[1]), field[2], field[3]))
    assert sorted(shown) == sorted(sections), "every section is shown"
    for number, fields in shown.items():
        check_section(number, sections[number].data, fields)
    print(sum(map(len, shown.values())), "fields")


main()
