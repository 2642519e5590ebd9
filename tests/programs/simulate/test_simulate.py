"""usage: test_simulate.py TEST: programs on a modelled processor."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, expect, main, run  # noqa: E402
sys.path.insert(0, os.environ["PAGES"])
import browser  # noqa: E402
import pages  # noqa: E402

LINES = "".join(f"{n * 7919 % 1009} line {n}\n" for n in range(600))
PROGRAMS = [
    ["sort", "-n"], ["gzip", "-c"], ["awk", "{ s += $1 * 1.5 } END { print s / 3 }"],
    ["sed", "s/line/row/"], ["perl", "-e", "print sqrt(2) ** 3"],
    ["sh", "-c", "echo a | cat; exit 3"],
]


def simulated(program, options=(), machine="zen4", text=LINES):
    """The profile's JSON, and what became of the program."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "p.pnb")
        ended = subprocess.run(
            [PENUMBRA, "simulate", "-q", "-m", machine, "-o", file, *options, "--", *program],
            input=text.encode(), capture_output=True, check=False)
        report = json.loads(run([PENUMBRA, "report", "--json", file]).stdout)
    return report, ended


def check(of):
    """Parts are the whole, but for the rounding of each."""
    expect(abs(sum(of["stack"].values()) - of["cycles"]) <= len(of["stack"]), f"{of}")
    for key, rounding in (("instructions", 0), ("cycles", len(of["functions"]))):
        parts = sum(f[key] for f in of["functions"])
        expect(abs(parts - of[key]) <= rounding, f"{key}: {parts} of {of[key]}")
    expect(0.1 < of["cpi"] < 100, f"CPI {of['cpi']}")


def programs():
    for program in PROGRAMS:
        native = subprocess.run(program, input=LINES.encode(), capture_output=True, check=False)
        report, ended = simulated(program)
        expect((ended.stdout, ended.returncode) == (native.stdout, native.returncode),
               f"{program}: {ended.stderr.decode()}")
        of = report["simulated"]
        expect(of["instructions"] > 50_000 and of["machine"] == "zen4", f"{of}")
        expect(not of["unknown"], f"{program}: {of['unknown']}")
        check(of)


def counts():
    """As many instructions as are executed, and twice the same cycles."""
    program = ["gzip", "-c"]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "p.pnb")
        run([PENUMBRA, "record", "-q", "--exact", "--tool", "count", "-o", file, "--", *program],
            input=LINES.encode())
        exact = json.loads(run([PENUMBRA, "report", "--json", file]).stdout)
    executed = exact["instructions"]
    first, again = (simulated(program)[0]["simulated"] for _ in range(2))
    expect(first["instructions"] == executed,
           f"{first['instructions']} of {executed}")
    expect(first["cycles"] == again["cycles"] and first["stack"] == again["stack"],
           f"{first['cycles']} and {again['cycles']}")


def machines():
    """A machine with more of something is faster, and says what it waits for."""
    program = ["gzip", "-c"]
    zen = simulated(program)[0]["simulated"]
    perfect = simulated(program, ["--set", "branch_predictor=perfect"])[0]["simulated"]
    old = simulated(program, machine="hps2005")[0]["simulated"]
    slow = simulated(program, ["--set", "l1d_latency=13"])[0]["simulated"]
    expect(perfect["cycles"] < zen["cycles"] < old["cycles"],
           f"{perfect['cycles']} {zen['cycles']} {old['cycles']}")
    expect(perfect["machine"] == "zen4 branch_predictor=perfect", perfect["machine"])
    expect(perfect["stack"].get("branch", 0) < zen["stack"]["branch"] / 2, f"{perfect['stack']}")
    expect(slow["stack"]["l1"] > 2 * zen["stack"]["l1"], f"{slow['stack']}")


