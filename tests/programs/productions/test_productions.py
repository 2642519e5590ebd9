"""Productions: a program whose events are known by construction, sampled by counters. What is
expected is counted here, event by event, from what docs/productions.md says."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, expect, main, run, target  # noqa: E402

KNOWN = target("known")
HERE = 'T.FUNCTION == "known_rounds"'
COPY = "T.PC >= 0x10000000 && T.PC < 0x10001000"

# The framework of Figure 4, for the events of one place; all that is sampled there.
SAMPLED = """
init: set_1(sampleFreq); set_2(burstLength);
P1: T.OPCLASS == proc_call && WHERE && !overflow_1 => null, inc_1
P2: T.OPCLASS == branch && T.PC >= T.Target && WHERE && !overflow_1 => null, inc_1
P3: T.OPCLASS == proc_call && WHERE && overflow_1 && !overflow_2 => null, inc_2
P4: T.OPCLASS == branch && T.PC >= T.Target && WHERE && overflow_1 && !overflow_2 => null, inc_2
P5: T.OPCLASS == proc_call && WHERE && overflow_1 && overflow_2 => null, CC3
P6: T.OPCLASS == branch && T.PC >= T.Target && WHERE && overflow_1 && overflow_2 => null, CC3
CC3: set_1(sampleFreq); set_2(burstLength);
PAIRS: T.OPCLASS == proc_call && WHERE && overflow_1 => call(CallPair_handler) T.INSN
LOADS: T.OPCLASS == load && WHERE && overflow_1 => count(T.PC, T.ADDRESS) T.INSN
STORES: T.OPCLASS == store && WHERE && overflow_1 => count(T.ADDRESS) T.INSN
BACK: T.OPCLASS == branch && T.PC >= T.Target && WHERE && overflow_1 => count(T.Target, rdi) T.INSN
"""

folder = tempfile.TemporaryDirectory()


def production(name, text):
    path = os.path.join(folder.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def record(files, *command, options=()):
    given = [word for file in files for word in ("--production", file)]
    return Recording([KNOWN, *map(str, command)], [*given, *options])


def groups(recording):
    return {g["name"].split(":")[-1]: g for g in recording.report["productions"]}


def counts(group):
    return sorted(c["count"] for c in group["counts"])


def expected(rounds, burst, sparsity):
    """Of one thread: (pairs of the direct call, of the indirect one, each load, stores, branches)
    that are sampled, and the bursts that begin."""
    events, found, begun = 0, [0] * 5, 0

    def is_on():
        return events % (burst + sparsity) >= sparsity

    def event():
        nonlocal events, begun
        before = is_on()
        events += 1
        begun += not before and is_on()

    for left in range(rounds, 0, -1):
        found[0] += is_on()
        event()
        if left & 1:
            found[1] += is_on()
            event()
        found[2] += is_on()
        found[3] += is_on()
        found[4] += is_on()
        event()
    return found, begun


def agrees(recording, rounds, burst, sparsity, threads=1):
    found, begun = expected(rounds, burst, sparsity)
    found = [threads * n for n in found]
    g = groups(recording)
    expect(counts(g["CallPair_handler"]) == sorted(n for n in found[:2] if n),
           f"{g['CallPair_handler']}, not {found}")
    expect(counts(g["LOADS"]) == [found[2]] * 8 * (found[2] > 0), f"{g['LOADS']}, not {found}")
    expect(counts(g["STORES"]) == [found[3]] * (found[3] > 0), f"{g['STORES']}, not {found}")
    expect(sum(counts(g["BACK"])) == found[4], f"{g['BACK']}, not {found}")
    expect(recording.report["production_totals"] ==
           {"burst": burst, "sparsity": sparsity, "bursts": threads * begun},
           f"{recording.report['production_totals']}, not {begun}")
    expect(all(x["lost"] == 0 for x in g.values()), g)


def frequency(burst, sparsity):
    return ["--burst", str(burst), "--frequency", f"{burst}/{burst + sparsity}"]


def all_events():
    """Unconditional: each time that something matches. Addresses, targets and registers are true."""
    rounds = 1000
    file = production("every.dise", f"""
