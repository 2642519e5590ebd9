"""All suites."""

import built
import elf
import languages
import suites
from suites import Suite

SUITES = [
    Suite("languages", "", "a program in each of many languages (tests/peers/languages)", [],
          languages.find_languages),
    Suite("gcc", "gcc-12", "gcc's torture suite (gcc.c-torture/execute)",
          ["*/gcc/testsuite/gcc.c-torture/execute"],
          suites.find_torture, inner="*/gcc-12*.tar.*"),
    Suite("valgrind", "valgrind", "valgrind's instruction tests (none/tests/amd64)",
          ["*/none/tests/amd64", "*/include", "*/tests/*.h", "*/VEX/pub"], suites.find_valgrind),
    Suite("libffi", "libffi", "libffi's calls (testsuite/libffi.call)",
          ["*/testsuite/libffi.call", "*/include"],
          suites.find_libffi, flags=["-lffi"]),
    Suite("lua", "lua5.1", "Lua's test/", ["*/test", "*/src"], suites.find_lua),
    Suite("perl", "perl", "Perl's t/", ["*/t", "*/lib"], suites.find_perl),
    Suite("sqlite", "sqlite3",
          "sqlite's veryquick (test/, ext/*/test), with a testfixture built from the same source",
          ["*"],
          built.find_sqlite),
    Suite("libunwind", "libunwind",
          "libunwind's tests/, with a libunwind built from the same source", ["*"],
          built.find_libunwind),
    Suite("glibc", "glibc", "glibc's tests of threads, jumps and signals (nptl, sysdeps/pthread, setjmp, signal)",
          ["*/nptl", "*/setjmp", "*/signal", "*/support", "*/sysdeps/pthread", "*/test-skeleton.c"],
          suites.find_glibc),
    Suite("elf", "glibc", "glibc's tests of the loader (elf), with the installed libc",
          ["*/elf", "*/support", "*/nptl", "*/test-skeleton.c", "*/io/pwd.c", "*/include",
           "*/dlfcn", "*/misc/sys",
           "*/sysdeps/generic/ifunc-sel.h"], elf.find_elf),
]
