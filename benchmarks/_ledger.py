"""What benchmarks measured, left as data: one line of JSON a comparison, where MAREY_LEDGER names a file.

`tools/bench_table.py` sets it and makes the table of docs/comparison.md from it. Without it nothing is kept.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

VARIABLE = "MAREY_LEDGER"


def record(
    work: str,
    ours: float,
    theirs: float,
    *,
    peer: str,
    unit: str = "s",
    bar: float | None = None,
) -> None:
    """Keep a comparison; one without a peer's figure is left out.

    work: what was done, as a reader would say it
    ours, theirs: in `unit`, usually seconds; less is better
    bar: how many times better ours must be, if that is asked
    """
    ours, theirs = float(ours), float(theirs)
    if not (math.isfinite(ours) and math.isfinite(theirs) and ours > 0 and theirs > 0):
        return
    ratio = theirs / ours
    met = None if bar is None else ratio >= bar
    _append(
        work=work, ours=ours, unit=unit, peer=peer, theirs=theirs, ratio=ratio, bar=bar, most=None, met=met
    )


def record_limit(work: str, ours: float, most: float, *, unit: str = "s") -> None:
    """Keep what has no peer beside the most that it may be, in `unit`."""
    ours = float(ours)
    met = ours <= most
    _append(work=work, ours=ours, unit=unit, peer=None, theirs=None, ratio=None, bar=None, most=most, met=met)


def _append(**line: object) -> None:
    ledger = os.environ.get(VARIABLE)
    if not ledger:
        return
    with Path(ledger).open("a", encoding="utf-8") as file:
        reported = {"benchmark": Path(sys.argv[0]).stem, **line}
        file.write(json.dumps(reported, ensure_ascii=False) + "\n")
