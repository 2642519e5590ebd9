"""The carrier burst: programs whose next instructions run under the engine at every trigger do what they do
natively. Nothing here depends on how many bursts there were, but that there were some."""
import os
import shutil
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, expect, main, run, target  # noqa: E402


def record(command, options=(), tool="blocks", rate="10000", length="1..1000", stdin=None):
    return Recording(command, ["--carrier", "burst", "--tool", tool, "--length", length, "-F", rate,
                               *options], stdin=stdin)


def had_bursts(recording):
    expect(recording.report["engine"]["bursts"] > 0, "no burst was taken")


def sent():
    """A fault during a burst in which the same signal, sent by somebody, waits for its end."""
    recording = record([target("burst_sent"), "40"], length="100")
    had_bursts(recording)
    expect(recording.report["stopped"].get("fault", 0) > 0, "no fault came in a burst")


def faults():
    recording = record([target("burst_faults"), "200"])
    had_bursts(recording)
    expect(recording.report["stopped"].get("fault", 0) > 0, "no fault came in a burst")
    # Our own handler looks at GS: no burst may have begun in it.
    expect(not recording.report["stopped"].get("gs-in-use"), "the program does not use GS")


def odd():
    """Instructions that cannot be translated are executed in the middle of a burst, which goes on
    behind them; what faults or traps there does so as natively."""
    for tool in ("blocks", "values"):
        length, rounds = {"blocks": ("100..5000", "60000"), "values": ("128", "300000")}[tool]
        command = [target("burst_odd"), rounds]
        report = record(command, tool=tool, rate="8000", length=length).report
        stopped = report["stopped"]
        expect(stopped["far-transfer"] == 0, f"{tool}: {stopped}")
        expect(stopped["fault"] > 0 and stopped["budget"] > 10, f"{tool}: {stopped}")
        expect(any("executed natively, alone" in note for note in report["notes"]),
               f"{tool}: {report['notes']}")


def fills():
    """The rest of a string instruction that has long to go is not executed with all signals
    blocked, as a burst's first one."""
    for tool in ("values", "blocks"):
        report = record([target("burst_fills"), "30"], tool=tool, length="100", rate="997").report
        stopped, late, taken = report["stopped"], report["dropped"].get("late", 0), sum(report["stopped"].values())
        expect(stopped.get("long-string", 0) > 10, f"{tool}: {stopped}")
        expect(late < 0.2 * (taken + late),
               f"{tool}: {late} samples came too late, {taken} in time")


def pairs():
    """More call sites than the engine looks up: their returns are kept with the thread
    (engine/pairs.h)."""
    had_bursts(record([target("burst_pairs"), "300"], tool="null", length="100000..300000",
                      rate="2000"))


def looks():
    had_bursts(record([target("burst_looks"), "300000"]))


def crowd():
    for tool in ("blocks", "edges"):
        had_bursts(record([target("burst_crowd")], tool=tool))


def changing():
    had_bursts(record([target("burst_changing"), "60000"]))


def comings():
    """A thread that begins or ends changes no code: what one has translated, the next ones find."""
    latency = record([target("burst_comings")], rate="2000").report["engine"]["latency"]
    warm, cold = latency["burst-warm"]["count"], latency["burst-cold"]["count"]
    expect(warm > cold, f"{warm} bursts found their code, {cold} did not")


def patching():
    had_bursts(record([target("burst_patching"), "400"]))
    had_bursts(record([target("burst_patching"), "400", "raw"]))
    had_bursts(record([target("burst_patching"), "400", "moved"]))


def dies():
    for how in ("plain", "reset", "ignored", "sysv"):
        recording = record([target("burst_dies"), how])
        had_bursts(recording)
        expect(recording.native.returncode != 0, "it did not die")


def timed(engine):
    """Every block, dispatch and burst is in the distributions, once."""
    latency = engine["latency"]
    expect(latency["translation"]["count"] == engine["translated"], "a block's making is not timed")
    expect(latency["dispatch"]["count"] <= engine["dispatches"],
           "more dispatches are timed than there were")
    expect(latency["burst-warm"]["count"] + latency["burst-cold"]["count"] == engine["bursts"],
           "a burst is not timed")
    for kind, figures in latency.items():
        expect(not figures["count"]
               or 0 < figures["p50_ns"] <= figures["p90_ns"] <= figures["p99_ns"],
               f"{kind}: {figures}")


def exact_length():
    """A loop without system calls: what the tool counted is bursts times length."""
    for length in ("1", "7", "32", "1000", "100000"):
        report = record([target("burst_steady")], tool="count", length=length, rate="2000").report
        stops = report["stopped"]
        whole = stops.get("budget", 0)
        bursts, ran = report["engine"]["bursts"], report["engine"]["burst_instructions"]
        early = bursts - whole
        timed(report["engine"])
        expect(bursts > 0, "no burst was taken")
        expect(whole * int(length) <= ran <= bursts * int(length),
               f"{ran} instructions in {whole} bursts of {length}, {early} shorter ones")
        # A block that a system call or a fault cut short was counted whole. Where the program ends,
        # some instructions are the profiler's own, which are not.
        expect(ran - 64 * early <= report["instructions"] <= ran + 64 * early,
               f"{report['instructions']} instructions counted, {ran} executed in bursts")


def random_points():
    """Many bursts of few instructions each: other places each time."""
    recording = record([target("burst_looks"), "3000000"], rate="20000", length="1..40",
                       tool="count")
    had_bursts(recording)


def programs():
    text = "\n".join(str(i * 7919 % 100003) for i in range(60000)).encode()
    count = "my %h; $h{$_ % 1000} += $_ for 1..600000; print $h{7}"
    loop = "s=0; for ((i = 0; i < 40000; i++)); do ((s += i)); done; echo $s"
    commands = [
        ["sort", "-n"], ["gzip", "-c"], ["bzip2", "-c"], ["xz", "-T2", "-1", "-c"], ["sha256sum"],
        ["awk", "{s += $1 * $1} END {print s}"], ["grep", "-c", "99"], ["perl", "-e", count],
        ["bash", "-c", loop], ["python3", "-c", "print(sum(i * i for i in range(400000)))"],
        ["lua", "-e", "s = 0 for i = 1, 3e6 do s = s + i % 7 end print(s)"],
        ["luajit", "-e", "s = 0 for i = 1, 1e8 do s = s + i % 7 end print(s)"],
        ["ruby", "-e", "puts (1..400000).map { |x| x * x % 7 }.sum"],
        ["node", "-e", "let s = 0; for (let i = 0; i < 1e7; i++) s = (s + i * i) % 1000003; console.log(s)"],
        ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c where "
                                "x < 200000) select sum(x * x % 7) from c"],
    ]
    ran = 0
    for command in commands:
        if shutil.which(command[0]):
            record(command, stdin=text)
            ran += 1
    expect(ran > 3, "hardly a program is installed")


def options():
    for wrong in (["--length", "5..3"], ["--length", "0..3"], ["--length", "1.."],
                  ["--tool", "calls"]):
        result = run([PENUMBRA, "record", "--carrier", "burst", *wrong, "--", "true"])
        expect(result.returncode == 2 and result.stderr, f"{wrong} was taken")
    result = run([PENUMBRA, "record", "--carrier", "burst", "-p", str(os.getpid())])
    expect(result.returncode == 2 and b"burst" in result.stderr, "attached")


main({name: function for name, function in globals().items() if callable(function)})
