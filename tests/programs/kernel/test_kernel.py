"""record --kernel: what the program called in the kernel stands below its own functions."""
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, eventful, expect, main, nodes, run, target, wait_for  # noqa: E402

SECONDS = 0.4


def needs_kernel():
    """Events that may look into the kernel, and names of its functions."""
    probe = Recording(["/bin/true"], ["--kernel", "-F", "20000"])
    with open("/proc/kallsyms", encoding="ascii") as names:
        hidden = int(names.readline().split()[0], 16) == 0
    if hidden or any("kernel" in note for note in probe.report["notes"]):
        print("no look into the kernel: skipped")
        sys.exit(77)


def in_kernel(node):
    """Samples at and below it, in the kernel."""
    return sum(n["self"] for n in nodes(node) if n["image"] == "[kernel]")


def below(report, function):
    return [n for n in nodes(report["tree"]) if n["name"] == function]


def total(found):
    return sum(n["total"] for n in found)


def check(report):
    user, kernel = below(report, "in_user"), below(report, "in_kernel")
    share = sum(in_kernel(n) for n in kernel) / total(kernel)
    expect(share > 0.85, f"{share} of in_kernel is in the kernel")
    share = sum(in_kernel(n) for n in user) / total(user)
    expect(share < 0.15, f"{share} of in_user is in the kernel")
    readers = [n for n in nodes(report["tree"]) if n["image"] != "[kernel]" and
               sum(c["total"] for c in n["children"] if c["image"] == "[kernel]") > 20]
    expect(readers and all("read" in n["name"] for n in readers), [n["name"] for n in readers])


def halves():
    needs_kernel()
    r = eventful([target("kernel-halves"), str(SECONDS)], ["--kernel", "-F", "997"])
    check(r.report)
    period = r.report["period"] / 1e9
    for function, known in (("in_user", SECONDS / 2), ("in_thread", SECONDS), ("in_child", SECONDS)):
        found = total(below(r.report, function)) * period
        expect(abs(found - known) < 0.2 * SECONDS, f"{function}: {found} s of {known} s")
    part = r.json(["--time", "0..0.1"])
    expect(any(n["image"] == "[kernel]" for n in nodes(part["tree"])), "a part of the time has none")
    plain = Recording([target("kernel-halves"), "0.1"], ["-F", "997"])
    expect(not any(n["image"] == "[kernel]" for n in nodes(plain.report["tree"])), "not asked for")


def reads_below(file):
    """The report, if the kernel's part of reads is in it."""
    result = run([PENUMBRA, "report", "--json", "--quick", file])
    report = json.loads(result.stdout) if result.returncode == 0 else {}
    if report and any("read" in n["name"] and n["image"] == "[kernel]" for n in nodes(report["tree"])):
        return report
    return None


def killed():
    """What is recovered has the names, too."""
    needs_kernel()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out.pnb")
        recorder = subprocess.Popen([PENUMBRA, "record", "-q", "-o", file, "--kernel", "-F", "997", "--",
                                     target("kernel-halves"), "100"], start_new_session=True)
        try:
            wait_for(lambda: reads_below(file), "nothing is seen in the kernel")
        finally:
            recorder.kill()
            recorder.wait()
            os.killpg(recorder.pid, signal.SIGKILL)
        report = reads_below(file)
        expect(report and report["recovered"], "nothing is recovered of it")


def refused():
    for options, said in ((["-e", "wall"], b"-e cpu"), (["-p", "1"], b"--external"),
                          (["-a"], b"anyway"), (["--carrier", "burst"], b"leave out --carrier")):
        program = [] if options[0] == "-p" else ["--", "/bin/true"]
        done = run([PENUMBRA, "record", "-o", "/dev/null", "--kernel", *options, *program])
        expect(done.returncode == 2 and said in done.stderr, done.stderr)


main({name: function for name, function in list(globals().items())
      if callable(function) and not isinstance(function, type)})
