"""What verbs return: a result that holds what was made, and a report of what was measured.

A result is a frozen dataclass with `motion`, `sequence`, `tracks` or `fields`, or with `motions`, and mostly
with a `report`, which is a dataclass of plain values.
"""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

MADE = ("motion", "sequence", "tracks", "fields")


class Report:
    """Base of reports."""

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON; None where one is not defined.

        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Measured(Report):
        ...     error_cm: float
        ...     ratio: float
        >>> Measured(1.5, float("nan")).as_dict()
        {'error_cm': 1.5, 'ratio': None}
        """
        values = asdict(self)  # type: ignore[call-overload]
        return {name: None if value != value else value for name, value in values.items()}


class Result:
    """Base of results."""

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Save what was made (see :func:`marey.save`); several motions as `walk_1.bvh`, `walk_2.bvh`, …"""
        from marey import save

        path = Path(path)
        if (several := getattr(self, "motions", None)) is not None:
            for number, motion in enumerate(several, start=1):
                save(motion, path.with_stem(f"{path.stem}_{number}"), **options)
            return
        save(next(getattr(self, name) for name in MADE if hasattr(self, name)), path, **options)


def rounded(value: float | np.floating[Any]) -> float:
    """A number to four decimals, as facts and reports give it."""
    return round(float(value), 4)
