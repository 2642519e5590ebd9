"""Exports to the Firefox Profiler, compared with the tree, and checked by the rules of the processed
profile format (docs-developer/processed-profile-format.md and src/types/profile.ts of
github.com/firefox-devtools/profiler, version 60): which columns a table has, that they are equally
long, that indices are in range, that stacks follow their prefixes, and samples the time.

usage: check_firefox.py WRITE_SAMPLE"""
import collections
import json
import os
import sys

import truth

BIN_MS = 2**20 / 1e6
ANY = None
# table: {column: the table that its values are indices of, or ANY}
SHARED = {
    "stackTable": {"prefix": "stackTable", "frame": "frameTable"},
    "frameTable": {"address": ANY, "inlineDepth": ANY, "category": "categories",
                   "subcategory": ANY, "func": "funcTable", "nativeSymbol": "nativeSymbols",
                   "innerWindowID": ANY, "line": ANY, "column": ANY},
    "funcTable": {"name": "stringArray", "isJS": ANY, "relevantForJS": ANY,
                  "resource": "resourceTable", "source": "sources", "lineNumber": ANY,
                  "columnNumber": ANY},
    "nativeSymbols": {"libIndex": "libs", "address": ANY, "name": "stringArray",
                      "functionSize": ANY},
    "resourceTable": {"lib": "libs", "name": "stringArray", "host": "stringArray", "type": ANY},
    "sources": {"uuid": ANY, "filename": "stringArray"},
}
TABLES = {
    "markers": {"data": ANY, "name": "stringArray", "startTime": ANY, "endTime": ANY,
                "phase": ANY, "category": "categories"},
    "samples": {"stack": "stackTable", "time": ANY, "weight": ANY},
}
MAY_BE_NULL = {("stackTable", "prefix"), ("frameTable", "nativeSymbol"),
               ("funcTable", "source"), ("resourceTable", "host"), ("samples", "stack")}
META = ["interval", "startTime", "processType", "product", "stackwalk", "version", "categories",
        "preprocessedProfileVersion", "markerSchema", "symbolicated", "extensions"]
THREAD = ["processType", "processStartupTime", "processShutdownTime", "registerTime",
          "unregisterTime", "pausedRanges", "name", "isMainThread", "pid", "tid", *TABLES]


def size_of(profile, table):
    if table in ("libs", "categories"):
        return len(profile["libs"] if table == "libs" else profile["meta"]["categories"])
    shared = profile["shared"]
    return len(shared["stringArray"]) if table == "stringArray" else shared[table]["length"]


def check_table(profile, table, name, columns):
    extra = {"samples": {"weightType", "threadCPUDelta"}}.get(name, set())
    assert set(table) - extra == {"length", *columns}, (name, set(table))
    for column, of in columns.items():
        values = table[column]
        assert len(values) == table["length"], (name, column)
        if of is ANY:
            continue
        size = size_of(profile, of)
        for value in values:
            if value is None:
                assert (name, column) in MAY_BE_NULL, (name, column)
            elif not (name, column) == ("funcTable", "resource") or value != -1:
                assert isinstance(value, int) and 0 <= value < size, (name, column, value, size)


def check_stacks(shared):
    """Stacks follow their prefixes; inlined frames are at the address they were inlined into. No
    stack is there twice."""
    stacks, frames = shared["stackTable"], shared["frameTable"]
    assert len(set(zip(stacks["prefix"], stacks["frame"]))) == stacks["length"]
    for i, (prefix, frame) in enumerate(zip(stacks["prefix"], stacks["frame"])):
        assert prefix is None or prefix < i
        depth = frames["inlineDepth"][frame]
        if depth:
            outer = stacks["frame"][prefix]
            assert frames["inlineDepth"][outer] == depth - 1
            assert frames["address"][outer] == frames["address"][frame]
            assert frames["nativeSymbol"][outer] == frames["nativeSymbol"][frame]


def check_samples(thread, unit):
    samples = thread["samples"]
    assert samples["weightType"] == unit
    assert samples["time"] == sorted(samples["time"])
    for stack, weight in zip(samples["stack"], samples["weight"]):
        assert (stack is None) == (weight == 0), (stack, weight)
    if "threadCPUDelta" in samples:
        assert len(samples["threadCPUDelta"]) == samples["length"]
        for ns, ms in zip(samples["threadCPUDelta"], samples["weight"]):
            assert abs(ns / 1e6 - ms) < 1e-6


