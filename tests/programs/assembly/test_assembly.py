"""Assembly without unwind information: its callers are found by what its code does."""
import os
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import Recording, expect, main, nodes, target  # noqa: E402

ROUNDS = 5000000


def below(node, name):
    """Samples of frames `name` anywhere below a node, the outermost of each path."""
    if node["name"] == name:
        return node["total"]
    return sum(below(child, name) for child in node["children"])


def caller(tree, name):
    found = [n for n in nodes(tree) if n["name"] == name]
    expect(len(found) == 1, f"{name} is in the tree {len(found)} times")
    return found[0]


def record():
    """Until the collector has made the table, stacks end in the assembly: it gets time for that."""
    for warm in (300000000, 3000000000, 9000000000):
        recording = Recording([target("kernels"), str(warm), str(ROUNDS)])
        if recording.report["truncated"] == 0:
            return recording
    return recording


def callers():
    recording = record()
    report = recording.report
    expect(report["truncated"] == 0, f"{report['truncated']} of {report['samples']} are truncated")
    once, thrice = (caller(report["tree"], name) for name in ("caller_once", "caller_thrice"))
    for kernel in ("kernel_realigned", "kernel_pushing", "kernel_called"):
        few, many = below(once, kernel), below(thrice, kernel)
        expect(few + many == recording.total(kernel) > 20,
               f"{kernel}: {few} + {many}, {recording.total(kernel)}")
        expect(0.1 < few / (few + many) < 0.45, f"{kernel}: {few} and {many}, not 1 to 3")
    expect(below(caller(report["tree"], "main"),
                 "kernel_jumped_to") == recording.total("kernel_jumped_to") > 20,
           "kernel_jumped_to is not below main")
    expect(report["guessed"] > 0, "no frame without unwind information is marked")


main({"callers": callers})
