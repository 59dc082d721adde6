"""Joint limits learned from motion, as JSON: what `marey body limits` writes.

    {"format": "marey limits", "joint_names": ["Hips", "Spine", …], "report": {"joints": 24, …},
     "limits": [{"joint": "Spine", "centre": [1, 0, 0, 0], "shape": [[9, 0, 0], …],
                 "samples": [[0.1, 0, 0], …]}]}

A joint's rotation q is inside if uᵀ A u ≤ 1, with u = log(centre⁻¹ q) in radians and A its shape.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from marey.body.limits.learned import LearnedLimits, LimitsReport
from marey.body.limits.limits import EllipsoidLimits
from marey.errors import FormatError, InputError
from marey.io._files import atomic_write
from marey.io._json import Strict, read_json
from marey.io._limits import LIMITS

Number = Annotated[float, Meta(ge=-1e9, le=1e9)]
Triple = tuple[Number, Number, Number]


class _Joint(Strict, frozen=True):
    joint: str
    centre: tuple[Number, Number, Number, Number]
    shape: tuple[Triple, Triple, Triple]
    samples: list[Triple] = msgspec.field(default_factory=list)


class _Limits(Strict, frozen=True):
    format: Literal["marey limits"]
    joint_names: Annotated[list[str], Meta(max_length=10_000)]
    limits: list[_Joint]
    report: dict[str, int]


def read(path: Path) -> LearnedLimits:
    """The limits in a file."""
    path = Path(path)
    parsed = read_json(path, _Limits, limit=LIMITS.table)
    names = tuple(parsed.joint_names)
    unknown = [row.joint for row in parsed.limits if row.joint not in names]
    if unknown:
        raise FormatError(f"limits of {unknown[0]!r}, which is no joint", path=path)
    if not all(0.9 < np.linalg.norm(row.centre) < 1.1 for row in parsed.limits):
        raise FormatError("the centre of a limit must be a unit quaternion", path=path)
    try:
        limits = EllipsoidLimits(
            np.array([names.index(row.joint) for row in parsed.limits], dtype=np.int64),
            np.array([row.centre for row in parsed.limits], dtype=np.float64).reshape(-1, 4),
            np.array([row.shape for row in parsed.limits], dtype=np.float64).reshape(-1, 3, 3),
        )
        report = LimitsReport(**parsed.report)
    except (InputError, TypeError) as error:
        raise FormatError(str(error), path=path) from None
    samples = tuple(np.array(row.samples, dtype=np.float64).reshape(-1, 3) for row in parsed.limits)
    return LearnedLimits(limits, names, samples, report)


def write(learned: LearnedLimits, path: Path) -> None:
    """Write limits; numbers have all their digits, samples six."""
    limits = learned.limits
    rows = [
        {"joint": learned.names[j], "centre": c.tolist(), "shape": s.tolist(), "samples": t.round(6).tolist()}
        for j, c, s, t in zip(limits.joints, limits.centres, limits.shapes, learned.samples, strict=True)
    ]
    kept = {
        "format": "marey limits",
        "joint_names": list(learned.names),
        "report": vars(learned.report),
        "limits": rows,
    }
    with atomic_write(Path(path)) as draft:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1))
