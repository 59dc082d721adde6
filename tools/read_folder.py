"""Read every file of a folder as `marey info` does; print by ending what opened, what was refused and why.

Each file is read in a process of its own, with a limit of time, so that a crash or a hang is a line of the
table. For folders of files that other programs wrote.

    python tools/read_folder.py FOLDER [--seconds 60]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from marey.io.formats import FORMATS, READ_LIKE


def main() -> None:
    """Read the folder that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0, help="longest time for a file")
    asked = parser.parse_args()
    endings = {ending for known in FORMATS for ending in known.endings} | set(READ_LIKE)
    files = sorted(f for f in asked.folder.rglob("*") if f.is_file() and f.suffix.lower() in endings)
    results: dict[str, list[tuple[Path, str, float]]] = defaultdict(list)
    for file in files:
        results[file.suffix.lower()].append((file, *read(file, asked.seconds)))
    for ending, rows in sorted(results.items()):
        refused = [(file, reason) for file, reason, _ in rows if reason]
        slowest = max(seconds for _, _, seconds in rows)
        print(f"{ending}: {len(rows) - len(refused)} of {len(rows)} opened, slowest {slowest:.1f} s")
        for file, reason in refused:
            print(f"    {file.relative_to(asked.folder)}: {reason}")


def read(file: Path, seconds: float) -> tuple[str, float]:
    """Why a file was refused, or nothing, and the seconds it took."""
    started = time.perf_counter()
    command = [sys.executable, "-P", "-m", "marey.cli.main", "info", str(file.absolute()), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds:g} s", time.perf_counter() - started
    spent = time.perf_counter() - started
    if done.returncode == 0:
        json.loads(done.stdout)
        return "", spent
    said = [line for line in done.stderr.splitlines() if not line.startswith("marey: note:")]
    reason = said[-1] if said else f"ended with {done.returncode}"
    return reason.removeprefix(f"marey: {file.absolute()}").lstrip(": "), spent


if __name__ == "__main__":
    main()
