"""Loads the page of `penumbra report --html` in a headless Chromium and uses it as a person would.

usage: test_page.py WRITE_PAGE [PENUMBRA WRITE_LARGE]

Exits with 77 (skipped) without Chromium."""
import json
import os
import re
import subprocess
import sys
import tempfile

import browser
from pages import FRAME, FRAMES, check_quiet, found, make_page, names, pressed, settle, text


def make_metrics(penumbra, write_large, directory):
    """The pages of a recording with five metrics, and its reports by each of them; the second page asks for one."""
    path = os.path.join(directory, "metrics.pnb")
    subprocess.run([write_large, path, "5", "2", "300"], check=True)
    pages = {"metrics": [], "metrics asked": ["--metric", "live"]}
    for kind, options in pages.items():
        page = os.path.join(directory, f"{kind}.html")
        subprocess.run([penumbra, "report", "--html", page, *options, path], check=True)
        pages[kind] = page
    reports = {name: json.loads(subprocess.run([penumbra, "report", "--metric", name, "--json", path], check=True,
                                               stdout=subprocess.PIPE).stdout)
               for name in ("time", "faults", "allocated", "live", "peak")}
    return pages, reports


def test_first_look(b, pages):
    b.open(pages["small"])
    settle(b, "all samples", 1.0)
    settle(b, "bt_find_func", 4210 / 8416)
    assert text(b, "title") == "x</title><script>alert(1)</script>&amp;z"
    assert "3.84%" in text(b, "#warnings") and "2.85%" in text(b, "#warnings")
    assert "20.0% of the stacks have a guessed frame" in text(b, "#warnings"), text(b, "#warnings")
    assert "threads: 3, processes: 7." in text(b, "#warnings"), text(b, "#warnings")
    assert text(b, "#command") == "xz -T2 -9 --keep 'big file.tar'"
    assert "8,416" in text(b, "#facts")
    assert "std::sort<…>(int&&)" in names(b)
    # Two calls of coder_run from main are one frame; recursion is not folded.
    assert names(b).count("coder_run") == 1 and names(b).count("recursive") == 3
    assert b.evaluate("document.querySelectorAll('#functions tbody tr').length") == 19
    assert text(b, "#functions tbody tr td:nth-child(5)") == "bt_find_func"
    check_quiet(b)


def test_hostile_names(b, pages):
    b.open(pages["small"])
    assert "</script><script>document.title='broken'</script>" in names(b)
    assert b.evaluate("document.title") != "broken"
    assert b.evaluate("document.scripts.length") == 2
    assert "lib<!--.so" in text(b, "#legend")
    check_quiet(b)


def test_bottom_up_and_search_from_the_address(b, pages):
    b.open(pages["small"], "#view=bottom-up&search=memcpy")
    assert pressed(b, "bottom-up") == "true" and pressed(b, "top-down") == "false"
    settle(b, "__memcpy_avx_unaligned_erms", 910 / 8416)
    assert names(b).count("__memcpy_avx_unaligned_erms") == 1
    # Its callers are below it, main among them.
    assert names(b).count("main") > 3
    assert text(b, "#found") == "10.8% matched, 910 samples"
    assert b.evaluate("document.querySelectorAll('#functions tr.match').length") == 1
    check_quiet(b)


def test_buttons(b, pages):
    b.open(pages["small"])
    b.click("document.querySelector('[data-view=\"bottom-up\"]')")
    settle(b, "bt_find_func", 4210 / 8416)
    assert pressed(b, "bottom-up") == "true"
    assert b.evaluate("location.hash") == "#view=bottom-up"
    top = f"{FRAMES}[0].y"
    before = b.evaluate(top)
    b.click("document.querySelector('[data-shape=\"flame\"]')")
    assert b.evaluate(top) > before + 60  # the root is at the bottom now
    check_quiet(b)


def test_zoom_and_tooltip(b, pages):
    b.open(pages["small"])
    settle(b, "io_read", 577 / 8416)
    b.move(FRAME % "io_read")
    b.wait("!document.querySelector('#tip').hidden")
    tip = text(b, "#tip")
    assert "io_read" in tip and "6.86%" in tip and "577 samples" in tip and "579 ms" in tip, tip
    b.click(FRAME % "io_read")
    settle(b, "io_read", 1.0)
    settle(b, "read", 480 / 577)
    assert "zoom=" in b.evaluate("location.hash")
    b.click("document.querySelector('#reset')")
    settle(b, "io_read", 577 / 8416)
    assert b.evaluate("location.hash") == ""
    check_quiet(b)


