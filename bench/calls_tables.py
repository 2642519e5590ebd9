"""docs/results/calls.md and depth.md: what counting calls costs, and what depth costs."""
import statistics

import calls
import depth
import machine
import overhead
import sources
import store
import suite
import tables

INTENSIVE = 10_000_000  # calls a second of native CPU time: what counts as call-intensive here
BOUND = 10              # times that gprof's overhead is to be larger
COLUMNS = {"null": "null check, %", "empty": "empty handler, %", "penumbra": "**penumbra**, %",
           "no-trampoline": "penumbra --no-trampoline, %", "gprof": "gprof, %", "uftrace": "uftrace, %"}


def rounds_words(counts):
    least = min(counts)
    return f"{least} rounds" if least > 1 else "one round"


def cell(values):
    if not values:
        return ""
    spread = f" ({min(values):.1f}..{max(values):.1f})" if len(values) > 1 else ""
    return tables.shown(statistics.median(values)) + spread


def median_of(rounds, value):
    found = [v for v in map(value, rounds) if v is not None]
    return statistics.median(found) if found else None


class Row:
    """What was measured of one program."""

    def __init__(self, entry):
        rounds = entry["rounds"]
        self.name, self.rounds = entry["program"], rounds
        self.native = statistics.median(r["native"]["own_us"] for r in rounds) / 1e6
        self.percent = {n: overhead.percent(rounds, n) for n in COLUMNS}
        self.calls = median_of(rounds, lambda r: r.get("gprof", {}).get("extra", {}).get("calls"))
        self.bytes = {n: median_of(rounds, lambda r, n=n: r[n]["bytes"] if n in r else None)
                      for n in ("penumbra", "gprof", "uftrace")}

    def middle(self, name):
        return tables.middle(self.percent[name])

    @property
    def noise(self):
        """Percentage points that mean nothing: the null check's largest distance from zero."""
        return max(map(abs, self.percent["null"]), default=0)

    @property
    def ratio(self):
        """gprof's overhead over penumbra's; None where penumbra's cannot be told from none."""
        mine, theirs = self.middle("penumbra"), self.middle("gprof")
        return theirs / mine if mine and theirs is not None and mine > self.noise else None

    @property
    def intensive(self):
        return self.calls is not None and self.calls / self.native >= INTENSIVE

    def ratio_cell(self):
        if (self.middle("gprof") or 0) <= self.noise:
            return ""
        if self.ratio is not None:
            return f"{self.ratio:.1f}"
        return f"> {self.middle('gprof') / self.noise:.1f}" if self.noise and self.middle("gprof") else ""

    def cells(self):
        spec = suite.BY_NAME[self.name].spec
        made = "" if self.calls is None else f"{self.calls:.3g}"
        return ([self.name + (f" ({spec})" if spec else ""), f"{self.native:.2f}", made]
                + [cell(self.percent[n]) for n in COLUMNS] + [self.ratio_cell()])


def rate_words(row):
    rate = row.calls / row.native
    return f"{rate / 1e6:.3g} million calls a second" if rate >= 1e5 else f"{rate:.0f} calls a second"


def missed(row):
    """Why a call-intensive program is not within the bound, as far as the numbers say."""
    floor = row.middle("empty")
    if floor is None:
        return ""
    text = f", of which {floor:.1f} are the empty handler's"
    if row.middle("gprof") < BOUND * floor:
        text += ("; calls are too few for the bound: gprof costs less than ten times a signal handler that returns "
                 "at once")
    return text


def verdict(rows):
    """What the table says about the bound, a sentence a program."""
    lines = []
    for row in (r for r in rows if r.calls is not None and r.middle("penumbra") is not None):
        mine, theirs = row.middle("penumbra"), row.middle("gprof")
        both = f"gprof {theirs:.1f}%, penumbra {mine:.1f}%"
        if not row.intensive:
            lines.append(f"- {row.name}: {rate_words(row)}, not call-intensive: {both}.")
        elif theirs >= BOUND * max(mine, row.noise):
            lines.append(f"- {row.name}: {rate_words(row)}. **Reached**: {both}.")
        elif theirs >= BOUND * mine:
            lines.append(f"- {row.name}: {rate_words(row)}. Reached, as far as these rounds can tell: {both}, "
                         f"null check {row.noise:.1f}%.")
        else:
            lines.append(f"- {row.name}: {rate_words(row)}. **Not reached**: {both}{missed(row)}.")
    return "\n".join(lines) + "\n"


def size_rows(rows):
    def shown(value):
        return "" if value is None else f"{value / 1024:,.0f}"
    return [[r.name] + [shown(r.bytes[n]) for n in ("penumbra", "gprof", "uftrace")] for r in rows]


def harm(entries):
    found = sorted({(n, e["program"], r[n]["harm"]) for e in entries for r in e["rounds"] for n in r if "harm" in r[n]})
    return ("Exit status, standard output and error of every copy were compared with the native copy's. "
            + ("They were the same but for:\n\n" + "\n".join(f"- {n}, {p}: {what}" for n, p, what in found)
               if found else "All were the same.") + "\n")


