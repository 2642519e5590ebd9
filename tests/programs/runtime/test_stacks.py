"""Programs on stacks that are small, strange or set apart for signals: each behaves the same, and
is sampled as any other."""
import os
import sys

from harness import Recording, expect, main, target

EVERY = (("-F", "9973"), ("-e", "wall", "-F", "5000"), ("-F", "5000", "--no-trampoline"),
         ("--tool", "values", "-F", "5000", "--every", "1"),
         ("--carrier", "shadow", "--tool", "paths", "--load", "2", "-F", "1000"),
         ("--carrier", "auto", "-F", "2000"),
         ("--exact", "--tool", "null"))


def sampled(command, least=100):
    r = Recording(command, ("-F", "9973"))
    expect(r.samples() > least, f"{command}: only {r.samples()} samples")
    return r


def sizes():
    """Programs set alternate stacks that are smaller than what the processor's state might need,
    and are sampled."""
    for name in ("altstack", "altsmall"):
        for size in ("4096", "8192", "12000", "15000", "65536"):
            r = sampled([target(name), size])
            expect(r.profiled.stdout == b"0 bytes changed\n",
                   f"{name} {size}: {r.profiled.stdout.decode()}")
            expect(r.total("on_signal") > 100,
                   f"{name} {size}: {r.total('on_signal')} samples in the handler")
        # no signal could be handled on it where vectors are large
        r = sampled([target(name), "2048"])
        expect(r.profiled.stdout == b"0 bytes changed\n",
               f"{name} 2048: {r.profiled.stdout.decode()}")


def seen():
    """What a program sees of its alternate stacks is what it sees without us, with perf events and
    with timers."""
    for options in EVERY:
        Recording([target("altseen")], options)
    Recording([target("altseen")], ("-F", "1000"), around=[target("noperf")])
    sampled([target("altseen")])


def small():
    """On stacks of a few kB nothing is written that is not theirs, and samples are taken."""
    kinds = ("context", "clone", "pthread")
    for i, options in enumerate(EVERY):
        Recording([target("smallstacks"), kinds[i % 3]], options)
    for what in kinds:
        r = sampled([target("smallstacks"), what])
        expect(r.total("small_worker") > 100, f"{what}: {r.total('small_worker')} samples")


def down():
    """Threads whose stacks grow down as they are used, and would grow into what lies below."""
    for options in EVERY:
        Recording([target("smallstacks"), "down"], options)
    r = sampled([target("smallstacks"), "down"])
    expect(r.total("go_down") > 100, f"{r.total('go_down')} samples")


def split():
    """-fsplit-stack: a function has hardly more stack than it needs."""
    if not os.path.exists(target("splitstack")):
        sys.exit(77)
    for options in EVERY:
        Recording([target("splitstack")], options)
    r = sampled([target("splitstack")], 50)
    expect(r.total("split_worker") > 50, f"{r.total('split_worker')} samples")


def raised():
    """A signal that is raised is handled before raise returns, on the alternate stack and off it."""
    for i, options in enumerate(EVERY):
        Recording([target("raised"), *(["alternate"] if i % 2 else [])], options)
    Recording([target("raised"), "alternate"], EVERY[0])


def own():
    """Threads, stacks and handlers of the program's own system calls; and a program that finds its
    stack by them alone, as Go's with cgo."""
    for name in ("ownstack", "ownstack_go"):
        for options in EVERY:
            Recording([target(name)], options)
        Recording([target(name)], ("-F", "1000"), around=[target("noperf")])
        r = sampled([target(name)])
        expect(r.profiled.stdout == b"600 handled, 0 elsewhere; 0 times another stack was set\n",
               f"{name}: {r.profiled.stdout.decode()}")
        expect(r.total("own_worker") > 100, f"{name}: {r.total('own_worker')} samples")


if __name__ == "__main__":
    main({f.__name__: f for f in (sizes, seen, small, down, split, raised, own)})
