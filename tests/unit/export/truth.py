"""The truth about the sample profiles of write_sample, for what reads its exports."""
import os
import re
import subprocess
import tempfile

SAMPLES = ["hand", "processes", "random", "events", "deep", "timeline"]
PERIOD = 1003009
MAX_DEPTH = 100
LEFT_OUT = "[frames left out]"


def _name(escaped):
    """As the tree has it; JSON has U+FFFD for a byte that is not UTF-8."""
    plain = re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), escaped)
    return plain.decode(errors="replace")


def read(directory):
    """[(thread id, thread name, (frames, outermost first), samples)]"""
    stacks = []
    with open(os.path.join(directory, "truth.tsv"), "rb") as f:
        for line in f.read().splitlines():
            samples, tid, name, *frames = line.split(b"\t")
            stacks.append((int(tid), name.decode(), tuple(map(_name, frames)), int(samples)))
    assert stacks
    return stacks


def cut(frames):
    """What --max-depth does to a stack without inlined frames."""
    if len(frames) <= MAX_DEPTH:
        return frames
    half = MAX_DEPTH // 2
    return frames[:half] + (LEFT_OUT,) + frames[-half:]


def for_each(write_sample, check):
    for which in SAMPLES:
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([write_sample, which, directory], check=True)
            check(which, directory, read(directory))
        print(f"{which}: ok")
