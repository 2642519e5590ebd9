"""What sampling costs on the processor of Mousa and Krintz, HPS (2005), which runs productions in its decode stage
(docs/simulate.md): their Figure 7 by parts without conditional control, and Figures 8 and 10 by frequency and burst with
it. Inputs are small: the model executes some million instructions a second. Cycles are the same on every machine whose
programs choose the same code."""
import json
import os
import statistics
import subprocess
import tempfile

import store
import tables

MACHINE = "hps2005"
FREQUENCIES = (100, 500, 1000, 5000, 10000)
BURSTS = (1, 10, 50, 100)
# name of the shipped file, events of a burst in the paper's Figure 7, what compares it
PROFILES = (("hot-data-streams", 100, None), ("hot-call-pairs", 1, "pair"), ("hot-methods", 1, "method"))
PARTS = ("sampling", "basic", "checks")
PAPER = {"hot-data-streams": 106, "hot-call-pairs": 16, "hot-methods": 16}

WORDS = "".join(f"{n * 7919 % 1009} the {n * 31 % 97} quick brown {n % 13} fox\n" for n in range(1500))
LUA = """
local words, seed = {}, 1
for i = 1, 1500 do
  seed = (seed * 1103515245 + 12345) % 2147483648
  local word = string.format("w%d", seed % 300)
  words[word] = (words[word] or 0) + 1
end
local list = {}
for word, n in pairs(words) do list[#list + 1] = word .. n end
table.sort(list)
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
print(#list, fib(16))
"""
PERL = "while (<STDIN>) { $n{$_}++ for split } print join(' ', map { \"$_=$n{$_}\" } sort keys %n)"
SQL = """
CREATE TABLE sale(id INTEGER PRIMARY KEY, part INTEGER, price INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
  INSERT INTO sale SELECT i, i * 7919 % 101, i * 31 % 1009 FROM n;
CREATE INDEX by_part ON sale(part);
SELECT part, count(*), sum(price) FROM sale GROUP BY part ORDER BY 3 DESC LIMIT 5;
SELECT a.part, max(a.price - b.price) FROM sale a JOIN sale b ON b.part = a.part AND b.id < 300 WHERE a.id < 60;
"""
# name, command, standard input
PROGRAMS = (("gzip", ["gzip", "-c"], WORDS), ("bzip2", ["bzip2", "-c"], WORDS[:12000]), ("lua", ["lua5.4", "-"], LUA),
            ("perl", ["perl", "-e", PERL], WORDS[:9000]), ("sqlite3", ["sqlite3", ":memory:"], SQL))