def test_keyboard(b, pages):
    b.open(pages["small"])
    settle(b, "main", 7620 / 8416)
    b.evaluate("document.querySelector('#graph').focus()")
    for _ in range(3):
        b.press("ArrowDown")
    assert text(b, "#detail").startswith("main · xz"), text(b, "#detail")
    b.press("ArrowDown")
    b.press("ArrowRight")
    assert text(b, "#detail").startswith("std::sort"), text(b, "#detail")
    b.press("ArrowUp")
    b.press("Enter")
    settle(b, "main", 1.0)
    b.press("Escape")
    settle(b, "main", 7620 / 8416)
    b.press("/")
    assert b.evaluate("document.activeElement.id") == "search"
    b.call("Input.insertText", text="lzma_c")
    found(b, "68.0% matched, 5,725 samples")
    b.call("Input.insertText", text="(")  # not a regular expression
    found(b, "0.00% matched, 0 samples")
    check_quiet(b)


def test_table(b, pages):
    b.open(pages["small"])
    b.click("document.querySelector('[data-column=\"name\"]')")
    assert b.evaluate("document.querySelector('[data-column=\"name\"]').closest('th').ariaSort") == "ascending"
    listed = b.evaluate("[...document.querySelectorAll('#functions tbody tr')].map((r) => r.dataset.name)")
    assert listed == b.evaluate(f"{listed!r}.sort((a, b) => a.localeCompare(b))")
    b.evaluate("document.querySelector('tr[data-name=compare] button').focus()")
    b.press("Enter", "\r")
    b.wait("document.querySelector('#search').value === '=compare'")
    found(b, "9.51% matched, 800 samples")
    check_quiet(b)


def test_calls(b, pages):
    b.open(pages["small"])
    row = "document.querySelector('tr[data-name=io_read]')"
    assert b.evaluate(f"{row}.cells[2].textContent") == "4 to 6"
    assert b.evaluate(f"{row}.cells[3].textContent") == "145 ms"
    assert b.evaluate(f"{row}.cells[3].title") == "95% interval: < 1.00 ms to 289 ms"
    b.click("document.querySelector('[data-column=\"each\"]')")
    assert text(b, "#functions tbody tr td:nth-child(5)") == "coder_run"
    settle(b, "io_read", 577 / 8416)
    b.move(FRAME % "io_read")
    b.wait("!document.querySelector('#tip').hidden")
    tip = text(b, "#tip")
    assert "Calls4 to 6145 ms each(95%: 133 ms to 157 ms)" in tip, tip
    b.move(FRAME % "coder_run")  # two places of call: no interval
    b.wait("document.querySelector('#tip').textContent.startsWith('coder_run')")
    tip = text(b, "#tip")
    assert "Calls4 seen1.63 s each" in tip and "95%" not in tip, tip
    b.open(pages["seldom"])  # a sample stands for more than such a call takes
    assert b.evaluate(f"{row}.cells[3].textContent") == "< 201 ms"
    assert b.evaluate(f"{row}.cells[3].title") == ""
    b.open(pages["large"])
    assert b.evaluate("document.querySelector('#functions th.calls').offsetParent === null")
    check_quiet(b)


def test_large(b, pages):
    """A canvas: as many elements as of a small profile. Frames too narrow to be seen are one block,
    until one zooms in."""
    b.open(pages["large"])
    b.wait(f"{FRAMES}.length > 100")
    assert b.evaluate("document.querySelectorAll('#graph *').length") < 5
    for view in ("top-down", "bottom-up"):
        b.click(f"document.querySelector('[data-view=\"{view}\"]')")
        b.wait(f"{FRAMES}.length > 100")
        drawn = b.evaluate(FRAMES)
        narrow = [f for f in drawn if f["width"] < 3 and not f["name"].startswith("(")]
        assert not narrow, narrow[:3]
        # The first level is as wide as the whole.
        y = sorted({f["y"] for f in drawn})[1]
        whole = sum(f["width"] for f in drawn if f["y"] == y)
        assert abs(whole - drawn[0]["width"]) < 2, (view, whole, drawn[0])
    check_quiet(b)


