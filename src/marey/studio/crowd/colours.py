"""Colours of maps, and their keys as HTML: a bar with its numbers, or the wheel of directions."""

from __future__ import annotations

import html

import numpy as np

from marey._arrays import BoolArray, Bytes
from marey.studio.crowd.maps import UNITS, Kind, Values
from marey.views import style
from marey.views.figures.fields import SIGNED, WHEEL, flow_colours

SAID: dict[Kind, str] = {
    "flow": "where to, and how fast",
    "speed": "speed",
    "density": "how crowded it is",
    "divergence": "people meet (blue) or part (red)",
    "vorticity": "people turn left (blue) or right (red)",
}
# Kinds of maps whose values may be negative.
RELATIVE = ("divergence", "vorticity")


def map_image(kind: Kind, values: Values, known: BoolArray, largest: float) -> Bytes:
    """An image `(rows, columns, 3)`, or with transparency where nothing is known."""
    if kind == "flow":
        colours = flow_colours(values, largest)
    else:
        share = values / largest
        share = 0.5 + 0.5 * share if kind in RELATIVE else share
        colours = style.colour_map(_tones(kind))(share, bytes=True)[..., :3]
    if known.all():
        return colours
    return np.dstack([colours, np.where(known, np.uint8(255), np.uint8(0))])


def key(kind: Kind, largest: float, note: str = "") -> str:
    """The key of a map as HTML."""
    unit, most = UNITS[kind], f"{largest:.2g}"
    said = f"{SAID[kind]}{', ' + note if note else ''}"
    if kind == "flow":
        hues = ", ".join((*WHEEL, WHEEL[0]))
        # CSS turns clockwise from the top; our wheel clockwise from the right.
        bar = (
            '<div style="width:56px;height:56px;border-radius:50%;margin:2px auto;'
            "background:radial-gradient(#fff 0%,#fff0 72%),"
            f'conic-gradient(from 90deg,{hues});border:1px solid #d9dde2"></div>'
        )
        ends = f'<div style="text-align:center">edge: {most} {unit}</div>'
    else:
        tones = ", ".join(_tones(kind))
        bar = (
            f'<div style="height:12px;border-radius:3px;background:linear-gradient(90deg,{tones});'
            'border:1px solid #d9dde2"></div>'
        )
        low, middle = (f"−{most}", "0") if kind in RELATIVE else ("0", "")
        ends = (
            '<div style="display:flex;justify-content:space-between">'
            f"<span>{low}</span><span>{middle}</span><span>{most} {unit}</span></div>"
        )
    return _framed(f"<div>{html.escape(said)}</div>{bar}{ends}")


def remark(text: str) -> str:
    """A line of small print as HTML."""
    return _framed(html.escape(text))


def _tones(kind: Kind) -> tuple[str, ...]:
    return SIGNED if kind in RELATIVE else ("#ffffff", *style.SEQUENCE)


def _framed(inside: str) -> str:
    return (
        '<div style="padding:0 0.8em 0.4em;font-size:0.8em;line-height:1.35;color:#5b6470">'
        + inside
        + "</div>"
    )
