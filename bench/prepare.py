"""Installs what the suite needs, makes its inputs, and checks that every program runs 4 to 7 s alone."""
import os
import subprocess

import inputs
import pairs
import profilers
import store

SHORTEST, LONGEST = 4.0, 7.0


class PrepareError(Exception):
    """The suite cannot be prepared: says what is missing and what to try."""


def wanted_packages():
    with open(os.path.join(inputs.HERE, "packages")) as f:
        return [line.strip() for line in f if line.strip() and not line.startswith("#")]


def installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return done.stdout == "installed"


def install(say):
    missing = [p for p in wanted_packages() if not installed(p)]
    if not missing:
        return
    say("installing " + " ".join(missing))
    command = ([] if os.geteuid() == 0 else ["sudo"]) + ["apt-get", "install", "-y", "--no-install-recommends"]
    if subprocess.run(command + missing, stdout=subprocess.DEVNULL).returncode != 0:
        raise PrepareError("apt-get could not install " + " ".join(missing) + "; run apt-get update and try again")


def time_alone(a, program):
    copies = [profilers.BY_NAME["native"].copy(a.tools, 0)]
    with pairs.Round(a.tools.hold, program, copies, a.core) as one:
        return one.run()["native"]


def run(a, say):
    install(say)
    inputs.make_all(say, a.again)
    if not os.path.exists(a.tools.hold):
        raise PrepareError(f"{a.tools.hold} is missing; build first (make), or name a build with --build")
    data = store.load("programs")
    say(f"{'program':12}{'CPU s':>8}{'exit':>6}")
    for program in a.programs:
        outcome = time_alone(a, program)
        seconds = outcome.own_us / 1e6
        note = "" if SHORTEST <= seconds <= LONGEST else "  outside 4..7 s on this machine, now"
        if outcome.status != program.exits << 8:
            raise PrepareError(f"{program.name} ended with wait status {outcome.status}; expected exit {program.exits}")
        say(f"{program.name:12}{seconds:8.2f}{outcome.status >> 8:6}{note}")
        data[program.name] = {"seconds": round(seconds, 2), "output": outcome.output}
        store.save("programs", data)
