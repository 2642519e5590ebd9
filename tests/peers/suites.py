"""The suites of peers: which of Debian's source packages they are in, how they are unpacked and compiled.

Everything is kept in one folder (build-check/peers): apt's lists, downloads/PACKAGE, source/SUITE, programs/SUITE.
The system's own list of package sources is not touched."""

import glob
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OWN_APT = os.path.join(ROOT, "bench", "own-apt")
WORK = os.path.join(ROOT, "build-check", "peers")
CC = ["gcc", "-O2", "-w"]
COMPILER = 120  # seconds


class Missing(Exception):
    """What a suite needs cannot be had here."""


@dataclass
class Program:
    suite: str
    name: str
    command: list           # what runs it; empty: it does not compile here
    folder: str = ""        # where it runs; "": in a scratch folder of its own
    # exit statuses of a program that has passed; (): any, where nothing but the output counts
    passes: tuple = (0,)
    # parts of lines that it prints and that say nothing: a regular expression
    ignored: bytes = b""


@dataclass
class Suite:
    name: str
    package: str            # Debian's source package; "": none
    title: str
    inside: list            # what of the source is unpacked: patterns of tar
    # Suite, folder of the source -> programs' names and what makes a Program of each
    find: object
    inner: str = ""         # the tarball in the source that holds the source
    flags: list = field(default_factory=list)


def said(*command, cwd=None):
    r = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       check=False)
    if r.returncode:
        raise Missing(f"{' '.join(command)}: {(r.stderr.strip().splitlines() or ['failed'])[-1]}")
    return r.stdout


def apt(folder, *command):
    return said(OWN_APT, os.path.join(WORK, "apt"), *command, cwd=folder)


def download(package):
    """The folder with the package's files. The newest version can be one that the mirror has not:
    then another."""
    folder = os.path.join(WORK, "downloads", package)
    if os.path.isdir(folder):
        return folder
    os.makedirs(WORK, exist_ok=True)
    versions = re.findall(r"^Version: (\S+)",
                          apt(WORK, "apt-cache", "showsrc", "--only-source", package), re.M)
    wrong = Missing(f"apt knows no source package {package}")
    for version in [""] + ["=" + v for v in reversed(versions)]:
        shutil.rmtree(folder + ".new", ignore_errors=True)
        os.makedirs(folder + ".new")
        try:
            apt(folder + ".new", "apt-get", "-q", "--download-only", "source", package + version)
        except Missing as e:
            wrong = e
            continue
        os.rename(folder + ".new", folder)
        return folder
    raise wrong


def version_of(suite):
    files = glob.glob(os.path.join(WORK, "downloads", suite.package, "*.dsc"))
    return os.path.basename(files[0])[len(suite.package) + 1:-len(".dsc")] if files else ""


def unpack(suite):
    """The folder with what is needed of the source; "": the suite is Penumbra's own."""
    if not suite.package:
        return ""
    target = os.path.join(WORK, "source", suite.name)
    if os.path.isdir(target):
        return target
    tarballs = [f for f in glob.glob(os.path.join(download(suite.package), "*.orig.tar.*"))
                if not f.endswith(".asc")]
    if not tarballs:
        raise Missing(f"the source package {suite.package} has no .orig.tar")
    shutil.rmtree(target + ".new", ignore_errors=True)
    os.makedirs(target + ".new")
    tarball = tarballs[0]
    if suite.inner:
        said("tar", "-xf", tarball, "--strip-components=1", "--wildcards", suite.inner,
             cwd=target + ".new")
        tarball = glob.glob(os.path.join(target + ".new", "*.tar.*"))[0]
    said("tar", "-xf", tarball, "--strip-components=1", "--wildcards", *suite.inside,
         cwd=target + ".new")
    if suite.inner:
        os.unlink(tarball)
    os.rename(target + ".new", target)
    return target


def compile_c(suite, name, source, flags=()):
    """The program's path; "": it does not compile here. Sources that position-independent code is too much for get
    a second chance. What compiled, or did not, is not tried again."""
    out = os.path.join(WORK, "programs", suite.name, name)
    if os.path.exists(out):
        return out
    if os.path.exists(out + ".not"):
        return ""
    os.makedirs(os.path.dirname(out), exist_ok=True)
    for more in ([], ["-no-pie"]):
        try:
            r = subprocess.run([*CC, *more, *flags, source, "-o", out, "-lm", "-lpthread",
                                *suite.flags],
                               cwd=os.path.dirname(source), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=COMPILER, check=False)
        except subprocess.TimeoutExpired:
            continue
        if r.returncode == 0:
            return out
    with open(out + ".not", "w", encoding="ascii"):
        return ""


def c_programs(suite, files, folder, flags=(), passes=(0,), arguments=lambda file: []):
    """(name, what makes the Program) of each C file."""
    def maker(name, file):
        def make():
            out = compile_c(suite, name, file, flags)
            return Program(suite.name, name, [out, *arguments(file)] if out else [], passes=passes)
        return make
    found = []
    for file in sorted(files):
        name = os.path.relpath(file, folder)[:-len(".c")]
        found.append((name, maker(name, file)))
    return found


def find_torture(suite, source):
    folder = os.path.join(source, "gcc", "testsuite", "gcc.c-torture", "execute")
    return c_programs(suite, glob.glob(folder + "/*.c") + glob.glob(folder + "/ieee/*.c"), folder)


def vgtest_arguments(file):
    """Those that valgrind's own rule for the test has."""
    try:
        with open(file[:-len(".c")] + ".vgtest", encoding="utf-8") as f:
            found = re.search(r"^args:(.*)$", f.read(), re.M)
    except OSError:
        return []
    return shlex.split(found[1]) if found else []


