"""The tool waste: programs of which it is known which stores are in vain, and which loads. Counts are exact, as long as all
memory is looked at; sampled ones agree within the errors that they state."""
import json
import os
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import Recording, expect, main, run, target  # noqa: E402

KNOWN = target("waste_known")
IMAGE = os.path.basename(KNOWN)


def labels():
    names = {}
    for line in run(["nm", KNOWN]).stdout.decode().splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] in "tT":
            names.setdefault(int(parts[0], 16), []).append(parts[2])
    return names


def name_of(place, names):
    found = names.get(int(place["offset"], 16), []) if place["image"] == IMAGE else []
    return next((n for n in found if "_" in n), None)


class Waste:
    def __init__(self, mode, n, options=("--exact",), recording=None):
        self.recording = recording or Recording([KNOWN, mode, str(n)], [*options, "--tool", "waste"])
        self.table = self.recording.report["waste"]
        names = labels()
        self.sites, self.pairs = {}, {}
        for site in self.table["accesses"]:
            name = name_of(site, names)
            if name:
                self.sites.setdefault(name, []).append(site)
        for pair in self.table["pairs"]:
            key = (pair["kind"], name_of(pair["access"], names), name_of(pair["with"], names))
            self.pairs[key] = self.pairs.get(key, 0) + pair["count"]

    def sum(self, name, figure):
        return sum(site[figure] for site in self.sites[name])

    def has(self, name, **figures):
        found = {figure: self.sum(name, figure) for figure in figures}
        expect(found == figures, f"{name}: {found}, not {figures}")


def stores():
    n = 1000
    w = Waste("dead", n)
    w.has("dead_store", stores=n, store_bytes=8 * n, dead=n, dead_bytes=8 * n, silent=0, frame=0, loads=0)
    w.has("dead_killer", stores=n, dead=0, silent=0)
    expect(w.pairs[("dead", "dead_store", "dead_killer")] == n, w.pairs)
    w = Waste("silent", n)
    w.has("silent_store", stores=n, store_bytes=4 * n, dead=0, silent=n - 1, silent_bytes=4 * (n - 1))
    expect(w.pairs[("silent", "silent_store", "silent_store")] == n - 1, w.pairs)


def loads():
    n = 1000
    w = Waste("reader", n)
    w.has("reader_load", loads=n, load_bytes=8 * n, redundant=n - 1, redundant_bytes=8 * (n - 1), stores=0)
    expect(w.pairs[("redundant", "reader_load", "reader_load")] == n - 1, w.pairs)
    # What is stored changes nothing but the first time; then the load sees the same.
    Waste("silent", n).has("silent_read", loads=n, redundant=n - 1)
    # It changes each time, if only for a moment.
    Waste("dead", n).has("dead_read", loads=n, redundant=0)


def pieces():
    """A part of a store is dead: its bytes count, and the store itself if its first byte is among them."""
    n = 1000
    w = Waste("half", n)
    w.has("half_store", stores=n, dead=n, dead_bytes=4 * n)
    w.has("half_other", stores=n, dead=0, dead_bytes=4 * n)
    w.has("half_low", dead=0, dead_bytes=0)
    expect(w.pairs[("dead", "half_store", "half_low")] == n, w.pairs)


def wide():
    n = 1000
    w = Waste("vector", n)
    w.has("vector_store", stores=n, store_bytes=16 * n, dead=n, dead_bytes=16 * n)
    w.has("vector_killer", stores=n, dead=0)
    w.has("vector_read", loads=n, load_bytes=16 * n)
    w = Waste("string", n)
    w.has("string_store", stores=n, store_bytes=200 * n, dead=n, dead_bytes=200 * n)
    w.has("string_killer", stores=n, store_bytes=200 * n, dead=0, dead_bytes=0)
    w.has("string_copy", loads=n, load_bytes=200 * n, stores=n, store_bytes=200 * n, dead=n - 1)
    Waste("search", n).has("search_store", stores=n, dead=0, dead_bytes=0)
    w = Waste("atomic", n)
    w.has("atomic_store", stores=n, dead=0)
    w.has("atomic_add", loads=n, stores=n, dead=0, silent=0)
    w.has("atomic_swap", loads=n, stores=n, dead=0)


def frames():
    n = 1000
    w = Waste("frame", n)
    w.has("frame_store", stores=n, dead=0, frame=n, frame_bytes=8 * n)


