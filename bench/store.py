"""Where measurements are kept between commands: one JSON file an experiment in bench/work/results/."""
import json
import os
import subprocess
import time

import inputs
import machine

FOLDER = os.path.join(inputs.WORK, "results")


def load(name):
    try:
        with open(os.path.join(FOLDER, name + ".json")) as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def save(name, data):
    os.makedirs(FOLDER, exist_ok=True)
    target = os.path.join(FOLDER, name + ".json")
    with open(target + ".new", "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")
    os.replace(target + ".new", target)


def head():
    """The revision of the source tree; "" outside a repository."""
    done = subprocess.run(["git", "-C", inputs.HERE, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip()


def when_and_what(a):
    return {"date": time.strftime("%Y-%m-%d"), "revision": a.revision, "cpu": machine.cpu()}


def neighbours(loads):
    """A sentence about what ran beside the copies of rounds, by their load averages."""
    return (f"Other programs ran on the machine's {os.cpu_count()} processors meanwhile, by turns, at a lower priority "
            f"(load average {min(loads):.0f} at the least).")
