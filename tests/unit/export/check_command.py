"""The command `penumbra export`: where it writes, what it refuses, and with which words.

usage: check_command.py WRITE_SAMPLE PENUMBRA WRITE_LARGE"""
import collections
import gzip
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile

write_sample, penumbra, write_large = map(os.path.abspath, sys.argv[1:])


def export(directory, *arguments, status=0, says=b""):
    done = subprocess.run([penumbra, "export", *arguments], cwd=directory, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1200)
    assert done.returncode == status, (arguments, done)
    assert says in done.stderr, (arguments, says, done.stderr)
    return done.stdout


def samples_of_folded(text):
    return sum(int(line.rsplit(b" ", 1)[1]) for line in text.splitlines())


def test_formats(d):
    with open(os.path.join(d, "truth.tsv"), "rb") as f:
        want = sum(int(line.split(b"\t")[0]) for line in f)
    assert samples_of_folded(export(d, "sample.pnb", "--format", "folded")) == want
    assert samples_of_folded(export(d, "--format=folded", "--quick", "sample.pnb")) == want
    assert b"demo-100/100;" in export(d, "-f", "folded", "--threads", "sample.pnb")
    assert b"summary: %d " % want in export(d, "sample.pnb", "-f", "callgrind")
    assert gzip.decompress(export(d, "sample.pnb"))  # pprof, to a pipe


def test_folded_is_the_tree_of_the_report(d):
    done = subprocess.run([penumbra, "report", "--json", "sample.pnb"], cwd=d, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1200)
    want = collections.Counter()
    stack = [(json.loads(done.stdout)["tree"], ())]
    while stack:
        node, path = stack.pop()
        want[path] += node["self"]
        stack += [(c, path + (c["name"].replace(";", ":"),)) for c in node["children"]]
    got = collections.Counter()
    for line in export(d, "sample.pnb", "-f", "folded").decode().splitlines():
        frames, count = line.rsplit(" ", 1)
        got[tuple(frames.split(";")[1:])] += int(count)
    assert got == +want, (got - want, want - got)
    assert len(got) > 10


def speedscope_total(d, *arguments):
    return sum(p["endValue"] for p in json.loads(export(d, "-f", "speedscope", *arguments))["profiles"])


def firefox_total(d, *arguments):
    threads = json.loads(export(d, "-f", "firefox", *arguments))["threads"]
    return round(sum(sum(t["samples"]["weight"]) for t in threads) * 1e6)


def pprof_sum(d, metric, unit, *arguments):
    """Of all functions' own amounts, as go tool pprof prints them."""
    top = subprocess.run(["go", "tool", "pprof", "-symbolize=none", f"-sample_index={metric}", f"-unit={unit}",
                          "-nodecount=1000000", "-nodefraction=0", "-top", *arguments], cwd=d, check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, timeout=1200, env={**os.environ, "HOME": d, "PPROF_TMPDIR": d}).stdout.decode()
    return sum(int(m[1]) for m in re.finditer(r"^ *(-?\d+)(?:ns|B)? +[-\d.]+% +[-\d.]+% ", top, re.M))


def report_sum(d, metric, file, *options):
    done = subprocess.run([penumbra, "report", "--json", "--metric", metric, *options, file], cwd=d, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1200)
    report = json.loads(done.stdout)
    return report["tree"]["total"] * report["period"]


def test_pprof_subtracts_by_label_and_metric(d):
    """What pprof makes of -base for one thread, phase or rank is the difference of the reports, by each metric."""
    if not shutil.which("go"):
        print("skipped: no go", end=" ")
        return
    for name, samples in ("small", "200"), ("large", "500"):
        subprocess.run([write_large, f"{name}.pnb", "2", "3", samples], cwd=d, check=True, stdout=subprocess.DEVNULL)
    for name in "small", "large", "timeline", "sample":
        export(d, "-o", f"{name}.pb.gz", f"{name}.pnb")
    for metric, unit in ("cpu", "ns"), ("faults", "count"), ("allocated", "B"), ("live", "B"), ("peak", "B"):
        for tags, options in ([], []), (["-tagfocus=thread=^worker-1$"], ["--thread", "worker-1"]):
            want = report_sum(d, metric, "large.pnb", *options) - report_sum(d, metric, "small.pnb", *options)
            got = pprof_sum(d, metric, unit, *tags, "-base=small.pb.gz", "large.pb.gz")
            assert want > 0 and got == want, (metric, tags, got, want)
            assert pprof_sum(d, metric, unit, *tags, "-base=small.pb.gz", "small.pb.gz") == 0
    # One has phases and ranks, the other has not. The rank is that of one process.
    for tags, options in (["-tagfocus=phase=^load$"], ["--phase", "load"]), (["-tagfocus=rank=^3$"], ["--process", "101"]):
        want = report_sum(d, "cpu", "timeline.pnb", *options)
        got = pprof_sum(d, "cpu", "ns", *tags, "-base=sample.pb.gz", "timeline.pb.gz")
        assert want > 0 and got == want, (tags, got, want)
    by_tag = pprof_sum(d, "cpu", "ns", "-tagroot=phase,rank", "-base=timeline.pb.gz", "timeline.pb.gz")
    assert by_tag == 0, by_tag


