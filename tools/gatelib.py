"""What the gates share: where the tree is, reporting, and the self-test harness."""

import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def files_under(root, folders, endings):
    """Paths relative to root, sorted; without what is installed or made (bench/work)."""
    found = []
    for folder in folders:
        for path, folders_below, names in os.walk(os.path.join(root, folder)):
            folders_below[:] = sorted(d for d in folders_below
                                      if d not in ("node_modules", "__pycache__", ".git", "work"))
            for name in names:
                if name.endswith(tuple(endings)):
                    found.append(os.path.relpath(os.path.join(path, name), root))
    return sorted(found)


def report(problems):
    """Prints the problems; the gate's exit status."""
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def write_tree(root, files):
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)


def self_test(check, cases):
    """cases: (name, {path: text}, expected). expected: a part of the only problem that
    check(folder) must report, or None where it must report nothing."""
    wrong = 0
    for name, files, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            write_tree(folder, files)
            problems = check(folder)
        if expected is None:
            good = not problems
        else:
            good = len(problems) == 1 and expected in problems[0]
        print(f"{'ok' if good else 'WRONG'}: {name}")
        if not good:
            wrong += 1
            print(f"   expected {expected!r}, reported {problems}")
    return 1 if wrong else 0


def main(check, cases):
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test(check, cases))
    sys.exit(report(check(sys.argv[1] if len(sys.argv) > 1 else ROOT)))