def sampled():
    """The interval has the CPI of the whole run in it, and a phase counts for what it is."""
    program = [os.environ["PHASES"]]
    options = ["--sample", "--period", "80k", "--warming", "3k", "--window", "1k"]
    whole = simulated(program)[0]["simulated"]
    of, again = (simulated(program, options)[0]["simulated"]["sampled"] for _ in range(2))
    expect(of == again, f"{of} and {again}")
    expect("sampled" not in whole, f"{whole}")
    expect(abs(of["windows"] - whole["instructions"] / of["period"]) <= 1, f"{of}")
    # what a window ends with, and what the thread ends with
    expect(0 <= whole["instructions"] - of["instructions"] < 600 * (of["windows"] + 1), f"{of}")
    expect(abs(of["long_windows"] - of["windows"] / 8) <= 1 and of["cold"] is False, f"{of}")
    expect(abs(of["cpi"] - whole["cpi"]) < min(of["interval"], 0.07 * whole["cpi"]),
           f"{of['cpi']} +- {of['interval']}, {whole['cpi']}")
    # a quarter takes three cycles, the rest a quarter of one
    expect(abs(whole["cpi"] - (14 / 16 * 3 / 4 + 3 / 4 / 4)) < 0.1, f"{whole['cpi']}")
    expect(abs(of["bias"]) <= 2 * of["bias_interval"] + 0.001, f"{of}")
    few = simulated(["true"], options)[0]["simulated"]["sampled"]
    expect(few["windows"] < 2 and "interval" not in few, f"{few}")
    native = subprocess.run(PROGRAMS[1], input=LINES.encode(), capture_output=True, check=False)
    ended = simulated(PROGRAMS[1], options)[1]
    expect(ended.stdout == native.stdout, f"{ended.stderr.decode()}")


def warmed():
    """What windows do not see is in the caches, as in the whole run; with --cold it is not."""
    program = [os.environ["CHASE"]]
    options = ["--sample", "--period", "40k", "--warming", "2k", "--window", "1k"]
    whole = simulated(program)[0]["simulated"]
    of = simulated(program, options)[0]["simulated"]
    cold = simulated(program, [*options, "--cold"])[0]["simulated"]["sampled"]
    cpi, interval = of["sampled"]["cpi"], of["sampled"]["interval"]
    expect(abs(cpi - whole["cpi"]) < min(interval, 0.2 * whole["cpi"]), f"{of['sampled']}, {whole['cpi']}")
    expect(cold["cold"] is True and cold["cpi"] - cold["interval"] > 1.1 * whole["cpi"], f"{cold}, {whole['cpi']}")
    expect(abs(of["stack"]["l3"] / of["cycles"] - whole["stack"]["l3"] / whole["cycles"]) < 0.2, f"{of['stack']}")
    again = simulated(program, options)[0]["simulated"]
    expect(again == of, f"{again}")


def seeds():
    """Each seed has windows of its own, and their mean is the CPI of the whole run."""
    program = [os.environ["PHASES"]]
    options = ["--sample", "--period", "80k", "--warming", "2k", "--window", "1k"]
    whole = simulated(program)[0]["simulated"]["cpi"]
    runs = [simulated(program, [*options, "--seed", str(seed)])[0]["simulated"]["sampled"] for seed in range(8)]
    cpis = [r["cpi"] for r in runs]
    expect(len(set(cpis)) > 2, f"{cpis}") # a phase has one CPI, whatever window is in it
    expect(sum(abs(r["cpi"] - whole) <= r["interval"] for r in runs) >= 6, f"{runs}, {whole}")
    expect(abs(sum(cpis) / len(cpis) - whole) < max(r["interval"] for r in runs), f"{cpis}, {whole}")


def threads():
    """Each thread, and each process, has its own."""
    script = "(gzip -c | gzip -dc | sort -n --parallel=2) 2>&1"
    native = subprocess.run(["sh", "-c", script], input=LINES.encode() * 50, capture_output=True, check=False)
    options = ["--sample", "--period", "200k", "--warming", "2k", "--window", "2k"]
    report, ended = simulated(["sh", "-c", script], options, text=LINES * 50)
    of = report["simulated"]["sampled"]
    expect(ended.stdout == native.stdout and ended.returncode == native.returncode, ended.stderr.decode())
    expect(abs(of["windows"] - of["instructions"] / of["period"]) < 8 and of["windows"] > 20, f"{of}")


