"""What tests of shadows have in common."""
import os
import sys
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import PATIENCE, Recording, expect, native_key, natives, run  # noqa: E402

TIMES = ("-F", "500")
MORE = 1000  # instructions: a shadow ends with a block
SHADOW = ["--carrier", "shadow", "--load", "2", *TIMES]


def skip_test(why):
    """To meson: nothing was tested."""
    print(f"SKIP: {why}")
    sys.exit(77)


def record(command, *options, size="1M", stdin=None, some=True, trigger=TIMES):
    recording = Recording(command,
                          ["--carrier", "shadow", "--load", "2", *trigger, "--sample-size", size,
                           *options],
                          stdin=stdin)
    shadows = recording.report["shadows"]
    expect(not some or shadows["started"] > 0, f"there was no shadow: {shadows}")
    expect(sum(shadows["ended"].values()) == shadows["started"],
           f"not all shadows have ended, or some twice: {shadows}")
    return recording


def until(command, wanted, *options):
    """Recordings until one has shadows such as wanted; each one's output is the program's."""
    end = time.monotonic() + PATIENCE
    while True:
        report = record(command, *options, "--no-follow", some=False).report
        if wanted(report["shadows"]):
            return report
        expect(time.monotonic() < end, f"{command} {options}: {report['shadows']}")


def does_as(brief, *command):
    """The command, of a program that prints the same however long it works, and however much: natively
    it is executed briefly."""
    natives.setdefault(native_key(command), run(brief))
    return list(command)


def instructions(report, name):
    return sum(b["count"] * b["instructions"] for b in report["blocks"] if b["function"] == name)
