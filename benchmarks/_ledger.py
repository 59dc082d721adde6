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
    ledger = os.environ.get(VARIABLE)
    ours, theirs = float(ours), float(theirs)
    if not ledger or not (math.isfinite(ours) and math.isfinite(theirs) and ours > 0 and theirs > 0):
        return
    ratio = theirs / ours
    line = {
        "benchmark": Path(sys.argv[0]).stem,
        "work": work,
        "ours": ours,
        "peer": peer,
        "theirs": theirs,
        "unit": unit,
        "ratio": ratio,
        "bar": bar,
        "met": None if bar is None else ratio >= bar,
    }
    with Path(ledger).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
