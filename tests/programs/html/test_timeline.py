"""The page's timeline, links, copies and looks, in a headless Chromium.

usage: test_timeline.py SCREENSHOTS WRITE_PAGE [PENUMBRA WRITE_LARGE]

Leaves pictures of the page in the directory SCREENSHOTS. Exits with 77 (skipped) without Chromium."""
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import browser
from pages import FRAME, FRAMES, check_quiet, make_page, names, open_alone, settle, text

PLOT = "document.querySelector('#when .plot')"
SHIFT, CONTROL = 8, 2
OPENS_WITHIN = 2.0  # seconds of CPU time, which other programs on the machine do not change


def place(b, second, y=None):
    """Where a second is in the plot of lanes: columns begin behind the names."""
    left, top, width, height = b.box(f"{PLOT}.firstChild")
    return left + 150 + (width - 150) * second / 4, top + (height / 2 if y is None else y)


def rows(b):
    return b.evaluate("[...document.querySelectorAll('#functions tbody tr')].map((r) =>"
                      " [r.dataset.name, r.cells[0].querySelector('small').textContent])")


def wait_for(b, range_):
    b.wait("new URLSearchParams(location.hash.slice(1)).get('time') === %s" % json.dumps(range_))


def test_dragging(b, pages):
    """The graph and the table follow the part of the time that is chosen."""
    b.open(pages["times"])
    settle(b, "serve", 90 / 400)
    assert b.evaluate("document.querySelector('#when').hidden") is False
    b.drag(place(b, 1.02), place(b, 1.97))
    wait_for(b, "1..2")
    settle(b, "hash", 1.0)
    assert rows(b) == [["hash", "135"], ["work", "0"]], rows(b)
    assert text(b, "#when .detail") == "1 s to 2 s, 1.00 s of 4.00 s", text(b, "#when .detail")
    # Of the third second the worker's 30 samples that are not told apart are work's, 10 of them below it.
    b.drag(place(b, 2.97), place(b, 2.02))
    wait_for(b, "2..3")
    settle(b, "hash", 135 / 165)
    assert rows(b) == [["hash", "135"], ["work", "20"]], rows(b)
    b.evaluate("history.back()")
    wait_for(b, "1..2")
    settle(b, "hash", 1.0)
    b.click("document.querySelector('#whole')")
    wait_for(b, None)
    settle(b, "serve", 90 / 400)
    check_quiet(b)


def test_click_chooses_all(b, pages):
    b.open(pages["times"], "#time=0..1")
    settle(b, "serve", 1.0)
    x, y = place(b, 3)
    b.mouse("mousePressed", x, y)
    b.mouse("mouseReleased", x, y)
    wait_for(b, None)
    settle(b, "serve", 90 / 400)
    check_quiet(b)


def test_of_a_thread(b, pages):
    b.open(pages["times"], "#time=2..4&thread=0")
    settle(b, "work", 1.0)
    assert rows(b) == [["work", "10"]], rows(b)
    b.open(pages["times"], "#time=3.2..3.4")  # nobody ran
    b.wait("document.querySelector('#empty').hidden === false")
    assert text(b, "#empty") == "There are no samples in this part of the time.", text(b, "#empty")
    b.open(pages["times"], "#time=4..3")  # none
    settle(b, "serve", 90 / 400)
    check_quiet(b)


def test_keys(b, pages):
    b.open(pages["times"])
    settle(b, "serve", 90 / 400)
    b.evaluate(f"{PLOT}.focus()")
    for _ in range(3):
        b.press("ArrowRight")
    assert text(b, "#when .detail") == "At 0.3 s", text(b, "#when .detail")
    for _ in range(7):
        b.press("ArrowRight", modifiers=SHIFT)
    wait_for(b, "0.3..1")
    settle(b, "serve", 1.0)
    b.press("End", modifiers=SHIFT)
    wait_for(b, "0.3..4")
    b.press("Escape")
    wait_for(b, None)
    settle(b, "serve", 90 / 400)
    # In the heat map, up is later in its column.
    b.click("document.querySelector('[data-when=heat]')")
    b.evaluate(f"{PLOT}.focus()")
    b.press("Home")
    b.press("ArrowUp", modifiers=SHIFT)
    b.wait("location.hash.includes('when=heat') && location.hash.includes('time=0..')")
    check_quiet(b)