def profile_of(page):
    with open(page, encoding="utf-8") as f:
        return json.loads(re.search(r'<script[^>]* id="profile"[^>]*>(.*?)</script>', f.read(), re.S)[1])


def node_totals(depths, own):
    totals, path = list(own), []
    parents = [-1] * len(own)
    for i, depth in enumerate(depths):
        del path[depth:]
        parents[i] = path[-1] if path else -1
        path.append(i)
    for i in range(len(own) - 1, 0, -1):
        totals[parents[i]] += totals[i]
    return totals, parents


def samples_with(profile, wanted):
    """Those with the frame on their stack, once each."""
    frames, depths = profile["nodes"]["frame"], profile["nodes"]["depth"]
    totals, _ = node_totals(depths, profile["nodes"]["self"])
    samples = skip = 0
    for i, frame in enumerate(frames):
        if skip and depths[i] > skip:
            continue
        skip = depths[i] if frame == wanted else 0
        samples += totals[i] if frame == wanted else 0
    return samples


def test_recursion_is_found_once(b, pages):
    profile = profile_of(pages["small"])
    samples = samples_with(profile, [name for name, _ in profile["frames"]].index("recursive"))
    for view in ("top-down", "bottom-up"):
        b.open(pages["small"], f"#view={view}&search==recursive")
        b.wait("document.querySelector('#found').textContent !== ''")
        assert text(b, "#found").endswith(f" matched, {samples:,} samples"), (text(b, "#found"), samples)
    check_quiet(b)


def test_nothing_is_left_out(b, pages):
    """Frames far too narrow to be seen are searched, and one can zoom into them."""
    profile = profile_of(pages["large"])
    frames, depths, own = profile["nodes"]["frame"], profile["nodes"]["depth"], profile["nodes"]["self"]
    totals, parents = node_totals(depths, own)
    widest = [0] * len(profile["frames"])
    for frame, total in zip(frames, totals):
        widest[frame] = max(widest[frame], total)
    rare = min((frame for frame in range(1, len(widest)) if widest[frame]), key=lambda frame: widest[frame])
    assert widest[rare] < 1e-4 * totals[0], widest[rare] / totals[0]
    samples = samples_with(profile, rare)
    name = profile["frames"][rare][0]
    for view in ("top-down", "bottom-up"):
        b.open(pages["large"], f"#view={view}&search=={name}")
        b.wait("document.querySelector('#found').textContent !== ''")
        assert text(b, "#found").endswith(f" matched, {samples:,} samples"), (text(b, "#found"), samples)
    path, at = [], frames.index(rare)
    while at > 0:
        path.insert(0, str(frames[at]))
        at = parents[at]
    b.open(pages["large"], f"#zoom={'.'.join(path)}")
    settle(b, name, 1.0)
    check_quiet(b)


def test_compared(b, pages):
    """Two recordings of as many contexts: all are searched."""
    profile = profile_of(pages["compared"])
    contexts, frames = profile["contexts"], profile["frames"]
    widths, sums = {}, {}
    for frame, total in zip(contexts["frame"][1:], contexts["total"]["before"][1:]):
        widths[frame] = max(widths.get(frame, 0), total)
        sums[frame] = sums.get(frame, 0) + total
    rare = max((frame for frame, width in widths.items() if width < 0.05), key=sums.get)  # percent: under a pixel
    inside, share = [False], 0
    for i, (frame, parent) in enumerate(zip(contexts["frame"], contexts["parent"])):
        if i:
            inside.append(inside[parent] or frame == rare)
            share += contexts["total"]["before"][i] if inside[i] and not inside[parent] else 0
    assert share > 0.1, share
    b.open(pages["compared"], f"#width=before&search=={frames[rare][0]}")
    b.wait(f"{FRAMES}.length > 5")
    said = text(b, "#found")
    assert said.endswith("% matched") and abs(float(said.split("%")[0]) / share - 1) < 0.03, (said, share)
    check_quiet(b)