P1: {HERE} && T.OPCLASS == proc_call => count(T.PC, T.Target) T.INSN
P2: {HERE} && T.OPCLASS == load => R2, null
R2: count(T.ADDRESS) count(T.IMM) T.INSN
P3: {HERE} && T.OPCODE == 0xf6 => count(T.IMM) T.INSN
P4: {HERE} && T.OPCLASS == cond_branch && T.PC > T.Target => count(rdi) T.INSN
P5: {HERE} && T.OPCLASS == proc_return => count(T.PC) T.INSN
P6: {HERE} && T.BASE == rcx && T.RS == rax => count(T.OPCODE) T.INSN
P7: {HERE} && T.RD == rdi => count(T.OPCLASS_NOT) T.INSN
""".replace("count(T.OPCLASS_NOT)", "count(T.PC)"))
    recording = record([file], rounds)
    g = groups(recording)
    pairs = {(c["values"][0]["function"], c["values"][1]["function"]): c["count"]
             for c in g["P1"]["counts"]}
    expect(pairs == {("known_rounds", "known_one"): rounds,
                     ("known_rounds", "known_two"): rounds // 2}, pairs)
    rows = [(c["count"], int(c["values"][0]["offset"], 16)) for c in g["R2"]["counts"]]
    places = sorted(place for _, place in rows)
    expect({n for n, _ in rows} == {rounds} and len(rows) == 8 and
           all(b - a == 8 for a, b in zip(places, places[1:])), rows)
    expect(g["R2.2"]["done"] == 8 * rounds, g["R2.2"])
    expect([(c["count"], c["values"]) for c in g["P3"]["counts"]] ==
           [(rounds, [{"kind": "number", "value": "0x1"}])], g["P3"])
    left = {int(c["values"][0]["value"], 16): c["count"] for c in g["P4"]["counts"]}
    expect(left == dict.fromkeys(range(rounds), 1), list(left.items())[:5])
    expect(counts(g["P5"]) == [1], g["P5"])
    expect([(c["count"], c["values"][0]["value"]) for c in g["P6"]["counts"]] == [(rounds, "0x89")],
           g["P6"])
    expect(counts(g["P7"]) == [rounds], g["P7"])


def bursts():
    """The counters overflow at exactly the event that was asked for."""
    file = production("sampled.dise", SAMPLED.replace("WHERE", HERE))
    for rounds, burst, sparsity in ((2000, 1, 99), (2000, 10, 90), (1999, 100, 900), (500, 7, 1),
                                    (300, 1, 0), (100, 50, 0), (37, 1000, 1000)):
        agrees(record([file], rounds, options=frequency(burst, sparsity)), rounds, burst, sparsity)


def threads():
    """Each thread has counters of its own."""
    file = production("sampled.dise", SAMPLED.replace("WHERE", HERE))
    recording = record([file], 3000, 4, options=frequency(10, 190))
    agrees(recording, 3000, 10, 190, threads=4)


def copied():
    """So it is in code that may change, whose blocks have no copies without hooks."""
    file = production("copied.dise", SAMPLED.replace("WHERE", COPY))
    agrees(record([file], 1500, 2, "copied", options=frequency(10, 90)), 1500, 10, 90, threads=2)


def streams():
    """A round's nine accesses are a stream, as often as there are rounds."""
    rounds = 20000
    file = production("streams.dise",
                      f"P1: {HERE} && T.OPCLASS == mem_op => call(DataStream_handler) T.INSN")
    g = groups(record([file], rounds))["DataStream_handler"]
    expect(g["done"] == 9 * rounds, g["done"])
    heat = sum(s["frequency"] * len(s["items"]) for s in g["streams"])
    expect(0.9 * 9 * rounds <= heat <= 9 * rounds, heat)
    for s in g["streams"]:
        expect(2 <= len(s["items"]) <= 100, s)
        places = [i[1]["offset"] for i in s["items"]]
        expect(len(set(places)) == min(9, len(places)), places)
        expect(all(a == b for a, b in zip(places, places[9:])), places)
    sampled = production("rare.dise", SAMPLED.replace("WHERE", HERE) +
                         f"DATA: {HERE} && T.OPCLASS == mem_op && overflow_1 => "
                         "append(T.ADDRESS) T.INSN")
    g = groups(record([sampled], rounds, options=frequency(10, 990)))["DATA"]
    longest = max(len(s["items"]) for s in g["streams"])
    expect(9 <= longest <= 100 and g["done"] % 9 == 0, (longest, g["done"]))


