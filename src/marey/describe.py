"""What is in a file, or in something we loaded, as plain values: `marey info`."""

from __future__ import annotations

from os import PathLike

from marey.io.formats import facts_of, header


def info(data: object, **options: object) -> dict[str, object]:
    """Plain values that say what `data` is; lengths in metres, times in seconds.

    Args:
        data: Something we loaded; or a path: from the file's header alone where that says enough
            (:func:`marey.io.header`).
        options: Of the file's reader, see :func:`marey.load`.

    >>> import marey
    >>> info(marey.samples.walk())["kind"]
    'motion'
    """
    facts = header(data, **options) if isinstance(data, str | PathLike) else facts_of(data)
    first = {name: facts[name] for name in ("kind", "frames", "frame_rate", "duration")}
    times = {name: round(value, 6) for name, value in first.items() if isinstance(value, float)}
    return {**first, **times, **{name: value for name, value in facts.items() if name not in first}}
