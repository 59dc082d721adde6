"""What verbs return: a result that holds what was made, and a report of what was measured.

A result is a frozen dataclass with `motion`, `sequence`, `tracks` or `fields`, or with `motions`, and mostly
with a `report`, which is a dataclass of plain values.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

MADE = ("motion", "sequence", "tracks", "fields")


class Displayed:
    """Base of data, models and results: `repr` is one line, and a notebook shows the page that plays them.

    >>> import marey
    >>> marey.samples.walk(1)
    <Motion 'walk': motion · 26 joints · 60 frames · 60 fps · 1 s>
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Else a dataclass would print every number that it holds.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Displayed.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        from marey.errors import InputError
        from marey.views.pages.facts import caption

        called = getattr(self, "name", "")
        name = f" {called!r}" if called else ""
        try:
            text = caption(self)
        except InputError:
            values = ((one.name, getattr(self, one.name)) for one in fields(self) if one.repr)  # type: ignore[arg-type]
            text = ", ".join(f"{name} {_short(value)}" for name, value in values)
        return f"<{type(self).__name__}{name}: {text}>"

    def _repr_html_(self) -> str | None:
        from marey.views.notebook import html

        return html(self)


def _short(value: object) -> str:
    """A value in a few words."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"array {shape}"
    if isinstance(value, list | tuple | dict) and len(value) > 3:
        return f"{len(value)} items"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:78]}…"


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


class Result(Displayed):
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
