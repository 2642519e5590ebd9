"""usage: test_dise.py TEST: productions on a modelled processor find what the engine finds, at the
same events, and cost what docs/simulate.md says."""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, expect, main, run  # noqa: E402
from test_productions import (  # noqa: E402
    HERE, KNOWN, SAMPLED, agrees, frequency, production)

LINES = "".join(f"{n * 7919 % 1009} line {n}\n" for n in range(300)).encode()
ADDR_NO_RANDOMIZE = 0x40000

# Each form of the language: classes, tests, relations, conditionals, actions, fields, control.
FORMS = """
include "SHIPPED/sampling.dise"
A1: T.OPCLASS == load && overflow_1 => count(T.PC, T.ADDRESS) T.INSN
A2: T.OPCLASS == store && overflow_1 => append(T.ADDRESS) T.INSN
A3: T.OPCLASS == proc_return && overflow_1 => count(T.PC, T.Target) T.INSN
A4: T.OPCLASS == jump => count(T.PC, T.Target) T.INSN
A5: T.OPCLASS == string => count(T.PC) count(T.ADDRESS) T.INSN
A6: T.OPCLASS == multiply => count(T.PC, T.IMM) T.INSN
A7: T.OPCLASS == vector || T.OPCLASS == x87 => count(T.OPCODE) T.INSN
A8: T.IMM == 1 => count(T.PC, T.IMM) T.INSN
A9: T.BASE == rsp && !overflow_1 => count(T.PC, T.ADDRESS) T.INSN
B1: T.IMAGE == "libc.so.6" && T.OPCLASS == cond_branch => count(T.PC, T.Target) T.INSN
B2: T.OPCLASS == syscall => count(T.PC) T.INSN
B3: T.RD == rdx && T.RS == rsi => count(T.PC) T.INSN
B9: T.OPCLASS == proc_return && T.IMAGE == "known" => count(rax, rdi) count(r9, rdx) T.INSN
B4: T.OPCLASS == move && zero_3 => append(T.PC) T.INSN, inc_3
B5: T.OPCLASS == integer && T.INDEX == rax => null, dec_4
B6: T.OPCLASS == any && zero_4 && T.PC < 0x40000 => call(HotMethod_handler) T.INSN
B7: T.OPCODE == 0x0faf && !(zero_5 || overflow_5) => count(T.PC) T.INSN, set_5(0)
B8: T.OPCLASS == branch && T.PC > T.Target && !overflow_1 => null, inc_5
"""
SHIPPED = os.path.join(os.path.dirname(PENUMBRA), "productions")


def report_of(command, data, fixed=False):
    """The profile's JSON. fixed: without address space randomization, as simulations are."""
    def fix():
        ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "p.pnb")
        at = command.index("--")
        ended = subprocess.run([*command[:at], "-q", "-o", file, *command[at:]], input=data,
                               capture_output=True, check=False, preexec_fn=fix if fixed else None)
        expect(ended.returncode == 0, f"{command}: {ended.stderr.decode()}")
        return json.loads(run([PENUMBRA, "report", "--json", file]).stdout)


def given(files):
    return [word for file in files for word in ("--production", file)]


def simulated(files, program, options=(), data=b"", machine="zen4"):
    return report_of([PENUMBRA, "simulate", "-m", machine, *given(files), *options, "--", *program],
                     data)


def forms():
    """The same profile from the engine and from both forms of DISE, of the same execution."""
    file = production("forms.dise", FORMS.replace("SHIPPED", SHIPPED))
    files, options = [file, "all"], frequency(10, 190)
    for program in (["gzip", "-c"], [KNOWN, "40"]):
        engine = report_of([PENUMBRA, "record", *given(files), *options, "--", *program], LINES,
                           fixed=True)
        expect(sum(g["done"] > 0 for g in engine["productions"]) > 12, engine["productions"])
        for mode in ("hps", "original"):
            model = simulated(files, program, [*options, "--dise", mode], LINES)
            expect(engine["production_totals"] == model["production_totals"],
                   f"{mode}: {engine['production_totals']}, {model['production_totals']}")
            for a, b in zip(engine["productions"], model["productions"], strict=True):
                expect(a == b, f"{program} {mode} {a['name']}: {a['done']} and {b['done']}\n"
                               f"{str(a)[:500]}\n{str(b)[:500]}")


class Simulated:
    def __init__(self, *arguments):
        self.report = simulated(*arguments)


def counters():
    """They overflow at exactly the event that was asked for, in each thread."""
    file = production("sampled.dise", SAMPLED.replace("WHERE", HERE))
    for rounds, burst, sparsity, threads in ((500, 1, 99, 1), (300, 10, 90, 8), (100, 7, 1, 1),
                                             (60, 1, 0, 1), (37, 1000, 1000, 1)):
        found = Simulated([file], [KNOWN, str(rounds), str(threads)], frequency(burst, sparsity))
        agrees(found, rounds, burst, sparsity, threads)


