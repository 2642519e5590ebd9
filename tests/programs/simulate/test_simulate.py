"""usage: test_simulate.py TEST: programs on a modelled processor."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, expect, main, run  # noqa: E402

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
    main({"counts": counts, "machines": machines, "programs": programs, "sampled": sampled,
          "warmed": warmed, "seeds": seeds, "threads": threads, "wrong": wrong})
