"""make_profile.py KIND: prints a profile as the page reads it (docs/json.md, "Pages"), for its tests.

KIND: small    names that try to break out of the page, 4% of the samples dropped
      large    500,000 nodes of 8 threads, with their times
      deep     a stack of 20,000 frames
      empty    no samples
      exact    counted under the engine, with a function annotated
      values   with a function annotated that values were observed in
      threads  two threads, and what each has of the tree
      times    these, a phase and three processes, and when the threads had samples
      shadows  nothing but triggers was sampled
      rows     functions of the same name
      seldom   as small, of samples that stand for many periods
      compared two recordings of 500,000 contexts"""
import json
import random
import sys


def node(name, image, own, children=()):
    children = list(children)
    return {"name": name, "image": image, "offset": "0x1000", "self": own,
            "total": own + sum(c["total"] for c in children), "children": children}


def called(tree, calls, low, high):
    """With calls and the cost of each, as where trampolines are set."""
    tree["calls"] = calls
    tree["cost_per_call"] = {"samples": tree["total"] / calls, "interval": [low, high],
                             "all_calls": [calls, calls + 2]}
    return tree


def small_tree():
    memcpy = lambda n: node("__memcpy_avx_unaligned_erms", "libc.so.6", n)
    compress = node("lzma_code", "liblzma.so.5", 120, [
        node("lzma_lz_encode", "liblzma.so.5", 340, [
            node("bt_find_func", "liblzma.so.5", 4210), memcpy(390),
            node("</script><script>document.title='broken'</script>", "lib<!--.so", 55)]),
        node("lzma_crc64", "liblzma.so.5", 610)])
    read = called(node("io_read", "xz", 22, [node("read", "libc.so.6", 480), memcpy(75)]), 4, 133,
                  157)
    sort = node("std::sort<std::vector<int>::iterator, bool (*)(int const&, int const&)>(int&&)",
                "libstdc++.so.6", 210, [node("compare", "xz", 800)])
    main = node("main", "xz", 12, [
        called(node("coder_run", "xz", 31, [compress, read]), 2, 3100, 3200),
        called(node("coder_run", "xz", 4, [memcpy(160)]), 2, 70, 95), sort,
        node("recursive", "xz", 5, [node("recursive", "xz", 6, [node("recursive", "xz", 90)])])])
    start = node("_start", "xz", 0, [node("__libc_start_main", "libc.so.6", 1, [main])])
    thread = node("start_thread", "libc.so.6", 0, [
        node("worker", "xz", 300, [node("jit:loop_1", "[jit]", 210), memcpy(45)])])
    return node("[root]", "", 0, [start, thread, node("[truncated]", "", 0, [memcpy(240)])])


def totals(frame, depth, own, frames):
    """Of each frame: its samples with what was called, each path once. Nodes are in the order of a walk."""
    below, total, on_path, path = list(own), [0] * frames, [0] * frames, []
    for i, level in enumerate(depth):
        del path[level:]
        path.append(i)
        for above in path[:-1]:
            below[above] += own[i]
    path = []
    for i, level in enumerate(depth):
        while len(path) > level:
            on_path[frame[path.pop()]] -= 1
        total[frame[i]] += 0 if on_path[frame[i]] else below[i]
        on_path[frame[i]] += 1
        path.append(i)
    return total


def large(count, threads=8):
    """A profile of so many nodes."""
    random.seed(1)
    frames = [["[root]", ""]] + [[f"function_{i}", f"lib{i % 30}.so"] for i in range(3000)]
    frame, depth, own = [0], [0], [0]
    for _ in range(count - 1):
        deeper = min(depth[-1] + 1, 60)
        depth.append(deeper if random.random() < 0.6 else random.randint(max(1, deeper - 12), deeper))
        frame.append(1 + (47 * depth[-1] + int(6 * random.random() ** 2)) % 3000)
        own.append(int(random.paretovariate(1.5)))
    shares, moments = [], [[] for _ in range(threads)]
    for i in range(1, count):
        shares += [1, i % threads, own[i], 0]
    for i in sorted(random.sample(range(1, count), 4000 * threads)):
        moments[i % threads] += [i % 2, 0, i + 1, own[i]]
    selfs, total = [0] * len(frames), totals(frame, depth, own, len(frames))
    for at, weight in zip(frame, own):
        selfs[at] += weight
    return {"frames": frames,
            "nodes": {"frame": frame, "depth": depth, "self": own, "left_out": [], "threads": shares, "calls": []},
            "times": {"from_ns": 0, "width_ns": 1 << 22, "bin_ns": 1 << 22, "columns": 2175,
                      "threads": [{"thread": i, "moments": m} for i, m in enumerate(moments)]},
            "threads": [{"tid": 10 + i, "pid": 10, "name": f"worker-{i}", "phase": 0, "samples": 1, "shown": True}
                        for i in range(threads)],
            "functions": [{"name": name, "image": image, "self": selfs[i], "total": total[i], "calls": 0,
                           "cost_per_call": None} for i, (name, image) in enumerate(frames) if i]}


