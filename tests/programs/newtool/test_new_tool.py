"""The example of docs/new-tool.md: a counting tool is one file and one row.

The page's file and row are laid over the source tree. What reads the list of tools is compiled again,
with the commands of the build, and linked with the rest of it; then the tool counts the branches of
a program whose counts are known.
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

BUILD, SOURCE, TARGET = os.environ["BUILD"], os.environ["SOURCE"], os.environ["TARGET"]
LIST = "src/sigsafe/tools.h"
PATIENCE = 300


def run(command, **more):
    done = subprocess.run(command, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True,
                          timeout=PATIENCE, **more)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: {done.returncode}\n{done.stdout}")
    return done.stdout


def code_blocks(page):
    """The page's indented blocks."""
    with open(page, encoding="utf-8") as file:
        return [textwrap.dedent(block)
                for block in re.findall(r"(?:^(?: {4}.*)?\n)+", file.read(), re.M) if block.strip()]


def written(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def overlay(folder):
    """The files that the page adds and changes, below `folder`; returns the added one."""
    blocks = code_blocks(os.path.join(SOURCE, "docs/new-tool.md"))
    code = next(b for b in blocks if "const struct tool tool_outcomes" in b).strip() + "\n"
    row = next(b for b in blocks if b.strip().startswith("X(OUTCOMES,")).strip("\n") + "\n"
    with open(os.path.join(SOURCE, LIST), encoding="utf-8") as file:
        text = file.read()
    head = re.search(r"^#define TOOLS_COUNTING\(X\).*\n", text, re.M)
    assert len(row.splitlines()) <= 2 and all(line.endswith("\\") for line in row.splitlines()), row
    written(os.path.join(folder, LIST), text[:head.end()] + row + text[head.end():])
    path = os.path.join(folder, "src/tools/outcomes.c")
    written(path, code)
    return path


def readers():
    """The objects that depend on the list."""
    for paragraph in run(["ninja", "-t", "deps"]).split("\n\n"):
        lines = paragraph.splitlines()
        if any(os.path.normpath(os.path.join(BUILD, line.strip())) == os.path.join(SOURCE, LIST)
               for line in lines[1:]):
            yield lines[0].split(":")[0]


class Objects:
    """Compiled from the overlay, by the name that the build's own have."""

    def __init__(self, folder):
        self.folder = folder
        self.made = {}
        with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
            self.commands = {entry["output"]: entry for entry in json.load(file)}

    def make(self, like, name, source=None):
        entry = self.commands[like]
        out = os.path.join(self.folder, name.replace("/", "_"))
        command = shlex.split(entry["command"])
        command[command.index("-o") + 1] = out
        command[command.index("-MF") + 1] = out + ".d"
        if source:
            command[command.index(entry["file"])] = source
        # What runs in handlers is written for optimizers; the rest compiles in half of the time.
        level = "-O1" if "-mgeneral-regs-only" in command else "-O0"
        command[command.index("-o"):command.index("-o")] = [level, "-g0"]
        at = next(i for i, word in enumerate(command) if word.startswith("-I"))
        command.insert(at, "-I" + os.path.join(self.folder, "src"))
        run(command)
        self.made[name] = out

    def link(self, product):
        """Objects in front of an archive take the place of its own."""
        command = shlex.split(run(["ninja", "-t", "commands", product]).splitlines()[-1])
        out = os.path.join(self.folder, product)
        used = [i for i, word in enumerate(command) if word.endswith(".o")]
        replaced = {word for word in command if word in self.made}
        archives = {os.path.dirname(word) + "/" + os.path.basename(word) + ".p" for word in command
                    if word.endswith(".a")}
        added = [self.made[name] for name in self.made if os.path.dirname(name) in archives]
        command = [self.made[word] if word in replaced else word for word in command]
        command[command.index("-o") + 1] = out
        run(command[:used[0]] + added + command[used[0]:])
        return out


def places():
    lines = run(["nm", TARGET]).splitlines()
    names = {line.split()[2]: int(line.split()[0], 16) for line in lines if len(line.split()) == 3}
    image = os.path.basename(TARGET)
    return lambda name: f"{image}+{names[name]:#x}"


def edges(penumbra, folder, *options):
    profile = os.path.join(folder, "out.pnb")
    run([penumbra, "record", "-q", *options, "-o", profile, "--", TARGET])
    report = json.loads(run([penumbra, "report", "--json", "--quick", profile]))
    text = run([penumbra, "report", profile])
    return report, {(edge["from"], edge["to"]): edge["count"] for edge in report["edges"]}, text


def check(penumbra, folder):
    at = places()
    report, found, text = edges(penumbra, folder, "--exact", "--tool", "outcomes")
    assert report["tool"] == "outcomes" and not report["blocks"], report["tool"]
    wanted = {("if_even", "even"): 500, ("if_even", "odd"): 500, ("if_more", "again"): 999,
              ("if_more", "last"): 1}
    for (begin, end), count in wanted.items():
        assert found.get((at(begin), at(end))) == count, (begin, end, count, found)
    assert "tool outcomes" in text and at("if_more") in text, text
    # What it counts is what the tool that counts every transfer counts of them.
    _, every, _ = edges(penumbra, folder, "--exact", "--tool", "edges")
    own = {pair: count for pair,
           count in found.items() if pair[0].startswith(os.path.basename(TARGET))}
    assert own and all(every.get(pair) == count for pair, count in own.items()), (own, every)
    assert len(every) > len(found)
    options = run([penumbra, "record", "--help"]) + run([penumbra, "record", "--help-all"])
    assert options.count(" outcomes") >= 2, options


def main():
    with tempfile.TemporaryDirectory() as folder:
        objects = Objects(folder)
        added = overlay(folder)
        again = [name for name in readers() if name in objects.commands
                 and not name.startswith("tests/")]
        assert again, "nothing depends on the list of tools"
        like = next(name for name in objects.commands if name.endswith("libtools.a.p/edges.c.o"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            work = [pool.submit(objects.make, name, name) for name in again]
            work.append(pool.submit(objects.make, like,
                                    os.path.join(os.path.dirname(like), "outcomes.c.o"), added))
            for one in work:
                one.result()
        objects.link("libpenumbra-rt.so")
        check(objects.link("penumbra"), folder)
    print(f"new-tool: ok, {len(again)} files compiled again")


main()
