"""record -a and --external: processes are looked at from outside, whatever they are.

Where the kernel does not permit events of the whole machine, tests are skipped, with its reason."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, cpu_used, expect, main, nodes, run, target, wait_for  # noqa: E402
from recorder import PARTS, REFUSED, Machine, skip  # noqa: E402

import kernel_truth  # noqa: E402

NOBODY = 65534
SWARM = 500


def coverage(machine):
    return machine.report["coverage"]["percent"]


def parts_covered(machine, ms=400):
    """Of the program's time, in percent: where the profile does not know all CPU time."""
    return sum(machine.total(name) for name in PARTS) * machine.report["period"] / (ms * 1e4)


def check_covered(measure, covers=coverage):
    """While the hypervisor runs something else, expirations of the clock are missed: up to three attempts."""
    least, covered = 95, []
    while not covered or (covered[-1] <= least and len(covered) < 3):
        machine = measure()
        covered.append(covers(machine))
    expect(covered[-1] > least, f"covered, in percent: {covered}")
    return machine


def patiently(measure, tries, enough):
    """On a busy machine collectors begin late: measured for longer and longer, until that is enough."""
    for length in tries:
        machine = measure(length)
        if enough(machine):
            break
    return machine


def check_kernel(machine):
    """Below the function's system call there are kernel functions, with names."""
    def weight(node):
        return node["self"] + sum(weight(child) for child in node["children"])

    def in_kernel(node):
        if node.get("image") == "[kernel]":
            return weight(node)
        return sum(in_kernel(child) for child in node["children"])
    found = [n for n in nodes(machine.report["tree"]) if n["name"] == "in_kernel"]
    share = sum(map(in_kernel, found)) / max(1, sum(map(weight, found)))
    expect(share > 0.7, f"{share} of what in_kernel used is in the kernel")
    names = {n["name"] for n in nodes(machine.report["tree"]) if n.get("image") == "[kernel]"}
    expect("vfs_read" in names or "ksys_read" in names, f"kernel functions: {sorted(names)[:20]}")


def split():
    """Dynamic, static and static position-independent programs."""
    for name in ("machine-split", "machine-split-static", "machine-split-static-pie"):
        machine = check_covered(lambda name=name: Machine(["--external"], [target(name), "400"]))
        machine.check_parts()
        machine.check_complete()
    check_kernel(machine)


