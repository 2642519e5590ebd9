"""Exports to speedscope, compared with the tree: as the file says, by its published schema, and as
speedscope itself shows them in a headless Chromium.

usage: check_speedscope.py WRITE_SAMPLE PACKAGES BROWSER WORK_DIRECTORY

PACKAGES has the manifest that pins speedscope, BROWSER is the directory of browser.py. Exits with 77
(skipped) if the viewer cannot be installed or there is no Chromium; the file itself is checked in any
case."""
import base64
import collections
import json
import os
import re
import shutil
import subprocess
import sys

import truth

write_sample, packages, browser_directory, work = map(os.path.abspath, sys.argv[1:])
sys.path.insert(0, browser_directory)
import browser  # noqa: E402

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def load(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8") as f:
        return json.load(f)


def stacks_of(file, profile):
    """{frames: amount}, and that the profile is well formed."""
    frames = file["shared"]["frames"]
    assert profile["type"] == "sampled" and profile["startValue"] == 0
    assert len(profile["samples"]) == len(profile["weights"])
    assert sum(profile["weights"]) == profile["endValue"]
    got = collections.Counter()
    for sample, weight in zip(profile["samples"], profile["weights"]):
        got[tuple(frames[i]["name"] for i in sample)] += weight
    return got


def check_file(which, directory, want):
    file = load(directory, "speedscope.json")
    assert file["$schema"] == SCHEMA and len(file["profiles"]) == 1
    assert file["profiles"][0]["unit"] == ("none" if which == "events" else "nanoseconds")
    whole = collections.Counter()
    by_thread = collections.defaultdict(collections.Counter)
    for tid, _, frames, samples in want:
        frames = truth.cut(frames) if which == "deep" else frames
        by_thread[tid][frames] += samples * truth.PERIOD
        whole[(("demo",) if which in ("processes", "timeline") else ()) + frames] += samples * truth.PERIOD
    got = stacks_of(file, file["profiles"][0])
    assert got == whole, (got - whole, whole - got)
    assert len(file["profiles"][0]["samples"]) == len(got), "a stack twice"
    check_threads(load(directory, "threads.speedscope.json"), by_thread)


def check_threads(file, want):
    got = {}
    for profile in file["profiles"]:
        tid = int(re.fullmatch(r".*-\d+/(\d+)", profile["name"])[1])
        assert tid not in got
        got[tid] = stacks_of(file, profile)
    assert got == want, (got, want)


# ---- the viewer ----

def install():
    """The directory of speedscope; None: it could not be installed."""
    os.makedirs(work, exist_ok=True)
    viewer = os.path.join(work, "node_modules", "speedscope")
    with open(os.path.join(packages, "package-lock.json"), "rb") as f:
        pinned = f.read()
    stamp = os.path.join(work, "installed")
    if os.path.exists(stamp) and open(stamp, "rb").read() == pinned:
        return viewer
    if not shutil.which("npm"):
        return None
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(os.path.join(packages, name), os.path.join(work, name))
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                           "--prefer-offline"], cwd=work, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=300)
    if done.returncode != 0:
        return None
    with open(stamp, "wb") as f:
        f.write(pinned)
    return viewer


def check_schema(viewer, file):
    try:
        import jsonschema
    except ImportError:
        print("without the schema: python3-jsonschema is not installed")
        return
    with open(os.path.join(viewer, "dist", "release", "file-format-schema.json")) as f:
        jsonschema.validate(file, json.load(f))


def costs(want):
    """{function: (samples in it, and with what it calls)}, a function once a stack."""
    own, total = collections.Counter(), collections.Counter()
    for _, _, frames, samples in want:
        own[frames[-1]] += samples
        for name in set(frames):
            total[name] += samples
    return {name: (own[name], total[name]) for name in total}


def sandwich(b, viewer, directory, name):
    """{function: (own, total)}, as speedscope's table of functions shows it."""
    with open(os.path.join(directory, name), "rb") as f:
        data = base64.b64encode(f.read()).decode()
    script = os.path.join(directory, "load.js")
    with open(script, "w") as f:
        f.write(f"speedscope.loadFileFromBase64({json.dumps(name)}, {json.dumps(data)})")
    page = os.path.join(viewer, "dist", "release", "index.html")
    b.open(page, f"#view=sandwich&localProfilePath={script.lstrip('/')}")
    b.wait("document.querySelectorAll('tr td').length > 2", 100)
    rows = b.evaluate("[...document.querySelectorAll('tr')].map((r) =>"
                      " [...r.querySelectorAll('td')].map((c) => c.innerText))")
    errors = [p for p in b.problems if p and re.search("error|exception", p, re.I)]
    assert not errors, errors
    # "1,234 (56%)" twice, and the name; the other table is of the profiles.
    return {row[2].strip(): tuple(int(cell.split()[0].replace(",", "")) for cell in row[1::-1])
            for row in rows if len(row) == 3 and "%" in row[0]}


def check_viewer(b, viewer, directory, want):
    """Of events the viewer shows all digits."""
    got = sandwich(b, viewer, directory, "speedscope.json")
    wanted = {name.strip(): (own * truth.PERIOD, total * truth.PERIOD)
              for name, (own, total) in costs(want).items() if "\n" not in name}
    assert len(wanted) > 9
    for name, numbers in wanted.items():
        assert got.get(name) == numbers, (name, got.get(name), numbers, got)


def main():
    viewer = install()
    shows = viewer is not None and browser.find()

    def check(which, directory, want):
        check_file(which, directory, want)
        if viewer:
            check_schema(viewer, load(directory, "speedscope.json"))
            check_schema(viewer, load(directory, "threads.speedscope.json"))
        if which == "events" and shows:
            with browser.Browser() as b:
                check_viewer(b, viewer, directory, want)

    truth.for_each(write_sample, check)
    if not shows:
        print("skipped: the viewer's own reading: speedscope cannot be installed from npm, or "
              "Chromium is not here")
        sys.exit(77)


main()
