"""Exact profiles that sampled ones are compared with: made once for each program and tool, kept in
bench/work/references/.

A reference stays valid as long as the program, its input and the tool's options are the same: they are its key,
which lies beside it. What is built makes no difference, so remove the folder when a tool's meaning has changed."""
import concurrent.futures
import hashlib
import json
import os
import subprocess
import tempfile
import time

import inputs
import pairs
import profilers
import store
import suite

FOLDER = os.path.join(inputs.WORK, "references")
# What sampled runs are compared with. Bursts of `values` are compared with results too: observing every value of every
# instruction takes several hundred times as long as the program.
TOOLS = {"paths": ("--tool", "paths"), "results": ("--tool", "results")}
AT_A_TIME = 2  # of results of a program, tables take some hundred megabytes


def digest_of(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()[:16]


def relative(word):
    return word.replace(inputs.INPUTS, "@")


def input_files(program):
    """The files of bench/work/inputs that the program reads."""
    named = [w for w in (*program.argv, program.stdin) if w.startswith(inputs.INPUTS)]
    found = []
    for name in named + [inputs.path(f) for f in program.files]:
        if os.path.isdir(name):
            found += [os.path.join(d, f) for d, _, files in os.walk(name) for f in files]
        else:
            found.append(name)
    return sorted(found)


def key_of(program, tool):
    return {"program": digest_of(program.binary), "argv": [relative(w) for w in program.argv],
            "env": program.env, "inputs": {relative(f): digest_of(f) for f in input_files(program)},
            "tool": list(TOOLS[tool])}


def files_of(program, tool):
    base = os.path.join(FOLDER, f"{program.name}-{tool}")
    return base + ".pnb", base + ".json"


def find(program, tool):
    """The reference's profile, or None."""
    profile, key = files_of(program, tool)
    try:
        with open(key) as f:
            same = json.load(f)["key"] == key_of(program, tool)
    except (OSError, ValueError, KeyError):
        return None
    return profile if same and os.path.exists(profile) else None


def make(a, program, tool, timeout=None):
    os.makedirs(FOLDER, exist_ok=True)
    profile, key = files_of(program, tool)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        # Addresses are values, which must be the same in each run of the sampled side.
        command = ["setarch", "-R", a.tools.penumbra, "record", "-q", "--exact", *TOOLS[tool], "-o", f"{folder}/exact.pnb", "--",
                   *program.argv]
        os.makedirs(f"{folder}/cwd")
        for name in program.files:
            subprocess.run(["cp", "-r", inputs.path(name), f"{folder}/cwd"], check=True)
        with open(program.stdin, "rb") as stdin, open(f"{folder}/stdout", "wb") as out, \
                open(f"{folder}/stderr", "wb") as err:
            done = subprocess.run(command, stdin=stdin, stdout=out, stderr=err, cwd=f"{folder}/cwd",
                                  env={**os.environ, **program.env}, timeout=timeout)
        if done.returncode != program.exits:
            with open(f"{folder}/stderr", errors="replace") as err:
                raise pairs.RoundError(f"{program.name} under --exact {' '.join(TOOLS[tool])} ended with status "
                                       f"{done.returncode}: {err.read()[-400:]}")
        if not profilers.penumbra_totals(a.tools, f"{folder}/exact.pnb").get("processes"):
            raise pairs.RoundError(f"{program.name} under --exact {' '.join(TOOLS[tool])}: nothing was observed")
        native = store.load("programs").get(program.name, {}).get("output")
        same = native in (None, pairs.digest_of(program, folder))
        os.replace(f"{folder}/exact.pnb", profile)
    with open(key, "w") as f:
        json.dump({"key": key_of(program, tool), "seconds": round(time.monotonic() - begin, 1),
                   "same_output": same, **store.when_and_what(a)}, f, indent=1)
    return profile


def need(a, program, tool, say):
    """The reference, made now if there is none."""
    found = find(program, tool)
    if found:
        return found
    say(f"{program.name}: a whole run with --tool {tool}, once")
    return make(a, program, tool)


def made(a, program, tool, say):
    if not find(program, tool):
        make(a, program, tool)
    with open(files_of(program, tool)[1]) as f:
        about = json.load(f)
    say(f"{program.name:18}{tool:8}{about['seconds']:9.1f} s" + ("" if about["same_output"] else "  HARM: other output"))


def run(a, say):
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        jobs = [pool.submit(made, a, program, tool, say) for program in a.programs for tool in a.reference_tools]
        for job in jobs:
            job.result()