def by_time():
    """Bursts that a clock begins have the shares of the whole run: of a round one direct call, every
    second time an indirect one, eight loads and a store. Every event of a burst is seen."""
    rounds, insns = 100_000_000, 2000
    file = production("sampled.dise", SAMPLED.replace("WHERE", HERE))
    for burst in (1, 100):
        recording = record([file], rounds, options=("--carrier", "burst", "--length", str(insns),
                                                    "--burst", str(burst)))
        totals = recording.report["production_totals"]
        how = {o["kind"]: o["how"] for o in recording.report["observations"]}
        g = groups(recording)
        pairs = {c["values"][1]["function"]: c["count"] for c in g["CallPair_handler"]["counts"]}
        seen, bursts = pairs["known_one"], totals["bursts"]
        expect(how["productions"] == "sampled" and bursts >= 20, (how, totals))
        expect((totals["burst"], totals["sparsity"]) == (burst, 0), totals)
        text = run([PENUMBRA, "report", "--verbose", "--productions", recording.file]).stdout
        expect(b"bursts of the engine, that a clock began" in text, text.decode())
        # two rounds have 35 instructions
        expect(0.95 <= seen * 17.5 / (bursts * insns) <= 1.02, (seen, totals))
        expect(abs(pairs["known_two"] / seen - 0.5) < 0.02, pairs)
        loads = counts(g["LOADS"])
        expect(len(loads) == 8 and all(abs(n / seen - 1) < 0.02 for n in loads), (loads, seen))
        expect(all(x["lost"] == 0 for x in g.values()), g)


def in_shadows():
    """Shadows have the shares of the whole run. All events in them are seen, or with --frequency the
    bursts that their counters begin."""
    rounds = 200_000_000
    file = production("sampled.dise", SAMPLED.replace("WHERE", HERE))
    for given, share in (((), 1), (frequency(10, 990), 1 / 100)):
        recording = record([file], rounds, options=("--carrier", "shadow", "--load", "1",
                                                    "--sample-size", "1M", "--finish-shadows", "60s",
                                                    *given))
        totals, shadows = recording.report["production_totals"], recording.report["shadows"]
        how = {o["kind"]: o["how"] for o in recording.report["observations"]}
        g = groups(recording)
        pairs = {c["values"][1]["function"]: c["count"] for c in g["CallPair_handler"]["counts"]}
        seen = pairs["known_one"]
        expect(how["productions"] == "sampled" and shadows["instructions"] >= 1_000_000,
               (how, totals, shadows))
        expect(totals["sparsity"] == (990 if given else 0) and totals["bursts"] > 0, totals)
        # two rounds have 35 instructions; a shadow ends anywhere in the counters' way
        of_all = seen * 17.5 / shadows["instructions"]
        expect(0.9 * share <= of_all <= 1.1 * share, (of_all, share, totals, shadows))
        expect(abs(pairs["known_two"] / seen - 0.5) < 0.02, pairs)
        loads = counts(g["LOADS"])
        expect(len(loads) == 8 and all(abs(n / seen - 1) < 0.02 for n in loads), (loads, seen))
        regions = {c["values"][1].get("region", "") for c in g["LOADS"]["counts"]}
        expect(len(regions) == 1, g["LOADS"]["counts"])
        expect(all(x["lost"] == 0 for x in g.values()), g)


def places():
    """The heap and the first stack are where they are in the whole run, in each shadow and burst."""
    file = production("loads.dise", f"P1: {HERE} && T.OPCLASS == load => count(T.ADDRESS) T.INSN")
    short = ("--carrier", "burst", "-F", "97"), ("--carrier", "shadow", "--load", "1",
                                                 "--sample-size", "1M", "--finish-shadows", "60s")
    for where in "heap", "stack":
        seen = []
        for rounds, options in ((20_000, ()), *((200_000_000, given) for given in short)):
            of = groups(record([file], rounds, 1, where, options=options))["P1"]["counts"]
            seen.append(sorted((c["values"][0]["kind"], c["values"][0]["offset"]) for c in of))
        expect(len(seen[0]) == 8 and {kind for kind, _ in seen[0]} == {where}, (where, seen))
        expect(seen[0] == seen[1] == seen[2], (where, seen))