def test_typing(b, pages):
    """What is typed is searched for once, not letter by letter."""
    b.open(pages["large"])
    b.wait(f"{FRAMES}.length > 100")
    b.evaluate("document.querySelector('#search').focus()")
    b.evaluate("window.searches = 0; new MutationObserver(() => window.searches++)"
               ".observe(document.querySelector('#found'), { childList: true, characterData: true, subtree: true })")
    for letter in "function_1":
        b.call("Input.insertText", text=letter)
    b.wait("location.hash === '#search=function_1'")
    assert b.evaluate("window.searches") <= 3, b.evaluate("window.searches")
    assert "matched" in text(b, "#found")
    check_quiet(b)


def test_reset(b, pages):
    """Nothing stays highlighted."""
    b.open(pages["small"], "#search=memcpy")
    assert b.evaluate(f"{FRAMES}.some((f) => f.matched)")
    b.click("document.querySelector('#reset')")
    b.wait("location.hash === ''")
    assert not b.evaluate(f"{FRAMES}.some((f) => f.matched)")
    assert b.evaluate("document.querySelectorAll('#functions tr.match').length") == 0
    assert text(b, "#found") == "" and b.evaluate("document.querySelector('#search').value") == ""
    check_quiet(b)


def test_back(b, pages):
    """Back undoes one step; it leaves the page only where that was come to."""
    b.open(pages["small"])
    b.click(FRAME % "io_read")
    settle(b, "io_read", 1.0)
    b.click("document.querySelector('[data-view=\"bottom-up\"]')")
    settle(b, "bt_find_func", 4210 / 8416)
    b.evaluate("history.back()")
    settle(b, "io_read", 1.0)
    assert pressed(b, "top-down") == "true"
    b.evaluate("history.back()")
    settle(b, "io_read", 577 / 8416)
    assert b.evaluate("location.protocol") == "file:"
    b.evaluate("history.forward()")
    settle(b, "io_read", 1.0)
    check_quiet(b)


def test_threads(b, pages):
    """One thread's samples, in the graph and in the table."""
    b.open(pages["threads"])
    settle(b, "all samples", 1.0)
    options = b.evaluate("[...document.querySelectorAll('#thread option')].map((o) => o.textContent)")
    assert options == ["All threads", "worker 12: 75.0%", "main 11: 25.0%"], options
    b.evaluate("(() => { const s = document.querySelector('#thread'); s.value = '1';"
               " s.dispatchEvent(new Event('change')); })()")
    settle(b, "work", 1.0)
    assert "serve" not in names(b), names(b)
    rows = b.evaluate("[...document.querySelectorAll('#functions tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    assert [row[:2] + row[4:] for row in rows] == [["90.0%270", "90.0%270", "hash", "app"],
                                                   ["6.67%20", "100.0%300", "work", "app"]], rows
    b.evaluate("history.back()")
    settle(b, "serve", 0.225)
    b.open(pages["small"])
    assert b.evaluate("document.querySelector('#thread').hidden") is True
    check_quiet(b)


def choose(b, metric):
    b.evaluate(f"(() => {{ const s = document.querySelector('#metric'); s.value = '{metric}';"
               " s.dispatchEvent(new Event('change')); })()")


def check_metric(b, report):
    """The graph's widths, the table's rows and the header's figures are those of the report by this metric."""
    children = [c for c in report["tree"]["children"] if c["total"] > report["samples"] / 50]
    assert children and report["samples"] == report["tree"]["total"]
    for child in children:
        same = [c["total"] for c in report["tree"]["children"] if c["name"] == child["name"]]
        settle(b, child["name"].replace("std::vector<int>", "std::vector<…>"), sum(same) / report["samples"])
    rows = b.evaluate("[...document.querySelectorAll('#functions tbody tr')].map((r) => [r.dataset.name,"
                      " ...[0, 1].map((i) => r.cells[i].querySelector('small').textContent)])")
    assert len(rows) == 100, len(rows)
    functions = {f["name"]: [f"{f['self']:,}", f"{f['total']:,}"] for f in report["functions"]}
    assert all(functions[name] == figures for name, *figures in rows), rows[:3]
    selfs = sorted((f["self"] for f in report["functions"]), reverse=True)
    assert [int(row[1].replace(",", "")) for row in rows] == selfs[:100]
    facts = text(b, "#facts")
    assert f"Trigger{report['trigger']}" in facts, facts
    for what in ("taken", "samples"):  # that of all samples is left out where it is the same
        assert f"{report[what]:,}" in facts, (what, facts)


