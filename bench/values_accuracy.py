"""How near sampled values come to exact ones: overlap of executed instructions, and diff-top, at several rates.

The exact side is a whole run of a short input with the greatest tables there are; observing every value takes some
hundred times as long as the program, so whole inputs would take hours. The sampled side is one recording of as many runs of the same input as
make up a minute of CPU time. Addresses are not randomized on either side: they are values too."""
import concurrent.futures
import json
import os
import shlex
import subprocess
import tempfile
import time

import inputs
import pairs
import profilers
import references
import store
import suite

RATES = (97, 997, 10000)
SECONDS = 60
LOOP = 'n=$1; shift; while [ "$n" -gt 0 ]; do n=$((n - 1)); "$@" >/dev/null 2>&1 <"$INPUT"; done; exit 0'


def looped(program, times):
    """A command that runs the program so many times, one after the other."""
    return ["/bin/sh", "-c", LOOP.replace('"$INPUT"', shlex.quote(program.stdin)), "sh", str(times), *program.argv]


def prepared(folder, program):
    for name in program.files:
        subprocess.run(["cp", inputs.path(name), folder], check=True)
    return {"cwd": folder, "env": {**os.environ, **program.env}}


def native_seconds(program):
    """CPU time of one run; the third, so that files are in memory."""
    with tempfile.TemporaryDirectory(dir=inputs.WORK) as folder:
        for _ in range(3):
            begin = os.times()
            subprocess.run(looped(program, 1), **prepared(folder, program), check=True)
            end = os.times()
    return (end.children_user - begin.children_user) + (end.children_system - begin.children_system)


def sampled(a, program, hz, times):
    """The metrics of one recording."""
    with tempfile.TemporaryDirectory(dir=inputs.WORK) as folder:
        profile = os.path.join(folder, "sampled.pnb")
        command = ["setarch", "-R", a.tools.penumbra, "record", "-q", "-F", str(hz), "--tool", "values", "-o", profile, "--",
                   *looped(program, times)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              **prepared(folder, program))
        if done.returncode != 0:
            raise pairs.RoundError(f"{program.name} under --tool values ended with status {done.returncode}: {done.stdout[-400:]}")
        reference = references.find(program, "values")
        compare = subprocess.run([a.tools.penumbra, "compare", "--json", "--by", "instruction", reference, profile],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if compare.returncode != 0:
            raise pairs.RoundError(f"comparing {program.name} at {hz} Hz: {compare.stderr[-400:]}")
        report = profilers.penumbra_json(a.tools, profile)
    found = json.loads(compare.stdout)
    return {"hz": hz, "times": times, "cpu_ns": report["cpu_ns"], "taken": report["taken"], "entries": found["entries"],
            **{k: found[k] for k in ("overlap", "overlap_90", "weight_match", "diff_top")}}


def measure(a, program, hz, say):
    short = suite.short(program)
    key = f"{program.name}@{hz}"
    if not a.fresh and store.load("values-accuracy").get(key, {}).get("revision") == a.revision:
        return
    times = max(1, round(a.seconds / max(native_seconds(short), 1e-3)))
    begin = time.monotonic()
    row = sampled(a, short, hz, times)
    with a.saving:
        data = store.load("values-accuracy")
        data[key] = {"program": program.name, "seconds": a.seconds, **store.when_and_what(a), **row}
        store.save("values-accuracy", data)
    say(f"{program.name:12}{hz:6} Hz  overlap {row['overlap']:6.2f}%  diff-top {row['diff_top']:6.2f}%  {times} runs in "
        f"{time.monotonic() - begin:.0f} s")


def run(a, say):
    rates = [int(r) for r in a.rates_asked.split(",")] if a.rates_asked else RATES
    chosen = []
    for program in a.programs:
        try:
            references.need(a, suite.short(program), "values", say)
            chosen.append(program)
        except references.Missing as missing:
            say(str(missing))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(measure, a, p, hz, say) for p in chosen for hz in rates]:
            done.result()
