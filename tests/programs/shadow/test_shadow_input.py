"""What shadows read, write and ask for: it is as in the program, and nobody else sees it."""
import glob
import os
import termios

from shadows import expect, instructions, until
from harness import main, target


def input_log():
    """What the program reads from a socket is there for its shadows, if this is asked for; too much
    of it is not."""
    small, large = [target("shadow_inputs"), "6000"], [target("shadow_inputs"), "600", "large"]
    shadows = until(small, lambda s: s["ended"]["input"] > 0)["shadows"]
    expect(shadows["replayed"] == shadows["input_lost"] == 0, f"without --log-input: {shadows}")
    report = until(small, lambda s: s["replayed"] > 0, "--log-input")
    expect(instructions(report, "work_wrong") == 0,
           f"shadows have read something else: {report['shadows']}")
    report = until(small, lambda s: s["replayed"] > 100 and s["ended"]["complete"] > 4,
                   "--log-input")
    odd, even = instructions(report, "work_odd"), instructions(report, "work_even")
    expect(0 < odd < even, f"one in four numbers is odd's: {odd} and {even}, {report['shadows']}")
    shadows = until(large, lambda s: s["input_lost"] > 0, "--log-input")["shadows"]
    # What has come only in part by then is little enough to be kept.
    expect(shadows["replayed"] < shadows["input_lost"] <= shadows["ended"]["input"],
           f"large: {shadows}")


def input_bad():
    """Addresses that may not be read are for the kernel to refuse."""
    report = until([target("shadow_bad_pointers"), "300"], lambda s: s["started"] > 0,
                   "--log-input")
    expect(report["shadows"]["replayed"] == 0,
           f"what was refused was replayed: {report['shadows']}")


def input_loop():
    """A server's event loop goes round in shadows: what it waits for, what comes, and from whom,
    are in the log."""
    command = [target("shadow_loop"), "3000"]
    shadows = until(command, lambda s: s["ended"]["input"] > 0)["shadows"]
    expect(shadows["replayed"] == 0, f"without --log-input: {shadows}")
    report = until(command, lambda s: s["replayed"] > 300 and s["ended"]["complete"] > 1,
                   "--log-input")
    calls, ends = report["syscalls"], report["syscalls_ended"] if "syscalls_ended" in report else {}
    for name in ("poll", "ppoll", "pselect6", "epoll_wait", "accept", "accept4", "recvmsg",
                 "getpeername", "getsockopt"):
        expect(calls["input"].get(name, 0) > 0, f"no shadow has met {name}: {calls}")
    expect(calls["unsafe"].get("epoll_ctl", 0) > 0, f"no shadow has met epoll_ctl: {calls}")
    expect(instructions(report, "work_wrong") == 0,
           f"shadows were told something else: {report['shadows']} {ends}")
    odd, even = instructions(report, "work_odd"), instructions(report, "work_even")
    expect(0 < odd < even, f"one in four numbers is odd's: {odd} and {even}, {report['shadows']}")


def scratch():
    """Files that are made anew are the shadow's own: it goes on behind them, and leaves none."""
    left = set(glob.glob("/tmp/shadow-scratch-*"))
    report = until([target("shadow_scratch"), "4000"], lambda s: s["ended"]["complete"] > 4,
                   "--tool", "blocks")
    ended, calls = report["shadows"]["ended"], report["syscalls"]
    expect(not ended["fault"] and not ended["memory"], f"{ended}")
    expect(calls["miscellaneous"]["openat"] >= 3 * report["shadows"]["completed"], f"{calls}")
    expect(ended["complete"] > report["shadows"]["started"] / 10, f"{ended}")
    expect(set(glob.glob("/tmp/shadow-scratch-*")) <= left, "a shadow has left a file")


def shows():
    """A shared mapping of a file to read it shows what is in the file; nobody may write to that
    without its being seen."""
    for what in ("reads", "asks"):
        # Some are forked while it is mapped, and end when they ask for more; some outlive the file.
        report = until([target("shadow_shows"), "6000", what], lambda s: s["ended"]["complete"] > 4,
                       "--tool", "blocks")
        expect(instructions(report, "work_wrong") == 0,
               f"{what}: shadows have seen something else: {report['shadows']}")
        expect(not report["shadows"]["ended"]["input"] and not report["shadows"]["ended"]["fault"],
               f"{what}: {report['shadows']}")
    for what, how in (("writes", "input"), ("open", "system-call")):
        ends = until([target("shadow_shows"), "6000", what],
                     lambda s: s["ended"][how] > 1)["shadows"]["ended"]
        expect(not ends["complete"], f"{what}: {ends}")


def dontfork():
    """Memory that a program keeps from its children is there in shadows, once one has missed it,
    and not in its own children."""
    for what in ("alone", "threads", "forks"):
        shadows = until([target("shadow_dontfork"), "20000", what],
                        lambda s: s["ended"]["complete"] > 4)["shadows"]
        expect(shadows["ended"]["fault"] > 0,
               f"{what}: what was kept was there from the beginning: {shadows['ended']}")


def terminal():
    """Whether it is a terminal, and how large, is known to a shadow, which asks nobody."""
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (33, 77))
    report = until([target("shadow_terminal"), os.ttyname(slave), "6000"],
                   lambda s: s["ended"]["complete"] > 4, "--tool", "blocks")
    os.close(master)
    os.close(slave)
    expect(instructions(report, "work_wrong") == 0,
           f"shadows were told something else: {report['shadows']}")
    ended = report["shadows"]["ended"]
    expect(not ended["system-call"] and not ended["fault"], f"{ended}")


def kept():
    """What a shadow writes to files that were there is kept for it, under all their descriptors;
    nobody else sees it."""
    # One that is forked with a file open that it may not read, and writes to that, ends when it
    # asks for its size: few do.
    report = until([target("shadow_kept"), "6000"],
                   lambda s: s["ended"]["complete"] > 4 + 2 * s["ended"]["input"], "--tool",
                   "blocks")
    shadows = report["shadows"]
    # The last ones may come to where the program removes its files, at its end.
    expect(shadows["ended"]["system-call"] <= 2, f"{shadows['ended']}")
    right, wrong = instructions(report, "work_right"), instructions(report, "work_wrong")
    # The first round of a shadow may find what its program has written since the fork.
    expect(wrong < 2 * shadows["started"] * 6000 and right > 10 * wrong,
           f"{right} and {wrong} of {shadows['started']} shadows")
    shadows = until([target("shadow_kept"), "20000", "large"],
                    lambda s: s["ended"]["input"] > 0)["shadows"]
    expect(not shadows["ended"]["complete"] and not shadows["ended"]["memory"],
           f"{shadows['ended']}")


def input_lines():
    """So do loops over lines that libc's streams have read from a pipe."""
    report = until([target("shadow_lines"), "6000"],
                   lambda s: s["replayed"] > 100 and s["ended"]["complete"] > 4, "--log-input")
    expect(instructions(report, "work_wrong") == 0,
           f"shadows have read something else: {report['shadows']}")
    odd, even = instructions(report, "work_odd"), instructions(report, "work_even")
    expect(0 < odd < even, f"one in four numbers is odd's: {odd} and {even}, {report['shadows']}")


tests = {name: function for name, function in globals().items() if callable(function)}
tests["input"] = input_log
main(tests)