class Runner:
    """Simulates one program; profiles are kept in `folder`."""

    def __init__(self, penumbra, folder, argv, text):
        self.penumbra, self.folder, self.argv, self.text = penumbra, folder, argv, text
        self.every = os.path.join(folder, "every.pnb")
        self.run("record", self.every, "--exact", "--production", "hot-call-pairs", "--production", "hot-methods",
                 "--frequency", "1/1")

    def run(self, command, out, *options):
        subprocess.run([self.penumbra, command, "-q", "-o", out, *options, "--", *self.argv], input=self.text.encode(),
                       stdout=subprocess.DEVNULL, check=True, env={**os.environ, "PERL_HASH_SEED": "0"})

    def simulated(self, profile, frequency, burst, mode, by):
        """Cycles by part, what was counted, and overlap-90 with all events; None where nothing was sampled."""
        out = os.path.join(self.folder, "some.pnb")
        self.run("simulate", out, "-m", MACHINE, "--production", profile, "--dise", mode, "--burst", str(burst),
                 "--frequency", f"1/{frequency}")
        done = subprocess.run([self.penumbra, "report", "--json", out], stdout=subprocess.PIPE, check=True)
        of = json.loads(done.stdout)
        row = {"instructions": of["simulated"]["instructions"], **of["simulated"]["dise"],
               "bursts": of["production_totals"]["bursts"], "overlap": self.overlap(out, by) if by else None}
        return row

    def overlap(self, out, by):
        done = subprocess.run([self.penumbra, "compare", "--json", "--by", by, self.every, out], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        return json.loads(done.stdout)["overlap_90"] if done.returncode == 0 else None


def measure(a, argv, text):
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(a.tools.penumbra, folder, argv, text)
        original = {p: runner.simulated(p, 100, burst, "original", by) for p, burst, by in PROFILES}
        hps = {p: {f"1/{f} {b}": runner.simulated(p, f, b, "hps", by) for f in FREQUENCIES
                   for b in BURSTS} for p, _, by in PROFILES}
    return {"original": original, "hps": hps}


def run(a, say):
    for name, argv, text in PROGRAMS:
        data = store.load("dise")
        data[name] = {**store.when_and_what(a), **measure(a, argv, text)}
        store.save("dise", data)
        for profile, burst, _ in PROFILES:
            row = data[name]["original"][profile]
            say(f"{name}: {profile}: " + ", ".join(f"{p} {part(row, p):.2f}%" for p in PARTS) +
                f"; hps {overhead(data[name]['hps'][profile][f'1/100 {burst}']):.2f}%")


def overhead(row):
    cycles = row["cycles"]
    return 100 * (cycles["tables"] - cycles["none"]) / cycles["none"]


def part(row, name):
    cycles, names = row["cycles"], ("none", *PARTS)
    return 100 * (cycles[name] - cycles[names[names.index(name) - 1]]) / cycles["none"]


def figure_7(data, names):
    rows = []
    for profile, burst, _ in PROFILES:
        of = [data[n]["original"][profile] for n in names]
        for name, row in zip(names, of):
            hps = overhead(data[name]["hps"][profile][f"1/100 {burst}"])
            rows.append([f"{profile}, {name}", *(f"{part(row, p):.2f}" for p in PARTS), f"{overhead(row):.2f}",
                         f"{hps:.2f}", f"{overhead(row) - hps:.1f}"])
        means = [statistics.mean(part(r, p) for r in of) for p in PARTS]
        all_of = statistics.mean(map(overhead, of))
        hps = statistics.mean(overhead(data[n]["hps"][profile][f"1/100 {burst}"]) for n in names)
        rows.append([f"**{profile}, mean**", *(f"{m:.2f}" for m in means), f"{all_of:.2f}", f"{hps:.2f}",
                     f"{all_of - hps:.1f} (paper: {PAPER[profile]})"])
    return tables.table(["profile, program", *PARTS, "original", "HPS", "HPS saves"], rows)


def by_frequency(data, names, value, digits):
    """Means over programs; a dash where some program had no burst."""
    rows = []
    for profile, _, by in PROFILES:
        for burst in BURSTS:
            cells = []
            for f in FREQUENCIES:
                values = [value(data[n]["hps"][profile].get(f"1/{f} {burst}")) for n in names]
                cells.append("-" if None in values else f"{statistics.mean(values):.{digits}f}")
            if set(cells) != {"-"}:
                rows.append([f"{profile}, {burst}", *cells])
    return tables.table(["profile, burst", *(f"1/{f}" for f in FREQUENCIES)], rows)


def sampled_overhead(row):
    return overhead(row) if row and row["bursts"] else None


def tables_run(a, say):
    data = store.load("dise")
    names = [name for name, _, _ in PROGRAMS if name in data]
    if not names:
        return
    sizes = ", ".join(f"{n} {data[n]['original']['hot-methods']['instructions'] / 1e6:.1f}" for n in names)
    text = tables.head_lines("Productions on a modelled processor", ["bench/run.py dise"], [data[n] for n in names])
    text += (f"\nCycles on `{MACHINE}`, the processor of Mousa and Krintz, in percent of those without productions "
             f"([simulate.md](../simulate.md)). Small inputs; millions of instructions: {sizes}.\n\n"
             "## Figure 7: DISE without conditional control\n\nFrequency 1/100, bursts of 1, of 100 for streams. *original* is "
             "the sum of its parts; *HPS* the same with conditional control, which has the part *sampling* alone.\n\n" +
             figure_7(data, names) +
             "\n## Overhead with conditional control\n\nMeans over the programs, by frequency and events of a burst "
             "(Figure 8).\n\n" + by_frequency(data, names, sampled_overhead, 3) +
             "\n## Accuracy\n\noverlap-90 of the same runs with all events ([compare.md](../compare.md)), in percent, means "
             "(Figure 10). So short runs have few bursts at low frequencies, none at a dash.\n\n" +
             by_frequency(data, names, lambda row: row and row["overlap"], 1) + "\n" + tables.note("dise.md"))
    tables.write("dise.md", text.rstrip("\n") + "\n")
    say("wrote dise.md")