def test_viewers_have_the_totals_of_the_report(d):
    for options in [], ["--time", "0..4.2s"], ["--time=2s..50%"], ["--phase", "load"]:
        done = subprocess.run([penumbra, "report", "--json", *options, "timeline.pnb"], cwd=d, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1200)
        want = json.loads(done.stdout)
        want = want["tree"]["total"] * want["period"]
        assert want > 0
        for get in speedscope_total, firefox_total:
            assert get(d, *options, "timeline.pnb") == want, (get, options, want)
        assert speedscope_total(d, "--threads", *options, "timeline.pnb") == want, options


def amounts_of_firefox(file):
    """{metric: amount}, in units of the metric, of threads that say which one they are of."""
    amounts = collections.Counter()
    for thread in file["threads"]:
        metric = thread["name"].rpartition(" (")[2].rstrip(")") if "(" in thread["name"] else "time"
        scale = 1e6 if thread["samples"]["weightType"] == "tracing-ms" else 1
        amounts[metric] += sum(thread["samples"]["weight"]) * scale
    return {metric: round(amount) for metric, amount in amounts.items()}


def test_viewers_have_all_metrics(d):
    subprocess.run([write_large, "large.pnb", "2", "2", "300"], cwd=d, check=True, stdout=subprocess.DEVNULL)
    want = {}
    for name in ("time", "faults", "allocated", "live", "peak"):
        done = subprocess.run([penumbra, "report", "--json", "--metric", name, "large.pnb"], cwd=d, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1200)
        report = json.loads(done.stdout)
        period = next(m["period"] for m in report["metrics"] if m["name"] == name)
        want[name] = report["tree"]["total"] * period
    profiles = json.loads(export(d, "-f", "speedscope", "large.pnb"))["profiles"]
    assert {p["name"]: p["endValue"] for p in profiles} == want
    assert {p["unit"] for p in profiles} == {"nanoseconds", "none", "bytes"}
    assert amounts_of_firefox(json.loads(export(d, "-f", "firefox", "large.pnb"))) == want
    first = json.loads(export(d, "-f", "speedscope", "--metric", "live", "large.pnb"))["profiles"][0]
    assert (first["name"], first["endValue"]) == ("live", want["live"])


def test_times_that_nobody_knows_are_said(d):
    for options in ["-f", "firefox"], ["-f", "speedscope", "--threads"]:
        export(d, *options, "sample.pnb", says=b"8218 of 8218 samples fell is not known")
        export(d, *options, "timeline.pnb", says=b"samples fell is not known")
    done = subprocess.run([penumbra, "export", "-f", "speedscope", "timeline.pnb"], cwd=d, check=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=1200)
    assert b"not known" not in done.stderr and b"5 samples were dropped" in done.stderr, done


def test_output_file(d):
    assert export(d, "sample.pnb", "-f", "folded", "-o", "out.txt") == b""
    with open(os.path.join(d, "out.txt"), "rb") as f:
        assert f.read() == export(d, "sample.pnb", "-f", "folded", "-o", "-")


def test_default_input(d):
    os.link(os.path.join(d, "sample.pnb"), os.path.join(d, "penumbra.pnb"))
    assert export(d, "-f", "folded") == export(d, "-f", "folded", "sample.pnb")


def test_binary_is_not_written_to_a_terminal(d):
    ours, theirs = pty.openpty()
    done = subprocess.run([penumbra, "export", "sample.pnb"], cwd=d, stdout=theirs,
                          stderr=subprocess.PIPE, timeout=1200)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0 and b"wrote penumbra.pb.gz" in done.stderr, done
    with gzip.open(os.path.join(d, "penumbra.pb.gz")) as f:
        assert f.read()


def test_refusals(d):
    export(d, "-f", "nonsense", "sample.pnb", status=2,
           says=b"firefox, otlp, bolt, llvm-profgen, llvm-sample, llvm-contexts, autofdo, propeller, order or order-sections")
    export(d, "--nonsense", status=2, says=b"--nonsense")
    export(d, "-f", status=2, says=b"needs a value")
    export(d, "--max-depth", "1", status=2, says=b"not '1'")
    export(d, "--max-depth=-3", status=2, says=b"not '-3'")
    export(d, "sample.pnb", "other.pnb", status=2, says=b"one profile at a time")
    export(d, "-o", "sample.pnb", "sample.pnb", status=2, says=b"would be overwritten")
    export(d, "missing.pnb", status=127, says=b"missing.pnb")
    export(d, "truth.tsv", status=3, says=b"truth.tsv")
    export(d, "sample.pnb", "-o", "no/such/directory", status=124, says=b"no/such/directory")
    export(d, "sample.pnb", "-o", "/dev/full", status=124, says=b"/dev/full")
    assert b"Usage: penumbra export" in export(d, "--help")


def test_deep_stacks_are_shortened_aloud(d):
    out = export(d, "-f", "folded", "--max-depth", "2", "sample.pnb", says=b"--max-depth")
    assert b"[frames left out]" in out
    assert samples_of_folded(out) == samples_of_folded(export(d, "-f", "folded", "sample.pnb"))


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as directory:
                subprocess.run([write_sample, "timeline", directory], check=True)
                os.rename(os.path.join(directory, "sample.pnb"), os.path.join(directory, "timeline.pnb"))
                subprocess.run([write_sample, "hand", directory], check=True)
                test(directory)
            print(f"{name}: ok")


main()
