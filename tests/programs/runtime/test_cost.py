"""What samples may cost, and what threads that begin at the same time cost each other."""
from harness import Recording, expect, main, target

DEEP = [target("deep"), "100000", "900000000"]
SLOW = ("--no-trampoline",)  # each sample walks 100,000 frames


def bound():
    """By default samples get rarer where they would cost more than 2% of the CPU time; a rate that is asked for is kept."""
    r = Recording(DEEP, SLOW, report=("--depth", "50"), by_default=True)
    spent = r.report["overhead"]["percent_of_cpu"]
    expect("more than 2% of the CPU time" in str(r.report["notes"]), r.report["notes"])
    for options in (("-F", "997"), ("-c", "1ms"), ("-e", "cpu=1ms")):
        r = Recording(DEEP, (*options, *SLOW), report=("--depth", "50"), by_default=True)
        asked = r.report["overhead"]["percent_of_cpu"]
        expect(asked > 2 * spent, f"{options}: spent {asked}%, by default {spent}%")
        expect("more than 2%" not in str(r.report["notes"]), r.report["notes"])


def crowd():
    """Threads that begin at the same time wait for each other's triggers, and all of them have one."""
    for _ in range(3):
        r = Recording([target("crowd"), "1000"])
        expect("could not be set" not in str(r.report["notes"]), r.report["notes"])


if __name__ == "__main__":
    main({f.__name__: f for f in (bound, crowd)})
