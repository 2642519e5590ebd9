#!/usr/bin/env python3
"""What recordings of edges are worth to optimizers (docs/optimize.md), beside instrumentation and plain samples: how
much faster BOLT and clang make programs by each, and what each costs to collect.

usage: optimize.py PENUMBRA [--only NAME,...] [--rounds N] [--core N] [--folder DIR]

Wants what `tools/install-deps optimize` installs, and perf. Programs are built from Debian's sources (bench/work/calls/)
by clang; with --folder builds are kept, and not made again. Training and measuring have the same input. Copies of a
round run at the same time on one core (bench/pairs.py); a second plain copy is the null check. Prints three tables
(docs/results/optimize.md), in Markdown.

  exact          penumbra record --exact --tool edges
  shadows        penumbra record --carrier shadow --budget 1% --finish-shadows 1m --tool edges: 8 runs, merged
  instrumented   BOLT's -instrument; clang's -fprofile-generate
  samples        perf record -F 997, without branches: BOLT's -nl (clang reads no such profile)"""
import os
import re
import subprocess

import built

LLVM = "/usr/lib/llvm-19/bin"
CLANG = f"{LLVM}/clang"
PLAIN = ("-O2 -g -fdebug-info-for-profiling -ffunction-sections -fuse-ld=lld -Wl,-q -Wl,--build-id "
         "-Wno-unused-command-line-argument")
LAYOUT = ["-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions"]
RUNS = 8  # that shadows are taken of
SHADOWS = ["record", "-q", "--carrier", "shadow", "--budget", "1%", "--finish-shadows", "1m", "--tool", "edges"]
EXACT = ["record", "-q", "--exact", "--tool", "edges"]
PERF = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "997"]


