"""What shadows cost the program, how long they go on, and how much memory they take."""
import itertools
import platform
import resource
import time

from shadows import MORE, SHADOW, does_as, expect, instructions, record, skip_test, until
from harness import PATIENCE, Recording, main, run, target


def budget():
    """A budget that allows everything, and one that allows nothing."""
    shadows = record([target("shadow_steady"), "3000"], "--budget", "50").report["shadows"]
    expect(shadows["ended"]["complete"] > 0, f"{shadows}")
    cost = shadows["cost"]
    expect(0 < cost["worst_window_ns"] <= cost["program_ns"] and cost["window_budget_ns"] == 5e9,
           f"{cost}")
    for options, window in ((["--carrier", "shadow"], 1e8), (SHADOW, None)):
        cost = Recording([target("shadow_steady"), "300"], options).report["shadows"]["cost"]
        expect(cost["window_budget_ns"] == window, f"the budget of {options}: {cost}")
    shadows = record([target("shadow_steady"), "300"], "--budget", "0.001",
                     some=False).report["shadows"]
    expect(shadows["started"] == 0 or shadows["declined"]["budget"] > 0, f"{shadows}")


def overdrawn():
    """Shadows of a program that writes to so much of its memory that copies use the budget up: they end, and the program goes on.
    How much that is depends on what a copy costs here. Those of a given size copy nothing themselves."""
    sizes, end = ["52", "72", "38", "100", "28", "140", "20"], time.monotonic() + PATIENCE
    program = target("shadow_rewrites")
    for megabytes in itertools.cycle(sizes):
        shadows = Recording(does_as([program, "1"], program, "2500", megabytes),
                            ["--carrier", "shadow", "--tool", "count", "--budget", "0.2",
                             "--sample-size", "100G"]).report["shadows"]
        if shadows["ended"]["budget"]:
            break
        expect(time.monotonic() < end, f"{megabytes} MB: {shadows}")
    expect(shadows["declined"]["budget"] > 0 and shadows["cost"]["worst_window_ns"] > 0,
           f"{shadows}")


def huge():
    """Huge pages that forks have split are put together again, so that the program is as fast as
    before."""
    if tuple(map(int, platform.release().split(".")[:2])) < (6, 7):
        skip_test("the kernel does not tell where huge pages are (PAGEMAP_SCAN)")
    end = time.monotonic() + PATIENCE
    while True:
        recording = record([target("shadow_huge")], "--budget", "10")
        if recording.native.stdout.endswith(b"small\n"):
            skip_test("the kernel gives no huge pages")
        cost = recording.report["shadows"]["cost"]
        if cost["huge_pages"]:
            break
        expect(time.monotonic() < end, f"{recording.report['shadows']}")
    expect(0 < cost["huge_ns"] < cost["program_ns"], f"{cost}")


def triggers():
    """Triggers that only ask for forks are made rarer until they take a part of the budget in 32,
    and are in its account."""
    report = record([target("shadow_steady"), "5000"], "--budget", "1", "--load", "0.001", "--tool",
                    "count",
                    trigger=("-F", "10000")).report
    there, cpu = report["overhead"], report["cpu_ns"]
    first = 20  # it takes some until the rate is found
    more = max(0, there["deliveries"] - first) * there["delivery_ns"]
    expect(more <= 0.001 * cpu, f"{100 * more / cpu:.2f}% of the time for triggers: {there}")
    # Their signals are in the account of samples, too.
    cost, declined = report["shadows"]["cost"], sum(report["shadows"]["declined"].values())
    expect(there["deliveries"] >= declined and 0 < cost["signals_ns"] < cost["program_ns"],
           f"{cost}: {there}")

    # But where the program shares much memory with a shadow, which may all have to be copied: there
    # they see that in time.
    def rate(megabytes):
        report = Recording([target("shadow_steady"), "8000", megabytes],
                           ["--carrier", "shadow", "--tool", "count", "--budget", "5",
                            "--sample-size", "100G"]).report
        return report["overhead"]["deliveries"] / report["cpu_ns"] if report["shadows"]["started"] else 0

    calm, watching, end = 0, 0, time.monotonic() + PATIENCE
    while not calm:
        calm = rate("1")
        expect(calm or time.monotonic() < end, "there was no shadow")
    while watching <= 2 * calm:  # a fork while the program makes its memory is no such
        expect(time.monotonic() < end,
               f"{watching * 1e9:.1f} triggers a second, {calm * 1e9:.1f} where nothing is to be copied")
        watching = rate("150")


