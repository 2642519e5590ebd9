"""Reads exported sample profiles with readers that this project did not write, and compares what
they see with the truth (the tree itself).

usage: check_exports.py WRITE_SAMPLE FORMAT

FORMAT: folded     our own folding of the tree, by the rules of flamegraph.pl
        callgrind  callgrind_annotate (Debian package valgrind)
        protoc     protoc --decode with the public schema (golang-github-google-pprof-dev)
        go         go tool pprof (golang-go)

Exits with 77 (skipped) if the reader is not installed."""
import codecs
import collections
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

SAMPLES = ["hand", "processes", "random", "events", "deep", "timeline"]
PERIOD = 1003009
SCHEMA_ROOT = "/usr/share/gocode/src/github.com/google/pprof/proto"
MAX_DEPTH = 100
LEFT_OUT = "[frames left out]"
IN_PHASE = 24  # samples of "timeline" in its phase


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def need(program):
    if not shutil.which(program):
        print(f"skipped: {program} is not installed")
        sys.exit(77)


def unescape(name):
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), name)


class Sample:
    """A sample profile in a directory, and the truth about it."""

    def __init__(self, program, which, directory):
        self.which = which
        self.directory = directory
        run(program, which, directory)
        self.stacks = []  # (thread id, thread name, (frames, outermost first), samples)
        with open(self.path("truth.tsv"), "rb") as f:
            for line in f.read().splitlines():
                samples, tid, name, *frames = line.split(b"\t")
                self.stacks.append((int(tid), name, tuple(map(unescape, frames)), int(samples)))
        self.total = sum(s[3] for s in self.stacks)
        assert self.total > 0

    def path(self, name):
        return os.path.join(self.directory, name)

    def self_costs(self):
        costs = collections.Counter()
        for _, _, frames, samples in self.stacks:
            costs[frames[-1]] += samples
        return costs

    def total_costs(self):
        """Inclusive: a function that is twice on a stack counts once."""
        costs = collections.Counter()
        for _, _, frames, samples in self.stacks:
            for name in set(frames):
                costs[name] += samples
        return costs


def cut(frames):
    """What --max-depth does to a stack without inlined frames."""
    if len(frames) <= MAX_DEPTH:
        return frames
    half = MAX_DEPTH // 2
    return frames[:half] + (LEFT_OUT.encode(),) + frames[-half:]


def cut_sample(sample, frames):
    return cut(frames) if sample.which == "deep" else frames


def one_line(name):
    """No control characters, and nothing that is not UTF-8."""
    return re.sub(rb"[\x00-\x1f\x7f]", b" ", name).replace(b"\xff", b"?")


def check_folded(sample):
    want = collections.Counter()
    for _, _, frames, samples in sample.stacks:
        frames = [one_line(f).replace(b";", b":") for f in cut_sample(sample, frames)]
        want[b";".join([b"demo", *frames])] += samples
    got = collections.Counter()
    with open(sample.path("folded.txt"), "rb") as f:
        for line in f.read().splitlines():
            # As flamegraph.pl reads a line.
            stack, count = re.fullmatch(rb"(.*)\s+?(\d+(?:\.\d*)?)", line).groups()
            assert stack not in got, f"two lines for one stack: {stack}"
            got[stack] = int(count)
    assert got == want, (got - want, want - got)


def annotate(sample, inclusive):
    out = run("callgrind_annotate", "--threshold=100", "--auto=no", f"--inclusive={inclusive}",
              sample.path("callgrind.out"), stderr=subprocess.STDOUT)
    assert b"malformed" not in out and b"WARNING" not in out, out.decode(errors="replace")
    total = None
    costs = collections.Counter()
    for line in out.splitlines():
        # "1,234 (56.7%) 789 (12.3%)  FILE:FUNCTION [OBJECT]"
        m = re.match(rb"\s*([\d,]+) \(\s*[\d.]+%\)(?:\s+([\d,]+|\.) (?:\(\s*[\d.]+%\)))?\s+(.*)",
                     line)
        if not m:
            continue
        count = int(m[1].replace(b",", b""))
        if m[3].startswith(b"PROGRAM TOTALS"):
            total = count
            if sample.which != "events":
                assert int(m[2].replace(b",", b"")) == count * PERIOD
            continue
        name = re.sub(rb" \[[^\[\]]*(\[\w+\])?\]$", b"", m[3]).strip()
        name = re.sub(rb"^(\?\?\?|/src/[\w .]+):", b"", name)
        costs[name] += count
    return total, costs


