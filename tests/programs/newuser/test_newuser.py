"""What somebody meets who tries Penumbra on what is installed: tests/programs/runtime has the
harness."""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime"))
from harness import PATIENCE, PENUMBRA, Recording, expect, main, run, target


def brief():
    """Processes too short for their random periods to average out get the samples of their time."""
    r = Recording([target("brief")])
    period = r.report["period"]
    off = [t["samples"] - t["cpu_ns"] / period for t in r.report["threads"] if t["cpu_ns"] > 5e6]
    expect(len(off) >= 40, f"{len(off)} processes")
    error = math.sqrt(sum(x * x for x in off) / len(off))
    expect(error < 4, f"counts are off by {error:.1f} samples of 20")


def brief_timer():
    """The same where a timer stands in for perf events: what its first expiration stands for is what it was set to, and what
    later ones stand for is a period each."""
    r = Recording([target("brief")], around=[target("noperf")])
    due = sum(t["cpu_ns"] for t in r.report["threads"] if t["cpu_ns"] > 5e6) / r.report["period"]
    got = sum(t["samples"] for t in r.report["threads"] if t["cpu_ns"] > 5e6)
    most = max(t["samples"] - t["cpu_ns"] / r.report["period"] for t in r.report["threads"])
    expect(0.75 * due < got < 1.15 * due and most < 10,
           f"{got} samples of {due:.0f}, up to {most:.1f} too many in a process")


def shortly():
    """Processes that end within their first period get the samples of their time: on average, 0.2
    of one each."""
    r = Recording([target("shortly")], ("-F", "997"))
    due = 1000 * 0.2e6 / r.report["period"]
    got = total(r.report["tree"], "work")
    # On a slow machine what the kernel does meanwhile is theirs, too.
    expect(due - 5 * math.sqrt(due) < got < 1.5 * due + 5 * math.sqrt(due),
           f"{got} samples of {due:.0f}")
    lost = sum(r.report["dropped"].values())
    expect(lost <= 20, f"{lost} expirations that a very short first period had besides are taken for samples")


def covered():
    """What samples stand for is said with the CPU time that the kernel accounts, and why much of it
    is missing."""
    r = Recording([target("brief")])
    coverage = r.report["coverage"]
    expect(0.8e9 < coverage["cpu_ns"] < 1.2e9 and 85 < coverage["percent"] < 105, f"{coverage}")
    loop = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"
    r = Recording(["sh", "-c", loop])
    coverage = r.report["coverage"]
    expect(r.report["truncated"] == 0,
           f"{r.report['truncated_by_reason']}, though the loader's stack begins at its entry")
    expect(coverage["lacking"] and coverage["percent"] < 50
           and coverage["early_ns"] > coverage["cpu_ns"] / 3, f"{coverage}")
    text = run([PENUMBRA, "report", "--quick", "--limit", "1", r.file]).stdout.decode()
    line = next((line for line in text.splitlines() if line.startswith("covered")), "")
    expect(f"{coverage['percent']:.1f}% of" in line
           and "before sampling could begin in 301 processes" in text, text)
    said = run([PENUMBRA, "record", "-o", r.file, "sh", "-c", loop]).stderr.decode()
    expect("of the CPU time only" in said, said)


def executed():
    """A thread's clock goes on when it executes another program: its time is counted once."""
    work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; "
    r = Recording(["sh", "-c", work + "exec sh -c 'exec sh -c true'"])
    times = [t["cpu_ns"] for t in r.report["threads"]]
    expect(len(times) == 3 and sum(times) < 1.2 * max(times), f"{times}")
    coverage = r.report["coverage"]
    expect(coverage["cpu_ns"] < 1.2 * max(times) and coverage["early_ns"] < 0.2 * max(times),
           f"{coverage}, {times}")


def annotated():
    """The function that the report names is annotated under that name, by default of the profile that record wrote by
    default; and time in the kernel is not taken for that of the instruction behind the system call."""
    with tempfile.TemporaryDirectory() as folder:
        def penumbra(*command):
            return subprocess.run([PENUMBRA, *command], cwd=folder, capture_output=True,
                                  timeout=PATIENCE)
        penumbra("record", "-q", "dd", "if=/dev/zero", "of=/dev/null", "bs=16M", "count=300")
        functions = json.loads(penumbra("report", "--json", "--quick").stdout)["functions"]
        # In which of libc's functions the system call is depends on libc: read, or from 2.41 on one
        # of cancellation's.
        busiest = max(functions, key=lambda f: f["self"])["name"]
        text = penumbra("annotate", busiest).stdout.decode()
        behind = [line for line in text.splitlines() if line.rstrip().endswith("  [kernel]")
                  or "  [kernel]  " in line]
        expect(len(behind) == 1 and "behind a system call" in text, text)
        lines = json.loads(penumbra("annotate", "--json", busiest).stdout)["instructions"]
        most = max(lines, key=lambda line: line["count"])
        expect(most.get("kernel")
               and not any(line.get("kernel") for line in lines if line["count"] == 0), f"{most}")
        nameless = next((f["name"] for f in functions if f["name"].startswith("[dd+")), None)
        if nameless:
            head = penumbra("annotate", nameless).stdout.decode().split(",")[0]
            expect(head == nameless, f"{nameless} is {head}")


def valgrind():
    """valgrind dies of a SIGTRAP that its program did not cause: what it runs is left alone."""
    if not shutil.which("valgrind"):
        sys.exit(77)
    r = Recording(["valgrind", "-q", "sh", "-c", "echo out; exit 3"])
    expect(any("translator" in note for note in r.report["notes"]), f"{r.report['notes']}")


def core():
    """The memory that shadows share is no part of the program's core file, which has even what was
    never touched of it: 2 GB."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "smaps")
        command = ["sh", "-c", f"i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; cat /proc/$$/smaps >{out}"]
        Recording(command, ("--carrier", "shadow", "--tool", "results", "--load", "1"))
        with open(out, encoding="utf-8") as f:
            size, of = dumped(f)
        expect(of > 16 << 10, f"there are {of} kB only: no shadow was made")
        expect(size < 16 << 10, f"{size} of {of} kB would be dumped")


def dumped(smaps):
    """Kilobytes of shared anonymous memory that a core file has, and of all that there is."""
    size = has = of = 0
    shared = False
    for line in smaps:
        words = line.split()
        if not words[0].endswith(":"):
            shared = words[1].endswith("s") and words[5] == "/dev/zero"
        elif words[0] == "Size:":
            size = int(words[1])
        elif words[0] == "VmFlags:" and shared:
            of += size
            has += size if "dd" not in words else 0
    return has, of


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
    text = run([PENUMBRA, "report", "--verbose", "--quick", "--limit", "1", r.file]).stdout.decode()
    lost = sum(r.report["dropped"].values())
    share = 100 * lost / (lost + r.samples())
    line = next(line for line in text.splitlines() if line.startswith("dropped"))
    expect(not lost or f"({share:.2f}%" in line, f"{line}: not {share:.2f}%")


def total(node, name):
    """Samples of the outermost frames with this name."""
    if node["name"] == name:
        return node["total"]
    return sum(total(child, name) for child in node.get("children", ()))


if __name__ == "__main__":
    main({f.__name__: f for f in (brief, brief_timer, shortly, covered, executed, annotated,
                                  valgrind, core, warnings, shares)})
