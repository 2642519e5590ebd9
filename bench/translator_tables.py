"""docs/results/translators.md: whole runs under translation."""
import statistics

import machine
import store
import suite
import tables
import translators

TITLES = {"null": "null check", "exact-null": "**exact, null**", "exact-blocks": "**exact, blocks**",
          "exact-path": "**block path, ring**", "exact-written": "**all results, ring**",
          "valgrind": "valgrind none", "qemu": "qemu-x86_64"}

# Measured apart, on the same kind of machine with shorter inputs (start-up included), with DynamoRIO's
# release build of August 2026: no client, one counter a block.
DYNAMORIO = {"gzip": (1.18, 1.70), "bzip2": (1.31, 2.02), "xz": (1.61, 2.12), "lua": (1.72, 3.15),
             "sqlite3": (2.25, 3.31), "perl": (2.04, 3.94), "python3": (3.10, 6.98), "cc1": (7.8, 13.1)}
BOUNDS = {"exact-null": (1.5, 2.2), "exact-blocks": (1.8, 2.8), "exact-path": (2.0, None), "exact-written": (6.0, None)}


def cell(values):
    if not values:
        return ""
    spread = f" ({min(values):.2f}..{max(values):.2f})" if len(values) > 1 else ""
    return f"{statistics.median(values):.2f}{spread}"


def dynamorio(name):
    return [f"{v:.2f}" for v in DYNAMORIO[name]] if name in DYNAMORIO else ["", ""]


def sentence(name, medians):
    mean, worst = statistics.geometric_mean(medians.values()), max(medians, key=medians.get)
    most, single = BOUNDS[name]
    bound = f"the bound is {most}" + (f", {single} for one program" if single else "")
    return f"- {TITLES[name]}: geometric mean {mean:.2f}, largest {medians[worst]:.2f} ({worst}); {bound}."


def run(a, say):
    data = store.load("translators")
    if not data:
        return
    programs = [p for p in suite.SUITE if p.name in data]
    names = [n for n in TITLES if any(n in r for e in data.values() for r in e["rounds"])]
    medians = {n: {} for n in names}
    rows = []
    for p in programs:
        rounds = data[p.name]["rounds"]
        native = statistics.median(r["native"]["own_us"] for r in rounds) / 1e6
        values = {n: translators.ratios(rounds, n) for n in names}
        medians_of = {n: statistics.median(v) for n, v in values.items() if v}
        for n, m in medians_of.items():
            medians[n][p.name] = m
        rows.append([p.name, f"{native:.2f}"] + [cell(values[n]) for n in names] + dynamorio(p.name))
    rows.append(["**geometric mean**", ""]
                + [f"**{statistics.geometric_mean(medians[n].values()):.2f}**" for n in names] + ["2.2", "3.6"])
    text = tables.head_lines("What running under translation costs", ["bench/run.py prepare", "bench/run.py translators"],
                             data.values())
    text += ("\nCPU time (user + system, children included) divided by the native copy's of the same round: median "
             "(smallest..largest). The null check is a second native copy. DynamoRIO's figures are of an earlier "
             "measurement, with shorter inputs. graywolf works in child processes, which valgrind (as called here) and "
             "qemu run natively.\n\n")
    text += tables.table(["program", "native, CPU s"] + [TITLES[n] for n in names]
                         + ["DynamoRIO, no client", "DynamoRIO, counter a block"], rows)
    text += "\n" + "\n".join(sentence(n, medians[n]) for n in names if n in BOUNDS) + "\n\n"
    text += harm(programs, data, names)
    tables.write("translators.md", text)
    tables.write_json("translators.json", data | {"machine": machine.describe()})
    say("wrote docs/results/translators.md and .json")


def harm(programs, data, names):
    lines = [f"- {TITLES[n]}, {p.name}: {what}" for n in names for p in programs
             for what in sorted({r[n]["harm"] for r in data[p.name]["rounds"] if "harm" in r.get(n, {})})]
    return ("Exit status, standard output, standard error and output files were compared with the native copy's. "
            + ("They were the same but for:\n\n" + "\n".join(lines) if lines else "All were the same.") + "\n")
