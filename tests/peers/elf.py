"""The tests of glibc's loader: which there are, and how they and their modules are linked, is what its own makefile says.

The installed gcc and libc take the place of the ones that glibc's build would make. A test that needs more of that build
does not compile or does not pass natively, and is left out."""

import os
import re
import shlex
import subprocess

from suites import CC, COMPILER, WORK, Program, glibc_support, said

OBJECTS, ITSELF = "/objects/", "@itself@"
# What glibc's configure would have found out. Variables that are not here are empty.
CONFIGURED = {
    "build-shared": "yes", "run-built-tests": "yes", "build-hardcoded-path-in-tests": "no",
    "avoid-generated": "yes",
    "have-thread-library": "yes", "have-fpie": "yes", "have-gcc-ifunc": "yes", "have-ifunc": "yes",
    "have-tunables": "yes",
    "have-mtls-dialect-gnu2": "yes", "have-protected-data": "yes", "have-z-execstack": "yes",
    "have-depaudit": "yes",
    "with-lld": "no", "CXX": "g++", "objpfx": OBJECTS, "elf-objpfx": OBJECTS,
    "common-objpfx": "/common/",
    "pie-ccflag": "-fPIE", "PIE-ccflag": "-fPIE", "pic-ccflag": "-fPIC",
    "no-stack-protector": "-fno-stack-protector",
    "host-test-program-cmd": ITSELF,
}
VARIABLES = "$(foreach v,$(filter %-ENV %-ARGS LDFLAGS-% CFLAGS-% CPPFLAGS-% LDLIBS-% tests tests-internal tests-static," \
            "$(.VARIABLES)),$(info var $v = $($v)))\n"


class Makefile:
    """variables: name -> value; needs: target in the folder of objects -> what its rules depend on."""
    def __init__(self, source, folder):
        self.source, self.variables, self.needs = os.path.join(source, "elf"), {}, {}
        with open(os.path.join(self.source, "Makefile"), encoding="utf-8") as f:
            lines = [line for line in f if not re.match(r"-?include |\tinclude ", line)]
        copy = os.path.join(folder, "elf.mk")
        with open(copy, "w", encoding="utf-8") as f:
            f.writelines(f"{name} = {value}\n" for name, value in CONFIGURED.items())
            f.writelines([*lines, "\n", VARIABLES, "nothing:\n"])
        for line in said("make", "-f", copy, "-pnr", "nothing", cwd=self.source).splitlines():
            variable = re.match(r"var (\S+) = (.*)", line)
            rule = re.match(re.escape(OBJECTS) + r"([^:=]+): (.*)", line)
            if variable:
                self.variables[variable[1]] = variable[2]
            elif rule:
                self.needs.setdefault(rule[1], []).extend(rule[2].split())

    def words(self, *names):
        return [word for name in names for word in shlex.split(self.variables.get(name, ""))]

    def tests(self):
        static = set(self.words("tests-static"))
        return sorted({name for name in self.words("tests", "tests-internal")
                       if name not in static})

    def file_of(self, name):
        """The source of a test or module."""
        said_so = [need for need in self.needs.get(name + ".os", []) if need.endswith(".c")]
        files = [os.path.join(self.source, file) for file in [*said_so, name + ".c", name + ".cc"]]
        return next(filter(os.path.exists, files), None)

    def needed(self, target, ending):
        return [need[len(OBJECTS):-len(ending)] for need in self.needs.get(target, [])
                if need.startswith(OBJECTS) and need.endswith(ending)]


class Builder:
    def __init__(self, suite, source):
        self.source, self.folder = source, os.path.join(WORK, "programs", suite.name)
        os.makedirs(self.folder, exist_ok=True)
        self.support, self.makefile = glibc_support(suite, source), Makefile(source, self.folder)
        self.flags = ["-D_GNU_SOURCE", "-DTIMEOUTFACTOR=1", f"-I{source}", f"-I{source}/nptl",
                      f"-I{source}/elf",
                      f"-I{source}/sysdeps/generic"]

    def here(self, words):
        return [word.replace(OBJECTS, self.folder + "/") for word in words]

    def link(self, name, target, kind):
        """The file, of what is linked into it too; "": it cannot be made here."""
        out, m = os.path.join(self.folder, target), self.makefile
        if os.path.exists(out):
            return out
        file = m.file_of(name)
        needed = [self.module(need) for need in m.needed(target, ".so")]
        objects = [o for o in (m.file_of(need) for need in m.needed(target, ".o")) if o]
        if not file or not all(needed) or os.path.exists(out + ".not"):
            return ""
        compiler = ["g++", *CC[1:]] if file.endswith(".cc") else CC
        words = m.words(f"CFLAGS-{os.path.basename(file)}", f"CFLAGS-{name}.c", f"CFLAGS-{name}.os",
                        f"CPPFLAGS-{name}.c",
                        f"LDFLAGS-{target}", f"LDLIBS-{target}")
        command = [*compiler, *kind, *self.flags, file, *objects, "-o", out, *needed,
                   *self.here(words),
                   f"-Wl,-rpath-link,{self.folder}", self.support, "-lm", "-lpthread"]
        if "-nostdlib" in words:
            command = [word for word in command if word not in (self.support, "-lm", "-lpthread")]
        try:
            subprocess.run(command, cwd=self.makefile.source, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=COMPILER, check=False)
        except subprocess.TimeoutExpired:
            pass
        if not os.path.exists(out):
            with open(out + ".not", "w", encoding="ascii"):
                pass
        return out if os.path.exists(out) else ""

    def module(self, name):
        return self.link(name, name + ".so", ["-shared", "-fPIC"])

    def program(self, suite, name):
        out = self.link(name, name, [])
        for module in self.makefile.needed(name + ".out", ".so"):
            self.module(module)
        words = self.here(self.makefile.words(f"{name}-ARGS"))
        return Program(suite.name, name, out and [
            "env", f"LD_LIBRARY_PATH={self.folder}", *self.here(self.makefile.words(f"{name}-ENV")),
            out,
            *(word.replace(ITSELF, out) for word in words)], self.folder)


def find_elf(suite, source):
    builder = Builder(suite, source)
    return [(name, lambda name=name: builder.program(suite, name))
            for name in builder.makefile.tests()]
