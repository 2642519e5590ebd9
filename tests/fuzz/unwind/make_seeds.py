#!/usr/bin/env python3
"""Writes first inputs for the unwind fuzzers: small ELF files and pieces of real .eh_frame.

    make_seeds.py STAMP

makes the directory `seeds` beside STAMP, and STAMP.
"""
import os
import struct
import subprocess
import sys
import tempfile

ASSEMBLY = """
    .text
    .globl f
f:  .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register rbp
    .cfi_remember_state
    leave
    .cfi_def_cfa rsp, 8
    ret
    .cfi_restore_state
    .cfi_escape 0x0f, 3, 0x76, 0x78, 6
    .cfi_val_offset rsp, 0
    .cfi_undefined rip
    nop
    .cfi_endproc
g:  .cfi_startproc
    .cfi_signal_frame
    .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6
    nop
    .cfi_endproc
    .globl h
    .type h, @function
h:  sub $0x60, %rsp
    mov %rbx, (%rsp)
    mov %rbp, 8(%rsp)
    mov %rsp, %rbx
    and $-64, %rsp
    push %rax
1:  call f
    loop 1b
    lea 8(%rbx), %rsp
    mov (%rbx), %rbx
    pop %rbp
    leave
    ret
    .size h, . - h
"""


def main():
    stamp = sys.argv[1]
    root = os.path.join(os.path.dirname(os.path.abspath(stamp)), "seeds")
    for name in ("fuzz_eh_frame", "fuzz_elf", "fuzz_code"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        source, library, section = (os.path.join(directory, n) for n in ("f.s", "f.so", "frames"))
        with open(source, "w", encoding="ascii") as out:
            out.write(ASSEMBLY)
        subprocess.run(["cc", "-shared", "-nostdlib", "-o", library, source], check=True)
        with open(library, "rb") as elf, \
                open(os.path.join(root, "fuzz_elf", "library"), "wb") as seed:
            seed.write(elf.read())
        subprocess.run(["objcopy", "-O", "binary", "--only-section=.eh_frame_hdr",
                        "--only-section=.eh_frame", library, section], check=True)
        with open(section, "rb") as frames, \
                open(os.path.join(root, "fuzz_eh_frame", "frames"), "wb") as seed:
            seed.write(struct.pack("<QQ", 4, 1) + frames.read())
        subprocess.run(["objcopy", "-O", "binary", "--only-section=.text", library, section],
                       check=True)
        with open(section, "rb") as code, \
                open(os.path.join(root, "fuzz_code", "text"), "wb") as seed:
            seed.write(struct.pack("<Q", 1) + code.read())
    with open(stamp, "w", encoding="ascii"):
        pass


if __name__ == "__main__":
    main()
