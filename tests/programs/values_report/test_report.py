"""Values as they are reported: programs whose values are known, under --exact, so that nothing is left to
chance; modules that misbehave; redaction; the tutorial."""
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, expect, main, run, target  # noqa: E402

SOURCE = os.environ["SOURCE"]
BAD = target("values_bad.so")
EXACT = ["--exact", "--tool", "values"]


def hotlists(recording, function, kind):
    return [i for i in recording.report["instructions"]
            if i["function"] == function and i["kind"] == kind]


def shares(hotlist):
    return {v["text"]: v["share"] for v in hotlist["values"]}


def near(found, wanted):
    expect(set(found) == set(wanted) and all(abs(found[k] - wanted[k]) < 0.05 for k in wanted),
           f"{found}, not {wanted}")


def known():
    recording = Recording([target("values_known"), "1000"], EXACT)
    report = recording.report
    expect(report["values"]["end"] == "the module saw all there was", report["values"]["end"])
    expect(report["values"]["lost"] == 0, "sequences were lost")
    divisor, = hotlists(recording, "divide", "divisor")
    near(shares(divisor), {"0xa (10)": 0.97, "7": 0.03})
    expect(divisor["observed"] == 1000 and divisor["p"] == 1, f"{divisor}")
    expect(abs(divisor["invariance"] - 0.97) < 1e-6, "invariance")
    expect("div" in divisor["asm"], divisor["asm"])
    count, = hotlists(recording, "shift", "shift count")
    near(shares(count), {"3": 0.7, "5": 0.3})
    loaded = hotlists(recording, "load", "loaded")[0]
    near({v["value"]: v["share"] for v in loaded["values"]}, {"0x5ec2e75e5ec2e75e": 1})
    near(shares(hotlists(recording, "multiply", "loaded double")[0]), {"1.5": 1})
    near(shares(hotlists(recording, "call", "target")[0]), {"circle_area": 0.9, "square_area": 0.1})
    argument = hotlists(recording, "length", "argument 1")[0]
    near(shares(argument), {'"a constant string"': 1})
    expect(argument["site"].startswith("main"), argument["site"])
    text = run([PENUMBRA, "report", "--semi-invariant", "--min", "0", "--limit", "0",
                recording.file]).stdout.decode()
    for wanted in ("divisor", "shift count", "target", "loaded", "argument 1 from main"):
        expect(wanted in text, f"{wanted} is not in:\n{text}")
    semi = recording.report["semi_invariant"]
    listed = {p["kind"] for p in semi if p["function"] == "length"}
    expect("argument 1" in listed and not listed & {"argument 4", "argument 5", "argument 6"},
           f"{listed}")
    expect("that the procedure called does not read" in text, text)
    expect([p["gain"] for p in semi] == sorted((p["gain"] for p in semi), reverse=True),
           "not ranked")
    one, = [p for p in semi if p["kind"] == "divisor" and p["function"] == "divide"]
    expect({**divisor, "gain": one["gain"], "time": one["time"], "at": one["at"]} == one, f"{one}")
    expect(0 < one["gain"] < one["time"] * one["invariance"], f"{one}")
    text = run([PENUMBRA, "annotate", recording.file, "divide"]).stdout.decode()
    expect(re.search(r"divisor: 1,000 observed, p 1, 97.0% invariant: 0xa \(10\) 97.0%, 7 3.0%",
                     text), text)


def spread():
    """Of values that are all different a sample has each once: their shares are none of the
    program's."""
    recording = Recording([target("values_known"), "3000"], EXACT)
    argument, = hotlists(recording, "divide", "argument 1")
    expect(argument["p"] < 1 and argument["spread"], f"{argument}")
    divisor, = hotlists(recording, "divide", "divisor")
    expect("spread" not in divisor, f"{divisor}")
    listed = {(p["function"], p["kind"]) for p in recording.report["semi_invariant"]}
    expect(("divide", "divisor") in listed and ("divide", "argument 1") not in listed, f"{listed}")
    text = run([PENUMBRA, "report", "--semi-invariant", "--min", "0", "--limit", "0",
                recording.file]).stdout.decode()
    expect("kept twice:" not in text, text)
    expect(re.search(r"[1-9]\d* more have many values, none of which was kept twice", text), text)
    text = run([PENUMBRA, "annotate", recording.file, "divide"]).stdout.decode()
    expect(re.search(r"argument 1 from main\S*: 3,000 observed, p 0\.\d+, no value kept twice: (?:0|0x\w+ \(\d+\)), [^%]*, "
                     r"and [\d,]+ more\n", text), text)
    results = Recording([target("values_known"), "3000"], ["--exact", "--tool", "results"])
    text = run([PENUMBRA, "annotate", results.file, "divide"]).stdout.decode()
    expect(re.search(r"mov rax, rdi.*\n +result: 3,000 observed, p [\d.]+, no value kept twice: ",
                     text), text)