def price(rows):
    """Where the bound is, as far as the numbers say: gprof costs by the call, penumbra by the second."""
    known = [r for r in rows if r.ratio is not None and r.calls and r.middle("gprof") > r.noise]
    if not known:
        return ""
    each = [r.middle("gprof") / 100 * r.native / r.calls * 1e9 for r in known]
    mine = statistics.median(r.middle("penumbra") for r in known)
    return (f"\ngprof costs by the call, here {min(each):.1f} to {max(each):.1f} ns (median {statistics.median(each):.1f}), penumbra by "
            f"the second, here {mine:.1f}% in the median: the ratio grows with the rate of calls, and is {BOUND} from about "
            f"{BOUND * mine / 100 / statistics.median(each) * 1e3:.0f} million calls a second.\n")


def write_calls(say):
    data = store.load("calls")
    if not data:
        return
    entries = [data[s.name] for s in sources.SOURCES if s.name in data]
    rows = [Row(e) for e in entries]
    text = tables.head_lines("What counting calls costs", ["bench/run.py prepare", "bench/run.py calls"], entries)
    text += (f"\nThe table has the form of csprof's Table 2. The programs are built from Debian's sources with gcc -O2; "
             f"gprof and uftrace run a second build, -O2 -pg; libraries are Debian's. Overhead is CPU time in percent of "
             f"the native copy's of the same round, penumbra at {calls.HZ} Hz: median (smallest..largest) of "
             f"{rounds_words(len(r.percent['gprof']) for r in rows)}. Calls are those that gprof counted. The last column is "
             f"gprof's overhead divided by penumbra's (trampolines on); `>` where penumbra's is not above the null check's, nothing where gprof's is not.\n\n")
    text += tables.table(["program (SPEC)", "native, CPU s", "gprof calls", *COLUMNS.values(), "gprof / penumbra"],
                         [r.cells() for r in rows])
    text += (f"\nThe bound: overhead at least {BOUND} times below gprof's in call-intensive programs, here those with more "
             f"than {INTENSIVE // 10**6} million calls a second.\n\n" + verdict(rows) + price(rows))
    text += ("\nuftrace's overhead is that of the traced program; its recorder's own process comes on top.\n"
             "\nWhat is left on disk, KiB (uftrace: what its recorder could keep up with):\n\n")
    text += tables.table(["program", "**penumbra**", "gprof", "uftrace"], size_rows(rows))
    text += "\n" + harm(entries)
    tables.write("calls.md", text)
    tables.write_json("calls.json", data | {"machine": machine.describe()})
    say("wrote docs/results/calls.md and .json")


def depth_rows(entries):
    titles = {"null": "null check", **{n: tables.TITLES.get(n, n) for n in depth.NAMES[2:]},
              "no-trampoline": "penumbra --no-trampoline"}
    names = [n for n in depth.NAMES if n != "native"]
    head = ["frames", "native, CPU s"] + [titles[n] + ", %" for n in names]
    return head, [[f"{e['depth']:,}", f"{statistics.median(r['native']['own_us'] for r in e['rounds']) / 1e6:.2f}"]
                  + [cell(overhead.percent(e["rounds"], n)) for n in names] for e in entries]


def total_rows(entries):
    names = depth.NAMES[3:]
    return [[f"{e['depth']:,}"] + [cell(overhead.percent(e["rounds"], n, True)) for n in names] for e in entries]


def write_depth(say):
    data = store.load("depth")
    if not data:
        return
    entries = [data[str(d)] for d in depth.DEPTHS if str(d) in data]
    head, rows = depth_rows(entries)
    text = tables.head_lines("What depth costs", ["bench/run.py depth"], entries)
    text += (f"\n`bench/depth.c` works at the end of a stack, which it leaves by eight frames and goes down again about "
             f"200,000 times a second. Overhead at {depth.HZ} Hz on the program's own CPU time, in percent of the native "
             f"copy's of the same round: median (smallest..largest) of "
             f"{rounds_words(len(e['rounds']) for e in entries)}.\n\n{tables.table(head, rows)}\n"
             "perf follows 127 frames at most in its fp mode and what is in 8 kB of stack in its dwarf mode: what it "
             "costs does not grow with depth either, because the rest is cut off. Penumbra's stacks are whole. Without "
             "trampolines a walk of the deepest stacks takes longer than a period: then periods are merged, and what is "
             "shown is the cost of fewer samples (`penumbra report` says of how many). With trampolines the deepest "
             "stack costs once: the first sample walks all of it and makes its nodes in the tree.\n\n"
             "With the CPU time of the profiler's own process:\n\n"
             + tables.table(["frames"] + head[4:], total_rows(entries)) + "\n" + slope(entries))
    text += "\nThe handler alone, by depth: [handler.md](handler.md).\n"
    tables.write("depth.md", text)
    tables.write_json("depth.json", data | {"machine": machine.describe()})
    say("wrote docs/results/depth.md and .json")


def slope(entries):
    """The bound: a program 5,000 frames deep pays the same as one 10 deep."""
    by = {e["depth"]: e["rounds"] for e in entries}
    if not {10, 5000} <= set(by):
        return ""
    def at(d, name):
        return statistics.median(overhead.percent(by[d], name))
    noise = max(abs(v) for e in entries for v in overhead.percent(e["rounds"], "null"))
    return ("The bound: 5,000 frames cost what 10 cost. "
            + " ".join(f"{title}: {at(10, n):.1f}% at 10, {at(5000, n):.1f}% at 5,000."
                       for n, title in (("penumbra", "With the trampoline"), ("no-trampoline", "Without")))
            + f" The null checks were within {noise:.1f} percentage points.\n")


def run(a, say):
    write_calls(say)
    write_depth(say)