def execs():
    """What a thread executes after exec has windows of its own, though they have the same numbers."""
    program = [os.environ["EXECS"]]
    options = ["--sample", "--period", "1M", "--warming", "2k", "--window", "1k"]
    once = simulated(program, options)[0]["simulated"]["sampled"]
    both = simulated([*program, "again"], options)[0]["simulated"]["sampled"]
    expect(once["windows"] == 1 and both["windows"] == 2, f"{once}, {both}")
    expect(abs(both["instructions"] / once["instructions"] - 2) < 0.1, f"{once}, {both}")


def misprediction_rate(of):
    return of["events"]["mispredicted"] / of["events"]["branches"]


def warmed_branches():
    """What windows do not see has taught the predictors; with --cold it has not."""
    program = [os.environ["PHASES_OF_CODE"], "branches"]
    settings = ["--sample", "--period", "130k", "--warming", "2k", "--window", "1k"]
    whole = misprediction_rate(simulated(program)[0]["simulated"])
    for seed in range(3):
        options = [*settings, "--seed", str(seed)]
        warm = misprediction_rate(simulated(program, options)[0]["simulated"])
        cold = misprediction_rate(simulated(program, [*options, "--cold"])[0]["simulated"])
        expect(warm < whole + 0.1 and cold > whole + 0.2, f"{seed}: {warm}, {cold}, {whole}")


def warmed_code():
    """Code between windows is in the micro-op cache, which a narrow fetch makes visible."""
    program = [os.environ["PHASES_OF_CODE"]]
    # with memory that is near, few windows in phases' first rounds decide nothing
    machine = ["--set", "fetch_width=1", "--set", "memory_latency=60"]
    whole = simulated(program, machine)[0]["simulated"]["cpi"]
    options = ["--sample", "--period", "60k", "--warming", "2k", "--window", "1k", *machine]
    cpis = [simulated(program, [*options, "--seed", str(seed)])[0]["simulated"]["sampled"]["cpi"]
            for seed in range(3)]
    expect(abs(sum(cpis) / len(cpis) - whole) < 0.2 * whole, f"{cpis}, {whole}")


def walk(tree):
    """Each node with the names from the root down to it. No recursion: trees may be deep."""
    todo = [(tree, ())]
    while todo:
        node, above = todo.pop()
        path = (*above, node["name"])
        yield node, path
        todo += [(child, path) for child in node["children"]]


def below(tree, *names):
    """What all contexts have together whose innermost frames these are."""
    found = [n["simulated"] for n, path in walk(tree) if path[-len(names):] == names]
    return sum(n["instructions"] for n in found)


# by the innermost frames: rounds of the loop that is called there
SPINS = {("main", "left", "spin"): 2 * 1000, ("main", "right", "spin"): 3000,
         ("main", "deep", "spin"): 500, ("main", "even", "spin"): 600,
         ("main", "spin"): 700, ("main", "thrower", "thrown", "spin"): 200, ("main", "caught", "spin"): 400,
         ("handler", "spin"): 900, ("other", "spin"): 1100 + 1200,
         ("main", "switcher", "spin"): 1300}


def contexts():
    """Contexts have what was executed in them, and all of them together the run's cycles."""
    report = simulated([os.environ["CONTEXTS"]])[0]
    of, tree = report["simulated"], report["tree"]
    for names, rounds in SPINS.items():
        executed = below(tree, *names)
        expect(2 * rounds <= executed < 2 * rounds + 20, f"{names}: {executed}, {rounds} rounds")
    expect(all(path.count(name) < 2 for _, path in walk(tree) for name in ("deep", "even", "odd")),
           "recursion is one context")
    expect(tree["simulated"]["instructions"] == of["instructions"], f"{tree['simulated']}")
    expect(abs(tree["total"] - of["cycles"]) <= 20, f"{tree['total']} of {of['cycles']}")
    for node, path in walk(tree):
        parts = sum(node["simulated"]["stack"].values())
        expect(parts == node["simulated"]["cycles"] == node["total"], f"{path}: {node}")
        inner = sum(child["total"] for child in node["children"])
        expect(node["self"] + inner == node["total"], f"{path}")
    expect(report["metric"] == report["trigger"] == "cycles", f"{report['metric']}")


