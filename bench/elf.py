"""What the benchmarks need of ELF files: function starts from .eh_frame_hdr (they exist in stripped
files too), symbols by name, and file offsets as link-time addresses."""
import bisect
import functools
import os
import struct

PT_LOAD, PT_GNU_EH_FRAME = 1, 0x6474E550
SHT_SYMTAB, SHT_DYNSYM, SHT_NOTE = 2, 11, 7
DEBUG = "/usr/lib/debug/.build-id"


class Elf:
    def __init__(self, name):
        with open(name, "rb") as f:
            self.data = f.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{name} is not a 64-bit little-endian ELF file")
        (self.entry, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum, _) = struct.unpack_from(
            "<QQQIHHHHHH", self.data, 24)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * phentsize) for i in range(phnum)]
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shentsize) for i in range(shnum)]
        self.starts = self.read_starts()

    def vaddr_of(self, offset):
        """The link-time address of a byte of the file, or None."""
        for kind, _, start, vaddr, _, size, _, _ in self.segments:
            if kind == PT_LOAD and start <= offset < start + size:
                return vaddr + offset - start
        return None

    def read_starts(self):
        """Sorted starts of all functions that have unwind information: the search table of
        .eh_frame_hdr, encoded (everywhere in practice) as 4-byte offsets from the table's own start."""
        for kind, _, offset, vaddr, _, _, _, _ in self.segments:
            if kind == PT_GNU_EH_FRAME and self.data[offset + 1:offset + 4] == b"\x1b\x03\x3b":
                count = struct.unpack_from("<I", self.data, offset + 8)[0]
                pairs = struct.iter_unpack("<ii", self.data[offset + 12:offset + 12 + 8 * count])
                return sorted(vaddr + start for start, _ in pairs)
        return []

    def function_of(self, vaddr):
        """The start of the function that holds vaddr: the last start at or below it; 0 if none."""
        i = bisect.bisect_right(self.starts, vaddr)
        return self.starts[i - 1] if i else 0

    def range_of(self, vaddr):
        """[start, end) of the function that holds vaddr, by the same table."""
        i = bisect.bisect_right(self.starts, vaddr)
        end = self.starts[i] if i < len(self.starts) else vaddr + 64
        return (self.starts[i - 1] if i else vaddr, end)

    def build_id(self):
        for _, kind, _, _, offset, size, *_ in self.sections:
            if kind == SHT_NOTE and self.data[offset + 12:offset + 16] == b"GNU\0":
                length, what = struct.unpack_from("<II", self.data, offset + 4)
                if what == 3:
                    return self.data[offset + 16:offset + 16 + length].hex()
        return ""

    def symbols(self):
        """(name, address, size) of all functions in the file's symbol tables."""
        for _, kind, _, _, offset, size, link, _, _, _ in self.sections:
            if kind not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            strings = self.sections[link][4]
            for name, info, _, section, value, length in struct.iter_unpack("<IBBHQQ", self.data[offset:offset + size]):
                if section and info & 15 in (0, 2, 10):
                    end = self.data.index(b"\0", strings + name)
                    yield self.data[strings + name:end].decode(errors="replace"), value, length


@functools.lru_cache(maxsize=None)
def load(name):
    """The ELF file, or None if it cannot be read (the vdso, JIT code)."""
    try:
        return Elf(name)
    except (OSError, ValueError, struct.error):
        return None


# Where a stack begins: the first function of a process or of a thread, in the program itself, in the
# dynamic linker (which runs constructors), and in libc.
ROOTS = {"_start", "_dl_start_user", "main", "__libc_start_main", "__libc_start_main_impl",
         "__libc_start_call_main", "start_thread", "thread_start", "clone", "__clone", "clone3", "__clone3",
         "__GI___clone3", "__clone_internal"}


def is_root_name(name):
    return name.split("@")[0] in ROOTS


@functools.lru_cache(maxsize=None)
def root_ranges(name):
    """Address ranges of the root functions of one file; separate debug files are read too."""
    file = load(name)
    if not file:
        return []
    ranges = [(file.entry, max(file.range_of(file.entry)[1], file.entry + 48))] if file.entry else []
    build_id = file.build_id()
    for source in (file, load(f"{DEBUG}/{build_id[:2]}/{build_id[2:]}.debug") if build_id else None):
        if source:
            ranges += [(value, value + (size or 64)) for symbol, value, size in source.symbols()
                       if is_root_name(symbol) and value]
    return ranges


def is_root(name, vaddr):
    return any(lo <= vaddr <= hi for lo, hi in root_ranges(os.path.realpath(name)))
