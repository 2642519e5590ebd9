"""Programs that use what few others do: each behaves under every carrier as it does natively.

    test_kinds.py pi|affinity|futexes|timers|spawns
"""
import sys

from harness import Recording, expect, main, target

CARRIERS = (("-F", "9973"), ("-e", "wall", "-F", "9973"),
            ("--carrier", "burst", "--tool", "blocks", "-F", "4999"),
            ("--exact", "--tool", "blocks"),
            ("--carrier", "shadow", "--tool", "blocks", "--load", "2", "--sample-size", "100k"))


def same(name):
    def compare():
        for options in CARRIERS:
            recording = Recording([target(name)], options)
            expect(recording.native.returncode == 3,
                   f"natively {recording.native.returncode}: {recording.native.stdout!r}")
    return compare


if __name__ == "__main__":
    main({name: same(name) for name in ("pi", "affinity", "futexes", "timers", "spawns")})
