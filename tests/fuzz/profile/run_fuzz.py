#!/usr/bin/env python3
"""run_fuzz.py TARGET SECONDS [DUMP_SAMPLE]: a short run of a libFuzzer target from fresh seeds.

With DUMP_SAMPLE, the seeds are the profiles that it writes, stored and compressed."""
import os
import subprocess
import sys
import tempfile

target, seconds = os.path.abspath(sys.argv[1]), sys.argv[2]
with tempfile.TemporaryDirectory() as directory:
    for mode in ("stored", "compressed") if len(sys.argv) > 3 else ():
        subprocess.run([sys.argv[3], os.path.join(directory, mode), mode],
                       stdout=subprocess.DEVNULL, check=True)
    status = subprocess.run([target, f"-max_total_time={seconds}", "-max_len=65536", "-timeout=100",
                             "-print_final_stats=1", directory], cwd=directory)
sys.exit(status.returncode)