def goes_on():
    """Within a budget a shadow goes on until another one is due: here none is, for long. Not where
    its size is given."""
    end = time.monotonic() + PATIENCE
    options = ["--carrier", "shadow", "--tool", "count", "--budget", "0.2"]

    def until_one(options, such, rounds):
        """On a fast processor they may be too few, or too many."""
        for factor in itertools.cycle((1, 1, 0.5, 2, 0.25, 4)):
            shadows = Recording([target("shadow_steady"), str(int(rounds * factor))],
                                options).report["shadows"]
            if such(shadows):
                return shadows
            expect(time.monotonic() < end, f"{options}: {shadows}")

    # It does what its program does, in whichever engine: all of it is one loop, of which a tenth is
    # observed.
    shadows = until_one(options,
                        lambda shadows: shadows["instructions"] > shadows["started"] * 100_000_000
                        and shadows["passed"] > 300_000_000, 24000)
    expect(0 < shadows["instructions"] < shadows["passed"] / 2 and not shadows["ended"]["fault"],
           f"{shadows}")
    low, high = shadows["coverage_bounds"]
    expect(high <= 5.01 * low and shadows["cost"]["shadow_passed_ns"] > 0,
           f"the rate is not used: {shadows}")
    # In stretches from the beginning.
    until_one(options[:5] + ["1"],
              lambda shadows: 0 < shadows["instructions"] < 100_000_000 < shadows["passed"], 3000)
    # ... and no longer: else it would go on for as long as its program.
    shadows = until_one(options[:5] + ["50"], lambda shadows: shadows["completed"] > 0, 12000)
    expect(shadows["instructions"] >= shadows["completed"] * 100_000_000, f"ended early: {shadows}")
    expect(shadows["completed"] < shadows["started"],
           f"the last one ended before there was another: {shadows}")
    # What ends with its program, as one of so many instructions must, has told what it did.
    cost = until_one(options[:4] + ["--load", "1", "--sample-size", "100G"],
                     lambda shadows: shadows["instructions"] and not shadows["completed"],
                     3000)["cost"]
    expect(0 < cost["shadow_run_ns"] <= cost["shadow_cpu_ns"], f"{cost}")
    for more in (["--sample-size", "1M"], ["--load", "1"]):
        size = 1_000_000 if more[0] == "--sample-size" else 100_000_000
        shadows = until_one(options + more, lambda shadows: shadows["started"], 24000)
        expect(shadows["instructions"] <= shadows["started"] * (size + MORE), f"{more}: {shadows}")


def grows():
    """Of a shadow that ended at once nothing has come: there is another one as soon as it is paid for, even if that will
    cost much more, as memory has grown."""
    options = ["--carrier", "shadow", "--tool", "blocks", "--budget", "1", "--no-randomize",
               "--no-follow"]
    end = time.monotonic() + PATIENCE
    while True:
        report = Recording([target("shadow_grows"), "120"], options).report
        if report["shadows"]["ended"]["system-call"] and instructions(report, "later"):
            return
        expect(time.monotonic() < end, f"{report['shadows']}")


def large():
    """A shadow that has changed too much memory ends; not one that has had as many page faults, but
    gives memory back."""
    size = 512 << 20
    program = target("shadow_large")
    brief = [program, "1", "1"]
    until(does_as(brief, program, "600", "4"), lambda shadows: shadows["ended"]["memory"],
          "--sample-size", "10G")
    report = until(does_as(brief, program, "8", "600"),
                   lambda shadows: shadows["completed"] or shadows["ended"]["memory"],
                   "--sample-size", "800M", "--load", "0.5")
    shadows = report["shadows"]
    expect(shadows["cost"]["shadow_faults"] > shadows["completed"] * size // 4096
           and not shadows["ended"]["memory"],
           f"of {size // 4096} page faults each: {shadows}")


def apart():
    """A shadow that goes on makes all memory that its program has its own: the program has the less
    to copy."""
    if tuple(map(int, platform.release().split(".")[:2])) < (6, 7):
        skip_test("the kernel does not tell which pages there are (PAGEMAP_SCAN)")

    def of(rounds, megabytes, *options):
        end, pages = time.monotonic() + PATIENCE, (megabytes << 20) // 4096
        while True:
            command = [target("shadow_steady"), str(rounds), str(megabytes)]
            shadows = Recording(command,
                                ["--carrier", "shadow", "--tool", "count",
                                 *options]).report["shadows"]
            if shadows["completed"] >= 3:  # one is forked while the program makes its memory
                return shadows, shadows["completed"] * pages
            expect(time.monotonic() < end, f"{options}: {shadows}")

    shadows, faults = of(12000, 64, "--budget", "50")
    expect(shadows["cost"]["shadow_faults"] >= faults / 2,
           f"{faults / 2} page faults wanted: {shadows}")
    # Not what is over soon, nor where that would be more than half of what a shadow may change.
    for rounds, megabytes, options in ((3000, 64, ["--load", "0.5", "--sample-size", "1M"]),
                                       (12000, 300, ["--budget", "50"])):
        shadows, faults = of(rounds, megabytes, *options)
        expect(shadows["cost"]["shadow_faults"] < faults / 2,
               f"fewer than {faults / 2} page faults wanted: {shadows}")