def compared(count):
    """Of two recordings, in percent of the total before."""
    made = large(count, 1)
    nodes, path, parent = made["nodes"], [], []
    for i, depth in enumerate(nodes["depth"]):
        del path[depth:]
        parent.append(path[-1] if path else -1)
        path.append(i)
    before = nodes["self"]
    after = [own * (i % 5 + 8) // 10 for i, own in enumerate(before)]

    def columns(*sides):
        (x, y), whole = sides, sum(before)
        digits = lambda values: [float(f"{value:.6g}") for value in values]
        x, y = (digits(100 * value / whole for value in side) for side in sides)
        return {"before": x, "after": y, "low": digits(b - a - 0.1 for a, b in zip(x, y)),
                "high": digits(b - a + 0.1 for a, b in zip(x, y)), "significant": [int(abs(b - a) > 0.1) for a, b in zip(x, y)]}

    all_below = []
    for own in before, after:
        total = list(own)
        for i in range(count - 1, 0, -1):
            total[parent[i]] += total[i]
        all_below.append(total)
    run = {"file": "x.pnb", "command": "xz", "samples": 1000, "effective_samples": 1000, "scale": 1}
    return {"normalize": "none", "metric": "time", "unit": "nanoseconds", "rate": 0.05, "before": [run], "after": [run], "functions": [],
            "frames": made["frames"], "contexts": {"frame": nodes["frame"], "parent": parent, "self": columns(before, after),
                                                   "total": columns(*all_below)}}


def pack(tree):
    """The tree as columns (src/report/page_tree.h)."""
    frames, numbers = [], {}
    nodes = {"frame": [], "depth": [], "self": [], "left_out": [], "threads": [], "calls": []}
    last = {"left_out": 0, "threads": 0}

    def step(column, i, *values):
        nodes[column] += [i - last[column], *values]
        last[column] = i

    stack = [(tree, 0)]
    while stack:
        n, depth = stack.pop()
        i = len(nodes["frame"])
        number = numbers.setdefault((n["name"], n["image"]), len(frames))
        if number == len(frames):
            frames.append([n["name"], n["image"]])
        nodes["frame"].append(number)
        nodes["depth"].append(depth)
        nodes["self"].append(n["self"])
        if n.get("left_out"):
            step("left_out", i, n["left_out"])
        for thread, own, *left_out in n.get("threads", ()):
            step("threads", i, thread, own, *(left_out or [0]))
        if n.get("calls"):
            cost = n["cost_per_call"]
            nodes["calls"].append([i, n["calls"], cost["samples"], *cost["interval"], *cost["all_calls"]])
        stack += [(child, depth + 1) for child in reversed(n["children"])]
    return {"frames": frames, "nodes": nodes}


def flat_functions(root):
    own, total, images, calls = {}, {}, {}, {}
    stack = [(root, frozenset())]
    while stack:
        n, above = stack.pop()
        images[n["name"]] = n["image"]
        calls[n["name"]] = calls.get(n["name"], 0) + n.get("calls", 0)
        own[n["name"]] = own.get(n["name"], 0) + n["self"]
        if n["name"] not in above:
            total[n["name"]] = total.get(n["name"], 0) + n["total"]
        inner = above | {n["name"]} if len(above) < 60 else above
        stack.extend((c, inner) for c in n["children"])
    return [{"name": k, "image": images[k], "self": own[k], "total": total[k], "calls": calls[k],
             "cost_per_call": {"samples": total[k] / calls[k],
                               "interval": [1, 2 * total[k] / calls[k]],
                               "all_calls": [calls[k], calls[k] + 2]}
             if calls[k] else None}
            for k in own if k != "[root]"]


def threads_tree():
    """Of the worker's 300 samples 10 are in what is left out below work."""
    shared = lambda n, shares: {**n, "threads": shares}
    worked = shared(node("work", "app", 30, [shared(node("hash", "app", 270), [[1, 270]])]),
                    [[0, 10], [1, 20, 10]])
    worked.update(total=310, left_out=10)
    return node("[root]", "", 0, [worked, shared(node("serve", "app", 90), [[0, 90]])])


def times():
    """Of the threads of that tree (its nodes are 1 work, 2 hash, 3 serve), in 40 columns of 100 ms. The main thread
    serves in the first second and works in the last column. The worker hashes in the second and third second; what it
    has in the third besides is not told apart."""
    main = [9, 9, 4, 90, 30, 0, 2, 10]
    worker = [19, 9, 3, 135, 10, 9, 3, 135, 0, 9, 0, 30]
    return {"from_ns": 0, "width_ns": 100000000, "bin_ns": 100000000, "columns": 40, "marks": marks(),
            "marks_left_out": 5,
            "threads": [{"thread": 0, "moments": main}, {"thread": 1, "moments": worker}]}


def marks():
    row = lambda seconds, kind, words: {"ns": seconds * 1e9, "kind": kind, "text": words}
    return [row(1, "fork", "app 12 began, of 11"), row(1.5, "exec", "app 12 executed another program"),
            row(3, "killed", "sort 12 was killed"), row(4, "exit", "app 11 ended")]


def processes():
    row = lambda pid, ppid, name, start, end, how: {"pid": pid, "ppid": ppid, "name": name, "start_ns": start * 1e9,
                                                    "end_ns": end * 1e9, "end": how}
    return [row(11, 1, "app", 0, 4, "exit"), row(12, 11, "app", 1, 1.5, "exec"), row(12, 1, "sort", 1.5, 3, "killed")]


def values():
    shares = [("10", 0.9), ("</script><b>7</b>", 0.06), ("3", 0.03), ("1", 0.01)]
    divisor = {"kind": "divisor", "observed": 1200, "p": 0.5, "invariance": 0.9, "kept": 600,
               "same": 540,
               "values": [{"value": "0xa", "share": share, "text": text} for text, share in shares]}
    argument = {"kind": "argument 1", "site": "main+0x10", "observed": 9, "p": 1.0,
                "invariance": 1.0, "kept": 9, "same": 9,
                "values": [{"value": "0x1", "share": 1.0, "text": "1"}]}
    counter = {"kind": "result", "observed": 5000, "p": 0.01, "invariance": 0.5, "spread": True,
               "kept": 50, "same": 1,
               "values": [{"value": hex(i), "share": 0.5, "text": str(i)} for i in (4, 7)]}
    place = {"image": "xz", "offset": "0x11", "function": "f<int>", "asm": "div rcx"}
    lines = [{"offset": hex(16 + i), "bytes": 1, "text": text, "count": count, "values": seen}
             for i, (text, count, seen) in enumerate([("mov eax, 0x1", 10, [argument]),
                                                      ("div rcx", 30, [divisor]),
                                                      ("ret", 0, [counter])])]
    return {"annotated": [{"function": "f<int>", "image": "xz", "unit": "samples", "total": 40,
                           "instructions": lines}],
            "semi_invariant": [{"gain": 0.63, "time": 0.7, **place, **divisor, "at": "f.c:7"}] +
            [{"gain": 0.02, "time": 0.03, **place, **argument, "use": "shift count",
              "used_at": "0x19"}] +
            [{"gain": 0.01, "time": 0.01, **place, **argument}] * 28}


def main():
    kind = sys.argv[1]
    if kind == "compared":
        print(json.dumps(compared(500000)))
        return
    if kind == "large":
        made = large(500000)
        tree = node("[root]", "", sum(made["nodes"]["self"]))
    elif kind == "deep":
        tree = node("leaf", "deep", 1000)
        for i in range(20000):
            tree = node(("even", "odd")[i % 2], "deep", 1 if i % 100 == 0 else 0, [tree])
        tree = node("[root]", "", 0, [tree])
    elif kind == "empty":
        tree = node("[root]", "", 0)
    elif kind in ("threads", "times"):
        tree = threads_tree()
    elif kind == "shadows":
        tree = node("[root]", "", 0, [node("[unattributed]", "", 2000047)])
    elif kind == "rows":
        tree = node("[root]", "", 0, [node("twice", "lib.so", 25), node("twice", "lib.so", 25), *(
            node(f"std::vector<{of}, std::allocator<{of}> >::push_back({of} const&)", "app", 25)
            for of in ("int", "long"))])
    else:
        tree = small_tree()
    samples = tree["total"]
    dropped = {"nested": samples * 3 // 100, "late": samples // 100} if kind == "small" else {}
    head = {"command": "xz -T2 -9 --keep 'big file.tar'", "trigger": "cpu", "unit": "nanoseconds",
            "period": 1003009, "samples": samples, "taken": samples,
            "duration_ns": 999600000 if kind == "empty" else 9123456789,
            "dropped": dropped, "truncated": 240 if kind == "small" else 0,
            "notes": "", "functions": flat_functions(tree) if kind != "deep" else []}
    if kind == "seldom":  # samples that stand for 200 periods each
        head.update(samples_all=samples, effective_samples=samples / 200)
    if kind == "small":
        head.update(guessed=1683,
                    processes=[{"pid": 1}, {"pid": 2, "sandbox": {"threads": 3, "processes": 7}}])
    if kind == "exact":
        lines = [("mov eax, 0x1", 10, "int f(void)"), ("jmp <+0x10>", 30, "</script><b>bold</b>"),
                 ("ret", 0, "}")]
        waste = {"accesses": [{"stores": 10, "store_bytes": 80, "dead_bytes": 40, "silent_bytes": 0,
                               "load_bytes": 0, "redundant_bytes": 0}],
                 "pairs": [{"kind": "dead", "count": 5, "bytes": 40,
                            "with": {"image": "xz", "offset": "0x12", "function": "f<int>"}}]}
        head.update(trigger="instructions", unit="events", carrier="exact", exact=True, tool="edges",
                    instructions=12345678, slowdown=None, stopped={"rseq": 2, "signal": 0}, annotated=[{
                        "function": "f<int>", "image": "xz", "unit": "executions", "total": 40,
                        "instructions": [
                            {"offset": hex(16 + i), "bytes": 1, "text": text, "count": count,
                             "file": "/src/f.c", "line": i + 1, "source": source,
                             **({"left": 30, "taken": 15} if i == 1 else {}),
                             **({"waste": waste} if i == 0 else {})}
                            for i, (text, count, source) in enumerate(lines)]}],
                    paths=[{"count": 30, "share": 75.0, "instructions": 3,
                            "functions": ["f<int>", "<i>g"],
                            "blocks": ["xz+0x10", "libc.so.6+0x11", "xz+0x11", "xz+0x11"],
                            "bytes": [2, 9, 1, 1], "lines": [{"file": "/src/f.c", "line": 1},
                                                             {"file": "/src/f.c", "line": 2}]},
                           {"count": 1, "share": 0.5, "instructions": 9, "functions": ["g"],
                            "blocks": ["libc.so.6+0x10"], "bytes": [4], "lines": []}])
    head.update(made if kind == "large" else pack(tree))
    if kind in ("threads", "times"):
        head.update(threads=[{"tid": 11, "pid": 11, "name": "main", "phase": 0, "samples": 100, "shown": True},
                             {"tid": 12, "pid": 11, "name": "worker", "phase": 1, "samples": 300, "shown": True}])
    if kind == "times":
        head.update(times=times(), processes=processes(), period=5000000, duration_ns=4000000000,
                    dropped={"nested": 3, "late": 0}, phases=[{"name": "hashing", "path": "load/hashing"}])
    if kind == "shadows":
        head.update(carrier="shadow", tool="results",
                    shadows={"started": 3, "instructions": 400000951, "coverage": 0.043,
                                                               "coverage_bounds": [0.02, 0.1]},
                    semi_invariant=values()["semi_invariant"])
    if kind == "rows":
        head["functions"] = [{"name": n["name"], "image": n["image"], "self": n["self"],
                              "total": n["total"], "calls": 0}
                             for n in tree["children"]]
    if kind == "values":
        head.update(carrier="burst", tool="values", **values())
    print(json.dumps(head))


main()
