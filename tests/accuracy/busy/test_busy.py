"""A program that shares its core with busy ones is sampled at the rate asked for: preemption, also in
the middle of a handler, must not be taken for a slow handler."""
import json
import os
import subprocess
import sys
import tempfile

HOGS = 2
HZ = 997


def main(penumbra, spin):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(HOGS)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "busy.pnb")
            subprocess.run([penumbra, "record", "-q", "-F", str(HZ), "-o", file, "--", spin],
                           check=True, timeout=1200)
            report = json.loads(subprocess.run([penumbra, "report", "--json", file], check=True,
                                               timeout=1200,
                                               stdout=subprocess.PIPE).stdout)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    due = report["cpu_ns"] * HZ / 1e9
    print(f"{report['taken']} samples of {due:.0f} due")
    return 0 if report["taken"] >= 0.9 * due else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
