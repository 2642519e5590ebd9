"""The machine that was measured, by its properties (not by its name), and what is done to it before that."""
import mmap
import os
import platform
import re
import subprocess


def read(name):
    try:
        with open(name) as f:
            return f.read()
    except OSError:
        return ""


def first(pattern, text, default="unknown"):
    found = re.search(pattern, text, re.M)
    return found[1].strip() if found else default


def said(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        return ""


def cpu():
    cpuinfo = read("/proc/cpuinfo")
    return (first(r"^model name\s*:\s*(.*)$", cpuinfo) + ", family " + first(r"^cpu family\s*:\s*(.*)$", cpuinfo)
            + " model " + first(r"^model\s*:\s*(.*)$", cpuinfo))


def describe():
    cpuinfo = read("/proc/cpuinfo")
    virtual = "a virtual machine" if re.search(r"^flags.*\bhypervisor\b", cpuinfo, re.M) else "no hypervisor seen"
    vendor = first(r"^Hypervisor vendor:\s*(.*)$", said("lscpu"), "")
    memory = int(first(r"^MemTotal:\s*(\d+)", read("/proc/meminfo"), "0")) / 2**20
    pmu = os.path.exists("/sys/bus/event_source/devices/cpu")
    return {
        "cpu": cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{memory:.0f} GiB",
        "kernel": "Linux " + first(r"^(\d+\.\d+\.\d+)", platform.release(), platform.release()),
        "system": first(r'^PRETTY_NAME="(.*)"$', read("/etc/os-release")),
        "virtualization": virtual + (f" ({vendor})" if vendor else ""),
        "pmu": "a hardware PMU" if pmu else "no hardware PMU (timers only)",
        "perf": said("perf", "--version").removeprefix("perf version "),
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
        "perf_event_paranoid": read("/proc/sys/kernel/perf_event_paranoid").strip(),
    }


def sentence(m):
    return (f"{m['cpu']}; {m['cores']} cores, {m['memory']} of memory; {m['virtualization']}, {m['pmu']}; "
            f"{m['system']}, {m['kernel']}; perf {m['perf']}; run as {m['user']} with perf_event_paranoid "
            f"{m['perf_event_paranoid']}.")


BACKED = 1 << 30


def back_memory():
    """A virtual machine gives memory that is free for some seconds back to its host, and whoever gets it next pays for that: some
    2 ms a huge page, up to 3% of a program of four seconds. After this, so much is there for all copies of a round alike."""
    with mmap.mmap(-1, BACKED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory[::mmap.PAGESIZE] = bytes(BACKED // mmap.PAGESIZE)