def check_threads(b, report):
    """What threads have adds up to the whole; returns the first one's."""
    figures = []
    for thread in range(len(report["threads"])):
        b.evaluate(f"(() => {{ const s = document.querySelector('#thread'); s.value = '{thread}';"
                   " s.dispatchEvent(new Event('change')); })()")
        b.wait(f"new URLSearchParams(location.hash.slice(1)).get('thread') === '{thread}'")
        figures.append(int(text(b, "#found").rsplit(", ", 1)[1].replace(" samples", "")))
    assert sum(figures) == report["samples"] and all(figures), (figures, report["samples"])
    b.click("document.querySelector('#reset')")
    b.evaluate("document.querySelector('#search').value = 'function_'")
    b.evaluate("document.querySelector('#search').dispatchEvent(new Event('input'))")
    b.wait("location.hash.endsWith('search=function_')")
    return figures[0]


def test_metrics(b, pages, reports):
    """Another metric is chosen: all numbers are those of the report by it, in its unit."""
    b.open(pages["metrics"])
    settle(b, "all samples", 1.0)
    options = b.evaluate("[...document.querySelectorAll('#metric option')].map((o) => o.textContent)")
    assert options[:2] == ["time: 3.00 s", "faults: 4,800 page-faults"], options
    for option, name in zip(options[2:], ("allocated", "live", "peak"), strict=True):
        said, size, unit = option.split(" ")
        assert said == f"{name}:" and unit == "MiB", option
        assert abs(float(size) - reports[name]["samples"] * 64 / 1024) < 0.006, (option, reports[name]["samples"])
    assert b.evaluate("document.querySelector('label[for=metric]').textContent") == "Metric"
    check_metric(b, reports["time"])
    for name in ("live", "faults", "allocated", "peak", "time"):
        choose(b, name)
        b.wait(f"location.hash === '{'' if name == 'time' else '#metric=' + name}'")
        check_metric(b, reports[name])
    b.evaluate("history.back()")
    b.wait("document.querySelector('#metric').value === 'peak'")
    check_metric(b, reports["peak"])
    check_quiet(b)
    first = reports["faults"]["tree"]["children"][0]
    b.open(pages["metrics"], "#metric=faults&search=function_")
    check_metric(b, reports["faults"])
    assert b.evaluate("document.querySelector('#metric').value") == "faults"
    assert text(b, "#found") == "100.0% matched, 300 samples", text(b, "#found")
    assert b.evaluate("document.querySelector('#thread').length") == 11
    threads = check_threads(b, reports["faults"])
    choose(b, "live")
    check_threads(b, reports["live"])
    choose(b, "faults")
    assert threads == check_threads(b, reports["faults"])
    b.move(FRAME % first["name"].replace("std::vector<int>", "std::vector<…>"))
    b.wait("!document.querySelector('#tip').hidden")
    assert "page-faults" in text(b, "#tip"), text(b, "#tip")
    check_quiet(b)


def test_metrics_by_keyboard(b, pages, reports):
    b.open(pages["metrics"])
    settle(b, "all samples", 1.0)
    b.evaluate("document.querySelector('#metric').focus()")
    b.press("ArrowDown")
    b.wait("location.hash === '#metric=faults'")
    check_metric(b, reports["faults"])
    check_quiet(b)


def test_metrics_asked_for(b, pages, reports):
    """The page begins with the metric that --metric names. One of a single metric offers no choice."""
    b.open(pages["metrics asked"])
    assert b.evaluate("document.querySelector('#metric').value") == "live"
    check_metric(b, reports["live"])
    choose(b, "time")
    check_metric(b, reports["time"])
    b.open(pages["small"])
    assert b.evaluate("document.querySelector('#metrics').hidden") is True
    check_quiet(b)


def test_shadows(b, pages):
    """Triggers of shadows are no samples of the program."""
    b.open(pages["shadows"])
    b.wait("document.querySelector('#empty').hidden === false")
    facts = text(b, "#facts")
    assert "Shadows3" in facts and "400,000,951 instructions" in facts and "4.30%" in facts, facts
    assert "Weight" not in facts and "min" not in facts, facts
    assert b.evaluate("document.querySelector('#graph').hidden") is True
    assert b.evaluate("document.querySelector('#semi').hidden") is False
    check_quiet(b)


