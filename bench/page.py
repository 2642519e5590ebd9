#!/usr/bin/env python3
"""How long a page of `penumbra report --html` or `diff --html` with 500,000 nodes takes to open in headless Chromium.

usage: page.py WRITE_PAGE [ROUNDS]

WRITE_PAGE is built from tests/programs/html/write_page.c. Prints the least of a few rounds, each in a
browser of its own: from the navigation until the page is drawn, and the CPU time of the page's process until
then."""
import os
import sys
import tempfile

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "programs", "html")
sys.path.insert(0, TESTS)
import pages  # noqa: E402

STATES = {"as it opens": "", "a part of the time": "#time=1..2", "one thread": "#thread=1",
          "bottom-up": "#view=bottom-up"}


def main():
    write_page = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as directory:
        page = pages.make_page(write_page, "large", directory)
        print(f"500,000 nodes, {os.path.getsize(page) / 2**20:.1f} MiB\n")
        print("| | drawn after, s | CPU, s |\n|---|---:|---:|")
        compared = pages.make_page(write_page, "compared", directory)
        opened = [(name, page, state) for name, state in STATES.items()] + [("two recordings", compared, "")]
        for name, file, state in opened:
            drawn, work = zip(*(pages.open_alone(file, state, 5) for _ in range(rounds)))
            print(f"| {name} | {min(drawn):.2f} | {min(work):.2f} |", flush=True)


main()
