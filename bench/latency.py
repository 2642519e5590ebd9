"""Where loads come from: pointer chases of 16 kB to 1 GB under `record --tool latency`."""
import os
import re
import subprocess
import tempfile

import pairs
import profilers
import store

SIZES = [16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30]
HZ = 997
SECONDS = 2.0


def symbol(path, name):
    """The link-time address of a symbol."""
    listing = subprocess.run(["nm", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(rf"^([0-9a-f]+) \w {name}$", listing, re.M)[1], 16)


def recorded(a, options, command):
    """The JSON report of a recording."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "p.pnb")
        done = subprocess.run([a.tools.penumbra, "record", "-F", str(HZ), "-o", file, *options, "--", *command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise pairs.RoundError(f"{' '.join(command)} under penumbra exited {done.returncode}: {done.stderr[-400:]}")
        return profilers.penumbra_json(a.tools, file)


def shares_at(report, address):
    """Levels of the load at a link-time address, and how often it was observed."""
    for load in report.get("loads", []):
        if int(load["offset"], 16) == address:
            return load["latency"], load["observed"]
    return {}, 0


def run(a, say):
    chase = a.tools.file("bench/bench-chase")
    address = symbol(chase, "chase_load")
    data = store.load("latency")
    calibration = subprocess.run([a.tools.penumbra, "calibrate"], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = []
    for pages in ("huge", "small"):
        for size in SIZES:
            loads = int(SECONDS * 1e9 / (4 if size < 1 << 20 else 100))
            report = recorded(a, ["--tool", "latency"], [chase, str(size), str(loads), pages])
            shares, observed = shares_at(report, address)
            rows.append({"bytes": size, "pages": pages, "observed": observed, "shares": shares})
            say(f"{size >> 10} kB, {pages} pages: {observed} observed, {shares}")
    data["chases"] = {"rows": rows, "calibration": calibration, **store.when_and_what(a)}
    store.save("latency", data)
