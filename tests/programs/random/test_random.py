"""Random system calls from fixed seeds: what the program sees is the same natively and recorded.

    test_random.py WAY PROGRAM    one of random_calls.WAYS

`make soak` runs others, and reduces what differs to the fewest calls."""
import fcntl
import json
import os
import sys

from random_calls import Calls, first_difference

RANGES, NUMBERS = ((1, 24), (100, 101)), "0-79"
AGAIN = 10
LEAST = 20  # seeds


def natives(calls, program):
    """What seeds print natively, two times alike, by range: by the first of these tests, for all of
    them that are started alike."""
    path, of = program + ".native", [len(os.environ), os.nice(0)]  # which it prints
    with open(path, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        known = json.loads(text) if text else {}
        if known.get("of") != of or os.path.getmtime(path) < os.path.getmtime(program):
            printed = [calls.native(first, last, NUMBERS) for first, last in RANGES]
            known = {"of": of, "printed": [list(texts.items()) for texts in printed]}
            file.truncate(0)
            file.write(json.dumps(known) if sum(map(len, printed)) >= LEAST else "")
    return [dict(pairs) for pairs in known["printed"]]


def main():
    way, program = sys.argv[1:]
    calls = Calls(program, os.environ["PENUMBRA"])
    kept, different = 0, {}
    for (first, last), native in zip(RANGES, natives(calls, program)):
        kept += len(native)
        different.update(calls.differences(first, last, NUMBERS, way, native))
    if kept < LEAST:
        print(f"only {kept} seeds are the same natively two times")
        return 1
    # What natively differs once in a hundred times is not a difference: it must come again.
    different = {seed: what for seed, what in different.items()
                 if seed is None or calls.differs(seed, list(range(80)), way, AGAIN)}
    for seed, (wanted, found) in different.items():
        lines = first_difference(wanted, found) if seed is not None else ("", found)
        print(f"seed {seed}: {lines[0]!r} natively, {lines[1]!r} recorded")
    print(f"{kept} seeds, {len(different)} differ")
    return 1 if different else 0


sys.exit(main())