def make_32_bit(program):
    source = os.path.join(os.path.dirname(__file__), "targets", "narrow.c")
    return run(["gcc", "-m32", "-O2", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-o", program, source]).returncode == 0


def foreign():
    """musl's and 32-bit programs; of the latter the interrupted function alone."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(os.path.dirname(__file__), "targets", "split.c")
        program = os.path.join(folder, "split")
        some = False
        if shutil.which("musl-gcc"):
            for more in ((), ("-static",)):
                subprocess.run(["musl-gcc", "-O2", *more, "-o", program, source], check=True)
                check_covered(lambda: Machine(["--external"], [program, "400"])).check_parts()
            some = True
        if make_32_bit(program) and run([program]).returncode == 0:
            machine = Machine(["--external"], [program])
            reasons = machine.report["truncated_by_reason"]
            expect(reasons.get("32-bit", 0) > 0.9 * machine.report["samples"], f"{reasons}")
            expect(machine.total("spin") > 0.9 * machine.report["samples"], f"{machine.total('spin')} samples in spin")
            some = True
    if not some:
        skip("there is no musl-gcc, and 32-bit programs can not be made or run")


def set_user():
    """A setuid program, and one in another root folder, by --uid and --external."""
    if os.geteuid():
        skip("only root can make them")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = os.path.join(folder, "split")
        shutil.copy(target("machine-split-static"), program)
        os.mkdir(os.path.join(folder, "dev"))
        os.mknod(os.path.join(folder, "dev", "zero"), 0o20666, os.makedev(1, 5))
        check_covered(lambda: Machine(["--external"], ["chroot", folder, "/split", "400"])).check_parts()
        os.chown(program, NOBODY, -1)
        os.chmod(program, 0o4755)
        machine = check_covered(lambda: Machine(["--uid", str(NOBODY)], [program, "400"]), parts_covered)
        machine.check_parts()
        names = {p["name"] for p in machine.report["processes"]}
        expect("split" in names and "penumbra" not in names, f"of nobody: {names}")


def unshared():
    """A program whose path only its own mount namespace has."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = os.path.join(folder, "here"), os.path.join(folder, "there")
        os.mkdir(here)
        os.mkdir(there)
        shutil.copy(target("machine-split"), os.path.join(here, "split"))
        script = 'mount --bind "$1" "$2" && exec "$2/split" 400'
        command = ["unshare", "-m", "sh", "-c", script, "sh", here, there]
        if run([*command[:2], "mount", "--bind", here, there]).returncode:
            skip("no mount namespaces here")
        machine = check_covered(lambda: Machine(["--external"], command))
    machine.check_parts()


def kernel_walks(machine):
    """Stacks that the kernel has walked."""
    said = re.search(r"the kernel walked (\d+) stacks itself", "\n".join(machine.report["notes"]))
    return int(said[1]) if said else 0


def paths(machine):
    """The call paths down to the parts, and the share of each one's samples."""
    result = run([PENUMBRA, "export", "-f", "folded", "--quick", machine.file])
    found = collections.Counter()
    for line in result.stdout.decode().splitlines():
        frames, samples = line.rsplit(" ", 1)
        frames = frames.split(";")
        for part in PARTS:
            if part in frames:
                found[";".join(frames[:frames.index(part) + 1])] += int(samples)
    return found


def walked():
    """The kernel walks the stacks that the collector would walk, and to the same end; it takes its share of them."""
    # The kernel knows what the shell has mapped when it executes the program.
    # It takes some 0.1 s, longer on a busy machine, until it knows a process and has its tables.
    after = ["sh", "-c", 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec "$0" 1200', target("machine-split")]
    for command in ([target("machine-split-static-pie"), "1200"], after):
        kernel, collector = (check_covered(lambda walk=walk: Machine(["--external"], command, walk=walk))
                             for walk in ("kernel", "collector"))
        expect(kernel_walks(kernel) > 0.7 * kernel.report["samples"], "\n".join(kernel.report["notes"]))
        expect("had just changed" not in "\n".join(kernel.report["notes"]), "\n".join(kernel.report["notes"]))
        expect(kernel_walks(collector) == 0, "the kernel walked although it should not")
        kernel.check_parts()
        kernel.check_complete()
        mine, theirs = paths(kernel), paths(collector)
        few = 5  # samples of a path that only one of them may have met
        expect({p for p in mine if mine[p] > few} == {p for p in theirs if theirs[p] > few}, f"{mine} {theirs}")


def not_walked():
    """Where the kernel takes no program, the collector walks the stacks, and says why; asked for, it ends."""
    if os.geteuid():
        skip("only root can take rights from itself")
    no_types = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"']
    no_rights = ["setpriv", "--bounding-set=-sys_admin,-bpf", "--inh-caps=-all"]
    no_namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
    for before, why in ((no_types, "/sys/kernel/btf"), (no_rights, "refuses a BPF program"), (no_namespace, "PID namespace")):
        if run([*before, "true"]).returncode:
            continue
        machine = Machine(["--external"], [target("machine-split"), "200"], before=before)
        notes = "\n".join(machine.report["notes"])
        built = "without" not in run([PENUMBRA, "--version"]).stdout.decode()
        expect("the collector walked the stacks" in notes and (why in notes or not built), notes)
        machine.check_complete()
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, PENUMBRA_WALK="kernel")
            command = [*before, PENUMBRA, "record", "--external", "-o", os.path.join(folder, "x"), "--", "true"]
            result = run(command, env=env)
            expect(result.returncode == REFUSED and (why.encode() in result.stderr or not built), f"{result}")
    result = run([PENUMBRA, "record", "--external", "-o", "/dev/null", "--", "true"], env=dict(os.environ, PENUMBRA_WALK="x"))
    expect(result.returncode == 2 and b"PENUMBRA_WALK" in result.stderr, f"{result}")


def swarm():
    """Many processes of 2 ms each: nearly all of their time is sampled, and their stacks are walked."""
    machine = check_covered(lambda: Machine(["--external"], [target("machine-swarm"), str(SWARM)]))
    expected = SWARM * 2e-3 / (machine.report["period"] / 1e9)
    work = machine.total("short_work")
    expect(work > 0.85 * expected, f"{work} samples in short_work, of {expected} in these processes")
    expect(len(machine.report["processes"]) > 0.85 * SWARM, f"{len(machine.report['processes'])} processes")
    machine.check_complete(0.93)


def whole():
    """-a: what runs already, and what the program starts; the collector says what it costs. Ctrl-C ends it."""
    def measure(seconds):
        def stop(collector):
            time.sleep(seconds)
            collector.send_signal(signal.SIGINT)
        with subprocess.Popen([target("machine-split"), str(5000 * seconds)]) as running:
            wait_for(lambda: cpu_used(running.pid) > 0, "it does not run")
            try:
                return Machine(["-a"], beside=stop)
            finally:
                running.kill()

    machine = patiently(measure, (0.7, 3, 12), lambda machine: machine.total("in_first") > 50)
    expect(machine.total("in_first") > 50, f"{machine.total('in_first')} samples in what ran before: {machine.stderr}")
    notes = "\n".join(machine.report["notes"])
    expect("the collector used" in notes and "samples stand for" in notes, notes)
    names = {p["name"] for p in machine.report["processes"]}
    expect("machine-split" in names and "penumbra" in names, f"{names}")
    folded = run([PENUMBRA, "export", "-f", "folded", "--quick", machine.file]).stdout.decode()
    expect("machine-split;" in folded and "main;in_first" in folded, folded[:500])


def outside():
    """In a PID namespace of its own, as containers have: what runs outside it is one process, and its time has no names."""
    before = ["unshare", "--pid", "--fork", "--mount-proc"]
    if run([*before, "true"]).returncode:
        skip("no PID namespaces here")
    with subprocess.Popen([target("machine-split"), "100000"]) as running:
        machine = Machine(["-a"], [target("machine-split"), "400"], before=before)
        running.kill()
    machine.check_parts()
    expect([p["name"] for p in machine.report["processes"] if not p["pid"]] == ["(outside)"], f"{machine.report['processes']}")
    samples = sum(t["samples"] for t in machine.report["threads"] if not t["pid"])
    expect(50 < machine.report["truncated_by_reason"]["outside"] <= samples, f"{samples}: {machine.report['truncated_by_reason']}")
    expect(machine.total("[jit]") == 0 and "generated code" not in machine.stderr, machine.stderr)
    machine.check_complete(1 - 1.02 * samples / machine.report["samples"])


def process():
    """--external -p: a process that runs already, and nothing else; it ends with the process."""
    def measure(ms):
        with subprocess.Popen([target("machine-split"), str(ms)]) as running:
            return Machine(["--external", "-p", str(running.pid)])

    machine = patiently(measure, (600, 3000, 12000), lambda machine: machine.total("in_second") > 80)
    names = {p["name"] for p in machine.report["processes"]}
    expect(names == {"machine-split"}, f"{names}")
    expect(machine.total("in_second") > 80, f"{machine.total('in_second')} samples")
    check_kernel(machine)


def group():
    """--cgroup: what is in a control group."""
    mounts = [m for m in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(f"{m}/cgroup.procs")]
    path = f"{mounts[0]}/penumbra-test-{os.getpid()}" if mounts else ""
    try:
        os.mkdir(path)
    except OSError as error:
        skip(f"no control group can be made: {error}")
    try:
        script = f'echo $$ > {path}/cgroup.procs && exec "$0" 400'
        machine = check_covered(lambda: Machine(["--cgroup", path], ["sh", "-c", script, target("machine-split")]),
                                parts_covered)
        machine.check_parts()
        names = {p["name"] for p in machine.report["processes"]}
        expect(names <= {"machine-split", "sh"}, f"{names}")
    finally:
        os.rmdir(path)


def lost():
    """A collector that stands still loses samples, counts them, and goes on."""
    def measure(seconds):
        def stop(collector):
            time.sleep(seconds)
            collector.send_signal(signal.SIGSTOP)
            time.sleep(0.8)
            collector.send_signal(signal.SIGCONT)
        return Machine(["-a"], [target("machine-split"), str(1000 + 1000 * seconds)], beside=stop, walk="collector")

    machine = patiently(measure, (0.3, 3, 9), lambda machine: machine.report["dropped"]["lost"])
    dropped = machine.report["dropped"]
    expect(dropped["lost"] > 0, f"nothing lost: {dropped}")
    expect(machine.total("in_kernel") > 50, f"afterwards: {machine.total('in_kernel')} samples")


def kill_after(seconds):
    """The samples of what was recovered from a recording that was killed so long after its start."""
    with subprocess.Popen([target("machine-split"), str(5000 * seconds)]) as running:
        def kill(collector):
            time.sleep(seconds)
            collector.kill()
        machine = Machine(["--external", "-p", str(running.pid)], beside=kill, status=-signal.SIGKILL)
        running.kill()
    if not os.path.exists(machine.file):
        return 0
    recovered = run([PENUMBRA, "recover", machine.file])
    expect(recovered.returncode == 0, recovered.stderr.decode())
    machine.read()
    return machine.total("in_first")


def killed():
    """What was counted until the collector is killed can be recovered. On a busy machine it may have begun late."""
    counts = []
    for seconds in (0.6, 3, 8):
        counts.append(kill_after(seconds))
        if counts[-1] > 100:
            return
    expect(False, f"samples: {counts}")


def refused():
    """Without rights, and with options that need the runtime: what is missing, and what to try."""
    for options, words in (((), "CAP_PERFMON"), (("--exact",), "from outside"), (("-e", "page-faults"), "-e cpu"),
                           (("--uid", "root"), "leave it out"), (("-p", "1"), "--external -p")):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            command = [PENUMBRA, "record", "-a", "--duration", "50ms", "-o", os.path.join(folder, "x"), *options]
            rights = {} if options or os.geteuid() else {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            result = run(command, **rights)
            said = result.stderr.decode()
            if not options and result.returncode == 0:
                continue  # perf_event_paranoid lets everybody
            expect(result.returncode == (2 if options else 119) and words in said, f"{options}: {result.returncode} {said}")
            expect(not os.listdir(folder), f"left behind: {os.listdir(folder)}")


def kernel_addresses():
    """Of two functions, far enough from each other; skips where they are hidden."""
    with open("/proc/kallsyms", encoding="ascii") as f:
        found = {line.split()[2]: line.split()[0] for line in f if line.split()[1] in "tT"}
    first, second = found.get("vfs_read", "0"), found.get("schedule", "0")
    if not int(first, 16) or not int(second, 16):
        skip("/proc/kallsyms has no addresses for us")
    return first, second


def values_of(options=()):
    with tempfile.TemporaryDirectory() as folder:
        command = [target("machine-sizes"), "2.5", os.path.join(folder, "file")]
        machine = Machine(["--external", "--tool", "values", "-F", "2999", *options], command)
    notes = "\n".join(machine.report["notes"])
    unknown = "has its memory is not known" in notes or "CPU's variables is not known" in notes
    if unknown:
        kernel_addresses()  # skips where they are hidden
    expect(not unknown, notes)
    return machine


def values():
    """What the kernel's instructions see of system calls whose arguments are known, and the program's own."""
    machine = values_of()
    did = json.loads(machine.stdout)
    right, wrong, places = kernel_truth.judge(machine.report, did, 4)
    expect(not wrong, f"wrong: {wrong}")
    expect(len(places) >= 6 and right >= 12, f"{right} hotlists of {places}: {machine.report['notes']}")
    calls = [h for h in machine.report["instructions"] if h["kind"] == "system call"]
    numbers = {int(v["value"], 16) for h in calls for v in h["values"]}
    expect({0, 1, 8, 44, 45} <= numbers, f"system calls of the program: {numbers}")
    taken = [h for h in machine.report["instructions"] if h["image"] == "[kernel]" and h["kind"] == "branch"]
    expect(len(taken) > 100, f"{len(taken)} branches in the kernel")
    notes = machine.report["notes"]
    expect(any(n.startswith("values of the kernel: ") for n in notes), notes)


def values_high():
    """Registers of a program that name the kernel's memory, its stack pointer too, are not followed."""
    machine = Machine(["--external", "--tool", "values", "-F", "2999", "--length", "128"],
                      [target("machine-high"), "2", *kernel_addresses()])
    expect(int(machine.stdout) > 1000, f"faults: {machine.stdout}")
    seen = {(h["asm"], h["kind"]): h for h in machine.report["instructions"] if h["function"] == "high_spin"}
    own = seen.get(("mov r9, [rdx]", "loaded"), {"observed": 0, "values": []})
    expect(own["observed"] > 50 and [int(v["value"], 16) for v in own["values"]] == [0x5eed],
           f"its own memory: {own} {machine.report['notes']}")
    for asm in ("mov rax, [rsp]", "mov r10, [rsi]"):
        expect(seen.get((asm, "address"), {"observed": 0})["observed"] > 50, f"{asm}: {machine.report['notes']}")
        for kind in ("loaded", "result"):
            expect((asm, kind) not in seen, f"the kernel's memory: {seen.get((asm, kind))}")


def annotation(machine, function):
    result = run([PENUMBRA, "annotate", "--json", machine.file, function])
    expect(result.returncode == 0, f"{function}: {result.stderr.decode()}")
    return json.loads(result.stdout)


def annotated():
    """Samples of a kernel function by its instructions; a function with few samples is refused."""
    machine = Machine(["--external"], [target("machine-split"), "2000"])
    kernel = sorted((f for f in machine.report["functions"] if f["image"] == "[kernel]" and f["self"]),
                    key=lambda f: f["self"])
    expect(len(kernel) > 1, f"functions of the kernel: {kernel}")
    if kernel[-1]["name"] == "(kernel code)":
        skip("kernel functions have no names here")
    all_samples = sum(f["self"] for f in kernel)
    hottest = annotation(machine, kernel[-1]["name"])
    lines = hottest["instructions"]
    expect(hottest["image"] == "[kernel]" and hottest["unit"] == "samples", hottest)
    expect(hottest["total"] == kernel[-1]["self"] == sum(line["count"] for line in lines),
           f"{hottest['total']} samples in {kernel[-1]}")
    offsets = [int(line["offset"], 16) for line in lines]
    expect(offsets == sorted(set(offsets)), f"order: {lines}")
    few = [f["name"] for f in kernel if f["self"] < all_samples // 100]
    if few:
        result = run([PENUMBRA, "annotate", machine.file, few[0]])
        expect(result.returncode and b"which instructions of the kernel's" in result.stderr, result.stderr)
    shown = run([PENUMBRA, "annotate", machine.file, kernel[-1]["name"]]).stdout.decode()
    if any(line["text"] == "?" for line in lines):
        expect("code could not be read" in shown, shown)
        skip("the kernel's code cannot be read here")
    # Nearly all of its time goes into zeroes that are written for read().
    most = max(range(len(lines)), key=lambda i: lines[i]["count"])
    near = " ".join(line["text"] for line in lines[max(0, most - 8):most + 1])
    expect("stos" in near or "mov [" in near or "mov qword ptr [" in near, f"the hottest instruction of {hottest}")
    expect(offsets[0] == 0 and len(lines) > 3, f"begin: {lines[0]}")
    expect("code could not be read" not in shown, shown)


def annotated_values():
    """Values of the kernel's instructions stand at them."""
    machine = values_of()
    of = {}
    for h in machine.report["instructions"]:
        if h["image"] == "[kernel]" and h["kind"] in ("result", "loaded"):
            of.setdefault(h["function"], []).append(h)
    function = max(of, key=lambda name: len(of[name]))
    lines = annotation(machine, function)["instructions"]
    values = {(line["offset"], v["kind"]) for line in lines for v in line.get("values", ())}
    missing = [h for h in of[function] if (h["offset"], h["kind"]) not in values]
    expect(not missing, f"of {function}: {missing} are not in {values}")
    bare = [line for line in lines if line["text"] == "?" and not line["count"] and not line.get("values")]
    expect(not bare, f"places that nothing was seen at: {bare}")


MAPS = """import mmap, os, sys
kept = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 4096, prot=mmap.PROT_READ)
print("mapped", flush=True)
while True: pass"""


def values_device():
    """A process that has a device mapped, wherever the node is, has no memory captured; /dev/zero is none."""
    if os.geteuid():
        skip("only root can make nodes")
    with tempfile.TemporaryDirectory() as folder:
        for name, kind, number, denied in (("disk", 0o60600, os.makedev(7, 0), True), ("zero", 0o20600, os.makedev(1, 5), False)):
            node = os.path.join(folder, name)
            os.mknod(node, kind, number)
            with subprocess.Popen([sys.executable, "-c", MAPS, node], stdout=subprocess.PIPE) as running:
                try:
                    if running.stdout.readline() != b"mapped\n":
                        skip(f"{name} can not be mapped here")
                    options = ["--external", "-p", str(running.pid), "--tool", "values", "--duration", "1"]
                    machine = Machine(options)
                finally:
                    running.kill()
            notes = "\n".join(machine.report["notes"])
            expect("values of programs: " in notes, notes)
            expect(("may have a device mapped was not captured" in notes) == denied, f"{name}: {notes}")


def values_redacted():
    """Nothing of what was seen is in the profile."""
    machine = values_of(["--redact"])
    did = json.loads(machine.stdout)
    kept = [v for h in machine.report["instructions"] if h["image"] == "[kernel]" for v in h["values"]]
    expect(kept, machine.report["notes"])
    for v in kept:
        expect(int(v["value"], 16) not in (did["often"], did["seldom"], did["out"]), f"{v}")


main({test.__name__: test for test in (split, foreign, set_user, unshared, walked, not_walked, swarm, whole, process, group, lost, killed, refused,
                                       outside, values, values_redacted, values_high, values_device, annotated,
                                       annotated_values)})