def processes():
    """Threads and processes have trees of their own, which reports add up."""
    script = "for i in 1 2 3; do sort -n | wc -l; done; perl -e 'fork; print 1'"
    report = simulated(["sh", "-c", script])[0]
    of, tree = report["simulated"], report["tree"]
    expect(tree["simulated"]["instructions"] == of["instructions"],
           f"{tree['simulated']['instructions']} of {of['instructions']}")
    check(of)
    of_threads = sum(thread["samples"] for thread in report["threads"])
    expect(of_threads == tree["total"], f"{of_threads} of {tree['total']}")


def annotated():
    """Instructions have the function's cycles, and the function's stack is above them."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "p.pnb")
        run([PENUMBRA, "simulate", "-q", "-m", "zen4", "-o", file, "--", os.environ["CONTEXTS"]])
        of = json.loads(run([PENUMBRA, "annotate", "--json", file, "spin"]).stdout)
        text = run([PENUMBRA, "annotate", file, "spin"]).stdout.decode()
        by_cause = run([PENUMBRA, "report", "--tree", "--metric", "base", file]).stdout.decode()
    lines = of["instructions"]
    expect(of["unit"] == "cycles" and "cycles each: " in text and "CPI: " in by_cause, text)
    expect(abs(of["total"] - of["simulated"]["cycles"]) <= len(lines), f"{of['simulated']}")
    executed = sum(line.get("simulated", {}).get("instructions", 0) for line in lines)
    expect(executed == of["simulated"]["instructions"] > 2 * sum(SPINS.values()), f"{executed}")


def page():
    """The page draws contexts by cycles and by cause, and shows what those of one are for."""
    if not browser.find():
        print("Chromium is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as b:
        file, html = os.path.join(folder, "p.pnb"), os.path.join(folder, "p.html")
        run([PENUMBRA, "simulate", "-q", "-m", "zen4", "-o", file, "--", os.environ["CONTEXTS"]])
        run([PENUMBRA, "report", "--html", html, file])
        report = json.loads(run([PENUMBRA, "report", "--json", file]).stdout)
        b.open(html)
        look_at_page(b, report)
        run([PENUMBRA, "report", "--html", html, "--min", "1", file])
        b.open(html)
        look_at_narrowed_page(b, report)
        expect(b.problems == [], f"{b.problems}")


def text_of(b, selector):
    return b.evaluate(f"document.querySelector('{selector}').textContent")


def choose_base(b):
    b.evaluate("(() => { const s = document.querySelector('#metric'); s.value = 'base';"
               " s.dispatchEvent(new Event('change')); })()")
    b.wait("location.hash === '#metric=base'")


def shown_functions(b):
    """Names and own weights."""
    return b.evaluate("[...document.querySelectorAll('#functions tbody tr')]"
                      ".map((r) => [r.dataset.name, r.cells[0].querySelector('small').textContent])")


def is_cpi(text, of):
    """With three digits, of cycles whose parts are rounded."""
    rounding = 0.0005 + len(of["stack"]) / of["instructions"]
    return abs(float(text) - of["cycles"] / of["instructions"]) <= rounding


def look_at_page(b, report):
    of = report["simulated"]
    b.wait(f"{pages.FRAMES}.some((f) => f.name === 'right')")
    expect(b.evaluate("document.querySelector('#cycles .context').hidden") is True, "none is chosen")
    expect(is_cpi(text_of(b, "#cycles .program .cpi"), of), f"{of['cpi']}")
    b.click(pages.FRAME % "right")
    b.wait("document.querySelector('#cycles .context .name').textContent === 'right'")
    right = next(n for n, path in walk(report["tree"]) if path[-1] == "right")["simulated"]
    expect(is_cpi(text_of(b, "#cycles .context .cpi"), right), f"{right}")
    widths = b.evaluate("[...document.querySelectorAll('#cycles .context .cause')]"
                        ".map((c) => [c.classList[1], parseFloat(c.style.width)])")
    expect(len(widths) == len(right["stack"]) and
           all(abs(width - 100 * right["stack"][name] / right["cycles"]) < 0.01
               for name, width in widths), f"{widths} {right}")
    listed = b.evaluate("[...document.querySelectorAll('#cycles tbody code')].map((c) => c.textContent)")
    expect(listed == [f["function"] for f in of["functions"]][:25], f"{listed}")
    options = b.evaluate("[...document.querySelectorAll('#metric option')].map((o) => o.value)")
    expect(options[:2] == ["cycles", "base"] and len(options) == 1 + len(of["stack"]), f"{options}")
    choose_base(b)
    base = {f["name"]: f["simulated"]["stack"].get("base", 0) for f in report["functions"]}
    rows = dict(shown_functions(b))
    expect(rows["spin"] == f"{base['spin']:,}", f"{rows['spin']} {base['spin']}")


def look_at_narrowed_page(b, report):
    """What contexts have that are left out is not that of the function that calls them."""
    base = dict.fromkeys((f["name"] for f in report["functions"]), 0)
    for f in report["functions"]:  # some have the same name
        base[f["name"]] += f["simulated"]["stack"].get("base", 0)
    b.wait("document.querySelector('#metric option[value=base]') !== null")
    choose_base(b)
    rows = {name: int(text.replace(",", "")) for name, text in shown_functions(b)}
    more = {name: (own, base[name]) for name, own in rows.items() if own > base[name]}
    expect("main" in rows and not more, f"{more} {rows}")


def caused(of, row, cause):
    """Percent of the mean total before that a row has more of a cause."""
    sides = of["simulated"]["before"]["cycles"] / 100
    return (row["after"]["stack"].get(cause, 0) - row["before"]["stack"].get(cause, 0)) / sides


def check_change(of, rows):
    """Rows add up to all, and causes to what a row differs in."""
    for cause in of["simulated"]["after"]["stack"]:
        all_rows = sum(caused(of, row["simulated"], cause) for row in rows)
        expect(abs(all_rows - caused(of, of["simulated"], cause)) < 0.01, f"{cause} {all_rows} {of['simulated']}")
    for row in rows:
        parts = sum(caused(of, row["simulated"], cause)
                    for cause in {**row["simulated"]["before"]["stack"], **row["simulated"]["after"]["stack"]})
        expect(abs(parts - row["self"]["difference"]) < 0.01, f"{parts} {row}")


def check_lines(of, text):
    """A diff's lines, in JSON and as text: they are sorted, and add up to the whole change."""
    differ = [abs(line["difference"]) for line in of["lines"]]
    expect(differ and differ == sorted(differ, reverse=True), f"{of['lines']}")
    whole = sum(line["difference"] for line in of["lines"])
    functions = sum(function["self"]["difference"] for function in of["functions"])
    expect(abs(whole - functions) < 0.01, f"lines differ by {whole}, functions by {functions}")
    chase = of["lines"][0]
    expect(chase["file"].endswith("chase.c") and chase["line"] and caused(of, chase["simulated"], "l3") > 50, f"{chase}")
    first = next(row for row in text.splitlines() if "chase.c:" in row)
    expect(first == text.split("difference  line\n")[1].splitlines()[0] and f"chase.c:{chase['line']} " in first
           and f"{chase['difference']:+.2f}%" in first and "L3 +" in first, text)