def test_marks(b, pages):
    b.open(pages["times"])
    settle(b, "serve", 90 / 400)
    marks = text(b, "#when .marks")
    for said in ("began: 1", "exec: 1", "killed: 1", "ended: 1", "later marks, not shown: 5",
                 "dropped samples, at times not known: 3"):
        assert said in marks, marks
    tip = "document.querySelector('#tip')"
    x, y = place(b, 1.5, 20)
    b.mouse("mouseMoved", x, y)
    b.wait(f"{tip}.textContent.includes('app 12 executed another program')")
    b.mouse("mouseMoved", *place(b, 1.45, 28 + 30))  # the worker's lane
    b.wait(f"{tip}.textContent.includes('worker 12: 67.5% busy')")
    check_quiet(b)
    b.open(pages["small"])  # without times
    assert b.evaluate("document.querySelector('#when').hidden") is True


def test_heat_map(b, pages):
    b.open(pages["times"], "#when=heat")
    settle(b, "serve", 90 / 400)
    left, top, width, height = b.box(f"{PLOT}.firstChild")
    at = lambda second, tenth: (left + 84 + (width - 84) * (second + 0.5) / 4,
                                top + (height - 18) * (1 - (tenth + 0.5) / 10))
    b.drag(at(1, 0), at(1, 9))  # up a column
    wait_for(b, "1..2")
    settle(b, "hash", 1.0)
    b.drag(at(3, 9), at(2, 5))  # across two, backwards
    wait_for(b, "2.5..4")
    settle(b, "hash", 67.5 / 92.5)
    check_quiet(b)


def test_links(b, pages):
    """The address holds the frame that is chosen; opened again, it is chosen there, also of another part of the time."""
    b.open(pages["times"])
    settle(b, "serve", 90 / 400)
    b.evaluate("document.querySelector('#graph').focus()")
    b.press("ArrowDown")
    b.press("ArrowDown")
    assert text(b, "#detail").startswith("hash"), text(b, "#detail")
    link = b.evaluate("location.hash")
    assert "frame=" in link, link
    for more in ("", "&time=1..3", "&shape=flame"):
        b.open(pages["times"], link + more)
        b.wait("document.querySelector('#detail').textContent.startsWith('hash')")
    b.open(pages["times"])
    b.click(FRAME % "hash")
    settle(b, "hash", 1.0)
    link = b.evaluate("location.hash")
    b.open(pages["times"], link)
    settle(b, "hash", 1.0)
    b.open(pages["times"], "#zoom=1.999.3&frame=77")  # not there
    b.wait(f"{FRAMES}.length > 2")
    check_quiet(b)


# What Ctrl+C copies.
COPIED = """(() => {
    const clipboardData = new DataTransfer();
    const event = new ClipboardEvent('copy', { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
    return clipboardData.getData('text/plain');
})()"""


def test_copy(b, pages):
    b.grant("clipboardReadWrite", "clipboardSanitizedWrite")
    b.open(pages["small"])
    settle(b, "main", 7620 / 8416)
    assert b.evaluate("document.querySelector('#copy').hidden") is True
    b.evaluate("document.querySelector('#graph').focus()")
    for _ in range(4):
        b.press("ArrowDown")
    b.click("document.querySelector('#copy')")
    b.wait("document.querySelector('#copy').textContent === 'Copied'")
    stack = "_start\n__libc_start_main\nmain\ncoder_run\n"
    assert b.evaluate("navigator.clipboard.readText()") == stack
    b.press("ArrowDown")
    assert b.evaluate(COPIED) == "", "the button has the focus"
    b.evaluate("document.querySelector('#graph').focus()")
    b.press("ArrowDown")
    assert b.evaluate(COPIED) == stack + "lzma_code\n"
    # Bottom-up, the outermost is still the first.
    b.open(pages["small"], "#view=bottom-up&search=recursive")
    b.wait(f"{FRAMES}.some((f) => f.matched)")
    b.click(f"(({{ x, y, width, height }}) => ({{ getBoundingClientRect: () =>"
            f" ({{ left: x, top: y, width, height }}) }}))({FRAMES}.filter((f) => f.name === 'bt_find_func')[0])")
    settle(b, "bt_find_func", 1.0)
    b.evaluate("document.querySelector('#graph').focus()")
    b.press("ArrowDown")
    assert b.evaluate(COPIED) == "lzma_lz_encode\nbt_find_func\n"
    check_quiet(b)


