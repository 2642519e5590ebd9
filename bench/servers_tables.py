"""docs/results/servers.md: servers under load, and the ping-pong."""
import statistics

import servers
import store
import switching
import tables

TITLES = {"null": "null check", "penumbra": "**penumbra**", "perf": "perf -g"}


def with_range(values, digits=1):
    values = [v for v in values if v is not None]
    if not values:
        return ""
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


def turn_rows(data, value, native):
    return [[e["server"], native(e["rounds"]), *(with_range([value(r, way) for r in e["rounds"]]) for way in TITLES)] for e in data]


def native_rate(rounds):
    return f"{statistics.median(r['turns']['native']['requests'] / r['turns']['native']['seconds'] for r in rounds):,.0f}"


def native_p99(rounds):
    return tables.shown(statistics.median(r["turns"]["native"]["p99_us"] / 1000 for r in rounds), 2)


def servers_text(data):
    loads = [r["load_average"] for e in data for r in e["rounds"]]
    text = (f"\npenumbra at its default rate, perf at {servers.HZ} Hz. {store.neighbours(loads)} "
            "A difference that is no larger than the null check of its row says nothing. In each cell: the "
            "median of rounds, the smallest and the largest, in percent of the native copy of the round.\n\n"
            f"## Loaded at the same time\n\nFour copies share a core for {servers.SECONDS} s, at the most. Requests a second of "
            "CPU time of the server's own processes.\n\n")
    text += tables.table(["server", "rounds", "native, requests a CPU second", *TITLES.values()], together_rows(data))
    text += (f"\n## Loaded in turns\n\n{servers.TURNS} turns of {servers.TURN_SECONDS} s for each copy and round, the others idle. "
             "Requests a second:\n\n")
    text += tables.table(["server", "native", *TITLES.values()], turn_rows(data, servers.rate_percent, native_rate))
    text += "\nThe 99th percentile of the latency, by what loads it:\n\n"
    text += tables.table(["server", "native, ms", *TITLES.values()], turn_rows(data, servers.p99_percent, native_p99))
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
    tables.write("servers.md", text)
    say("wrote docs/results/servers.md")
