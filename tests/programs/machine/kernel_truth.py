"""What kernel instructions must see while targets/sizes.c runs, and whether hotlists agree.

Known by construction are the arguments of its system calls: where the kernel's entries load them from
the registers that it has saved (struct pt_regs, whose layout is the same in all kernels), and where
they are the arguments of functions of the kernel that have kept their parameters for years."""
import re

SAVED = {"0x60": "dx", "0x68": "si", "0x70": "di", "0x38": "r10", "0x48": "r8", "0x40": "r9"}
LOAD = re.compile(r"(?:mov|movsxd) (\w+), (?:dword ptr )?\[\w+\+(0x[0-9a-f]+)\]$")
ADDRESS_SIZE = 16
# One turn's calls: two seeks, and each of the others once.
NUMBERS = {8: 1 / 3, 0: 1 / 6, 1: 1 / 6, 44: 1 / 6, 45: 1 / 6}


def calls(did):
    """System calls by name: their arguments as shares by value."""
    def always(value):
        return {value: 1.0}
    size = {did["often"]: 0.75, did["seldom"]: 0.25}
    return {
        "read": {"di": always(did["file"]), "si": always(did["in"]), "dx": size},
        "write": {"di": always(did["file"]), "si": always(did["out"]), "dx": size},
        "lseek": {"di": always(did["file"]), "si": always(0), "dx": always(0)},
        "sendto": {"di": always(did["from"]), "si": always(did["out"]), "dx": size, "r10": always(did["flags"]),
                   "r8": always(did["to"]), "r9": always(ADDRESS_SIZE)},
        "recvfrom": {"di": always(did["socket"]), "si": always(did["in"]), "dx": always(did["receive"]),
                     "r10": always(0), "r8": always(0), "r9": always(0)},
    }


def arguments(did):
    """Functions: their arguments, by number from 1."""
    c = calls(did)
    order = ["di", "si", "dx", "r10", "r8", "r9"]
    found = {"__sys_" + name: {i + 1: c[name][r] for i, r in enumerate(order)} for name in ("sendto", "recvfrom")}
    for name in ("read", "write"):
        found["ksys_" + name] = {i + 1: c[name][r] for i, r in enumerate(order[:3])}
        found["vfs_" + name] = {2: c[name]["si"], 3: c[name]["dx"]}
    found["ksys_lseek"] = {i + 1: c["lseek"][r] for i, r in enumerate(order[:3])}
    found["x64_sys_call"] = {2: NUMBERS}
    return found


def truth_of(hotlist, did):
    """Shares by value, or None: nothing is known of it."""
    function, kind = hotlist["function"], hotlist["kind"]
    if kind.startswith("argument ") and hotlist["offset"] == "0x0":
        return arguments(did).get(function, {}).get(int(kind.split()[1]))
    load = LOAD.match(hotlist["asm"])
    name = function.removeprefix("__x64_sys_")
    if not load or name == function or kind not in ("result", "loaded"):
        return None
    truth = calls(did).get(name, {}).get(SAVED.get(load.group(2)))
    narrow = load.group(1)[0] == "e" or load.group(1)[-1] == "d"
    return {value & 0xffffffff if narrow else value: share for value, share in truth.items()} if truth else None


def wrong(hotlist, truth):
    """What is wrong with it, or None. Chance is allowed four deviations; of the seldom last turn, and of what the
    program does outside its loop, one percent."""
    kept = max(1, hotlist["kept"])
    seen = {int(v["value"], 16): v["share"] for v in hotlist["values"]}
    other = sum(share for value, share in seen.items() if value not in truth)
    if other > 0.01 + 4 * (0.01 / kept) ** 0.5:
        return f"other values: {other:.3f} of {kept}"
    for value, share in truth.items():
        error = 4 * (share * (1 - share) / kept) ** 0.5 + 0.02
        if abs(seen.get(value, 0) - share) > error:
            return f"{value}: {seen.get(value, 0):.3f} of {kept}, not {share:.3f} +- {error:.3f}"
    return None


def judge(report, did, least):
    """Of hotlists with `least` observations: (right, wrong, instructions), the second with reasons."""
    right, bad, places = 0, [], set()
    for h in report["instructions"]:
        truth = truth_of(h, did) if h["image"] == "[kernel]" and h["observed"] >= least else None
        if not truth:
            continue
        reason = wrong(h, truth)
        places.add((h["function"], h["offset"], h["asm"]))
        right += reason is None
        if reason:
            bad.append(f"{h['function']}+{h['offset']} {h['asm']} ({h['kind']}): {reason}")
    return right, bad, places