# ---- looks ----

def color(of):
    """Of "rgb(1, 2, 3)": linear red, green, blue."""
    linear = lambda c: c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
    return [linear(int(c) / 255) for c in re.findall(r"\d+", of)[:3]]


def luminance(rgb):
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


# Machado, Oliveira, Fernandes 2009: what eyes see that miss one kind of cone.
EYES = {"all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
        "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
        "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                    [0.004733, 0.691367, 0.303900]]}


def seen(rgb, eye):
    """In CIE L*a*b*."""
    r, g, b = (min(1, max(0, sum(f * c for f, c in zip(row, rgb)))) for row in EYES[eye])
    xyz = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b,
           (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_colors(b, pages):
    """Images are told apart by every kind of eyes, and names on them are read."""
    for scheme in ("light", "dark"):
        b.scheme(scheme)
        b.open(pages["large"])
        b.wait(f"{FRAMES}.length > 100")
        swatches = [color(c) for c in b.evaluate(
            "[...document.querySelectorAll('#legend i')].map((i) => getComputedStyle(i).backgroundColor)")]
        assert len(swatches) == 8
        for eye in EYES:
            looks = [seen(c, eye) for c in swatches]
            nearest = min(math.dist(x, y) for i, x in enumerate(looks) for y in looks[:i])
            assert nearest > 12, (scheme, eye, nearest)
        ink = color(b.evaluate("(() => { const i = document.createElement('i'); document.body.append(i);"
                               " i.style.color = 'var(--frame-ink)'; return getComputedStyle(i).color; })()"))
        page, words, soft = (color(b.evaluate(expression)) for expression in (
            "getComputedStyle(document.body).backgroundColor", "getComputedStyle(document.body).color",
            "getComputedStyle(document.querySelector('#facts dt')).color"))
        assert all(contrast(ink, c) >= 4.5 for c in swatches), scheme
        assert contrast(words, page) >= 7 and contrast(soft, page) >= 4.5, scheme
        assert (luminance(page) > 0.8) == (scheme == "light")
    b.scheme("light")
    check_quiet(b)


def pixels(png):
    """Rows of (red, green, blue)."""
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IHDR":
            width, height, _, sort = struct.unpack(">IIBB", png[at + 8:at + 18])
        elif kind == b"IDAT":
            data += png[at + 8:at + 8 + size]
        at += size + 12
    each = {2: 3, 6: 4}[sort]
    raw, before, made = zlib.decompress(data), bytearray(width * each), []
    for y in range(height):
        start = y * (width * each + 1)
        row = bytearray(raw[start + 1:start + 1 + width * each])
        unfilter(row, before, raw[start], each)
        made.append([tuple(row[i:i + 3]) for i in range(0, len(row), each)])
        before = row
    return made


def unfilter(row, before, kind, each):
    for i in range(len(row)):
        left, up = row[i - each] if i >= each else 0, before[i]
        corner = before[i - each] if i >= each else 0
        if kind == 4:
            guess = left + up - corner
            best = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
        else:
            best = (0, left, up, (left + up) // 2)[kind]
        row[i] = (row[i] + best) & 255


REGIONS = ("#facts", "#when .plot", "#graph", "#functions")
OUTLINE = """(() => {
    const seen = (e) => e.getClientRects().length > 0;
    const lines = [];
    for (const e of document.querySelectorAll('h1, h2, section, button, input, select, th, dt, [role=group]')) {
        if (!seen(e) || e.closest('tbody') || (e.tagName === 'BUTTON' && e.closest('th'))) continue;
        const label = e.getAttribute('aria-label') || e.textContent.trim().replace(/\\s+/g, ' ').slice(0, 40);
        lines.push(`${e.tagName.toLowerCase()} ${label}`);
    }
    return lines;
})()"""


def test_looks(b, pages, screenshots):
    """In every look there is the same, in the same order, and something is drawn everywhere; pictures are kept."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "outline.txt"), encoding="utf-8") as file:
        outline = file.read().splitlines()
    for look, scheme, width in (("light", "light", 1280), ("dark", "dark", 1280), ("narrow", "light", 390)):
        b.scheme(scheme)
        b.size(width, 900)
        for mode, state in (("", "#frame=1.2"), ("-range", "#time=1..3"), ("-heat", "#when=heat&time=1.5..2.75")):
            b.open(pages["times"], state)
            b.wait(f"{FRAMES}.length > 2")
            b.screenshot(os.path.join(screenshots, f"{look}{mode}.png"))
            assert b.evaluate("document.documentElement.scrollWidth") <= width
            if not mode:
                wanted = [line for line in outline if width > 600 or line != "th Image"]
                assert b.evaluate(OUTLINE) == wanted, (look, b.evaluate(OUTLINE))
            for region in REGIONS:
                check_region(b, region, scheme)
        assert names(b)[:2] == ["all samples", "work"], names(b)
    b.scheme("light")
    b.call("Emulation.clearDeviceMetricsOverride")
    check_quiet(b)


def check_region(b, region, scheme):
    left, top, width, height = b.box(f"document.querySelector('{region}')")
    shot = pixels(b.screenshot(captureBeyondViewport=True, clip={
        "x": left, "y": top + b.evaluate("scrollY"), "width": width, "height": height, "scale": 0.25}))
    colors = [c for row in shot for c in row]
    paper = max(set(colors), key=colors.count)
    drawn = sum(c != paper for c in colors) / len(colors)
    assert 0.01 < drawn, (region, scheme, drawn)
    if region != "#graph":  # which frames fill
        assert (sum(paper) > 384) == (scheme == "light"), (region, scheme, paper)


def test_opens_quickly(_, pages):
    for state in ("", "#time=1..2", "#view=bottom-up"):
        drawn, work = open_alone(pages["large"], state)
        print(f"500,000 nodes {state}: drawn after {drawn:.2f} s, {work:.2f} s of CPU time")
        assert work < OPENS_WITHIN, work


def functions_in(penumbra, path, *options):
    made = subprocess.run([penumbra, "report", "--json", *options, path], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(made)


def test_as_the_report_says(b, penumbra, write_large, directory):
    """A part of the time on the page is what report --time says of it; by thread, too."""
    profile = os.path.join(directory, "times.pnb")
    page = os.path.join(directory, "as-report.html")
    subprocess.run([write_large, profile, "5", "2", "300"], check=True)
    subprocess.run([penumbra, "report", "--html", page, "--min", "0", profile], check=True)
    for range_ in ("1..2.5", "0..0.7"):
        said = functions_in(penumbra, profile, "--time", range_)
        b.open(page, f"#time={range_}")
        b.wait(f"{FRAMES}.length > 10")
        b.evaluate("document.querySelector('#more').click()")
        shown = {name: int(own.replace(",", "")) for name, own in rows(b)}
        wrong = [(f["name"], f["self"], shown.get(f["name"])) for f in said["functions"]
                 if f["self"] > 2 and abs(f["self"] - shown.get(f["name"], 0)) > 2]
        assert said["samples"] > 100 and not wrong, wrong
        assert abs(sum(shown.values()) - said["samples"]) < 0.1 * said["samples"]
    thread = next(t for t in said["threads"] if t["samples"])
    alone = functions_in(penumbra, profile, "--time", "0..0.7", "--thread", str(thread["tid"]))
    b.open(page, f"#time=0..0.7&thread={said['threads'].index(thread)}&search=function_")
    b.wait("document.querySelector('#found').textContent.includes('matched')")
    shown = int(text(b, "#found").rsplit(", ", 1)[1].replace(" samples", "").replace(",", ""))
    assert abs(shown - alone["samples"]) <= 2, (shown, alone["samples"])
    check_quiet(b)


def main():
    screenshots, write_page, *programs = sys.argv[1:]
    if not browser.find():
        print("skipped: Chromium is not installed")
        sys.exit(77)
    os.makedirs(screenshots, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, browser.Browser() as b:
        pages = {kind: make_page(write_page, kind, directory) for kind in ("times", "small", "large")}
        for test in (test_dragging, test_click_chooses_all, test_of_a_thread, test_keys, test_marks, test_heat_map,
                     test_links, test_copy, test_colors, test_opens_quickly):
            test(b, pages)
            print(f"{test.__name__}: ok", flush=True)
        test_looks(b, pages, screenshots)
        if programs:
            test_as_the_report_says(b, *programs, directory)


main()
