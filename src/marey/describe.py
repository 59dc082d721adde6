"""What is in something we loaded, as plain values: the content of `marey info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marey.errors import InputError
from marey.io import format_of, load


def describe(data: object) -> dict[str, Any]:
    """Plain values that say what `data` is, by its own `facts`; lengths in metres, times in seconds.

    >>> import marey
    >>> describe(marey.samples.walk())["kind"]
    'motion'
    """
    facts = getattr(data, "facts", None)
    if facts is None:
        raise InputError(f"a {type(data).__name__} is not something we can describe")
    times = {name: getattr(data, name, None) for name in ("frames", "frame_rate", "duration")}
    return _in_order({**times, **facts()})


def describe_file(path: Path, **options: Any) -> dict[str, Any]:
    """The same of a file, from its header alone where that says enough (see :func:`marey.load`)."""
    facts = getattr(format_of(path).implementation(), "facts", None)
    if facts is None or any(value is not None for value in options.values()):
        return describe(load(path, **options))
    return _in_order(facts(path))


def _in_order(facts: dict[str, Any]) -> dict[str, Any]:
    first = {name: facts[name] for name in ("kind", "frames", "frame_rate", "duration")}
    times = {name: round(first[name], 6) for name in ("frame_rate", "duration") if first[name] is not None}
    return {**first, **times, **{name: value for name, value in facts.items() if name not in first}}
