"""Loads the page of `penumbra diff --html` in a headless Chromium and uses it as a person would.

usage: test_diff_page.py PENUMBRA WRITE_PROFILE

Exits with 77 (skipped) without Chromium."""
import os
import subprocess
import sys
import tempfile

import browser

FRAMES = "document.querySelector('#graph').frames()"
FRAME = """(({ x, y, width, height }) => ({ getBoundingClientRect: () => ({ left: x, top: y, width, height }) }))(
    document.querySelector('#graph').frames().find((f) => f.name === '%s'))"""
# Red, green and blue near a frame's lower right corner, where no text is.
COLOR = """(() => { const f = document.querySelector('#graph').frames().find((f) => f.name === '%s');
    const canvas = document.querySelector('#graph canvas'), box = canvas.getBoundingClientRect();
    return [...canvas.getContext('2d').getImageData(f.x + f.width - 4 - box.x, f.y + f.height - 4 - box.y, 1, 1).data].slice(0, 3); })()"""


def make_page(penumbra, write_profile, directory):
    files = [os.path.join(directory, f"{name}.pnb") for name in ("before", "after")]
    for name, file in zip(("before", "after"), files):
        subprocess.run([write_profile, file, name], check=True)
    page = os.path.join(directory, "diff.html")
    subprocess.run([penumbra, "diff", "--no-shapes", "--html", page, *files], check=True)
    return page


def names(b):
    return set(b.evaluate(f"{FRAMES}.map((f) => f.name)"))


def click(b, key, value):
    b.click(f"document.querySelector('[data-{key}=\"{value}\"]')")
    assert b.evaluate(f"document.querySelector('[data-{key}=\"{value}\"]').getAttribute('aria-pressed')") == "true"


def check_quiet(b):
    assert b.problems == [], b.problems
    outside = [url for url in b.requests if not url.startswith("file:")]
    assert outside == [], outside


def test_colors(b, page):
    b.open(page)
    assert {"[root]", "a", "b", "c", "d", "e", "f"} <= names(b), names(b)
    check_quiet(b)  # reading pixels has Chromium give advice
    for name, kind in (("f", "more"), ("e", "less"), ("d", "less"), ("c", "noise"), ("[root]", "noise")):
        red, _, blue = b.evaluate(COLOR % name)
        seen = "noise" if abs(red - blue) < 8 else "more" if red > blue else "less"
        assert seen == kind, (name, red, blue)


def test_widths(b, page):
    b.open(page)
    click(b, "width", "after")
    assert "e" not in names(b) and "f" in names(b), names(b)
    click(b, "width", "before")
    assert "e" in names(b) and "f" not in names(b), names(b)
    assert "width=before" in b.evaluate("location.hash")
    b.evaluate("history.back()")
    b.wait(f"{FRAMES}.some((f) => f.name === 'f')")
    check_quiet(b)


def test_table(b, page):
    b.open(page)
    rows = "[...document.querySelectorAll('#functions tbody tr')].map((r) => [r.className, ...[...r.cells].map((c) => c.textContent)])"
    table = b.evaluate(rows)
    changed = [row for row in table if row[0] == "changed"]
    assert table[:len(changed)] == changed and len(changed) >= 3, table
    of = {row[6]: row for row in table}
    assert of["e"][5] == "gone *" and of["f"][5] == "appeared *", table
    assert of["c"][0] == "noise" and of["c"][1:3] == ["30.00%", "30.00%"], table
    click(b, "weight", "total")
    assert b.evaluate(rows)[0][6] != "", b.evaluate(rows)
    assert len(b.evaluate(rows)) > len(table)
    check_quiet(b)


def test_frames(b, page):
    b.open(page)
    b.move(FRAME % "d")
    b.wait("!document.querySelector('#tip').hidden")
    tip = b.evaluate("document.querySelector('#tip').textContent")
    assert "20.00%" in tip and "2.00%" in tip and "more than chance" in tip, tip
    b.click(FRAME % "d")
    b.wait(f"Math.abs({FRAMES}.find((f) => f.name === 'd').width - document.querySelector('#graph').clientWidth) < 2")
    b.evaluate("document.querySelector('#reset').click()")
    b.evaluate("""{ const s = document.querySelector('#search'); s.value = '^f$'; s.dispatchEvent(new Event('input')); }""")
    b.wait("document.querySelector('#found').textContent.includes('matched')")
    assert [f["name"] for f in b.evaluate(FRAMES) if f["matched"]] == ["f"]
    check_quiet(b)


def main():
    if not browser.find():
        print("skipped: no Chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory, browser.Browser() as b:
        page = make_page(*sys.argv[1:], directory)
        for test in (test_colors, test_widths, test_table, test_frames):
            test(b, page)
            print(f"{test.__name__}: ok")


main()
