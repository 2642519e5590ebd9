"""Clusters of basic blocks, read by clang 19: where llvm-readobj says the blocks lie in what it makes."""
import os
import re
import tempfile

from common import EDGES, Recording, expect, export, main, reader, run

N = 4000
SOURCE = os.path.join(os.environ["SOURCES"], "places.c")


def compile_to(folder, name, *options):
    out = os.path.join(folder, name)
    result = run([reader("clang"), "-O2", "-fbasic-block-address-map", SOURCE, "-o", out, "-fuse-ld=lld", "-Wl,--build-id",
                  "-B" + os.path.dirname(reader("ld.lld")), *options])
    expect(result.returncode == 0, result.stderr.decode())
    return out


def blocks(path):
    """{function: [(id, start, end)]} by address, as llvm-readobj reads the map."""
    text = run([reader("llvm-readobj"), "--bb-addr-map", path]).stdout.decode()
    out = {}
    for part in text.split("Function {")[1:]:
        name = re.search(r"Name: (\w+)", part).group(1)
        found = []
        for place in part.split("Base Address: ")[1:]:
            base = int(place.split()[0], 16)
            for number, offset, size in re.findall(r"ID: (\d+)\s+Offset: (0x\w+)\s+Size: (0x\w+)", place):
                start = base + int(offset, 16)
                found.append((int(number), start, start + int(size, 16)))
        out[name] = sorted(found, key=lambda block: block[1])
    return out


def clusters(text):
    lines = text.splitlines()
    expect(lines[0] == "v1" and len(lines) % 2 == 1, text)
    out = {}
    for function, cluster in zip(lines[1::2], lines[2::2]):
        expect(function.startswith("f ") and cluster.startswith("c "), text)
        out[function[2:]] = [int(number) for number in cluster.split()[1:]]
    return out


def test_blocks():
    with tempfile.TemporaryDirectory() as d:
        program = compile_to(d, "places")
        r = Recording([program, str(N)], EDGES)
        text, errors = export(r, "propeller")
        written, before = clusters(text), blocks(program)
        expect({"work", "leaf", "rare", "twice", "thrice", "main"} <= set(written), text)
        expect(f"{sum(map(len, written.values()))} blocks of {len(written)} functions" in errors, errors)
        # what was executed, by the same recording's ranges
        starts = set()
        for line in export(r, "llvm-profgen")[0].splitlines():
            place = re.fullmatch(r"(\w+)-(\w+):\d+", line)
            if place:
                starts.add(tuple(int(a, 16) for a in place.groups()))
        for name, cluster in written.items():
            expect(cluster[0] == 0 and len(set(cluster)) == len(cluster), f"{name}: {cluster}")
            executed = {number for number, low, high in before[name]
                        if any(start < high and low <= last for start, last in starts)}
            expect(executed | {0} == set(cluster), f"{name}: executed {executed}, written {cluster}")
        cold = sum(len(before[name]) - len(cluster) for name, cluster in written.items())
        expect(cold >= 1, f"all blocks are executed: {before}")
        given = os.path.join(d, "clusters")
        with open(given, "w", encoding="ascii") as f:
            f.write(text)
        better = compile_to(d, "better", "-fbasic-block-sections=list=" + given)
        after = blocks(better)
        for name, cluster in written.items():
            at = {number: start for number, start, _ in after[name]}
            hot = sorted(cluster, key=lambda number: at[number])
            expect(hot == cluster, f"{name}: clang places {hot}, written is {cluster}")
        expect(any(after[name] != before[name] and [b[0] for b in after[name]] != [b[0] for b in before[name]]
                   for name in written), "nothing has moved")
        expect(run([better, str(N)]).stdout == r.native.stdout, "the program writes something else")


def test_refused():
    reader("clang")
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "places")
        expect(run(["cc", "-O2", SOURCE, "-o", out]).returncode == 0, "cc")
        r = Recording([out, str(N)], EDGES)
        export(r, "propeller", status=2, says="-fbasic-block-address-map")
        program = compile_to(d, "places")
        text, _ = export(r, "propeller", status=2, says="another build")
        expect(not text, "something was written")
        r = Recording([program, str(N)], ("--exact", "--tool", "blocks"))
        export(r, "propeller", status=2, says=("--tool edges", "only counts of blocks"))


main({name[5:]: test for name, test in list(globals().items()) if name.startswith("test_")})