def test_rows(b, pages):
    """What is the same is one row; what is not can be told apart."""
    b.open(pages["rows"])
    settle(b, "all samples", 1.0)
    rows = b.evaluate("[...document.querySelectorAll('#functions tbody tr')].map((r) => r.cells[4].textContent + r.cells[0].textContent)")
    assert len(rows) == len(set(rows)) == 3, rows
    assert any(row.startswith("twice") and "50.0%" in row for row in rows), rows
    check_quiet(b)


def test_deep(b, pages):
    b.open(pages["deep"])
    settle(b, "all samples", 1.0)
    shown = len(names(b))
    assert 20 < shown < 501  # what is in view
    b.evaluate("document.querySelector('#graph').scrollTop = 1e6")
    b.wait(f"{FRAMES}.some((f) => f.name === '[deeper frames]')")
    b.click("document.querySelector('[data-view=\"bottom-up\"]')")
    settle(b, "leaf", 1000 / 1200)
    b.evaluate("document.querySelector('#graph').scrollTop = 1e6")
    b.wait(f"{FRAMES}.some((f) => f.name === '[deeper frames]')")
    check_quiet(b)


def test_empty(b, pages):
    b.open(pages["empty"])
    assert b.evaluate("document.querySelector('#empty').hidden") is False
    assert names(b) == [] or b.evaluate("document.querySelector('#graph').hidden") is True
    assert "1.00 s" in text(b, "#facts"), text(b, "#facts")  # 999.6 ms
    check_quiet(b)


def test_exact(b, pages):
    b.open(pages["exact"])
    settle(b, "all instructions", 1.0)
    facts = text(b, "#facts")
    assert "exact, edges" in facts and "12,345,678" in facts and "not known" in facts, facts
    assert "Dropped" not in facts and "Trigger" not in facts, facts
    assert "rseq: 2" in text(b, "#warnings") and "signal" not in text(b, "#warnings")
    assert b.evaluate("document.querySelectorAll('#annotated table').length") == 0
    b.evaluate("document.querySelector('#annotated summary').click()")
    b.wait("document.querySelectorAll('#annotated tr').length === 3")
    cells = b.evaluate("[...document.querySelectorAll('#annotated tr')].map("
                       "(r) => [...r.cells].map((c) => c.textContent))")
    assert cells[0] == ["10", "", "0x10", "mov eax, 0x1", "50.0% dead", "f.c:1",
                        "int f(void)"], cells
    assert cells[1] == ["30", "", "0x11", "jmp <+0x10>  [50.0% taken]", "", "f.c:2",
                        "</script><b>bold</b>"]
    assert b.evaluate("document.querySelector('#annotated td.waste').title") == \
        "dead, 40 bytes: overwritten by f<int> xz+0x12"
    assert cells[2][0] == "", cells
    check_quiet(b)
    b.open(pages["small"])
    assert b.evaluate("document.querySelector('#annotated').hidden") is True


def test_values(b, pages):
    """Beside an instruction: times observed, invariance, top values with shares; a list of
    semi-invariant places."""
    b.open(pages["values"])
    settle(b, "all samples", 1.0)
    b.evaluate("document.querySelector('#annotated summary').click()")
    b.wait("document.querySelectorAll('#annotated tr').length === 3")
    cells = b.evaluate("[...document.querySelectorAll('#annotated td.values')].map((c) => c.textContent)")
    divisor = ("divisor \u00d71,200, 540 of 600 invariant: 10 90.0%, </script><b>7</b> 6.00%, 3 3.00%, and 1 more")
    assert cells == ["argument 1 from main+0x10 \u00d79, 9 of 9 the same: 1", divisor,
                     "result \u00d75,000, no value kept twice: 4, 7"], cells
    rows = "[...document.querySelectorAll('#semi-table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    got = b.evaluate(rows)
    assert got[0] == ["63.0%", "70.0%", "540 of 600", "1,200", "f<int> xz+0x11 div rcx f.c:7",
                      divisor], got[0]
    assert got[1][4] == "f<int> xz+0x11 div rcx; shift count at 0x19", got[1]
    assert got[1][5].startswith("argument 1 from main+0x10"), got[1]
    assert len(got) == 25 and text(b, "#more-semi") == "Show 5 more", len(got)
    b.evaluate("document.querySelector('#more-semi').click()")
    assert len(b.evaluate(rows)) == 30 and b.evaluate("document.querySelector('#more-semi').hidden") is True
    check_quiet(b)
    b.open(pages["exact"])
    assert b.evaluate("document.querySelector('#semi').hidden") is True
    b.evaluate("document.querySelector('#annotated summary').click()")
    b.wait("document.querySelectorAll('#annotated tr').length === 3")
    assert b.evaluate("document.querySelectorAll('#annotated td.values').length") == 0


