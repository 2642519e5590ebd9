"""The tool `values`: programs whose instructions are observed at every trigger do what they do natively.
Nothing here depends on how many bursts there were, but that there were some."""
import os
import shutil
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import Recording, expect, main, target  # noqa: E402


def record(command, options=(), rate="20000", stdin=None):
    return Recording(command, ["--carrier", "burst", "--tool", "values", "-F", rate, *options], stdin=stdin)


def had_bursts(recording):
    expect(recording.report["engine"]["bursts"] > 0, "no burst was taken")


def crowd():
    had_bursts(record([target("burst_crowd")]))
    had_bursts(record([target("burst_crowd")], ["--length", "128", "--skip", "4000"]))


def faults():
    recording = record([target("burst_faults"), "200"], ["--length", "128", "--skip", "500"])
    had_bursts(recording)
    expect(recording.report["stopped"].get("fault", 0) > 0, "no fault came in a burst")


def looks():
    had_bursts(record([target("burst_looks"), "300000"]))


def changing():
    """Code that is changed and made again while it is observed."""
    had_bursts(record([target("burst_changing"), "60000"], ["--length", "64"]))


def dies():
    for how in ("plain", "reset", "ignored", "sysv"):
        recording = record([target("burst_dies"), how], ["--length", "128", "--skip", "500"])
        had_bursts(recording)
        expect(recording.native.returncode != 0, "it did not die")


def programs():
    text = "\n".join(str(i * 7919 % 100003) for i in range(60000)).encode()
    loop = "s=0; for ((i = 0; i < 40000; i++)); do ((s += i)); done; echo $s"
    for command in (["sort", "-n"], ["gzip", "-c"], ["xz", "-T2", "-1", "-c"], ["bash", "-c", loop],
                    ["perl", "-e", "my %h; $h{$_ % 1000} += $_ for 1..600000; print $h{7}"],
                    ["python3", "-c", "print(sum(i * i for i in range(400000)))"]):
        if shutil.which(command[0]):
            had_bursts(record(command, ["--length", "16"], stdin=text))


def storm():
    """Signals that the program sends itself while it is observed."""
    storm = ("import signal, os\nn = [0]\n"
             "def f(*a): n[0] += 1\n"
             "for s in (10, 12, 14): signal.signal(s, f)\n"
             "for i in range(20000): os.kill(os.getpid(), (10, 12, 14)[i % 3])\n"
             "print(n[0])")
    had_bursts(record(["python3", "-c", storm], ["--length", "128"]))


def exact():
    """The whole run: nobody reads fast enough, and the program must not notice."""
    for command in (["echo", "hello"], ["sort", "-n"]):
        Recording(command, ["--exact", "--tool", "values"], stdin=b"3\n1\n2\n")


main({name: function for name, function in globals().items() if callable(function)})