def kernel():
    n = 1000
    Waste("written", n).has("written_store", stores=n, dead=0, dead_bytes=0)
    w = Waste("unknown", n)
    w.has("unknown_store", stores=n, dead=0, dead_bytes=0)
    expect(w.table["voids"] >= n and w.table["undecided_bytes"] >= 8 * n, w.table["voids"])
    # Without anybody in between it is dead, all but the last time.
    Waste("shared", n).has("shared_store", stores=n, dead=n - 1)


def others():
    """Threads, handlers of signals and children read what is stored."""
    n = 20
    for mode in ("threads", "signals", "forks"):
        w = Waste(mode, n)
        w.has("shared_store", stores=2 * n, dead=0)
        expect(w.sum("reader_load", "loads") == n, w.sites["reader_load"])


def views():
    w = Waste("dead", 5000)
    text = run([os.environ["PENUMBRA"], "report", "--waste", w.recording.file]).stdout.decode()
    for words in ("dead", "silent", "redundant", "overwritten by", "mov [rsi], rdi", "dead", "not known"):
        expect(words in text, f"{words} is not in {text:.3000}")
    text = run([os.environ["PENUMBRA"], "annotate", w.recording.file, "dead"]).stdout.decode()
    for words in ("stores of 40,000 bytes: 100.0% dead", "dead, 40,000 bytes: overwritten by dead"):
        expect(words in text, f"{words} is not in {text:.3000}")
    found = json.loads(run([os.environ["PENUMBRA"], "annotate", "--json", w.recording.file, "dead"]).stdout)
    wasted = [i["waste"] for i in found["instructions"] if i.get("waste", {}).get("pairs")]
    expect(wasted and wasted[0]["pairs"][0]["count"] == 5000, found)
    nothing = Recording(["true"], ["--carrier", "shadow", "--tool", "waste", "-F", "1"])
    expect(nothing.report["waste"]["pairs"] == [], nothing.report.keys())
    expect(nothing.report["waste"]["dead"]["error"] is None and w.table["dead"]["error"] == 0, nothing.report["waste"])


def merged():
    one, two = Waste("dead", 1000), Waste("dead", 300)
    file = os.path.join(one.recording.folder.name, "both.pnb")
    result = run([os.environ["PENUMBRA"], "merge", "-o", file, one.recording.file, two.recording.file])
    expect(result.returncode == 0, result)
    one.recording.file = file
    one.recording.report = one.recording.json(())
    both = Waste("", 0, recording=one.recording)
    both.has("dead_store", stores=1300, dead=1300)
    expect(both.pairs[("dead", "dead_store", "dead_killer")] == 1300, both.pairs)
    for part in ("accesses", "of_accesses", "bytes", "of_bytes"):
        expect(both.table["silent"][part] == one.table["silent"][part] + two.table["silent"][part], part)


def near(w, kind, truth):
    """The stated error holds 95 of 100 times: twice as much is allowed, and what is not known, which is little."""
    share = w.table[kind]
    unknown = 100 * w.table["undecided_bytes" if kind == "dead" else "unjudged_bytes"] / share["of_bytes"]
    print(kind, share, unknown)
    expect(unknown < 5 and share["error"] is not None and share["error"] < 2, f"{kind}: {share}; unknown {unknown}")
    expect(abs(share["percent"] - truth) <= 2 * share["error"] + unknown + 0.1,
           f"{kind}: {share}, not {truth}; unknown {unknown}")


def windows():
    """Longer than all memory is looked at: the shares stay, with an error, and totals are estimates."""
    n = 40000000
    w = Waste("walk", n)
    expect(w.table["windows"] > 10, w.table["windows"])
    near(w, "dead", 100 * 4 / 12)
    expect(0.9 * 12 * n < w.table["dead"]["of_bytes"] < 1.1 * 12 * n, w.table["dead"])
    expect(8 * n < w.recording.report["instructions"] < 8 * n + 1000000, w.recording.report["instructions"])


def sampled():
    """Bursts see pairs within themselves."""
    w = Waste("walk", 400000000, ("--carrier", "burst", "--length", "20000", "-F", "500"))
    expect(w.table["windows"] > 10, json.dumps(w.recording.report["engine"]))
    near(w, "dead", 100 * 4 / 12)


main({f.__name__: f for f in (stores, loads, pieces, wide, frames, kernel, others, views, merged, windows, sampled)})
