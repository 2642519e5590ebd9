#!/usr/bin/env python3
"""test_large.py PENUMBRA WRITE_LARGE: a merge of 500 processes with five metrics is reported, and exported besides its
text, in memory of less than ten times its size, and says the same as where threads are told apart; exports have all
of its samples. Pages, pprof and firefox, which say what each thread has, take less than thirty times it besides."""
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

penumbra, write_large = sys.argv[1:]


def run(*arguments, wanted=-1):
    """Standard output, or so much of it, its size, and the peak memory in bytes: no less than this
    process has used before."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([penumbra, *arguments], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, arguments
        out.seek(0)
        return out.read(wanted).decode(), os.fstat(out.fileno()).st_size, usage.ru_maxrss * 1024


def varint(data, at):
    value = shift = 0
    while data[at] >= 0x80:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def fields(data):
    """Of a protobuf message: numbers, and bytes of what has a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def numbers(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def stacks_of_pprof(data):
    """{(thread, its pid and number, names outermost first): values}, of the parts of profile.proto that
    are needed."""
    profile = list(fields(data))
    strings = [value.decode() for field, value in profile if field == 6]
    functions = {one[1]: strings[one[2]] for one in (dict(fields(v)) for field, v in profile if field == 5)}
    locations = {}
    for location in (list(fields(value)) for field, value in profile if field == 4):
        lines = [dict(fields(value)) for field, value in location if field == 4]
        locations[dict(location)[1]] = [functions[line[1]] for line in lines]
    stacks = {}
    for sample in (list(fields(value)) for field, value in profile if field == 2):
        labels = {strings[one[1]]: one for one in (dict(fields(v)) for field, v in sample if field == 3)}
        names = [name for number in numbers(dict(sample)[1]) for name in locations[number]]
        key = (strings[labels["thread"][2]], labels["pid"][3], labels["tid"][3], *reversed(names))
        values = list(numbers(dict(sample)[2]))
        stacks[key] = [a + b for a, b in zip(values, stacks.get(key, [0] * len(values)))]
    return stacks


def stacks_of_folded(text):
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        thread, *names = stack.split(";")
        name, pid, tid = re.fullmatch(r"(.*)-(\d+)/(\d+)", thread).groups()
        yield (name, int(pid), int(tid), *names), int(weight)


def folded_by_thread(path, metric):
    return dict(stacks_of_folded(run("export", "--format", "folded", "--threads", "--metric", metric, path)[0]))


def check_pprof(path, directory):
    out = os.path.join(directory, "pprof")
    run("export", "--format", "pprof", "-o", out, path)
    with open(out, "rb") as file:
        stacks = stacks_of_pprof(gzip.decompress(file.read()))
    for place, metric in ((0, "time"), (2, "faults"), (3, "allocated"), (5, "peak")):
        period = {0: 1, 2: 16}.get(place, 65536)
        assert folded_by_thread(path, metric) == {
            stack: values[place] // period for stack, values in stacks.items() if values[place]}


def check_firefox(path):
    profile = json.loads(run("export", "--format", "firefox", path)[0])
    strings, stacks, got = profile["shared"]["stringArray"], [], collections.defaultdict(collections.Counter)
    names, frames = profile["shared"]["funcTable"]["name"], profile["shared"]["frameTable"]["func"]
    table = profile["shared"]["stackTable"]
    for prefix, frame in zip(table["prefix"], table["frame"]):
        stacks.append((() if prefix is None else stacks[prefix]) + (strings[names[frames[frame]]],))
    for thread in profile["threads"]:
        name, _, metric = thread["name"].partition(" (")
        metric = metric.rstrip(")") or "time"
        period = {"time": 1, "faults": 16}.get(metric, 65536)
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            if stack is not None:
                got[metric][(name, int(thread["pid"]), thread["tid"], *stacks[stack])] += round(weight / period)
    assert set(got) == {"time", "faults", "allocated", "live", "peak"}, set(got)
    for metric, weights in got.items():
        assert folded_by_thread(path, metric) == weights, metric


def check_page(path, directory):
    """What threads have of the nodes of the page's trees is what they have."""
    out = os.path.join(directory, "page.html")
    run("report", "--html", out, "--min", "0", path)
    with open(out, encoding="utf-8") as file:
        page = json.loads(re.search(r'<script[^>]*application/json[^>]*>(.*?)</script>', file.read(), re.S)[1])
    for report in page:
        selfs, shares, node = [0] * len(report["nodes"]["self"]), [0] * len(report["threads"]), 0
        columns = report["nodes"]["threads"]
        for step, thread, own, left_out in zip(*(columns[i::4] for i in range(4))):
            node += step
            selfs[node] += own
            shares[thread] += own + left_out
        assert selfs == report["nodes"]["self"] and sum(shares) == report["samples"]
        if report["metric"] in ("time", "faults", "allocated"):
            assert shares == [thread["samples"] for thread in report["threads"]], report["metric"]
        check_times(report)


def check_times(report):
    """The page's moments are the threads' samples, where they have times: those of the first metric."""
    assert ("times" in report) == (report["metric"] == "time"), report["metric"]
    for thread in report.get("times", {}).get("threads", ()):
        assert sum(thread["moments"][3::4]) == report["threads"][thread["thread"]]["samples"]
        assert sum(thread["moments"][0::4]) < report["times"]["columns"]
        assert all(node for node in thread["moments"][2::4])  # all of them are told apart


def check_one(path):
    """One tree is held once: a node of 160 bytes takes less than twice that, whatever else there is."""
    made = subprocess.run([write_large, path, "1", "1", "400000", "300000"], check=True, stdout=subprocess.PIPE, text=True)
    nodes = int(re.search(r"(\d+) nodes", made.stdout)[1])
    peak = run("report", path, wanted=1000)[2]
    print(f"one tree of {nodes} nodes: {peak} bytes, {peak / nodes:.0f} a node")
    assert nodes > 200000 and peak < 380 * nodes, "less than 380 bytes a node"


def makes_pages(path):
    made = subprocess.run([penumbra, "report", "--html", os.devnull, path], stderr=subprocess.PIPE, text=True)
    return "-Dhtml=true" not in made.stderr


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "large.pnb")
        subprocess.run([write_large, path, "500", "2", "500"], check=True)
        size = os.path.getsize(path)
        for command in (("report",), ("report", "--tree"), ("export", "--format", "callgrind"),
                        ("export", "--format", "folded")):
            text, length, peak = run(*command, path, wanted=1000)
            print(f"{size} bytes, {' '.join(command)}: {peak} bytes, {peak / size:.1f} times as much")
            assert command[0] == "export" or "500 processes, 1000 threads; 500,000 samples" in text
            besides = 2 * length if command[0] == "export" else 0  # a buffer that doubles
            assert peak < 10 * size + besides, "less than ten times the file"
        pages = makes_pages(path)
        for command in (("export", "--format", "pprof", "-o"), ("export", "--format", "firefox", "-o"),
                        ("report", "--html"))[:2 + pages]:
            out = os.path.join(directory, "out")
            peak = run(*command, out, path)[2]
            print(f"{' '.join(command)}: {peak} bytes, {peak / size:.1f} times as much")
            besides = 2 * os.path.getsize(out)
            assert peak < 30 * size + besides, "less than thirty times the file"

        check_one(path)
        subprocess.run([write_large, path, "20", "2", "500"], check=True)
        check_pprof(path, directory)
        check_firefox(path)
        if pages:
            check_page(path, directory)
        report = json.loads(run("report", "--json", path)[0])
        rows = re.findall(r"^ +([\d.]+)% +([\d.]+)% +([\d,]+)  ",
                          run("report", "--min", "0", "--limit", "0", path)[0], re.M)
        functions = [f for f in report["functions"] if f["self"]]
        assert [int(row[2].replace(",", ""))
                for row in rows[:len(functions)]] == [f["self"] for f in functions]
        folded = run("export", "--format", "folded", path)[0].splitlines()
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == 20 * 2 * 500
        apart = run("export", "--format", "folded", "--threads", path)[0].splitlines()
        joined = {}
        for line in apart:
            stack, weight = line.rsplit(" ", 1)
            stack = "program;" + stack.split(";", 1)[1]
            joined[stack] = joined.get(stack, 0) + int(weight)
        assert sorted(folded) == sorted(f"{stack} {weight}" for stack, weight in joined.items())


main()