class Training:
    """The profiles of one program, each made once."""

    def __init__(self, bench, name):
        self.bench, self.name = bench, name
        self.plain = bench.build(name, "plain", PLAIN)
        self.folder = bench.place(name)
        self.words = bench.arguments(name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, **more):
        """Its output; what it says is in the file `log`."""
        with open(self.path("log"), "a", encoding="utf-8") as log:
            print("+", *command, file=log, flush=True)
            return subprocess.run(command, stdout=subprocess.PIPE, stderr=log, cwd=self.folder, check=True,
                                  env=os.environ | self.bench.env(self.name) | more, text=True, errors="replace").stdout

    def penumbra(self, *words):
        return self.run([self.bench.penumbra, *words])

    def recorded(self, way):
        """A recording of edges."""
        out = self.path(way + ".pnb")
        if way == "exact":
            self.penumbra(*EXACT, "-o", out, "--", self.plain, *self.words)
            return out
        parts = [self.path(f"{way}.{i}.pnb") for i in range(RUNS)]
        for part in parts:
            self.penumbra(*SHADOWS, "-o", part, "--", self.plain, *self.words)
        self.penumbra("merge", "-o", out, *parts)
        return out

    def tried(self, way, make):
        """{way: what it makes}; {} if a tool refuses the program."""
        try:
            return {way: make()}
        except subprocess.CalledProcessError:
            print(f"{self.name}: not {way}: the end of {self.path('log')} says why", flush=True)
            return {}

    def bolted(self, way, how):
        out = self.path("bolt-" + way)
        self.run([f"{LLVM}/llvm-bolt", self.plain, "-o", out, *how, *LAYOUT])
        return out

    def compiled(self, way, flags):
        return self.bench.build(self.name, "clang-" + way, f"{PLAIN} {flags}")

    def by_edges(self, way):
        """The program by BOLT and by clang."""
        recording, traces, ranges = self.recorded(way), self.path(way + ".preagg"), self.path(way + ".ranges")
        self.penumbra("export", "--format", "bolt", recording, "-o", traces)
        self.penumbra("export", "--format", "llvm-profgen", recording, "-o", ranges)
        self.run([f"{LLVM}/llvm-profgen", f"--unsymbolized-profile={ranges}", "--use-offset=0", f"--binary={self.plain}",
                  f"--output={self.path(way + '.prof')}"])
        return {**self.tried(f"BOLT, {way}", lambda: self.bolted(way, ["-pa", "-p", traces])),
                f"clang, {way}": self.compiled(way, f"-fprofile-sample-use={self.path(way + '.prof')}")}

    def bolt_instrumented(self):
        """The instrumented program, and what its counts make."""
        counting, counts = self.path("bolt-counting"), self.path("bolt.fdata")
        self.run([f"{LLVM}/llvm-bolt", self.plain, "-o", counting, "-instrument", f"--instrumentation-file={counts}"])
        self.run([counting, *self.words])
        return counting, self.bolted("instrumented", ["-data", counts])

    def clang_instrumented(self):
        counting = self.compiled("counting", "-fprofile-generate")
        self.run([counting, *self.words], LLVM_PROFILE_FILE=self.path("clang.profraw"))
        self.run([f"{LLVM}/llvm-profdata", "merge", "-o", self.path("clang.profdata"), self.path("clang.profraw")])
        return counting, self.compiled("instrumented", f"-fprofile-use={self.path('clang.profdata')}")

    def instrumented(self):
        return {**self.tried("BOLT, instrumented", self.bolt_instrumented),
                **self.tried("clang, instrumented", self.clang_instrumented)}

    def by_samples(self):
        self.run([*PERF, "-o", self.path("perf.data"), "--", self.plain, *self.words])
        self.run([f"{LLVM}/perf2bolt", self.plain, "-nl", "-p", self.path("perf.data"), "-o", self.path("perf.fdata")])
        return self.tried("BOLT, samples", lambda: self.bolted("samples", ["-data", self.path("perf.fdata")]))

    def overlap(self):
        """Of the profile by shadows with the exact one, in percent: by LLVM, and of edges."""
        said = self.run([f"{LLVM}/llvm-profdata", "overlap", "--sample", self.path("exact.prof"), self.path("shadows.prof")])
        edges = self.penumbra("compare", self.path("exact.pnb"), self.path("shadows.pnb"))
        return [re.search(r"Whole program profile similarity:\s*([0-9.]+)", said)[1],
                re.search(r"^overlap\s+([0-9.]+)", edges, re.MULTILINE)[1]]


def measure(bench, name):
    training = Training(bench, name)
    plain = {"plain": bench.runs(training.plain), "null": bench.runs(training.plain)}
    instrumented = training.instrumented()
    results = {**training.by_edges("exact"), **training.by_edges("shadows"),
               **{way: made for way, (_, made) in instrumented.items()}, **training.by_samples()}

    def under(words):
        return lambda hold, out: [*words, "-o", f"{out}/profile", "--", *hold(built.NOTHING, binary=training.plain)]

    def counted(binary):
        return lambda hold, out: hold(built.NOTHING | {"LLVM_PROFILE_FILE": f"{out}/profraw"}, binary=binary)

    cost = bench.compare(name, {
        **plain, "exact": under([bench.penumbra, *EXACT]), "shadows": under([bench.penumbra, *SHADOWS]),
        "samples": under(PERF), **{way: counted(counting) for way, (counting, _) in instrumented.items()}})
    result = bench.compare(name, {**plain, **{way: bench.runs(binary) for way, binary in results.items()}})
    return cost, result, training.overlap()


def main():
    measured = built.measure_all(__doc__, measure, cc=CLANG, inputs_each=4,
                                 usual=(*built.USUAL, "gawk", "redis", "cpython"))
    for title, at in ("collecting", 0), ("result", 1):
        rows = {name: m[at] for name, m in measured.items()}
        built.table(title, rows, [column for column in max(rows.values(), key=len) if column != "plain"])
    print("\n| shadows and exact, % | similarity (llvm-profdata) | overlap of edges |\n|---|---|---|")
    for name, m in measured.items():
        print(f"| {name} | " + " | ".join(m[2]) + " |")


if __name__ == "__main__":
    main()
