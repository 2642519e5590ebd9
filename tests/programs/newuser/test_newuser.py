"""What somebody meets who tries Penumbra on what is installed: tests/programs/runtime has the harness."""
import math
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime"))
from harness import PENUMBRA, Recording, expect, main, run, target


def brief():
    """Processes too short for their random periods to average out get the samples of their time."""
    r = Recording([target("brief")])
    period = r.report["period"]
    off = [t["samples"] - t["cpu_ns"] / period for t in r.report["threads"] if t["cpu_ns"] > 5e6]
    expect(len(off) >= 40, f"{len(off)} processes")
    error = math.sqrt(sum(x * x for x in off) / len(off))
    expect(error < 4, f"counts are off by {error:.1f} samples of 20")


def valgrind():
    """valgrind dies of a SIGTRAP that its program did not cause: what it runs is left alone."""
    if not shutil.which("valgrind"):
        sys.exit(77)
    r = Recording(["valgrind", "-q", "sh", "-c", "echo out; exit 3"])
    expect(any("translator" in note for note in r.report["notes"]), f"{r.report['notes']}")


def warnings():
    """Many programs without symbols are said in one line."""
    r = Recording(["sh", "-c", "for i in 1 2 3; do seq 60000 | sort -n | tac | md5sum; done"],
                  ("-F", "4999"))
    text = run([PENUMBRA, "report", "--quick", "--limit", "1", r.file]).stdout.decode()
    lines = [line for line in text.splitlines() if line.startswith("warning")]
    expect(len(lines) <= 1, text)


def shares():
    """Shares are of what they are shares of: weights of weights."""
    r = Recording(["sh", "-c", "while :; do seq 2000 | cat >/dev/null; i=x$i; "
                   "[ ${#i} = 60 ] && exit; done"], ("-F", "9973"))
    text = run([PENUMBRA, "report", "--quick", "--limit", "1", r.file]).stdout.decode()
    lost = sum(r.report["dropped"].values())
    share = 100 * lost / (lost + r.samples())
    line = next(line for line in text.splitlines() if line.startswith("dropped"))
    expect(not lost or f"({share:.2f}%" in line, f"{line}: not {share:.2f}%")


if __name__ == "__main__":
    main({f.__name__: f for f in (brief, valgrind, warnings, shares)})
