"""How near sampled values come to exact ones: overlap of executed instructions, and diff-top, at several rates.

The exact side is a whole run under `--tool results`, which counts what every instruction writes to a general register.
The sampled side is one recording of as many runs of the same program and input as make up a minute of CPU time.
Compared are the instructions that the exact side has. Addresses are not randomized on either side: they are values too."""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time

import inputs
import pairs
import profilers
import references
import store

FOLDER = os.path.join(inputs.WORK, "sampled")  # recordings stay, to be looked at
RATES = (97, 997, 10000)
SECONDS = 60
AT_A_TIME = 2
LOOP = 'for run in "$RUNS"/*; do cd "$run" && "$@" >/dev/null 2>&1 <"$INPUT"; done; exit 0'


def folders_for(folder, program, times):
    """A working folder for each run: programs may leave files there."""
    for i in range(times):
        os.makedirs(os.path.join(folder, "runs", str(i)))
        for name in program.files:
            shutil.copy(inputs.path(name), os.path.join(folder, "runs", str(i)))
    return os.path.join(folder, "runs")


def run_all(command, program, runs, folder):
    """Runs the program in each of the folders, behind `command`. (status, what it said, CPU seconds)"""
    loop = LOOP.replace('"$RUNS"', shlex.quote(runs)).replace('"$INPUT"', shlex.quote(program.stdin))
    with open(os.path.join(folder, "log"), "w+") as log:
        process = subprocess.Popen([*command, "/bin/sh", "-c", loop, "sh", *program.argv], stdout=log, stderr=log,
                                   env={**os.environ, **program.env})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        return process.returncode, log.read()[-400:], usage.ru_utime + usage.ru_stime


def native_seconds(program):
    """CPU time of one run."""
    with tempfile.TemporaryDirectory(dir=inputs.WORK) as folder:
        return run_all([], program, folders_for(folder, program, 1), folder)[2]


def compared(a, program, profile):
    done = subprocess.run([a.tools.penumbra, "compare", "--json", "--by", "result", references.find(program, "results"),
                           profile], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise pairs.RoundError(f"comparing values of {program.name}: {done.stderr[-400:]}")
    found = json.loads(done.stdout)
    return {**{k: found[k] for k in ("overlap", "overlap_90", "weight_match", "diff_top", "left_out", "entries")},
            "by_chance": found["by_chance"]}


def metrics(a, program, hz, times, profile):
    report, found = profilers.penumbra_totals(a.tools, profile), compared(a, program, profile)
    values = report["values"]
    return {"hz": hz, "times": times, "cpu_ns": report["cpu_ns"], "taken": report["taken"], **found,
            **{k: values[k] for k in ("sequences", "lost", "refused")}, "observed": values["instructions"]}


def sampled(a, program, hz, times):
    """The metrics of one recording."""
    os.makedirs(FOLDER, exist_ok=True)
    profile = os.path.join(FOLDER, f"{program.name}@{hz}.pnb")
    with tempfile.TemporaryDirectory(dir=inputs.WORK) as folder:
        status, said, _ = run_all(["setarch", "-R", a.tools.penumbra, "record", "-q", "-F", str(hz), "--tool", "values",
                                   "-o", profile, "--"], program, folders_for(folder, program, times), folder)
        if status != 0:
            raise pairs.RoundError(f"{program.name} under --tool values ended with status {status}: {said}")
    return metrics(a, program, hz, times, profile)


def measure(a, program, hz, say):
    key = f"{program.name}@{hz}"
    if not a.fresh and store.load("values-accuracy").get(key, {}).get("revision") == a.revision:
        return
    times = max(1, round(a.seconds / native_seconds(program)))
    begin = time.monotonic()
    row = sampled(a, program, hz, times)
    with a.saving:
        data = store.load("values-accuracy")
        data[key] = {"program": program.name, "seconds": a.seconds, **store.when_and_what(a), **row}
        store.save("values-accuracy", data)
    chance = row["by_chance"]
    say(f"{program.name:12}{hz:6} Hz  overlap {row['overlap']:6.2f}% ({chance['overlap']:.2f}% by chance)  diff-top "
        f"{row['diff_top']:6.2f}% ({chance['diff_top']:.2f}%)  {times} runs in {time.monotonic() - begin:.0f} s")


def run(a, say):
    rates = [int(r) for r in a.rates_asked.split(",")] if a.rates_asked else RATES
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for done in [pool.submit(references.need, a, p, "results", say) for p in a.programs]:
            done.result()
        for done in [pool.submit(measure, a, p, hz, say) for hz in rates for p in a.programs]:
            done.result()
