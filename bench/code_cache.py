"""What shadows gain from each other's translations: the same sample size with a common code cache, which all but the first
find warm, and with none, where each begins cold."""
import json
import os
import statistics
import subprocess
import tempfile

import pairs
import store
import tables

TOOLS = ["edges", "paths", "streams"]
SIZES = ["1M", "10M"]
SCRIPT = ("import json, re, time\n"
          "while time.process_time() < %d:\n"
          "    text = json.dumps([{'a': i, 'b': str(i) * 3, 'c': [i / 7, None]} for i in range(200)], indent=1)\n"
          "    re.sub(r'[0-9]+', lambda m: m[0][::-1], text)\n"
          "    sorted(json.loads(text), key=lambda row: row['b'])\n")
WAYS = {"warm": [], "off": ["--code-cache", "off"]}
SECONDS = 2


def recorded(a, tool, size, way):
    """Of one recording: its shadows, their instructions and CPU time, and the blocks made for them."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "p.pnb")
        command = [a.tools.penumbra, "record", "-q", "-o", out, "--carrier", "shadow", "--tool", tool, "--sample-size",
                   size, "--load", "1", *WAYS[way], "--", "/usr/bin/python3", "-S", "-c", SCRIPT % SECONDS]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise pairs.RoundError(f"{' '.join(command)} exited {done.returncode}: {done.stderr[-400:]}")
        report = json.loads(subprocess.run([a.tools.penumbra, "report", "--json", "--quick", out],
                                           stdout=subprocess.PIPE, check=True).stdout)
    shadows = report["shadows"]
    return {"started": shadows["started"], "completed": shadows["completed"], "instructions": shadows["instructions"],
            "run_ns": shadows["cost"]["shadow_run_ns"], "cpu_ns": shadows["cost"]["shadow_cpu_ns"],
            "translated": report["engine"]["translated"]}


def per_instruction(rounds, what):
    found = [r[what] / r["instructions"] for r in rounds if r["instructions"]]
    return statistics.median(found) if found else None


def run(a, say):
    data = store.load("code-cache")
    rows = {} if a.fresh else data.get("rows", {})
    for tool in TOOLS:
        for size in SIZES:
            ways = rows.setdefault(f"{tool}/{size}", {})
            for _ in range(a.rounds):
                for way in WAYS:
                    ways.setdefault(way, []).append(recorded(a, tool, size, way))
            data["rows"] = rows
            store.save("code-cache", {**data, "machine_load": os.getloadavg()[0], **store.when_and_what(a)})
            say(f"{tool}, {size}: " + ", ".join(f"{way} {per_instruction(ways[way], 'run_ns') or 0:.2f} ns" for way in WAYS))


def row_of(name, ways):
    tool, size = name.split("/")
    cells = [f"{tool}, {size}"]
    for way in WAYS:
        ns = per_instruction(ways[way], "run_ns")
        cells.append("" if ns is None else tables.shown(ns, 2))
    cells.append(f"{sum(r['started'] for r in ways['warm']):,}")
    cells.append(f"{max(r['translated'] for r in ways['warm']):,}")
    return cells


def tables_run(a, say):
    data = store.load("code-cache")
    if not data:
        return
    rounds = min(len(runs) for ways in data["rows"].values() for runs in ways.values())
    text = tables.head_lines("Shadows with a common code cache", ["bench/run.py code-cache"], [data])
    text += ("\nNanoseconds of a shadow's CPU time for an instruction of the program, translation included, on a program of "
             "Python that turns over JSON and regular expressions (code of many blocks). *warm*: shadows one after the "
             "other, of which each finds what those before it have made (the first begins cold); *off*: `--code-cache off`, "
             f"each begins cold and makes its own. Medians of {rounds} recordings each; the machine's "
             f"load was {data['machine_load']:.0f} on {os.cpu_count()} processors.\n\n")
    text += tables.table(["tool, sample size", "warm", "off", "warm shadows", "blocks made for them"],
                         [row_of(name, ways) for name, ways in data["rows"].items()])
    tables.write("code-cache.md", text)
    say("wrote docs/results/code-cache.md")