def deterministic():
    """The same program and parameters give the same profile, wherever memory is."""
    seen = [json.dumps(record(["all"], 20000, options=("--frequency", "1/50")).report["productions"],
                       sort_keys=True) for _ in range(2)]
    expect(seen[0] == seen[1], "two runs differ")
    expect("known_one" in seen[0], seen[0][:2000])


def merged():
    # two rounds have five events, so that a period of 100 would always find the same one
    one = record(["hot-call-pairs"], 5000, options=frequency(1, 98))
    two = record(["hot-call-pairs", "hot-methods"], 5000, options=frequency(1, 98))
    file = os.path.join(folder.name, "both.pnb")
    before = groups(one)["CallPair_handler"], groups(two)["CallPair_handler"]
    result = run([PENUMBRA, "merge", "-o", file, one.file, two.file])
    expect(result.returncode == 0, result)
    one.file = file
    one.report = one.json(())
    after = groups(one)
    expect(set(after) == {"CallPair_handler", "HotMethod_handler"}, after)
    for key in ("done", "lost"):
        expect(after["CallPair_handler"][key] == before[0][key] + before[1][key], after)
    expect(sum(counts(after["CallPair_handler"])) == sum(counts(before[0]) + counts(before[1])), after)
    expect(one.report["production_totals"]["sparsity"] == 98, one.report["production_totals"])
    out = run([PENUMBRA, "report", "--productions", file]).stdout.decode()
    expect("known_rounds+0x" in out and "-> known_one" in out, out)


def refused():
    """What does not go together, and what is wrong in a file, is said before the program runs."""
    wrong = production("wrong.dise", "P1: T.OPCLASS == mem_op &&\n   => null\n")
    nowhere = production("nowhere.dise", 'P1: T.FUNCTION == "nowhere" => null\n')
    for options, message in (
            (["--production", wrong], f"{wrong}:2:4: expected an instruction's field"),
            (["--production", nowhere], 'there is no function "nowhere" in the symbol tables of'),
            (["--production", "all", "--carrier", "burst", "--frequency", "1/100"],
             "a clock begins bursts"),
            (["--production", "all", "--carrier", "auto", "--frequency", "1/100"],
             "a clock begins bursts"),
            (["--production", "all", "--tool", "waste"], "record them one after the other"),
            (["--production", "none-such"], 'cannot open the productions "none-such"'),
            (["--tool", "productions", "--exact"], "--production FILE"),
            (["--burst", "10"], "add --production FILE"),
            (["--production", "all", "--frequency", "3/2"], "no sampling frequency"),
            (["--production", "all", "-F", "100"], "is about samples")):
        result = run([PENUMBRA, "record", "-o", os.path.join(folder.name, "no.pnb"), *options, "--",
                      KNOWN, "10"])
        expect(result.returncode != 0 and message in result.stderr.decode() and not result.stdout,
               (options, result))


def check():
    result = run([PENUMBRA, "record", "--check", "--production", "hot-methods", "--burst", "1",
                  "--frequency", "1/100"])
    out = result.stdout.decode()
    expect(result.returncode == 0 and out.startswith("burst 1, sparsity 99\n"), result)
    expect("hot-methods:P3: (T.OPCLASS == proc_call || (T.OPCLASS == branch && T.PC >= T.Target)) && "
           "overflow_1 => HotMethod_handler count(T.METHOD) T.INSN, null\n" in out, out)
    wrong = production("wrong.dise", "CC1: inc_99\n")
    result = run([PENUMBRA, "record", "--check", "--production", wrong])
    expect(result.returncode == 2 and
           f"{wrong}:1:6: expected a counter, 1 to 8, found inc_99" in result.stderr.decode(), result)


if __name__ == "__main__":
    main({f.__name__: f for f in (all_events, bursts, by_time, in_shadows, places, threads, copied, streams, deterministic,
                                  merged, refused, check)})