def check_no_lines(folder, simulation):
    """Other profiles have no cycles by line: they are refused, and a mixture is."""
    counted = os.path.join(folder, "counted.pnb")
    run([PENUMBRA, "record", "-q", "--exact", "--tool", "blocks", "-o", counted, "--", "true"])
    for wrong_ones, why in (((counted, counted), "counted.pnb is none"), ((simulation, counted), "counted.pnb is none"),
                            (("--metric", "instructions", simulation, simulation), "not what --metric asks for")):
        ended = subprocess.run([PENUMBRA, "diff", "--lines", *wrong_ones], capture_output=True, check=False)
        expect(ended.returncode == 2 and why in ended.stderr.decode() and not ended.stdout, f"{ended}")


def what_if():
    """What another machine changes is said for each function and context, by cause."""
    def simulate(output, *options):
        return subprocess.run([PENUMBRA, "simulate", "-m", "zen4", "-o", output, *options, "--",
                               os.environ["CHASE"]], capture_output=True, check=False)
    with tempfile.TemporaryDirectory() as folder:
        before, after, same = (os.path.join(folder, name + ".pnb") for name in ("before", "after", "same"))
        simulate(before, "-q")
        slower = ["--set", "l3_latency=200", "--against", before]
        of = json.loads(simulate(after, *slower, "--json").stdout.split(b"\n", 1)[1])
        text = simulate(after, *slower).stdout.decode()
        contexts = run([PENUMBRA, "diff", "--contexts", before, after]).stdout.decode()
        nothing = json.loads(simulate(same, "--against", before, "--json").stdout.split(b"\n", 1)[1])
        shares = json.loads(run([PENUMBRA, "diff", "--json", "--normalize", "total", before, after]).stdout)
        lines = run([PENUMBRA, "diff", "--lines", before, after]).stdout.decode()
        check_no_lines(folder, before)
        wrong_ones = [simulate(before, "--against", before), simulate(same, "-q", "--against", before),
                      simulate(same, "--against", os.path.join(folder, "none")),
                      simulate(same, "--against", os.environ["CHASE"])]
    expect((of["before"][0]["machine"], of["after"][0]["machine"]) == ("zen4", "zen4 l3_latency=200"), f"{of['after']}")
    expect(of["normalize"] == "none" and shares["normalize"] == "total", of["normalize"])
    check_change(of, of["functions"])
    check_change(of, of["contexts"])
    check_lines(of, lines)
    chase = of["functions"][0]  # what is inlined into main may have its name
    expect(chase["self"]["significant"] and caused(of, chase["simulated"], "l3") > 50, f"{chase}")
    expect(abs(caused(of, chase["simulated"], "l3") - chase["self"]["difference"]) < 5, f"{chase}")
    expect("machine after   zen4 l3_latency=200" in text and "L3 +" in text and "L3 +" in contexts, text + contexts)
    expect(all(f["self"]["difference"] == 0 for f in nothing["functions"]), f"{nothing['functions']}")
    expect([ended.returncode for ended in wrong_ones][:2] == [2, 2] and
           all(ended.returncode and b"penumbra simulate: " in ended.stderr and not ended.stdout for ended in wrong_ones), f"{wrong_ones}")


