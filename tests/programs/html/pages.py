"""Pages for tests, and what these look at."""
import os
import subprocess
import sys

import browser

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMES = "document.querySelector('#graph').frames()"
# What can be pointed at.
FRAME = """(({ x, y, width, height }) => ({ getBoundingClientRect: () => ({ left: x, top: y, width, height }) }))(
    document.querySelector('#graph').frames().find((f) => f.name === '%s'))"""


DRAWN = """new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(
    Math.max(performance.getEntriesByType('navigation')[0].loadEventEnd,
             ...performance.getEntriesByType('paint').map((paint) => paint.startTime))))))"""


def make_page(write_page, kind, directory, title="xz"):
    made = subprocess.run([sys.executable, os.path.join(HERE, "make_profile.py"), kind], check=True,
                          stdout=subprocess.PIPE).stdout
    path = os.path.join(directory, f"{kind}.html")
    with open(path, "wb") as f:
        subprocess.run([write_page, title], input=made, stdout=f, check=True)
    return path


def names(b):
    return b.evaluate(f"{FRAMES}.map((f) => f.name)")


def text(b, selector):
    return b.evaluate(f"document.querySelector('{selector}').textContent")


def settle(b, name, share):
    """Waits until a frame is `share` of the graph wide."""
    b.wait(f"{FRAMES}.some((f) => f.name === '{name}' &&"
           f" Math.abs(f.width / document.querySelector('#graph').clientWidth - {share}) < 0.02)")


def found(b, said):
    b.wait(f"document.querySelector('#found').textContent === '{said}'")


def pressed(b, name):
    return b.evaluate(f"document.querySelector('[data-view=\"{name}\"]').getAttribute('aria-pressed')")


def check_quiet(b):
    assert b.problems == [], b.problems
    outside = [url for url in b.requests if not url.startswith("file:")]
    assert outside == [], outside


def open_alone(page, state, frames=100):
    """In a browser of its own. Seconds until it is drawn, and of CPU time that its process has had by then."""
    with browser.Browser() as b:
        b.call("Performance.enable")
        b.open(page, state)
        b.wait(f"{FRAMES}.length > {frames}")
        drawn = b.evaluate(DRAWN) / 1000
        metrics = b.call("Performance.getMetrics")["metrics"]
        check_quiet(b)
        return drawn, next(m["value"] for m in metrics if m["name"] == "ProcessTime")
