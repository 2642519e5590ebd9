"""How near sampled values come to exact ones: overlap of executed instructions, and diff-top, in bursts at several rates,
and in shadows.

The exact side is a whole run under `--tool results`, which counts what every instruction writes to registers.
The sampled side is one recording of as many runs of the same program and input as make up a time of CPU time, or of one
process, or few, that do as much work (suite.longer).
Compared are the instructions that the exact side has. Addresses are not randomized on either side: they are values too."""
import collections
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
import suite

FOLDER = os.path.join(inputs.WORK, "sampled")  # recordings stay, to be looked at
DEFAULT_HZ = 997
SECONDS, OTHER_SECONDS = 60, 20
LOOP = 'for run in "$RUNS"/*; do cd "$run" && "$@" >/dev/null 2>&1 <"$INPUT"; done; exit 0'


class Way(collections.namedtuple("Way", "name title seconds options long", defaults=(False,))):
    """How a recording is made; `long`: of as few processes as the program can do it in."""
    def key(self, program):
        return f"{program.name}@{self.name}"


def bursts(hz):
    return Way(str(hz), f"{hz:,} Hz", SECONDS if hz == DEFAULT_HZ else OTHER_SECONDS, ["-F", str(hz), "--tool", "values"])


def shadows(tool):
    return Way(f"shadow-{tool}", f"`{tool}` in shadows", SECONDS, ["--carrier", "shadow", "--budget", "1", "--tool", tool])


BURSTS = [bursts(97), bursts(DEFAULT_HZ), bursts(10000)]
LONG = shadows("results")._replace(name="shadow-results-long", title="`results` in shadows, few processes", long=True)
WAYS = BURSTS + [shadows("values"), shadows("results"), LONG]


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
            "by_chance": found.get("by_chance")}  # observations of shadows are not independent


def metrics(a, program, way, times, profile):
    report, found = profilers.penumbra_totals(a.tools, profile), compared(a, program, profile)
    values = report["values"]
    return {"way": way.name, "times": times, "cpu_ns": report["cpu_ns"], "taken": report["taken"], **found,
            **{k: values[k] for k in ("sequences", "lost", "refused")}, "observed": values["instructions"]}


def sampled(a, program, way, times):
    """The metrics of one recording."""
    os.makedirs(FOLDER, exist_ok=True)
    profile = os.path.join(FOLDER, way.key(program) + ".pnb")
    longer, processes = suite.longer(program, times) if way.long else (program, times)
    with tempfile.TemporaryDirectory(dir=inputs.WORK) as folder:
        status, said, _ = run_all(["setarch", "-R", a.tools.penumbra, "record", "-q", *way.options, "-o", profile, "--"],
                                  longer, folders_for(folder, program, processes), folder)
        if status != 0:
            raise pairs.RoundError(f"{program.name} under {' '.join(way.options)} ended with status {status}: {said}")
    return metrics(a, program, way, times, profile) | {"processes": processes}


def measure(a, program, way, say):
    if not a.fresh and store.load("values-accuracy").get(way.key(program), {}).get("revision") == a.revision:
        return
    seconds = a.seconds or way.seconds
    times = max(1, round(seconds / native_seconds(program)))
    begin = time.monotonic()
    row = sampled(a, program, way, times)
    data = store.load("values-accuracy")
    data[way.key(program)] = {"program": program.name, "seconds": seconds, **store.when_and_what(a), **row}
    store.save("values-accuracy", data)
    chance = row["by_chance"] or {}
    said = [f"{m} {row[m]:6.2f}%" + (f" ({chance[m]:.2f}% by chance)" if chance else "") for m in ("overlap", "diff_top")]
    say(f"{program.name:12}{way.title:38}{'  '.join(said)}  {times} runs in {time.monotonic() - begin:.0f} s")


def run(a, say):
    ways = [w for w in WAYS if not a.ways or w.name in a.ways]
    for program in a.programs:
        references.need(a, program, "results", say)
    for way in ways:
        for program in a.programs:
            measure(a, program, way, say)
