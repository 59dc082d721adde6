"""Damage files of a format at random and see that reading them gives a result or one of marey's errors.

`python tools/mutate.py FORMAT … --count 20000` prints a line for each; without a format, for all. Readers run
in processes of their own, so that a crash or a hang in native code is counted like any other failure; the
same mutations are made every time, `--only N` makes one and shows where it fails.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.io.mutation import LONGEST, Mutations, Outcome  # noqa: E402
from tests.io.seeds import FORMATS, SLOW_FORMATS  # noqa: E402

BY_NAME = {kind.name: kind for kind in (*FORMATS, *SLOW_FORMATS)}
GOOD = ("read", "refused")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(BY_NAME))
    parser.add_argument("--count", type=int, default=20_000, help="mutations of each format")
    parser.add_argument("--only", type=int, help="make this mutation alone, in this process")
    given = parser.parse_args()
    unknown = set(given.formats) - set(BY_NAME)
    if unknown:
        parser.error(f"no format {sorted(unknown)[0]!r}; there are {', '.join(BY_NAME)}")
    print(f"{'format':18}{'read':>8}{'refused':>9}{'failed':>8}{'most MB':>9}{'slowest s':>11}{'all s':>8}")
    failed = 0
    for name in given.formats or BY_NAME:
        with tempfile.TemporaryDirectory() as folder:
            mutations = Mutations(BY_NAME[name], Path(folder))
            if given.only is not None:
                print(BY_NAME[name].read(mutations.damaged(given.only)[0]))
                continue
            failed += report(name, outcomes(mutations, given.count))
    return min(failed, 1)


def outcomes(mutations: Mutations, count: int) -> list[Outcome]:
    """All mutations, read in a child that is replaced when it dies."""
    found: list[Outcome] = []
    while len(found) < count:
        incoming, outgoing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(incoming)
            with os.fdopen(outgoing, "w", buffering=1) as pipe:
                tracemalloc.start()
                for index in range(len(found), count):
                    outcome = mutations.trial(index)
                    detail = outcome.detail.replace("\t", " ").replace("\n", " ")
                    print(outcome.kind, detail, outcome.peak, outcome.seconds, sep="\t", file=pipe)
            os._exit(0)
        os.close(outgoing)
        last = _collect(incoming, child, found)
        if last is not None and len(found) < count:
            found.append(last)
    return found


def _collect(incoming: int, child: int, found: list[Outcome]) -> Outcome | None:
    """Take what the child reports; what it failed at if it dies or is silent for too long."""
    waiting = b""
    while True:
        ready, _, _ = select.select([incoming], [], [], 3 * LONGEST)
        if not ready:
            os.kill(child, signal.SIGKILL)
        block = os.read(incoming, 1 << 16) if ready else b""
        *lines, waiting = (waiting + block).split(b"\n")
        for line in lines:
            kind, detail, peak, seconds = line.decode("utf-8", "replace").split("\t")
            found.append(Outcome(kind, detail, int(peak), float(seconds)))
        if not block:
            os.close(incoming)
            status = os.waitpid(child, 0)[1]
            if not ready:
                return Outcome("hang", "in native code", seconds=3 * LONGEST)
            return Outcome("crash", f"status {status}") if status else None


def report(name: str, found: list[Outcome]) -> int:
    """Print a line, and below it how the failures failed; their number."""
    failures = [(index, outcome) for index, outcome in enumerate(found) if outcome.kind not in GOOD]
    seconds = [outcome.seconds for outcome in found]
    kinds = Counter(outcome.kind for outcome in found)
    most, slowest, all_of_it = max(o.peak for o in found), max(seconds), sum(seconds)
    counts = f"{kinds['read']:8}{kinds['refused']:9}{len(failures):8}"
    print(f"{name:18}{counts}{most / 2**20:9.1f}{slowest:11.2f}{all_of_it:8.0f}", flush=True)
    groups: dict[str, list[int]] = {}
    for index, outcome in failures:
        groups.setdefault(f"{outcome.kind}: {outcome.detail[:100]}", []).append(index)
    for text, indices in sorted(groups.items(), key=lambda group: -len(group[1]))[:30]:
        print(f"    {len(indices)} x {text}  (--only {indices[0]})")
    return len(failures)


if __name__ == "__main__":
    start = time.perf_counter()
    code = main()
    print(f"{time.perf_counter() - start:.0f} s")
    sys.exit(code)