def check_format(profile, unit):
    meta = profile["meta"]
    assert all(key in meta for key in META), META
    assert meta["preprocessedProfileVersion"] == 60
    assert any(c["color"] == "grey" for c in meta["categories"])
    assert all(c["subcategories"][0] == "Other" for c in meta["categories"])
    schemas = {s["name"]: {f["key"] for f in s["fields"]} for s in meta["markerSchema"]}
    assert all("format" in f for s in meta["markerSchema"] for f in s["fields"])
    assert len({(t["pid"], t["tid"], t["name"]) for t in profile["threads"]}) == len(
        profile["threads"])
    for lib in profile["libs"]:
        assert len(lib["breakpadId"]) == 33 and lib["path"].endswith(lib["name"])
    assert set(profile["shared"]) == {*SHARED, "stringArray"}
    assert len(set(profile["shared"]["stringArray"])) == len(profile["shared"]["stringArray"])
    for name, columns in SHARED.items():
        check_table(profile, profile["shared"][name], name, columns)
    check_stacks(profile["shared"])
    for thread in profile["threads"]:
        assert all(key in thread for key in THREAD), THREAD
        assert not set(thread) & set(SHARED), set(thread)
        assert isinstance(thread["pid"], str)
        for name, columns in TABLES.items():
            check_table(profile, thread[name], name, columns)
        check_samples(thread, unit)
        for data in thread["markers"]["data"]:
            assert set(data) == {"type", *schemas[data["type"]]}, data


def stacks_of(shared):
    """By stack: its frames."""
    names, stacks = shared["stringArray"], []
    funcs, frames = shared["funcTable"]["name"], shared["frameTable"]["func"]
    for prefix, frame in zip(shared["stackTable"]["prefix"], shared["stackTable"]["frame"]):
        before = () if prefix is None else stacks[prefix]
        stacks.append(before + (names[funcs[frames[frame]]],))
    return stacks


def weights_of(thread, stacks):
    """{frames: weight}"""
    got = collections.Counter()
    for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
        if stack is not None:
            got[stacks[stack]] += weight
    return got


def check_weights(profile, want, scale):
    wanted = collections.defaultdict(collections.Counter)
    for tid, _, frames, samples in want:
        wanted[tid][frames] += samples
    stacks = stacks_of(profile["shared"])
    got = {t["tid"]: collections.Counter({frames: round(weight / scale)
                                          for frames, weight in weights_of(t, stacks).items()})
           for t in profile["threads"] if t["samples"]["length"]}
    assert got == wanted, (got, wanted)


# ---- what sample.c has in its timeline ----

def between(thread, first, last):
    """Weighted samples in these bins."""
    samples = thread["samples"]
    return round(sum(weight for time, weight in zip(samples["time"], samples["weight"])
                     if first * BIN_MS <= time < (last + 1) * BIN_MS) / (truth.PERIOD / 1e6))


def check_times(thread, total):
    assert [between(thread, n, n) for n in (9, 10, 11, 12, 100, 101, 5000)] == [
        0, 7, 0, 40, 11, 13, 116]
    early, late = between(thread, 2001, 3000), between(thread, 3001, 4000)
    assert early + late == 4000 and abs(early - late) < 100, (early, late)
    # The rest has no time: it is at the thread's end.
    end = [w for t, w in zip(thread["samples"]["time"], thread["samples"]["weight"]) if t >= 9000]
    assert round(sum(end) / (truth.PERIOD / 1e6)) == total - 7 - 40 - 24 - 4000 - 116
    gaps = [t for t, s in zip(thread["samples"]["time"], thread["samples"]["stack"]) if s is None]
    assert [round(t / BIN_MS, 3) for t in gaps[:4]] == [11, 12, 13, 100], gaps


def check_markers(thread, strings):
    markers = thread["markers"]
    got = {}
    for i, name in enumerate(markers["name"]):
        end = markers["endTime"][i]
        assert markers["phase"][i] == (0 if end is None else 1)
        got[strings[name]] = (markers["startTime"][i], end,
                                            markers["data"][i]["detail"])
    assert set(got) == {"load", "fork", "exit", "dropped samples"}, got
    start, end, _ = got["load"]
    assert abs(start - 100 * BIN_MS) < 1e-5 and abs(end - 102 * BIN_MS) < 1e-5, got
    assert got["fork"][:2] == (1000, None) and "process 101" in got["fork"][2], got
    assert got["exit"][:2] == (9000, None), got
    assert got["dropped samples"][2].startswith("5,"), got


def check_timeline(profile, want):
    main = next(t for t in profile["threads"] if t["tid"] == 100)
    assert main["isMainThread"] and main["processShutdownTime"] == 9000
    check_times(main, sum(samples for tid, _, _, samples in want if tid == 100))
    strings = profile["shared"]["stringArray"]
    check_markers(main, strings)
    child = next(t for t in profile["threads"] if t["tid"] == 101)
    assert [strings[n] for n in child["markers"]["name"]] == ["exec"]


def check(which, directory, want):
    with open(os.path.join(directory, "firefox.json"), encoding="utf-8") as f:
        profile = json.load(f)
    events = which == "events"
    check_format(profile, "samples" if events else "tracing-ms")
    check_weights(profile, want, truth.PERIOD if events else truth.PERIOD / 1e6)
    if which == "hand":
        assert [lib["codeId"] for lib in profile["libs"]] == ["0bad", "dead01", None]
        assert [lib["breakpadId"][:8] for lib in profile["libs"]][:2] == ["0000AD0B", "0001ADDE"]
        assert max(profile["shared"]["frameTable"]["inlineDepth"]) == 2
    if which == "timeline":
        check_timeline(profile, want)


truth.for_each(sys.argv[1], check)
