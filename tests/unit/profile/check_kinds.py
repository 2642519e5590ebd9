#!/usr/bin/env python3
"""check_kinds.py DUMP_KINDS FORMAT_MD [--write]: docs/format.md lists the sections and figures that there are.

With --write, its list of figures is made from the table."""
import re
import subprocess
import sys

BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"


def main():
    lines = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE,
                           check=True).stdout.decode().splitlines()
    rows = [line.split("\t") for line in lines]
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    sections = {(number, name, about) for kind, number, name, about,
                *_ in rows if kind == "section"}
    listed = set(re.findall(r"^\| (\d+) \| \[(.*?)\]\(#.*?\) \| (.*) \|$", text, re.M))
    figures = "| figure | unit | merged | |\n|---|---|---|---|\n" + "".join(
        f"| `{name}` | {unit} | {how} | {what} |\n" for kind, name, unit, how, what in
        (row for row in rows if row[0] == "figure"))
    before, rest = text.split(BEGIN)
    written, after = rest.split(END)
    if "--write" in sys.argv:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(before + BEGIN + figures + END + after)
        return 0
    assert len(sections) > 10 and figures.count("\n") > 30, "the tables are there"
    for row in sorted(sections ^ listed):
        print(f"{'the table' if row in sections else 'docs/format.md'} alone has section {row}")
    for number, name, _ in sections:
        assert f"### {number}: {name}\n" in text or name == "live", f"section {number} is not described"
    if written != figures:
        print("docs/format.md lists other figures; write them with --write")
    return sections != listed or written != figures


sys.exit(main())
