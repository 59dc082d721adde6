"""The process in which ezc3d reads a file: `python -m marey.io._c3d_child IN.c3d OUT.npz`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from marey._child import limit_memory

# What the libraries reserve, and what a sound file may need for each of its bytes.
RESERVED, BYTES_A_BYTE = 4 << 30, 100


def main(source: str, target: str) -> None:
    """Markers and what the file says of them, as `positions` and JSON `facts`."""
    limit_memory("AS", RESERVED + BYTES_A_BYTE * Path(source).stat().st_size)
    import ezc3d

    content = ezc3d.c3d(source)
    point = content["parameters"]["POINT"]
    positions = np.moveaxis(content["data"]["points"][:3], 0, -1).swapaxes(0, 1)
    residuals = content["data"]["meta_points"]["residuals"][0].T
    labels: list[str] = []
    for name in ("LABELS", *(f"LABELS{i}" for i in range(2, 20))):
        labels += _value(point, name, [])
    facts = {
        "labels": list(map(str, labels)),
        "unit": str(_value(point, "UNITS", ["mm"])[0]),
        "rate": float(_value(point, "RATE", [0.0])[0]),
        "y_screen": str(_value(point, "Y_SCREEN", [""])[0]),
    }
    unseen = (residuals < 0) | ~np.isfinite(positions).all(axis=-1)
    np.savez(target, positions=np.where(unseen[..., None], np.nan, positions), facts=json.dumps(facts))


def _value(group: Any, name: str, default: list[Any]) -> list[Any]:
    found = list(group[name]["value"]) if name in group else []
    return found or default


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
