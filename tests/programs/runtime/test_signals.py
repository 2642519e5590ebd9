"""The program's signals, and ours, which it must not see."""
from harness import Recording, expect, main, target


def signals():
    r = Recording([target("signals")])
    expect(r.profiled.returncode == -5, f"status {r.profiled.returncode}")
    expect(r.total("blocked_worker") > 50, "the thread that blocks everything was not sampled")


def starved():
    r = Recording([target("starved")])
    expect(r.samples() > 50, f"only {r.samples()} samples")


def trapped():
    """The program's own SIGTRAP is pending while the program blocks it, and samples go on
    meanwhile."""
    r = Recording([target("trapped")], ("-F", "9973"))
    expect(r.total("compute") > 500, f"only {r.total('compute')} samples while SIGTRAP was pending")
    Recording([target("trapped"), "engine"], ["--exact"])
    for options in (["--carrier", "burst", "-F", "97"],
                    ["--carrier", "shadow", "--load", "1", "--sample-size", "100k"]):
        Recording([target("trapped")], options)
    for options in ((), ("--carrier", "burst")):
        Recording([target("trapped"), "waits", "5000"], ("-F", "9973", *options))
    for options in ((), ("-e", "wall")):
        Recording([target("trapped"), "unsent", "300000"], ("-F", "9973", *options))


def eintr():
    r = Recording([target("eintr")], ("-F", "9973"))
    expect(b"interrupted 0\n" in r.profiled.stdout, r.profiled.stdout.decode())
    expect(r.samples() > 500, f"only {r.samples()} samples")
    Recording([target("eintr")], ("-e", "wall", "-F", "9973"))


def interrupts():
    """A sample that is due while a signal ends a system call changes neither."""
    for how, options in (([], ()), ([], ()), (["stack"], ()), (["number"], ()), (["number"], ()),
                         (["number"], ("--carrier", "burst"))):
        r = Recording([target("interrupts"), "1500", *how], ("-F", "9973", *options))
        expect(r.profiled.stdout == b"restarted 0 early 0 ended 0\n",
               f"{how} {options}: {r.profiled.stdout.decode()}")
    expect(r.samples() > 100, f"only {r.samples()} samples")


def altstack():
    """Handlers have room on the program's alternate stacks, or no sample is taken there."""
    for size in ("2048", "4096", "5120", "8192", "65536"):
        r = Recording([target("altstack"), size], ("-F", "9973"))
        expect(r.profiled.stdout == b"0 bytes changed\n", f"{size}: {r.profiled.stdout.decode()}")
        if int(size) >= 8192:
            expect(r.samples() > 100, f"only {r.samples()} samples")


def altshared():
    """Threads that share one alternate stack are not sampled on it: one handler's frame would be
    written over another's."""
    for options in ((), ("-F", "9973")):
        r = Recording([target("altshared")], options)
        expect(r.samples() > 100, f"only {r.samples()} samples")


def altnone():
    """No sample comes on a stack that the program is just setting."""
    for options in (("-F", "9973"), ("-e", "wall", "-F", "9973"),
                    ("--carrier", "burst", "-F", "9973")):
        r = Recording([target("altnone"), "100000"], options)
        expect(r.profiled.stdout == b"0 refused\n", r.profiled.stdout.decode())


def actions():
    """What a child has set itself is what it is told."""
    for options in (("-F", "4999"), ("--carrier", "burst", "-F", "4999"), ("--exact",)):
        Recording([target("actions")], options)


def copies():
    """Children that nobody was told of, and that set SIGTRAP's action: what they make then."""
    for options in (("-F", "4999"), ("-e", "wall", "-F", "4999"),
                    ("--carrier", "burst", "-F", "4999"),
                    ("--carrier", "shadow", "--load", "1", "--sample-size", "100k"), ("--exact",)):
        Recording([target("copies")], options)


def vfork_default():
    """A vfork child that takes our signal's action away is not sampled any more."""
    Recording([target("vfork_default"), "700"], ("-F", "9973"))


def vfork_plain():
    """A sample that was on its way when the trigger was paused for exec does not start it again."""
    Recording([target("vfork_default"), "2000", "plainly"], ("-F", "9973"))


def yielded():
    """Threads and children that begin while our signal is blocked for the kernel, too, have no
    sample pending."""
    nothing = b"".join(b"%s: 0\n" % kind
                       for kind in (b"itself", b"thread", b"child", b"copy", b"vforked"))
    for options in (("-F", "9973"), ("-e", "wall", "-F", "9973"),
                    ("-e", "cpu=100us", "-e", "page-faults=1"),
                    ("--carrier", "burst", "-F", "997"), ("--exact",)):
        r = Recording([target("yielded")], options)
        expect(r.native.stdout == nothing, r.native.stdout.decode())


if __name__ == "__main__":
    main({name: f for name, f in dict(globals()).items()
          if getattr(f, "__module__", "") == "__main__"})
