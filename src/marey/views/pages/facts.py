"""One line of facts about anything we load."""

from __future__ import annotations

from marey.describe import info

UNITS = (
    ("agents", "person", "people"),
    ("people", "person", "people"),
    ("joints", "joint", "joints"),
    ("markers", "marker", "markers"),
    ("vertices", "vertex", "vertices"),
    ("modes", "mode", "modes"),
    ("transitions", "transition", "transitions"),
)


def caption(data: object) -> str:
    """Kind, times and sizes of the data.

    >>> import marey
    >>> caption(marey.samples.walk(seconds=1))
    'motion · 26 joints · 60 frames · 60 fps · 1 s'
    """
    facts = info(data)
    words = [str(facts["kind"])]
    words += [
        f"{facts[key]:,} {one if facts[key] == 1 else many}"
        for key, one, many in UNITS
        if isinstance(facts.get(key), int)
    ]
    if "columns" in facts:
        words.append(f"{facts['columns']} × {facts['rows']} pixels")
    if facts.get("frames"):
        words.append(f"{facts['frames']:,} {'frame' if facts['frames'] == 1 else 'frames'}")
    if facts.get("frame_rate") and facts.get("frames") not in (None, 0, 1):
        words.append(f"{facts['frame_rate']:.4g} fps")
        words.append(f"{facts['duration']:.4g} s")
    return " · ".join(words)