def wrong():
    cases = {("-m", "zen4", "--period", "1M"): (2, "--sample"),
             ("-m", "zen4", "--warming", "1k"): (2, "--sample"),
             ("-m", "zen4", "--cold"): (2, "--sample"),
             ("-m", "zen4", "--seed", "1"): (2, "--sample"),
             ("-m", "zen4", "--sample", "--period", "80k"): (2, "do not fit"),
             ("-m", "no-such-machine"): (127, "no-such-machine"),
             ("-m", "zen4", "--set", "rob_sise=3"): (2, "did you mean rob_size?"),
             ("-m", "zen4", "--set", "l1d_size=100"): (2, "l1d_size"),
             (): (2, "--machine")}
    for options, (status, message) in cases.items():
        ended = subprocess.run([PENUMBRA, "simulate", *options, "--", "true"], capture_output=True,
                               check=False)
        expect(ended.returncode == status and message in ended.stderr.decode(),
               f"{options}: {ended}")
    keys = run([PENUMBRA, "simulate", "--list-keys"]).stdout.decode()
    expect("rob_size" in keys and "mispredict_penalty" in keys, keys)
    ended = subprocess.run([PENUMBRA, "record", "--exact", "--tool", "simulate", "--", "true"],
                           capture_output=True, check=False)
    expect(ended.returncode == 2 and "penumbra simulate" in ended.stderr.decode(), f"{ended}")


if __name__ == "__main__":
    main({"annotated": annotated, "contexts": contexts, "counts": counts, "execs": execs, "machines": machines,
          "page": page, "processes": processes, "programs": programs, "sampled": sampled,
          "seeds": seeds, "threads": threads, "warmed": warmed,
          "warmed-branches": warmed_branches, "warmed-code": warmed_code, "what-if": what_if,
          "wrong": wrong})
