#!/usr/bin/env python3
"""Every form of the emitter against GNU as: the same instruction, by objdump, and no longer.

usage: check_emit.py EMIT_FORMS
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

FORMS = sys.argv.pop()
RUNS_AT = 0x10000000
SPACING = 16  # each instruction is assembled at an address of its own


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def disassembly(path):
    """{address: (length, text)} of the instructions of an object or program"""
    out = {}
    for line in run("objdump", "-d", "-w", "-M", "intel", path).splitlines():
        match = re.match(r"\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*)", line)
        if match:
            text = re.sub(r"\s*<.*>|\s+#.*", "", match.group(3)).strip()
            out[int(match.group(1), 16)] = (len(match.group(2).split()), text)
    return out


def linked(folder, name, lines):
    """Assembles the lines, instruction i at RUNS_AT + i * SPACING, and disassembles them."""
    source, obj, program = (os.path.join(folder, name + e) for e in (".s", ".o", ""))
    with open(source, "w", encoding="utf-8") as f:
        f.write(".intel_syntax noprefix\n.text\n.globl _start\n_start:\n")
        for i, line in enumerate(lines):
            f.write(f".org {i * SPACING}, 0xcc\n.set base, _start + {i * SPACING}\n{line}\n")
    run("as", "--64", "-o", obj, source)
    run("ld", f"-Ttext={RUNS_AT:#x}", "-o", program, obj)
    return disassembly(program)


def assembly(text):
    """What as is to assemble: it counts rip-relative operands from the instruction's end."""
    match = re.search(r"\[rip \+ base \+ (0x[0-9a-f]+)\]", text)
    if not match:
        return text
    offset = int(match.group(1), 16)
    offset -= 1 << 64 if offset >> 63 else 0
    return text.replace(match.group(0), f"[rip + base + {offset}]")


class Emit(unittest.TestCase):
    def test_against_as(self):
        forms = [line.split("\t") for line in run(FORMS).splitlines()]
        self.assertGreater(len(forms), 15000)
        self.assertEqual([f for f in forms if f[1].endswith("FAILED")], [])
        nops = [f for f in forms if f[1].startswith("NOP")]
        forms = [f for f in forms if not f[1].startswith("NOP")]
        with tempfile.TemporaryDirectory() as folder:
            ours = linked(folder, "ours", [
                ".byte " + ", ".join("0x" + b for b in code.split()) for code, _ in forms])
            theirs = linked(folder, "theirs", [assembly(text) for _, text in forms])
        wrong = []
        for i, (code, text) in enumerate(forms):
            at = RUNS_AT + i * SPACING
            if not self.same(ours.get(at, (0, ""))[1],
                             theirs[at][1]) or ours[at][0] != len(code.split()):
                wrong.append((text, code, ours.get(at), theirs[at]))
            longer = ours.get(at, (0, ""))[0] - theirs[at][0]
            if longer > 0 and not self.chosen(text, longer):
                wrong.append((text, code, "longer than by as", theirs[at]))
        self.assertEqual(wrong[:20], [])
        self.check_nops(nops)

    @staticmethod
    def same(ours, theirs):
        """xchg has two encodings, with the registers in either order."""
        match = re.match(r"(xchg +)(\w+),(\w+)$", theirs)
        return ours == theirs or (match and ours == f"{match[1]}{match[3]},{match[2]}")

    @staticmethod
    def chosen(text, longer):
        """Forms that are longer on purpose: xchg with rax has a form of one byte less, a literal
        to be patched is not shortened."""
        return text.startswith("xchg") and longer == 1

    def check_nops(self, nops):
        self.assertEqual(len(nops), 10)
        with tempfile.TemporaryDirectory() as folder:
            got = linked(folder, "nops", [
                ".byte " + ", ".join("0x" + b for b in code.split()) for code, _ in nops])
        for i, (code, text) in enumerate(nops):
            at, left = RUNS_AT + i * SPACING, int(text.split()[1])
            self.assertEqual(len(code.split()), left)
            while left:
                length, name = got[at]
                self.assertTrue(name.startswith(("nop", "xchg   ax,ax")), name)
                at, left = at + length, left - length


if __name__ == "__main__":
    unittest.main()
