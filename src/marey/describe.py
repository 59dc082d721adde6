"""What is in something we loaded, as plain values: the content of `marey info`."""

from __future__ import annotations

from typing import Any

from marey.errors import InputError


def describe(data: object) -> dict[str, Any]:
    """Plain values that say what `data` is, by its own `facts`; lengths in metres, times in seconds.

    >>> import marey
    >>> describe(marey.samples.walk())["kind"]
    'motion'
    """
    facts = getattr(data, "facts", None)
    if facts is None:
        raise InputError(f"a {type(data).__name__} is not something we can describe")
    own: dict[str, Any] = facts()
    for name in ("frames", "frame_rate", "duration"):
        own.setdefault(name, getattr(data, name, None))
    first = {name: own[name] for name in ("kind", "frames", "frame_rate", "duration")}
    times = {name: round(first[name], 6) for name in ("frame_rate", "duration") if first[name] is not None}
    return {**first, **times, **{name: value for name, value in own.items() if name not in first}}