def parts():
    """What the productions cost, twice the same."""
    program, options = ["gzip", "-c"], ["--burst", "1", "--frequency", "1/100"]
    plain = simulated([], program, (), LINES)["simulated"]
    of = {}
    for mode in ("hps", "original", "hps"):
        report = simulated(["hot-call-pairs"], program, [*options, "--dise", mode], LINES)
        found = report["simulated"]
        expect(found["dise"]["mode"] == mode, found["dise"])
        expect(of.setdefault(mode, found["dise"]) == found["dise"], f"{of[mode]}, {found['dise']}")
        expect(found["dise"]["cycles"]["none"] == plain["cycles"], f"{found['dise']}, {plain}")
        expect(found["dise"]["cycles"]["tables"] == found["cycles"], f"{found['dise']}")
    with tempfile.TemporaryDirectory() as folder:
        out = run([PENUMBRA, "simulate", "-m", "zen4", *given(["hot-call-pairs"]), "-o",
                   os.path.join(folder, "p.pnb"), "--", "true"]).stdout.decode()
    expect("productions (DISE, hps): " in out and "CallPair_handler" in out, out)
    hps, original = of["hps"]["cycles"], of["original"]["cycles"]
    expect(hps["none"] < hps["sampling"] == hps["basic"] == hps["checks"] == hps["tables"], hps)
    expect(original["sampling"] == hps["sampling"] < original["basic"] < original["checks"] ==
           original["tables"], original)
    # calls are 1 of 50 instructions or so: each is replaced, or one of some thousand
    counts, all_of = of["hps"]["counts"], of["original"]["counts"]
    expect(counts["replaced"] == counts["actions"] == all_of["actions"] > 0, f"{counts}, {all_of}")
    expect(all_of["replaced"] == all_of["matched"] == counts["matched"], f"{counts}, {all_of}")


def tables():
    """What the tables have no room for is counted, and costs."""
    options = ["--frequency", "1/10", "--burst", "10"]
    roomy = simulated(["all"], ["gzip", "-c"], options, LINES)["simulated"]["dise"]
    expect(not any(roomy["counts"][k] for k in ("pt_misses", "rt_misses", "ct_misses")), roomy)
    for key, size, misses in (("dise_pt_size", 4, "pt_misses"), ("dise_rt_size", 20, "rt_misses"),
                              ("dise_ct_size", 1, "ct_misses")):
        tight = simulated(["all"], ["gzip", "-c"], [*options, "--set", f"{key}={size}"],
                          LINES)["simulated"]["dise"]
        expect(tight["counts"][misses] > 100, f"{key}: {tight}")
        expect(tight["cycles"]["tables"] > tight["cycles"]["checks"] == roomy["cycles"]["checks"],
               f"{key}: {tight}, {roomy}")


def wrong():
    many = "".join(f"P{n}: T.IMM == {n} => count(T.PC, {r}) T.INSN\n" for n, r in enumerate(
        "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10".split()))
    machine, pairs = ["-m", "hps2005"], ["--production", "hot-call-pairs"]
    third = production("third.dise", "P: T.OPCLASS == load => null, inc_3\n")
    cases = [([*machine, "--dise", "hps"], "--dise is about productions"),
             ([*machine, *pairs, "--dise", "hsp"], "hps"),
             ([*machine, *pairs, "--frequency", "2/1"], "2/1"),
             ([*machine, "--burst", "3"], "--burst is about productions"),
             ([*machine, *pairs, "--set", "dise_pt_size=0"], "dise_pt_size"),
             ([*machine, *pairs, "--set", "dise_rt_size=3"], "dise_rt_size is 3"),
             ([*machine, *pairs, "--set", "dise_pt_sise=3"], "did you mean dise_pt_size?"),
             ([*machine, "--production", third], "dise_counters is 2"),
             ([*machine, "--production", production("many.dise", many)], "more than 10 registers"),
             ([*machine, "--production", "no-such-file"], "no-such-file")]
    for options, message in cases:
        ended = subprocess.run([PENUMBRA, "simulate", *options, "--", "true"], capture_output=True,
                               check=False)
        expect(ended.returncode != 0 and message in ended.stderr.decode(), f"{options}: {ended}")
    report = run([PENUMBRA, "simulate", *machine, *pairs, "-o", os.devnull, "--list-keys"])
    expect("dise_replacement_cycles" in report.stdout.decode(), report)


if __name__ == "__main__":
    main({"forms": forms, "counters": counters, "parts": parts, "tables": tables, "wrong": wrong})