def check_callgrind(sample):
    total, costs = annotate(sample, "no")
    assert total == sample.total, (total, sample.total)
    want = collections.Counter({one_line(k): v for k, v in sample.self_costs().items()})
    assert costs == want, (costs - want, want - costs)
    _, costs = annotate(sample, "yes")
    want = collections.Counter({one_line(k): v for k, v in sample.total_costs().items()})
    if sample.which == "random":  # has roots that are re-entered, of which docs/exports.md warns
        return
    assert costs == want, (costs - want, want - costs)


def parse_text(lines):
    """protoc's text form: {field: [value or message]}."""
    message = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            return message
        if line.endswith("{"):
            message[line[:-1].strip()].append(parse_text(lines))
        else:
            key, value = line.split(": ", 1)
            if value.startswith('"'):
                message[key].append(codecs.escape_decode(value[1:-1].encode())[0])
            elif value in ("true", "false"):
                message[key].append(value == "true")
            else:
                message[key].append(int(value))
    return message


def scalar(message, key):
    return message[key][0] if message[key] else 0


def resolve_tables(profile):
    strings = profile["string_table"]
    assert strings[0] == b"" and strings.count(b"") == 1
    assert len(set(strings)) == len(strings)

    def text(message, key):
        index = scalar(message, key)
        assert 0 <= index < len(strings), f"{key}: string {index} of {len(strings)}"
        return strings[index]

    tables = {}
    for name in ("mapping", "location", "function"):
        tables[name] = {scalar(m, "id"): m for m in profile[name]}
        assert 0 not in tables[name] and len(tables[name]) == len(profile[name]), name
    return text, tables


def check_locations(tables, text):
    """Returns the names at each location, innermost first."""
    names = {}
    for number, location in tables["location"].items():
        mapping = scalar(location, "mapping_id")
        if mapping:
            m = tables["mapping"][mapping]
            assert scalar(m, "memory_start") <= scalar(location,
                                                       "address") < scalar(m, "memory_limit")
        assert location["line"], "a location without a function"
        names[number] = [text(tables["function"][scalar(line, "function_id")], "name")
                         for line in location["line"]]
    ranges = sorted((scalar(m, "memory_start"), scalar(m, "memory_limit"))
                    for m in tables["mapping"].values())
    assert all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:])), ranges
    return names


def check_protoc(sample):
    with gzip.open(sample.path("profile.pb.gz")) as f:
        decoded = run("protoc", f"--proto_path={SCHEMA_ROOT}",
                      "--decode=perftools.profiles.Profile", "profile.proto", input=f.read())
    assert not re.search(rb"^\s*\d+[:{ ]", decoded, re.M), "a field that the schema does not have"
    profile = parse_text(iter(decoded.decode("latin1").splitlines()))
    text, tables = resolve_tables(profile)
    names = check_locations(tables, text)
    time = sample.which != "events"
    trigger = b"cpu" if time else b"page-faults"
    types = [(text(t, "type"), text(t, "unit")) for t in profile["sample_type"]]
    assert types == [(b"samples", b"count"), (trigger, b"nanoseconds" if time else b"count")], types
    assert text(profile, "default_sample_type") == trigger
    assert text(profile["period_type"][0], "type") == trigger
    assert scalar(profile, "period") == PERIOD
    assert scalar(profile, "time_nanos") == 1700000000000000000
    assert scalar(profile, "duration_nanos") == 9000000000
    comments = [profile["string_table"][i] for i in profile["comment"]]
    assert b"Second note." in comments and b"command: demo --fast 'a b'" in comments, comments
    first = profile["mapping"][0]
    assert text(first, "filename") == b"/usr/bin/demo" and text(first, "build_id") == b"dead01"
    assert scalar(first, "has_functions") and scalar(first, "has_line_numbers")
    assert bool(scalar(first, "has_inline_frames")) == (sample.which != "deep")
    for mapping in tables["mapping"].values():
        if text(mapping, "filename") == b"/opt/libstripped.so":
            assert not scalar(mapping, "has_functions")
    check_samples(sample, profile, names, text)


