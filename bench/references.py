"""Exact profiles that sampled ones are compared with: made once for each program and tool, kept in
bench/work/references/.

A reference stays valid as long as the program, its input and the tool's options are the same: they are its key,
which lies beside it. What is built makes no difference, so remove the folder when a tool's meaning has changed."""
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
# What the sampled runs of each tool are compared with. The paper's value profiles are top-N-value tables; `results` has
# concise samples of 16 values.
TOOLS = {"paths": ("--tool", "paths"), "results": ("--tool", "results"), "values": ("--tool", "values", "--summary", "tnv")}


class Missing(Exception):
    """There is no reference, and none was to be made."""


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
        if not profilers.penumbra_json(a.tools, f"{folder}/exact.pnb").get("processes"):
            raise pairs.RoundError(f"{program.name} under --exact {' '.join(TOOLS[tool])}: nothing was observed")
        native = store.load("programs").get(program.name, {}).get("output")
        same = native in (None, pairs.digest_of(program, folder))
        os.replace(f"{folder}/exact.pnb", profile)
    with open(key, "w") as f:
        json.dump({"key": key_of(program, tool), "seconds": round(time.monotonic() - begin, 1),
                   "same_output": same, **store.when_and_what(a)}, f, indent=1)
    return profile


def need(a, program, tool, say):
    """The reference, made now if there is none. Missing: it takes too long to be made unasked."""
    found = find(program, tool)
    if found:
        return found
    if tool == "values" and not a.make_references:
        what = "short" if program.name.endswith("-short") else "values"
        raise Missing(f"{program.name}: no exact values to compare with (bench/run.py references --tools {what} makes them)")
    say(f"{program.name}: a whole run with --tool {tool}, once")
    return make(a, program, tool)


def run(a, say):
    """Paths and results, and values of the short inputs; values of the whole ones only if asked for: they take days."""
    for kind in a.asked_tools or ["paths", "results", "short"]:
        tool = "values" if kind == "short" else kind
        for program in map(suite.short, a.programs) if kind == "short" else a.programs:
            if not find(program, tool):
                make(a, program, tool)
            with open(files_of(program, tool)[1]) as f:
                about = json.load(f)
            say(f"{program.name:18}{tool:8}{about['seconds']:9.1f} s"
                + ("" if about["same_output"] else "  HARM: other output"))