def results():
    """Of all results those are places that are loaded (but not popped), divisors, shift counts, targets; shares are of instructions,
    and what is left out is said."""
    recording = Recording([target("values_known"), "3000"], ["--exact", "--tool", "results"])
    semi = recording.report["semi_invariant"]
    load, = [p for p in semi if p["function"] == "load"]
    near({v["value"]: v["share"] for v in load["values"]}, {"0x5ec2e75e5ec2e75e": 1})
    expect((load["kind"], load["use"], load["invariance"]) == ("result", "loaded", 1)
           and "used_at" not in load, f"{load}")
    count, = [p for p in semi if p["function"] == "shift"]
    near(shares(count), {"3": 0.7, "5": 0.3})
    expect(count["use"] == "shift count" and int(count["used_at"], 16) > int(count["offset"], 16),
           f"{count}")
    where, = [p for p in semi if p["function"] == "call" and p["use"] == "target"]
    near(shares(where), {"circle_area": 0.9, "square_area": 0.1})
    always, = [p for p in semi if p["function"] == "divide_always"]
    expect((always["kind"], always["invariance"], always["observed"]) == ("divisor", 1, 3000)
           and "div" in always["asm"], f"{always}")
    expect(re.fullmatch(r"known\.c:\d+", always["at"]), f"{always}")
    divisor, = [p for p in semi if p["function"] == "divide"]
    near(shares(divisor), {"0xa (10)": 0.97, "7": 0.03})
    instructions = sum(i["observed"] for i in recording.report["instructions"]
                       if "result" in i["kind"])
    expect(abs(load["time"] - load["observed"] / instructions) < 0.2 * load["time"],
           f"{load}, {instructions}")
    expect(any("pop " in i["asm"] for i in recording.report["instructions"]), "nothing is popped")
    expect(not any("pop " in p["asm"] for p in semi), "what is popped is listed")
    text = run([PENUMBRA, "report", "--semi-invariant", "--min", "0",
                recording.file]).stdout.decode()
    expect(re.search(r"shift\S*  mov ecx, esi.*; shift count of shift\S*  shl rax, cl  known.c:\d+\n", text), text)
    text = run([PENUMBRA, "report", "--semi-invariant", "--limit", "1",
                recording.file]).stdout.decode()
    expect("share of all instructions" in text
           and re.search(r"\n[1-9]\d* more are not shown \(--min 0 --limit 0", text), text)


def page():
    """Values stand beside the annotated code of the page, and in its list of places."""
    recording = Recording([target("values_known"), "3000000"],
                          ["--tool", "values", "-F", "5000", "--every", "1"])
    html = os.path.join(recording.folder.name, "page.html")
    result = run([PENUMBRA, "report", "--html", html, recording.file])
    if b"built without HTML pages" in result.stderr:
        return
    expect(result.returncode == 0, f"{result.returncode}: {result.stderr.decode()}")
    with open(html, encoding="utf-8") as f:
        profile = re.search(r'<script type="application/json" id="profile">(.*?)</script>',
                            f.read(), re.S).group(1)
    report = json.loads(profile)
    lines = [line for a in report["annotated"] for line in a["instructions"]]
    expect(any(line["values"] for line in lines), "no values beside code")
    expect(report["semi_invariant"], "no places")


def tables():
    recording = Recording([target("values_known"), "1000"], EXACT + ["--summary", "tnv"])
    expect(recording.report["values"]["summary"] == "tnv", "not tables")
    near(shares(hotlists(recording, "divide", "divisor")[0]), {"0xa (10)": 0.97, "7": 0.03})


def bursts():
    recording = Recording([target("values_known"), "3000000"], ["--tool", "values", "-F", "5000"])
    values = recording.report["values"]
    expect(values["every"] == 2 and values["sequences"] > 0, f"{values}")
    expect(recording.report["instructions"], "nothing was observed")
    by_site = Recording([target("values_known"), "3000000"],
                        ["--tool", "values", "--by-site", "-F", "5000"])
    expect(any("site" in i for i in by_site.report["instructions"]), "no sites")


def merged():
    recording = Recording([target("values_known"), "1000"], EXACT)
    other = Recording([target("values_known"), "1000"], EXACT)
    both = os.path.join(recording.folder.name, "both.pnb")
    result = run([PENUMBRA, "merge", "-o", both, recording.file, other.file])
    expect(result.returncode == 0, result.stderr.decode())
    recording.file = both
    recording.report = recording.json([])
    divisor, = hotlists(recording, "divide", "divisor")
    expect(divisor["observed"] == 2000, f"{divisor}")
    near(shares(divisor), {"0xa (10)": 0.97, "7": 0.03})