def check_samples(sample, profile, names, text):
    want = collections.Counter()
    for tid, thread, frames, samples in sample.stacks:
        frames = [f.replace(b"\xff", b"?") for f in cut_sample(sample, frames)]
        want[(tid, thread, tuple(reversed(frames)))] += samples
    got, by_phase, by_rank = collections.Counter(), collections.Counter(), collections.Counter()
    for s in profile["sample"]:
        samples, weighed = s["value"]
        assert weighed == samples * PERIOD
        labels = {text(label, "key"): label for label in s["label"]}
        frames = tuple(n for location in s["location_id"] for n in names[location])
        tid, thread = scalar(labels[b"tid"], "num"), text(labels[b"thread"], "str")
        assert scalar(labels[b"pid"], "num") == (100 if tid in (100, 150) else 101)
        got[(tid, thread, frames)] += samples
        for label, by in (b"phase", by_phase), (b"rank", by_rank):
            if label in labels:
                by[text(labels[label], "str"), scalar(labels[b"pid"], "num")] += samples
    second = sum(samples for tid, _, _, samples in sample.stacks if tid in (101, 151))
    assert by_phase == ({(b"load", 100): IN_PHASE} if sample.which == "timeline" else {}), by_phase
    assert by_rank == ({(b"3", 101): second} if sample.which == "timeline" else {}), by_rank
    assert got == want, (got - want, want - got)


def pprof_top(directory, *arguments):
    """What pprof prints, and by function (flat, cumulative)."""
    out = run("go", "tool", "pprof", "-symbolize=none", "-sample_index=samples",
              "-nodecount=1000000", "-nodefraction=0", "-top", *arguments,
              stderr=subprocess.STDOUT,
              env={**os.environ, "HOME": directory, "PPROF_TMPDIR": directory})
    rows = {}
    for line in out.splitlines():
        # "flat flat% sum% cum cum% name"
        m = re.match(rb"\s*(-?\d+)\s+[-\d.]+%\s+[-\d.]+%\s+(-?\d+)\s+[-\d.]+%\s+(.*)", line)
        if m:
            name = re.sub(rb" \(inline\)$", b"", m[3])
            rows[name] = (int(m[1]), int(m[2]))
    return out, rows


def check_go_base(program):
    """One profile minus another, function by function; and minus itself, which is nothing."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        before, after = Sample(program, "random", one), Sample(program, "hand", two)
        base = "-base=" + before.path("profile.pb.gz")
        _, rows = pprof_top(one, base, after.path("profile.pb.gz"))
        self_costs, total_costs = before.self_costs(), before.total_costs()
        names = [n for n in {**total_costs, **after.total_costs()}
                 if re.fullmatch(rb"[\w:]+", n)]
        assert len(names) >= 3
        for name in names:
            want = (after.self_costs()[name] - self_costs[name],
                    after.total_costs()[name] - total_costs[name])
            assert rows.get(name, (0, 0)) == want, (name, rows.get(name), want)
        assert any(flat < 0 for flat, _ in rows.values())
        _, rows = pprof_top(one, base, before.path("profile.pb.gz"))
        assert all(row == (0, 0) for row in rows.values()), rows
    print("go: -base: ok")


def check_go(sample):
    out, rows = pprof_top(sample.directory, sample.path("profile.pb.gz"))
    self_costs, total_costs = sample.self_costs(), sample.total_costs()
    # pprof shortens template arguments and parameters in names; go by the plain ones.
    plain = [n for n in total_costs if re.fullmatch(rb"[\w:]+", n)]
    assert len(plain) >= 3
    if sample.which == "deep":
        assert rows[b"main"] == (0, sample.total), rows
    else:
        for name in plain:
            assert rows[name] == (self_costs[name], total_costs[name]), (name, rows[name])
    assert b"Type: samples" in out, out
    assert sum(flat for flat, _ in rows.values()) == sample.total
    if sample.which == "timeline":
        _, in_phase = pprof_top(sample.directory, "-tagfocus=phase=load", sample.path("profile.pb.gz"))
        assert sum(flat for flat, _ in in_phase.values()) == IN_PHASE, in_phase


def main():
    program, which = sys.argv[1:]
    if which == "callgrind":
        need("callgrind_annotate")
    if which == "go":
        need("go")
    if which == "protoc":
        need("protoc")
        if not os.path.exists(os.path.join(SCHEMA_ROOT, "profile.proto")):
            print("skipped: the public schema (golang-github-google-pprof-dev) is not installed")
            sys.exit(77)
    check = {"folded": check_folded, "callgrind": check_callgrind, "protoc": check_protoc,
             "go": check_go}[which]
    for name in SAMPLES:
        with tempfile.TemporaryDirectory() as directory:
            check(Sample(program, name, directory))
        print(f"{which}: {name}: ok")
    if which == "go":
        check_go_base(program)


if __name__ == "__main__":
    main()
