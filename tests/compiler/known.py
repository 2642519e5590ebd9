#!/usr/bin/env python3
"""Compiles a program with the plugin, records it, and looks at what the recording says.

usage: known.py PENUMBRA PLUGIN RUNTIME CC FOLDER TEST

RUNTIME is penumbra-inst.o, CC the compiler that PLUGIN is for, FOLDER where programs/ is. Tests:

  names      values, allocations, types, bit fields and inlined calls by their names, counted exactly
  crossing   bit fields that lie in several bytes, with and without optimization
  crowded    targets of indirect calls are counted, though pairs of fields have taken all other room
  locked     checks that must be written into code which the kernel keeps from being written
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile

ROUNDS = 1000


def fail(text):
    sys.exit(f"known.py: {text}")


def expect(condition, text):
    if not condition:
        fail(text)


def run(command, **more):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if result.returncode or result.stderr:
        fail(f"{' '.join(command)}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class Tools:
    def __init__(self, arguments, work):
        self.penumbra, self.plugin, self.runtime, self.cc, self.folder = map(os.path.abspath, arguments)
        self.work = work

    def compile(self, name, flags, what):
        """In the folder `work`, where files of counters go, too."""
        source = os.path.join(self.folder, "programs", name + ".c")
        plugin = [f"-fplugin={self.plugin}", *f"-fplugin-arg-penumbra-gcc-what={what}".split(),
                  self.runtime, "-Wl,--export-dynamic-symbol=__penumbra1_owner"] if what else []
        run([self.cc, *flags, source, "-o", name, "-pthread", *plugin], cwd=self.work)

    def record(self, name, interval, *arguments, **more):
        run([self.penumbra, "record", "-q", "-o", "out.pnb", "--carrier", "compiled", "--interval",
             str(interval), "--", "./" + name, *map(str, arguments)], cwd=self.work, **more)
        return json.loads(run([self.penumbra, "report", "--json", "--limit", "0", "out.pnb"],
                              cwd=self.work))


def names(tools):
    tools.compile("known", ["-O2", "-g"], "calls,fields,values,allocations")
    report = tools.record("known", 1, ROUNDS)
    values = {(h["kind"], v["function"], v["name"]):
              (v["count"], {e["text"]: e["share"] for e in h["values"]})
              for v in report["named"] for h in v["hotlists"]}
    expect(values["argument", "fill", "amount"] == (ROUNDS, {"5": 0.75, "-5": 0.25}), values)
    expect(values["length", "copied", "memcpy"] == (ROUNDS, {"8": 0.5, "24": 0.5}), values)
    expect(values["divisor", "divided", ""] == (ROUNDS, {"7": 1}), values)
    sites = [(a["caller"], a["type"], a["allocations"], a["bytes"])
             for a in report["allocation_sites"]]
    expect(sites == [("main", "pair_t", ROUNDS, 16 * ROUNDS)], sites)
    fields = {(t["name"], m["name"]): (m["reads"], m["writes"]) for t in report["types"]
              for m in t["members"]}
    expect(fields["pair_t", "first"] == (10 * ROUNDS, ROUNDS), fields)
    expect(fields["pair_t", "second"] == (11 * ROUNDS, ROUNDS), fields)
    expect(fields["bits", "two"][0] == ROUNDS and fields["bits", "one"][0] == 0, fields)
    layouts = {t["name"]: (t["bytes_proposed"], [(m["name"], m["offset"]) for m in t["layout"]])
               for t in report["types"]}
    expect(layouts["either"] == (8, []), layouts)
    expect(layouts["placed"] == (24, [("_vptr_of", 0), ("hot", 8), ("cold", 16)]), layouts)
    inlined = {(c["caller"], c["callee"]): c["count"] for c in report["call_sites"] if c["inlined"]}
    expect(inlined == {("fill", "twice"): ROUNDS, ("main", "atol"): 1}, inlined)


def crossing(tools):
    for level in "-O0", "-O2":
        tools.compile("known", [level, "-g"], "fields")
        report = tools.record("known", 1, ROUNDS)
        [found] = [t for t in report["types"] if t["name"] == "crossing"]
        members = found["members"]
        writes = {m["name"]: m["writes"] for m in members}
        reads = {m["name"]: m["reads"] for m in members}
        # The compiler may make the words that main begins with of more than one write.
        expect(writes.get("low", 0) <= 3, (level, members))
        expect(ROUNDS <= writes["middle"] <= ROUNDS + 3, (level, members))
        expect(ROUNDS <= writes["high"] <= ROUNDS + 3, (level, members))
        # Bit fields that lie side by side stay together.
        expect([(m["name"], m["offset"]) for m in found["layout"]] == [("low", 0)] and
               found["bytes_proposed"] == 4, (level, found))
        # A word is read to write a part of it.
        expect(reads.get("low", 0) <= 3 and reads["middle"] >= ROUNDS, (level, members))


def crowded(tools):
    tools.compile("crowded", ["-O2"], "calls,fields")
    report = tools.record("crowded", 1, ROUNDS)
    targets = {c["callee"]: c["count"] for c in report["call_sites"] if c["indirect"]}
    expect(report["fields_missed"] > 0, "pairs have found room")
    expect(targets == {f"target{n:02o}": 10 for n in range(64)}, targets)


def deny_written_code():
    PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
    if ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
        raise OSError("prctl")


def locked(tools):
    try:
        run(["true"], preexec_fn=deny_written_code)
    except subprocess.SubprocessError:
        print("skipped: Linux before 6.3 cannot keep code from being written")
        sys.exit(77)
    tools.compile("known", ["-O2"], "calls -fplugin-arg-penumbra-gcc-check=patched")
    report = tools.record("known", 1, ROUNDS, preexec_fn=deny_written_code)
    expect(report["taken"] == 0 and report["dropped"]["locked-code"] == 1, report)


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="compiler-test-") as work:
        tests = {"names": names, "crossing": crossing, "crowded": crowded, "locked": locked}
        tests[sys.argv[6]](Tools(sys.argv[1:6], work))


if __name__ == "__main__":
    main()