def test_paths(b, pages):
    """A path is chosen: its steps stand beside the instructions; chosen again, they are gone."""
    b.open(pages["exact"])
    settle(b, "all instructions", 1.0)
    rows = b.evaluate("[...document.querySelectorAll('#path-table tbody tr')].map("
                      "(r) => [...r.cells].map((c) => c.textContent))")
    assert rows == [["75.00%", "30", "3", "f<int> \u203a <i>g", "f.c:1 2"],
                    ["0.50%", "1", "9", "g", ""]], rows
    pick = "document.querySelectorAll('#path-table button')[%d].click()"
    steps = "[...document.querySelectorAll('#annotated tr')].map((r) => r.querySelector('.step').textContent)"
    marked = "[...document.querySelectorAll('#annotated tr')].map((r) => r.classList.contains('on'))"
    b.evaluate(pick % 0)
    b.wait("document.querySelectorAll('#annotated tr').length === 3")
    assert b.evaluate(steps) == ["1", "1 3 4", ""], b.evaluate(steps)
    assert b.evaluate(marked) == [True, True, False]
    assert b.evaluate("document.querySelector('#annotated details').open") is True
    b.evaluate(pick % 1)
    assert b.evaluate(marked) == [False, False, False]
    b.evaluate(pick % 0)
    b.evaluate(pick % 0)
    assert b.evaluate(steps) == ["", "", ""]
    assert b.evaluate("document.querySelectorAll('#path-table [aria-pressed=true]').length") == 0
    check_quiet(b)
    b.open(pages["small"])
    assert b.evaluate("document.querySelector('#paths').hidden") is True


def test_narrow(b, pages):
    b.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1,
           mobile=True)
    b.open(pages["small"])
    settle(b, "all samples", 1.0)
    assert b.evaluate("document.documentElement.scrollWidth") <= 390
    b.call("Emulation.clearDeviceMetricsOverride")
    check_quiet(b)


def test_refuses_what_is_not_json(write_page):
    for text_in in [b"", b"{", b"[1,]", b'{"a" 1}', b'{"a":1} x', b'"\x01"', b'["a\\', b"[1}",
                    b"{1:2}"]:
        done = subprocess.run([write_page, "x"], input=text_in, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        assert done.returncode == 1 and b"not JSON at byte" in done.stderr, (text_in, done)
    for text_in in [b"{}", b"[[],{}]", b' {"a":[1,2,{"b":null}],"c":"\\u0041\\""} ', b"3"]:
        subprocess.run([write_page, "x"], input=text_in, stdout=subprocess.DEVNULL, check=True)


def main():
    write_page, *programs = sys.argv[1:]
    test_refuses_what_is_not_json(write_page)
    if not browser.find():
        print("skipped: Chromium is not installed")
        sys.exit(77)
    tests = [test for name, test in globals().items()
             if name.startswith("test_") and name != "test_refuses_what_is_not_json"]
    with tempfile.TemporaryDirectory() as directory:
        pages = {kind: make_page(write_page, kind, directory)
                 for kind in ("large", "deep", "empty", "exact", "values", "threads", "shadows",
                              "rows", "seldom", "compared")}
        pages["small"] = make_page(write_page, "small", directory,
                                   "x</title><script>alert(1)</script>&amp;z")
        reports = {}
        if programs:
            of_metrics, reports = make_metrics(*programs, directory)
            pages.update(of_metrics)
        with browser.Browser() as b:
            for test in tests:
                by_metric = "metrics" in test.__name__
                if by_metric and not reports:
                    continue
                test(b, pages, *([reports] if by_metric else []))
                print(f"{test.__name__}: ok", flush=True)


main()