def cpu_of(command):
    """CPU time of a program, natively, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    expect(run(command).returncode == 0, f"{command} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def common():
    """One budget is that of all processes of a program: not each of them is forked once, though
    each could afford it."""
    rounds = int(1000 * 0.3 / cpu_of([target("shadow_steady"), "1000", "4"]))
    processes = 20
    loop = f"for i in $(seq {processes}); do {target('shadow_steady')} {rounds} 4; done"
    options = ["--carrier", "shadow", "--tool", "count", "--budget", "1"]
    report = Recording(["/bin/sh", "-c", loop], options).report
    shadows, cpu = report["shadows"], report["cpu_ns"]
    one = shadows["cost"]["program_ns"] / max(1, shadows["started"])
    expect(0 < shadows["started"] < 0.85 * processes,
           f"{shadows['started']} of {processes}: {shadows}")
    expect(shadows["cost"]["program_ns"] < 0.005 * cpu + 2 * one,
           f"{cpu / 1e9:.1f} s of CPU time: {shadows}")


def astray():
    """A shadow that waits for what comes to its program alone does not go on for as long as that."""
    end, ms = time.monotonic() + PATIENCE, 4000
    program = target("shadow_astray")
    while True:
        report = Recording(does_as([program, "1"], program, str(ms)),
                           ["--carrier", "shadow", "--tool", "count", "--budget", "10"]).report
        shadows = report["shadows"]
        if shadows["ended"]["complete"]:
            break
        expect(time.monotonic() < end, f"none ended: {shadows}")
        ms *= 2  # a busy machine leaves shadows little time
    expect(shadows["instructions"] +
           shadows["passed"] < shadows["started"] * (20 * report["cpu_ns"] + 1.1e9), f"{shadows}")


def phases():
    """Within a budget one shadow sees a program's later phases, not only as many instructions as it
    can observe in a row."""
    command, end = [target("shadow_phases"), "300"], time.monotonic() + PATIENCE
    options = ["--carrier", "shadow", "--tool", "blocks", "--budget", "0.2"]
    while True:
        report = Recording(command, options).report
        seen = {b["function"] for b in report["blocks"] if b["function"].startswith("phase_")}
        shadows = report["shadows"]
        expect(not shadows["ended"]["fault"] and not shadows["ended"]["engine"], f"{shadows}")
        if len(seen) >= 3 and shadows["started"] <= 2 and shadows["passed"] > shadows["instructions"]:
            return
        expect(time.monotonic() < end, f"{sorted(seen)}: {shadows}")


def evenly():
    """Of a program that ends soon each moment is seen as much as any other, its first ones too."""
    command = [target("shadow_phases"), "300"]
    report = Recording(command, ["--carrier", "shadow", "--tool", "blocks", "--budget", "1",
                                 "--finish-shadows", f"{PATIENCE}s"]).report
    shadows, names = report["shadows"], [f"phase_{n}" for n in range(1, 9)]
    expect(shadows["started"] == shadows["ended"]["exit"] == 1, f"{shadows}")
    seen = {name: sum(b["count"] * b["instructions"] for b in report["blocks"] if b["function"] == name)
            for name in names}
    shares = {name: len(names) * seen[name] / sum(seen.values()) for name in names}
    expect(all(3 / 4 < share < 4 / 3 for share in shares.values()), f"of what is due: {shares}")


def copies():
    """What is copied after a fork is in the account, also if the program's own page faults all came
    at its start."""
    program = target("shadow_rewrites")
    brief = [program, "1"]
    report = until(does_as(brief, program, "700"), lambda shadows: shadows["started"] >= 3,
                   "--budget", "50")
    shadows = report["shadows"]
    least = (shadows["started"] - 2) * (8 << 20) // 4096 // 2
    expect(shadows["cow_faults"] >= least,
           f"{shadows['cow_faults']} copies, at least {least} wanted: {shadows}")
    # Without a budget too, and there they and the pauses take half of the program's time, but for
    # those of the last fork.
    report = until(does_as(brief, program, "2000"), lambda shadows: shadows["started"] >= 3)
    shadows, most = report["shadows"], 0.6 * report["cpu_ns"]
    least = shadows["cow_faults"] * 200 + shadows["cost"]["fork_ns"]
    expect(least < shadows["cost"]["program_ns"] < most,
           f"{most / 1e6:.0f} ms at the most: {shadows}")
    # Nor are copies taken for the program's own page faults where they come slowly, and the next
    # fork is sooner than the last one.
    shadows = until(does_as(brief, program, "4000", "64", "3000"),
                    lambda shadows: shadows["started"] >= 8)["shadows"]
    least = (shadows["started"] - 2) * (64 << 20) // 4096 // 8
    expect(shadows["cow_faults"] >= least,
           f"{shadows['cow_faults']} copies, at least {least} wanted: {shadows}")


main({name: function for name, function in globals().items() if callable(function)})
