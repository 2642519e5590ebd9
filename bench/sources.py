"""Programs of the suite built from Debian's sources, as they are and for gprof: what `calls` compares.

Everything is kept in bench/work/calls/: apt's lists, source/NAME, plain/NAME and pg/NAME. The system's
own list of package sources is not touched. A build that is there is not made again."""
import glob
import os
import shutil
from dataclasses import dataclass

import inputs

FOLDER = os.path.join(inputs.WORK, "calls")
BUILDS = {"plain": "-O2", "pg": "-O2 -pg"}
CC = "gcc-12"


@dataclass
class Source:
    name: str       # the suite's name of the program
    package: str    # Debian's source package
    commands: list  # shell commands in the source's folder, with $CC and $FLAGS; they leave `binary`
    binary: str


SOURCES = [
    Source("gzip", "gzip", ['./configure CC="$CC" CFLAGS="$FLAGS"', "make -j2 MAKEINFO=true"], "gzip"),
    Source("bzip2", "bzip2", ['make bzip2 CC="$CC" CFLAGS="$FLAGS -D_FILE_OFFSET_BITS=64"'], "bzip2"),
    Source("xz", "xz-utils", ['./configure --disable-shared --disable-nls --disable-doc CC="$CC" CFLAGS="$FLAGS"',
                              "make -j2"], "src/xz/xz"),
    Source("sqlite3", "sqlite3", ['./configure --disable-shared --disable-tcl --disable-readline CC="$CC" '
                                  'CFLAGS="$FLAGS"', "make sqlite3"], "sqlite3"),
    Source("lua", "lua5.4", ["echo '#define DEB_HOST_MULTIARCH \"x86_64-linux-gnu\"' > src/lua5.4-deb-multiarch.h",
                             "cd src && rm -f luac.c && $CC $FLAGS -DLUA_USE_LINUX -DLUA_COMPAT_5_3 -Wl,-E "
                             "-o lua *.c -lm -ldl"], "src/lua"),
]
# Built by other compilers only (built.py).
OTHERS = [Source(*own, [], "") for own in (("gawk", "gawk"), ("redis", "redis"), ("cpython", "python3.11"))]


def path_of(source, build):
    return os.path.join(FOLDER, build, source.name, source.binary)


def apt(words, folder):
    command = [os.path.join(inputs.HERE, "own-apt"), os.path.join(FOLDER, "apt"), "apt-get", "-q"]
    inputs.run(command + words, "sources of " + words[-1], cwd=folder)


def unpack(source):
    """Debian's source with its patches, in source/NAME; returns the folder."""
    target = os.path.join(FOLDER, "source", source.name)
    if os.path.isdir(target):
        return target
    downloads = os.path.join(FOLDER, "downloads", source.name)
    shutil.rmtree(downloads, ignore_errors=True)
    os.makedirs(downloads)
    apt(["--download-only", "source", source.package], downloads)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    inputs.run(["dpkg-source", "--no-check", "-x", glob.glob(f"{downloads}/*.dsc")[0], target], source.package)
    return target


def build(source, kind, say):
    if os.path.exists(path_of(source, kind)):
        return
    say(f"building {source.name} with {BUILDS[kind]}")
    folder = os.path.join(FOLDER, kind, source.name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(unpack(source), folder, symlinks=True)
    for command in source.commands:
        inputs.run(["sh", "-c", command], f"{source.name} ({kind})", cwd=folder,
                   env=os.environ | {"CC": CC, "FLAGS": BUILDS[kind]})


def build_all(sources, say):
    for source in sources:
        for kind in BUILDS:
            build(source, kind, say)
