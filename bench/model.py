#!/usr/bin/env python3
"""How near the processor model comes to this machine, loop by loop, beside llvm-mca.

    bench/model.py BUILD [--machine FILE] [--mca llvm-mca-19]

Blocks are the hottest of each benchmark program (suite.py), as `penumbra record --exact --tool blocks`
counts them, without what transfers control, as BHive does (Chen et al., IISWC 2019, section 3). Each is
made a loop, timed on this machine and modelled by bench-kernels (kernels.c); llvm-mca gets its text.
Writes docs/results/model.md. What the model and the machine file are made to say is chosen by one half of
the blocks (`--half tuning` shows those only); the page has the other half apart.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

import inputs
import machine
import suite
import tables

SECONDS = 12          # of each program are recorded
OF_A_PROGRAM = 75     # hottest blocks
LONGEST = 60          # instructions
SHORTEST = 3
WORK = os.path.join(inputs.WORK, "model")
IN_REPORT = 600       # blocks of a program's report that are looked at
MCA_ITERATIONS = 100, 500  # the difference has no filling of the pipeline in it
WORST = 25


def record(penumbra, program):
    """The program's blocks; it is ended after SECONDS."""
    profile = os.path.join(WORK, program.name + ".pnb")
    if not os.path.exists(profile):
        folder = tempfile.mkdtemp(dir=WORK)
        for f in program.files:
            shutil.copy(inputs.path(f), folder)
        with open(program.stdin) as stdin:
            subprocess.run(["timeout", "-s", "INT", str(SECONDS), penumbra, "record", "-q", "--exact", "--tool", "blocks",
                            "--no-follow", "-o", profile, "--", *program.argv], stdin=stdin, cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **program.env})
        shutil.rmtree(folder)
    out = subprocess.run([penumbra, "report", "--json", profile], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def segments(path):
    """(link-time address, size, place in the file) of what is loaded."""
    text = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in re.findall(r"^\s+LOAD\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)", text, re.M):
        offset, address, size = (int(x, 16) for x in line)
        yield address, size, offset


def code(path, address, size):
    for begin, length, offset in segments(path):
        if begin <= address and address + size <= begin + length:
            with open(path, "rb") as f:
                f.seek(offset + address - begin)
                return f.read(size)
    return b""


def images(program):
    """Paths of the program and its libraries, by the name that reports call them by."""
    said = machine.said("ldd", program.binary)
    paths = [program.binary, *re.findall(r"(/\S+) \(0x", said)]
    return {os.path.basename(os.path.realpath(p)): p for p in paths} | {os.path.basename(p): p for p in paths}


def hot_blocks(penumbra, program):
    """(name, bytes) of the hottest blocks."""
    report, paths = record(penumbra, program), images(program)
    found = []
    for b in report["blocks"][:IN_REPORT]:
        path = paths.get(b["image"])
        if path and len(found) < OF_A_PROGRAM and SHORTEST < b["instructions"] <= LONGEST:
            data = code(path, int(b["offset"], 16), b["bytes"])
            if data:
                found.append((f"{program.name}:{b['image']}+{b['offset']}", data))
    return found


def nearest():
    """What llvm-mca calls the processor nearest to this one."""
    cpuinfo = machine.read("/proc/cpuinfo")
    if "AuthenticAMD" in cpuinfo:
        return "znver4"
    return "sapphirerapids" if "amx_tile" in cpuinfo else "icelake-server"


def mca_cycles(mca, cpu, data):
    """Cycles of the block by llvm-mca, without those of filling the pipeline; None where it refuses it."""
    mc = mca.replace("llvm-mca", "llvm-mc")
    text = " ".join(f"0x{b:02x}" for b in data)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    asm = subprocess.run([mc, "--disassemble", "-mcpu=" + cpu], input=text, **options)
    if asm.returncode:
        return None
    totals = []
    for iterations in MCA_ITERATIONS:
        said = subprocess.run([mca, "-mcpu=" + cpu, f"-iterations={iterations}", "-instruction-info=0",
                               "-resource-pressure=0"], input=asm.stdout, **options)
        total = re.search(r"^Total Cycles:\s+(\d+)", said.stdout, re.M)
        if not total or said.returncode:
            return None
        totals.append(int(total[1]))
    return (totals[1] - totals[0]) / (MCA_ITERATIONS[1] - MCA_ITERATIONS[0])


def collect(penumbra):
    """(name, bytes) of all programs, each block once."""
    blocks, seen = [], set()
    for p in suite.SUITE:
        for name, data in hot_blocks(penumbra, p):
            if data not in seen:
                seen.add(data)
                blocks.append((name, data))
    return blocks


def judge(build, machine_file, blocks):
    """Of each block what bench-kernels says: (rows, counts of what was left out by reason)."""
    text = "".join(f"{name} {data.hex()}\n" for name, data in blocks)
    out = subprocess.run([os.path.join(build, "bench", "bench-kernels"), machine_file], input=text, text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    rows, left_out, seen = [], {}, set()
    for line in out.splitlines():
        name, *said = line.split(" ", 1)
        numbers = said[0].split()
        if len(numbers) != 5 or not re.fullmatch(r"[\d.]+", numbers[0]):
            left_out[said[0]] = left_out.get(said[0], 0) + 1
        elif numbers[4] in seen:
            left_out["the same but for its end"] = left_out.get("the same but for its end", 0) + 1
        else:
            seen.add(numbers[4])
            rows.append({"name": name, "here": float(numbers[0]), "model": float(numbers[1]),
                         "instructions": int(numbers[2]), "uops": float(numbers[3]), "code": numbers[4]})
    return rows, left_out


def half(row):
    """Which half the block is of: by its code, so that it stays there."""
    odd = hashlib.sha256(bytes.fromhex(row["code"])).digest()[-1] & 1
    return "held out" if odd else "tuning"


def error(row, of):
    return abs(row[of] - row["here"]) / row["here"]


def kendall(rows, of):
    """Kendall's tau: how often two blocks are in the right order."""
    agree = pairs = 0
    for i, a in enumerate(rows):
        for b in rows[:i]:
            product = (a["here"] - b["here"]) * (a[of] - b[of])
            agree += (product > 0) - (product < 0)
            pairs += 1
    return agree / pairs if pairs else 0


def summary_row(title, rows, of):
    errors = sorted(error(r, of) for r in rows)
    under = sum(e <= 0.1 for e in errors) / len(errors)
    return [title, str(len(rows)), f"{100 * statistics.median(errors):.1f}%", f"{100 * statistics.mean(errors):.1f}%",
            f"{100 * errors[int(0.9 * len(errors))]:.1f}%", f"{100 * under:.0f}%", f"{kendall(rows, of):.3f}"]


def disassembled(mca, data):
    text = " ".join(f"0x{b:02x}" for b in bytes.fromhex(data))
    said = subprocess.run([mca.replace("llvm-mca", "llvm-mc"), "--disassemble"], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return "; ".join(" ".join(line.split()) for line in said.splitlines() if not line.strip().startswith(".text"))


def page(a, rows, left_out, cpu, why):
    both = [r for r in rows if r["mca"]]
    head = ["of", "blocks", "median error", "mean error", "9 of 10 within", "within 10%", "Kendall's tau"]
    version = machine.said(a.mca, "--version").splitlines()[0].strip()
    mca = f"llvm-mca -mcpu={cpu}"
    halves = [(name, [r for r in both if half(r) == name]) for name in ("held out", "tuning")]
    overall = tables.table(head, [summary_row("the model", both, "model"), summary_row(mca, both, "mca")] +
                           [row for name, of in halves for row in
                            (summary_row(f"the model, {name}", of, "model"), summary_row(f"{mca}, {name}", of, "mca"))])
    by_program = [summary_row(p.name, [r for r in both if r["name"].startswith(p.name + ":")], "model")[:6] +
                  summary_row("", [r for r in both if r["name"].startswith(p.name + ":")], "mca")[2:4]
                  for p in suite.SUITE if any(r["name"].startswith(p.name + ":") for r in both)]
    worst = sorted(rows, key=lambda r: -error(r, "model"))[:WORST]
    shown = [[f"`{disassembled(a.mca, r['code'])[:150]}`", f"{r['here']:.2f}", f"{r['model']:.2f}",
              f"{r['mca']:.2f}" if r["mca"] else ""] for r in worst]
    gone = "; ".join(f"{n} {why}" for why, n in sorted(left_out.items(), key=lambda x: -x[1]))
    return (f"# The processor model against the processor\n\nMade by\n\n    bench/model.py BUILD\n\non "
            f"{machine.sentence(machine.describe())}\nThe machine file is the one that `penumbra calibrate --machine` "
            f"wrote there. {version}; what it takes this processor for is {cpu}, {why}.\n[simulate.md](../simulate.md) says what is modelled and how blocks are made "
            f"loops.\n\nBlocks that both can say something of:\n\n{overall}\nBy program (the model; the last two "
            f"columns are llvm-mca's):\n\n"
            + tables.table(head[:6] + ["mca: median", "mca: mean"], by_program)
            + f"\nThe model alone, of all {len(rows)} blocks: median "
            f"{100 * statistics.median(error(r, 'model') for r in rows):.1f}%, mean "
            f"{100 * statistics.mean(error(r, 'model') for r in rows):.1f}%. Left out: {gone or 'none'}.\n\n"
            f"The largest errors of the model, in cycles of a block:\n\n"
            + tables.table(["block", "here", "model", "llvm-mca"], shown) + "\n" + tables.note("model.md"))


def run(a):
    penumbra = os.path.abspath(os.path.join(a.build, "penumbra"))
    os.makedirs(WORK, exist_ok=True)
    inputs.make_all(print)
    if not a.machine:
        a.machine = os.path.join(WORK, "host.conf")
        subprocess.run([penumbra, "calibrate", "--machine", a.machine], check=True)
    cpu = a.mcpu or nearest()
    rows, left_out = judge(a.build, a.machine, collect(penumbra))
    for r in rows:
        r["mca"] = mca_cycles(a.mca, cpu, bytes.fromhex(r["code"]))
    with open(os.path.join(WORK, "rows.json"), "w") as f:
        json.dump(rows, f, indent=0)
    why = "as --mcpu says" if a.mcpu else "guessed from the features that it has"
    text = page(a, [r for r in rows if a.half in ("both", half(r))], left_out, cpu, why)
    if a.half != "both":
        print(text)
        return
    tables.write("model.md", text)
    print(text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--machine", help="a machine file, instead of calibrating")
    p.add_argument("--mca", default="llvm-mca-19", help="llvm-mca; llvm-mc is beside it")
    p.add_argument("--mcpu", help="what llvm-mca takes this processor for")
    p.add_argument("--half", choices=("both", "tuning"), default="both",
                   help="tuning: print what the blocks that one may look at say, and write nothing")
    run(p.parse_args())


if __name__ == "__main__":
    main()