def find_valgrind(suite, source):
    """config.h is what valgrind's configure would make; the tests need few of its lines."""
    with open(os.path.join(source, "config.h"), "w", encoding="ascii") as f:
        f.write("#define HAVE_MEMALIGN 1\n")
    folder = os.path.join(source, "none", "tests", "amd64")
    flags = ["-fcommon", "-D_GNU_SOURCE", "-DVGO_linux=1", "-DVGA_amd64=1", "-DVGP_amd64_linux=1",
             *(f"-I{os.path.join(source, part)}" for part in ("", "include", "VEX/pub"))]
    return c_programs(suite, glob.glob(folder + "/*.c"), folder, flags, (), vgtest_arguments)


def find_libffi(suite, source):
    folder = os.path.join(source, "testsuite", "libffi.call")
    with open(os.path.join(folder, "fficonfig.h"), "w", encoding="ascii") as f:
        f.write("#include <stdint.h>\n")
    flags = ["-include", "stdint.h", f"-I{folder}", f"-I{os.path.join(source, 'include')}"]
    return c_programs(suite, glob.glob(folder + "/*.c"), folder, flags)


def find_lua(suite, source):
    """Those that end by themselves without arguments. lua is built from the same source."""
    lua = os.path.join(WORK, "programs", suite.name, "lua-interpreter")
    if not os.path.exists(lua):
        os.makedirs(os.path.dirname(lua), exist_ok=True)
        files = [f for f in glob.glob(os.path.join(source, "src", "*.c"))
                 if os.path.basename(f) not in ("luac.c", "print.c")]
        said(*CC, "-DLUA_USE_POSIX", "-DLUA_USE_DLOPEN", "-Wl,-E", *files, "-o", lua, "-lm", "-ldl")
    folder = os.path.join(source, "test")
    return [(os.path.basename(file),
             lambda file=file: Program(suite.name, os.path.basename(file), [lua, file]))
            for file in sorted(glob.glob(folder + "/*.lua"))]


def perl_library(source):
    """lib/ as perl's own build leaves it: that of the installed perl, which has what is compiled
    too."""
    library, kept = os.path.join(source, "lib"), os.path.join(source, "lib.source")
    if os.path.isdir(kept):
        return
    places = said("perl", "-MConfig", "-e",
                  'print "$Config{privlibexp} $Config{archlibexp}"').split()
    new = library + ".new"
    shutil.rmtree(new, ignore_errors=True)
    for place in places:
        shutil.copytree(place, new, symlinks=False, ignore_dangling_symlinks=True,
                        dirs_exist_ok=True)
    if os.path.isdir(library):
        os.rename(library, kept)
    else:
        os.makedirs(kept)
    os.rename(new, library)


def perl_switches(file):
    """As t/TEST does: those of the first line."""
    with open(file, encoding="latin-1") as f:
        found = re.match(r"#!.*perl\s+(-.*)", f.readline())
    return found[1].split() if found else []


def find_perl(suite, source):
    """The tests want to run in t/, with a perl there."""
    folder, perl = os.path.join(source, "t"), shutil.which("perl")
    if not perl:
        raise Missing("perl is not installed")
    perl_library(source)
    if not os.path.lexists(os.path.join(folder, "perl")):
        os.symlink(perl, os.path.join(folder, "perl"))
    found = []
    for file in sorted(glob.glob(folder + "/*/*.t")):
        name = os.path.relpath(file, folder)
        found.append((name, lambda name=name, file=file: Program(
            suite.name, name, [perl, *perl_switches(file), "-I../lib", name], folder)))
    return found


# Where glibc's build would have what it installs; only what runs in containers asks for it.
GLIBC_PATHS = [f'-D{name}_PATH="/nonexistent"'
               for name in ("SRCDIR", "OBJDIR", "OBJDIR_ELF_LDSO", "INSTDIR", "LIBDIR", "BINDIR",
                            "SBINDIR",
                                                            "SLIBDIR", "ROOTSBINDIR",
                                                            "COMPLOCALEDIR")]


def glibc_support(suite, source):
    """What the tests share, as far as it compiles without the rest of the source."""
    library = os.path.join(WORK, "programs", suite.name, "libsupport.a")
    if os.path.exists(library):
        return library
    objects = library + ".new"
    shutil.rmtree(objects, ignore_errors=True)
    os.makedirs(objects)
    for file in sorted(glob.glob(os.path.join(source, "support", "*.c"))):
        name = os.path.basename(file)[:-len(".c")]
        if not re.match("tst-|true-|echo-|shell-|test-|links-", name):
            subprocess.run([*CC, *GLIBC_PATHS, "-fPIC", "-D_GNU_SOURCE", "-DTIMEOUTFACTOR=1", "-I.",
                            "-Isupport", "-c", file, "-o",
                            os.path.join(objects, name + ".o")],
                           cwd=source, stderr=subprocess.DEVNULL, check=False)
    said("ar", "rcs", library, *sorted(glob.glob(objects + "/*.o")))
    shutil.rmtree(objects)
    return library


def find_glibc(suite, source):
    suite.flags = [glibc_support(suite, source), "-lrt"]
    files = [f for part in ("nptl", "sysdeps/pthread", "setjmp", "signal")
             for f in glob.glob(os.path.join(source, part, "*tst-*.c"))
             if not re.search("mod[0-9]*[.]c$", f)]
    return c_programs(suite, files, source,
                      ["-D_GNU_SOURCE", "-DTIMEOUTFACTOR=1", f"-I{source}", f"-I{source}/nptl"])
