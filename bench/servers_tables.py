"""docs/results/servers.md: servers under load, and the ping-pong."""
import math
import statistics

import servers
import store
import switching
import tables

TITLES = {"null": "null check", "penumbra": "**penumbra**", "perf": "perf -g"}
RATE_LOST, P99_MORE = 2, 5  # what recording may cost, in percent


def with_range(values, digits=1):
    values = [v for v in values if v is not None]
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:+.{digits}f}"
    return f"{statistics.median(values):+.{digits}f} ({min(values):+.{digits}f} to {max(values):+.{digits}f})"


def together_rows(data):
    rows = []
    for e in data:
        rounds = e["rounds"]
        native = statistics.median(r["together"]["native"]["requests"] * 1e9 / r["together"]["native"]["cpu_ns"] for r in rounds)
        rows.append([f"{e['server']} ({e['load']})", str(len(rounds)), f"{native:,.0f}",
                     *(with_range([servers.throughput_percent(r, "together", way) for r in rounds]) for way in TITLES)])
    return rows


def cost_rows(data):
    rows = []
    for e in data:
        rounds = e["rounds"]
        stated = statistics.median(r["profile"]["stated"] for r in rounds)
        costs = [with_range([servers.cost_percent(r, part, "penumbra") for r in rounds]) for part in ("together", "turns")]
        null = statistics.mean(abs(servers.cost_percent(r, "together", "null")) for r in rounds)
        covered = statistics.median(r["profile"]["coverage"] for r in rounds)
        rows.append([e["server"], f"{stated:.2f}", *costs, f"{null:.1f}", f"{covered:.0f}"])
    return rows


def with_interval(values):
    if not values:
        return ""
    least, most = servers.between(values)
    return f"{statistics.median(values):+.1f} ({least:+.1f} to {most:+.1f})"


def kept(data, value, least=-math.inf, most=math.inf):
    """A sentence: of which servers penumbra keeps the bound, with the probability of the intervals."""
    words = {"held": [], "missed": [], "uncertain": []}
    for e in data:
        found = servers.above_native(e["rounds"], "penumbra", value)
        low, high = servers.between(found) if found else (-math.inf, math.inf)
        word = "held" if low >= least and high <= most else "missed" if high < least or low > most else "uncertain"
        words[word].append(e["server"])
    return "; ".join(f"{word}: {', '.join(found) or 'none'}" for word, found in words.items())


def left_out(data):
    turns = sum(len(r["turns"]["native"]) for e in data for r in e["rounds"])
    quiet = sum(len(servers.quiet_turns(e["rounds"])) for e in data)
    return f"{turns - quiet} of {turns} were left out"


def turn_rows(data, value, shown):
    rows = []
    for e in data:
        native = [value(row["native"]) for row in servers.quiet_turns(e["rounds"])]
        rows.append([e["server"], str(len(native)), shown(statistics.median(native)) if native else "",
                     *(with_interval(servers.above_native(e["rounds"], way, value)) for way in TITLES)])
    return rows


def servers_text(data):
    text = (f"\npenumbra at its default rate, perf at {servers.HZ} Hz. "
            "A difference that is no larger than the null check of its row says nothing. In each cell: the "
            "median of rounds, the smallest and the largest, in percent of the native copy of the round.\n\n"
            f"## Loaded at the same time\n\nFour copies share a core for {servers.SECONDS} s, at the most. Requests a second of "
            "CPU time of the server's own processes.\n\n")
    text += tables.table(["server", "rounds", "native, requests a CPU second", *TITLES.values()], together_rows(data))
    text += (f"\n## Loaded in turns\n\nTurns of {servers.TURN_SECONDS} s, in which the other copies are idle. Each is compared with "
             f"the native copy's turn that is next to it, if niced processes and the host's other guests had no more than "
             f"{100 * servers.DISTURBED:.0f}% of the processors meanwhile ({left_out(data)}). In each cell: the median of these "
             "differences, and between what it lies with a probability of 95%. Requests a second:\n\n")
    head = ["server", "turns"]
    text += tables.table([*head, "native", *TITLES.values()], turn_rows(data, servers.rate, lambda v: f"{v:,.0f}"))
    text += f"\nAt most {RATE_LOST}% fewer under penumbra: {kept(data, servers.rate, least=-RATE_LOST)}.\n"
    text += "\nThe 99th percentile of the latency, by what loads it:\n\n"
    text += tables.table([*head, "native, ms", *TITLES.values()], turn_rows(data, servers.p99, lambda v: tables.shown(v / 1000, 2)))
    text += f"\nAt most {P99_MORE}% more under penumbra: {kept(data, servers.p99, most=P99_MORE)}.\n"
    text += ("\n## Stated and measured\n\nWhat the profile says that it cost, and the CPU time for a request above the native copy's, both "
             "in percent of the latter; how far two native copies were apart at the same time, on the mean; and the share of the "
             "CPU time that samples stand for. The profile's account is of the whole run, with the server's start.\n\n")
    return text + tables.table(["server", "stated, %", "measured, at the same time", "measured, in turns", "null", "covered, %"],
                               cost_rows(data))


def switching_text(data):
    ways = [w for w in switching.WAYS if w != "native" and all(w in r for e in data for r in e["rounds"])]
    text = ("\n## Ping-pong\n\nTwo threads that hand over to each other on one core, each copy alone, in turns. CPU time of a round "
            "trip: native in microseconds, then as multiples of the native turn of the same round (medians; in brackets what the profile "
            "says). *timer a thread*: a timer on each thread's CPU clock with an empty handler, the idea of async-profiler's "
            "`ctimer`. *event a thread*: a perf event for each thread with an empty handler. gperftools asks for 997 Hz and gets "
            "the kernel's tick.\n\n")
    rows = {way: [switching.TITLES[way]] for way in ["native", *ways]}
    for e in data:
        rounds = e["rounds"]
        rows["native"].append(f"{statistics.median(r['native']['own_us'] for r in rounds) / e['count']:.2f}")
        for way in ways:
            cell = f"{1 + statistics.median(switching.percent(rounds, way)) / 100:.2f}"
            if "stated" in rounds[0][way]:
                cell += f" ({1 + statistics.median(r[way]['stated'] for r in rounds) / 100:.2f})"
            rows[way].append(cell)
    text += tables.table(["", *(f"{e['kind']} ({len(e['rounds'])} rounds)" for e in data)], list(rows.values()))
    harmed = sorted({f"{e['kind']} under {switching.TITLES[w]}: {r[w]['harm']}" for e in data for r in e["rounds"] for w in r
                     if "harm" in r[w]})
    return text + f"\nHarm: {', '.join(harmed) or 'none'}. (gperftools writes a line to standard error at the end.)\n"


def run(a, say):
    loaded = [e for _, e in sorted(store.load("servers").items(), key=lambda item: servers.NAMES.index(item[0]))]
    switched = list(store.load("switching").values())
    if not loaded and not switched:
        return
    text = tables.head_lines("Servers, and threads that hand over", ["bench/run.py servers"], loaded + switched)
    text += servers_text(loaded) if loaded else ""
    text += switching_text(switched) if switched else ""
    note = tables.note("servers.md")
    tables.write("servers.md", text + ("\n" + note.rstrip("\n") + "\n" if note else ""))
    say("wrote docs/results/servers.md")
