"""A program in each of many languages, made here: recursion, strings, errors caught, and threads where the language has
them. Most run times make code at run time, move or copy stacks, or use signals and signal stacks of their own."""

import os
import shutil
import subprocess

from suites import ROOT, WORK, Program

SOURCES = os.path.join(ROOT, "tests", "peers", "languages")
# name: (what compiles it, "" if nothing does; what runs it). Each program has a folder of its own, with all sources.
LANGUAGES = {
    "ada": ("gnatmake -O2 work.adb", "./work"),
    "chez-scheme": ("", "chezscheme -q --script work.scm"),
    "d": ("ldc2 -O2 -of=work work.d", "./work"),
    "emacs": ("", "emacs --batch -Q -l work.el"),
    "erlang": ("erlc work.erl", "erl -noshell -s work main"),
    "forth": ("", "gforth work.fs"),
    "fortran": ("gfortran -O2 -o work work.f90", "./work"),
    "gap": ("", "gap -q -b work.gi"),
    "go": ("env CGO_ENABLED=1 go build -ldflags=-linkmode=external -o work work.go", "./work"),
    "guile": ("", "guile --no-auto-compile work.scm"),
    "haskell": ("ghc -O1 -threaded -o work work.hs", "./work +RTS -N2"),
    "java": ("javac Work.java", "java Work"),
    "java-interpreted": ("javac Work.java", "java -Xint Work"),
    "lua": ("", "lua5.4 work.lua"),
    "luajit": ("", "luajit work.lua"),
    "mono": ("mcs -out:work.exe work.cs", "mono work.exe"),
    "node": ("", "node work.js"),
    "ocaml": ("", "ocaml work.ml"),
    "ocamlopt": ("ocamlopt -o work work.ml", "./work"),
    "octave": ("", "octave-cli -q --no-init-file work.m"),
    "pari": ("", "gp -q work.gp"),
    "php": ("", "php work.php"),
    "postscript": ("", "gs -q -dNODISPLAY -dBATCH work.ps"),
    "prolog": ("", "swipl -q work.pl"),
    "pypy": ("", "pypy3 work.py"),
    "python": ("", "python3 work.py"),
    "r": ("", "R --vanilla -s -f work.R"),
    "ruby": ("", "ruby work.rb"),
    "rust": ("rustc -O -o work work.rs", "./work"),
    "sbcl": ("", "sbcl --script work.lisp"),
    "tcl": ("", "tclsh work.tcl"),
    "z3": ("", "z3 work.smt2"),
}


def made(name, compiler, command):
    """Its folder; "": a compiler or a run time is missing, or does not take it."""
    words = compiler.split()
    tools = ([words[2] if words[0] == "env" else words[0]] if words else []) + [command.split()[0]]
    if not all(tool.startswith("./") or shutil.which(tool) for tool in tools):
        return ""
    folder = os.path.join(WORK, "programs", "languages", name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCES, folder)
    if words and subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, check=False).returncode:
        return ""
    return folder


def find_languages(suite, _source):
    def maker(name, compiler, command):
        def make():
            folder = made(name, compiler, command)
            return Program(suite.name, name, command.split() if folder else [], folder)
        return make
    return [(name, maker(name, *how)) for name, how in LANGUAGES.items()]
