"""Colours of maps, and their keys as HTML: a bar with its numbers, or the wheel of directions."""

from __future__ import annotations

import html

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.geometry.colour import to_srgb
from marey.studio.crowd.maps import UNITS, Kind, Scale, Values
from marey.views import style
from marey.views.figures.fields import SIGNED, WHEEL, flow_colours

Image = NDArray[np.uint8]

SAID: dict[Kind, str] = {
    "flow": "where to, and how fast",
    "speed": "speed",
    "density": "how crowded it is",
    "divergence": "people meet (blue) or part (red)",
    "turning": "people turn left (blue) or right (red)",
}
PAPER = (244, 244, 242)
STEPS = 256


def map_picture(values: Values, known: BoolArray, scale: Scale) -> Image:
    """A picture `(rows, columns, 3)`, or with transparency where nothing is known."""
    if scale.kind == "flow":
        colours = flow_colours(values, scale.largest)
    else:
        signed = scale.kind in ("divergence", "turning")
        share = values / scale.largest
        steps = np.clip(0.5 + 0.5 * share if signed else share, 0.0, 1.0) * (STEPS - 1)
        colours = _table(SIGNED if signed else ("#ffffff", *style.SEQUENCE))[steps.astype(np.uint8)]
    if known.all():
        return colours
    return np.dstack([colours, np.where(known, np.uint8(255), np.uint8(0))])


def key(scale: Scale, note: str = "") -> str:
    """The key of a map as HTML."""
    unit, most = UNITS[scale.kind], f"{scale.largest:.2g}"
    said = f"{SAID[scale.kind]}{', ' + note if note else ''}"
    if scale.kind == "flow":
        hues = ", ".join((*WHEEL, WHEEL[0]))
        # CSS turns clockwise from the top; our wheel clockwise from the right.
        bar = (
            '<div style="width:56px;height:56px;border-radius:50%;margin:2px auto;'
            "background:radial-gradient(#fff 0%,#fff0 72%),"
            f'conic-gradient(from 90deg,{hues});border:1px solid #d9dde2"></div>'
        )
        ends = f'<div style="text-align:center">edge: {most} {unit}</div>'
    else:
        signed = scale.kind in ("divergence", "turning")
        tones = ", ".join(SIGNED if signed else ("#ffffff", *style.SEQUENCE))
        bar = (
            f'<div style="height:12px;border-radius:3px;background:linear-gradient(90deg,{tones});'
            'border:1px solid #d9dde2"></div>'
        )
        low, middle = (f"−{most}", "0") if signed else ("0", "")
        ends = (
            '<div style="display:flex;justify-content:space-between">'
            f"<span>{low}</span><span>{middle}</span><span>{most} {unit}</span></div>"
        )
    return _framed(f"<div>{html.escape(said)}</div>{bar}{ends}")


def remark(text: str) -> str:
    """A line of small print as HTML."""
    return _framed(html.escape(text))


def _framed(inside: str) -> str:
    return (
        '<div style="padding:0 0.8em 0.4em;font-size:0.8em;line-height:1.35;color:#5b6470">'
        + inside
        + "</div>"
    )


def _table(tones: tuple[str, ...]) -> Image:
    """`(STEPS, 3)` colours between tones."""
    anchors = style.linear(tones)
    at = np.linspace(0, len(tones) - 1, STEPS)
    mixed = np.stack([np.interp(at, np.arange(len(tones)), anchors[:, c]) for c in range(3)], axis=-1)
    return np.rint(255 * to_srgb(mixed)).astype(np.uint8)
