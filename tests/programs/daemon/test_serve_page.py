"""The page of penumbra serve in a headless Chromium, used as a person would.

Exits with 77 (skipped) without Chromium."""
import os
import sys

sys.path.insert(0, os.environ["PAGES"])
import browser  # noqa: E402
from pages import FRAMES, names  # noqa: E402
from serving import HOSTILE, Serving  # noqa: E402

CHIP = "[...document.querySelectorAll('#%s button')].find((b) => b.textContent.startsWith(%s))"
FIELD = "document.querySelector('#database [name=%s]')"


def settle(b, condition):
    """After what leads to another page. One that goes away while it is asked gives no answer."""
    while True:
        try:
            return wait(b, condition)
        except RuntimeError as error:
            if "navigated" not in str(error):
                raise


def wait(b, condition):
    b.wait(f"document.readyState === 'complete' && document.querySelector('#database')?.hidden === false && ({condition})")


def quiet(b, s):
    assert b.problems == [], b.problems
    outside = [url for url in b.requests if not url.startswith((f"http://127.0.0.1:{s.port}/", "data:"))]
    assert outside == [], outside


def choose(b, field, value):
    b.evaluate(f"{{ const f = {FIELD % field}; f.value = '{value}'; f.dispatchEvent(new Event('change')); }}")


def test_first(b, s):
    """The last hour; the token goes from the address."""
    b.call("Page.navigate", url=s.url)
    settle(b, "!document.querySelector('#database').hidden")
    assert s.token not in b.evaluate("location.href"), b.evaluate("location.href")
    assert {"main", "work"} <= set(names(b)), names(b)
    chips = b.evaluate("[...document.querySelectorAll('#services button')].map((c) => c.textContent)")
    assert sorted(chips) == sorted([f"{n} 33.3%" for n in ("db.service", "web.service", HOSTILE)]), chips
    assert "1 interval " in b.evaluate("document.querySelector('#of').textContent")
    assert b.evaluate("document.images.length") == 0
    quiet(b, s)


def test_service(b, s):
    """One of them, and all of them again; an undo leads back."""
    b.click(CHIP % ("services", "'web.service'"))
    settle(b, "location.search.includes('service=web.service')")
    b.wait("document.querySelector('#functions tbody tr').dataset.name === 'main'")
    b.evaluate("history.back()")
    settle(b, "!location.search.includes('service=')")
    b.wait(f"{FRAMES}.some((f) => f.name === 'work')")
    hostile = '"</script>"'
    b.click(CHIP % ("services", hostile))
    settle(b, "location.search.includes('hostile')")
    assert b.evaluate(f"{CHIP % ('services', hostile)}.getAttribute('aria-pressed')") == "true"
    b.click(CHIP % ("services", hostile))
    settle(b, "!location.search.includes('hostile')")
    quiet(b, s)


def test_times(b, s):
    """By the bars, the fields and the buttons."""
    x, y, width, height = b.box("document.querySelector('#database .plot')")
    b.drag((x + 0.02 * width, y + height / 2), (x + 0.25 * width, y + height / 2))
    settle(b, "location.search.includes('from=')")
    first = b.evaluate(f"[{FIELD % 'from'}.value, {FIELD % 'to'}.value]")
    assert b.evaluate("document.querySelector('#functions tbody tr').dataset.name") == "work"
    b.click("document.querySelector('[data-move=\"1\"]')")
    settle(b, f"{FIELD % 'from'}.value === '{first[1]}'")
    assert "nothing of this range" in b.evaluate("document.querySelector('#why').textContent")
    b.call("Page.navigate", url=f"{s.url.split('?')[0]}?service=nobody")
    settle(b, "!document.querySelector('#why').hidden")
    b.click(CHIP % ("others", "'service: nobody'"))
    settle(b, f"!location.search.includes('service=') && {FRAMES}.length > 2")
    choose(b, "last", "6h")
    settle(b, "location.search === '?last=6h'")
    assert "2 intervals" in b.evaluate("document.querySelector('#of').textContent")
    quiet(b, s)


def test_comparison(b, s):
    """Two hours before, main was not what web.service did."""
    b.call("Page.navigate", url=f"{s.url.split('?')[0]}?service=web.service&before=@{s.begin - 7200}..@{s.end - 7200}"
                                f"&after=@{s.begin}..@{s.end}")
    settle(b, "document.querySelector('#functions tr.changed') !== null")
    table = b.evaluate("[...document.querySelectorAll('#functions tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    of = {row[5]: row for row in table}
    assert of["work"][4] == "gone *" and of["main"][:2] == ["0.00%", "100.00%"], table
    assert b.evaluate(f"{FIELD % 'compare'}.value") == "other"
    choose(b, "compare", "")
    settle(b, "location.search.includes('from=') && !location.search.includes('before=')")
    choose(b, "compare", "day")
    settle(b, "location.search.includes('before=')")
    assert "nothing of this range" in b.evaluate("document.querySelector('#why').textContent")
    quiet(b, s)


def test_looks(b, s):
    """Wide, narrow, dark: nothing is wider than the window."""
    b.call("Page.navigate", url=s.url)
    settle(b, f"{FRAMES}.length > 2")
    for scheme, width in (("light", 1280), ("dark", 1280), ("dark", 400)):
        b.scheme(scheme)
        b.size(width, 900)
        b.wait(f"innerWidth === {width} && document.querySelector('#database canvas').clientWidth < {width}")
        b.wait("document.documentElement.scrollWidth <= innerWidth")
        b.screenshot(os.path.join(os.environ["SHOTS"], f"serve-{scheme}-{width}.png"))
    quiet(b, s)


def main():
    if not browser.find():
        print("skipped: no Chromium")
        sys.exit(77)
    os.makedirs(os.environ["SHOTS"], exist_ok=True)
    with Serving() as s, browser.Browser() as b:
        for test in (test_first, test_service, test_times, test_comparison, test_looks):
            test(b, s)
            print(f"{test.__name__}: ok")


main()