def redact():
    recording = Recording([target("values_known"), "1000"], EXACT + ["--redact"])
    expect(stat.S_IMODE(os.stat(recording.file).st_mode) == 0o600, "others may read it")
    divisor, = hotlists(recording, "divide", "divisor")
    expect(sorted(round(v["share"], 2) for v in divisor["values"]) == [0.03, 0.97], f"{divisor}")
    for i in recording.report["instructions"]:
        for v in i["values"]:
            expect("in" in v or i["kind"] == "branch", f"a value as it is: {i}")
    expect("5ec2e75e5ec2e75e" not in str(recording.report), "the secret")
    text = run([PENUMBRA, "annotate", recording.file, "load"]).stdout.decode()
    expect("5ec2e75e5ec2e75e" not in text, "the secret")
    again = Recording([target("values_known"), "1000"], EXACT + ["--redact"])
    expect(hotlists(again, "divide",
                    "divisor")[0]["values"][0]["value"] != divisor["values"][0]["value"],
           "the key is the same each time")


def record_bad(wrong, options=("--exact",)):
    folder = tempfile.TemporaryDirectory()
    file = os.path.join(folder.name, "out.pnb")
    command = [target("values_known"), "30000"]
    native = run(command)
    result = run([PENUMBRA, "record", "-q", "-o", file, *options, "--module", BAD, "--", *command],
                 env={**os.environ, "WRONG": wrong})
    return folder, file, native, result


def dropped(wrong, said):
    folder, file, native, result = record_bad(wrong)
    expect(result.stdout == native.stdout and result.returncode == 0,
           f"the program noticed: {result}")
    expect(said in result.stderr.decode(), result.stderr.decode())
    report = run([PENUMBRA, "report", file]).stdout.decode()
    expect("was dropped" in report and "the answer 42" in report, report)
    folder.cleanup()


def crash():
    dropped("crash", "crashed (signal 11")
    dropped("scribble", "crashed (signal")
    dropped("exit", "ended its process")


def hang():
    dropped("hang", "did not return from a callback")


def refused():
    for wrong, said in (("begin", "says that it cannot run"), ("capture", "while it was loaded")):
        folder, file, _, result = record_bad(wrong)
        expect(result.returncode not in (0, 1) and said in result.stderr.decode(), f"{result}")
        expect(not os.path.exists(file) and not result.stdout, "the program ran")
        folder.cleanup()
    for file, said in ((target("values_known"), "cannot load"), ("/nonexistent.so", "cannot load")):
        result = run([PENUMBRA, "record", "--module", file, "--", "true"])
        expect(result.returncode != 0 and said in result.stderr.decode(), f"{result}")


def good():
    """The same module, when nothing is wrong."""
    folder, file, native, result = record_bad("nothing")
    expect(result.stdout == native.stdout and not result.stderr, f"{result}")
    report = run([PENUMBRA, "report", file]).stdout.decode()
    expect("was dropped" not in report, report)
    folder.cleanup()


def killed():
    """What was counted when the collector and the program are killed is recovered. The ring is much smaller than
    what the program does before it says so, so that most of it has been looked at."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out.pnb")
        process = subprocess.Popen([PENUMBRA, "record", "-q", "-o", file, *EXACT, "--",
                                    target("values_known"), "30000", "stay"],
                                   stdout=subprocess.PIPE,
                                   start_new_session=True)
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        result = run([PENUMBRA, "recover", file])
        # The module's process was killed too, but has the spool, and so its lock, until it is gone.
        for _ in range(3000):
            if b"still being recorded" not in result.stderr:
                break
            time.sleep(0.01)
            result = run([PENUMBRA, "recover", file])
        expect(result.returncode == 0, result.stderr.decode())
        text = run([PENUMBRA, "annotate", file, "divide"]).stdout.decode()
        expect("divisor" in text, text)


def tutorial():
    with open(os.path.join(SOURCE, "docs", "module-tutorial.md"), encoding="utf-8") as page:
        code = re.search(r"```c\n(.*?)```", page.read(), re.S).group(1)
    expect(code.count("\n") < 60, "it is longer than it says")
    with tempfile.TemporaryDirectory() as folder:
        source, module = os.path.join(folder, "targets.c"), os.path.join(folder, "targets.so")
        with open(source, "w", encoding="utf-8") as out:
            out.write(code)
        built = run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                     "-I", os.path.join(SOURCE, "include"), "-o", module, source])
        expect(built.returncode == 0, built.stderr.decode())
        recording = Recording([target("values_known"), "1000"], ["--exact", "--module", module])
        found = hotlists(recording, "call", "call target")
        near(shares(found[0]), {"circle_area": 0.9, "square_area": 0.1})
        expect(found[0]["observed"] == 1000, f"{found}")


main({name: function for name, function in globals().items()
      if callable(function) and getattr(function, "__module__", None) == "__main__"})
