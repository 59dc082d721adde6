"""One HTML file that shows something by itself: what it is, its numbers, and a player.

Numbers are kept as deflated base64 in the page, quantised to 16 bits where that is not seen; the player
(`player.js` with three.js, bundled as `player.min.js`) reads them. A page asks for nothing: its security
policy forbids every request. Cost: linear in the numbers kept, some 20 MB a second.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from marey import __version__
from marey.errors import InputError
from marey.io._files import atomic_write
from marey.views.actors import Actor, first_shown, viewpoint
from marey.views.camera import smooth_path
from marey.views.shots import sampled_frames

MAX_BYTES = 100 << 20
"""Bytes of a page; larger ones would be slow to open, and are refused."""

BUDGET = 40 << 20
"""Bytes of numbers beyond which frames are left out."""

TYPES = {"float32": "f4", "int16": "i2", "int8": "i1", "uint8": "u1", "uint16": "u2", "uint32": "u4"}

T = TypeVar("T", bound=Any)

Kept = dict[str, Any]
"""Where the player finds an array: blob, type, shape, and scale and offset if it is quantised."""


@dataclass
class Page:
    """A page in the making.

    title, caption: plain text; whatever is in them stays text
    show: what the player does: "stage" (layers in three dimensions), "field", "film", "matrix", "picture"
    frames, frame_rate: of the time that can be played; one frame has no time
    first_frame, frame_step: numbers of our frames in the data, for the read-out
    start: our frame that is shown first
    stage: how it is framed, see `frame_box` and `frame_actor`
    spans: parts of the time in colours, `{"first", "last", "label", "colour"}` in our frames
    notes: what a reader should know, e.g. that frames were left out

    >>> page = Page("two points", frames=2)
    >>> page.layer("points", positions=page.quantised(np.zeros((2, 2, 3))), radius=0.1, colour="#2b6a8f")
    >>> "two points" in "".join(page.pieces())
    True
    """

    title: str
    caption: str = ""
    show: str = "stage"
    frames: int = 1
    frame_rate: float = 30.0
    first_frame: int = 0
    frame_step: int = 1
    start: int = 0
    stage: dict[str, Any] = field(default_factory=dict)
    layers: list[dict[str, Any]] = field(default_factory=list)
    spans: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    """Anything else the player of this show needs."""
    blobs: list[bytes] = field(default_factory=list)

    def keep(self, data: bytes | memoryview) -> int:
        """Keep bytes in the page; the number by which the player finds them."""
        self.blobs.append(zlib.compress(data, 6))
        return len(self.blobs) - 1

    def exact(self, values: ArrayLike) -> Kept:
        """Keep an array as it is: float32, or whole numbers of 8 to 32 bits."""
        array = np.ascontiguousarray(values)
        if array.dtype.kind == "f":
            array = array.astype(np.float32)
        elif array.dtype.name not in TYPES:
            array = array.astype(np.uint32)
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return {"blob": self.keep(little.tobytes()), "dtype": TYPES[array.dtype.name], "shape": array.shape}

    def quantised(self, values: ArrayLike) -> Kept:
        """Keep an array in 16 bits, each column (last axis) over its own range; NaN stays NaN."""
        array = np.asarray(values, dtype=np.float32)
        flat = array.reshape(-1, array.shape[-1])
        low, high = np.fmin.reduce(flat, axis=0), np.fmax.reduce(flat, axis=0)
        low, high = np.nan_to_num(low).astype(np.float64), np.nan_to_num(high).astype(np.float64)
        offset, scale = 0.5 * (low + high), (high - low) / 65534.0
        with np.errstate(invalid="ignore"):
            whole = np.rint((flat - offset) / np.where(scale > 0, scale, 1.0))
        whole = np.where(np.isnan(whole), -32768, np.clip(whole, -32767, 32767)).astype("<i2")
        kept = {"blob": self.keep(whole.tobytes()), "dtype": "i2", "shape": array.shape}
        return {**kept, "scale": scale.tolist(), "offset": offset.tolist()}

    def layer(self, kind: str, **spec: Any) -> None:
        """Put something on the stage; `kind` is one the player knows."""
        self.layers.append({"kind": kind, **spec})

    def show_image(self, png: bytes) -> None:
        """Show an image, a PNG file, as large as the page allows, and nothing else."""
        self.show = "picture"
        said = f"{self.title}: {self.caption}"
        self.more["picture"] = {"png": self.keep(png), "said": said}

    def thin(self, data: T, frames: int, bytes_per_frame: float, *, budget: int = BUDGET) -> T:
        """Every so many-th frame of the data, so that all of them stay within the budget, with a note."""
        step = thinning(frames, bytes_per_frame, budget=budget)
        if step == 1:
            return data
        self.frame_step *= step
        self.notes.append(f"One frame in {step} is shown: all of them would not fit into a page.")
        thinned: T = data[::step]
        return thinned

    def frame_box(
        self, low: ArrayLike, high: ArrayLike, *, towards: Any, size: float, ground: float | None = None
    ) -> None:
        """Show the box from `low` to `high` (metres) from the direction `towards`.

        size: metres, of one subject; ground: its height, the lower side of the box if None
        """
        corners = {"low": low, "high": high, "towards": towards}
        self.stage = {name: np.asarray(value, np.float64).tolist() for name, value in corners.items()}
        level = self.stage["low"][1] if ground is None else float(ground)
        self.stage |= {"size": float(size), "ground": level}

    def frame_actor(self, actor: Actor, *, ghosts: bool = True) -> None:
        """Frame a single subject, and let the page follow it."""
        frames = sampled_frames(actor)
        poses = [np.asarray(actor.vertices(frame)) for frame in frames[:: len(frames) // 40 + 1]]
        low = np.array([np.nanmin(pose, axis=0) for pose in poses])
        high = np.max([np.nanmax(pose, axis=0) for pose in poses], axis=0)
        # Toes dip below the floor when a foot is pointed, jumps rise.
        ground = float(np.quantile(low[:, 1], 0.3))
        towards = viewpoint(actor, frontal=False)
        self.frame_box(low.min(axis=0), high, towards=towards, size=actor.size, ground=ground)
        self.start = first_shown(actor)
        if actor.frames > 1:
            path = smooth_path(actor.anchors, actor.frame_rate, seconds=0.25)
            path[: self.start] = path[self.start]
            self.stage["way"] = self.exact(path)
            self.stage["travel"] = float(np.ptp(path[:, ::2], axis=0).max())
            self.stage["ghosts"] = ghosts

    def write(self, path: Path) -> None:
        """Write the page; it appears whole or not at all."""
        size = sum(-(-len(blob) // 3) * 4 for blob in self.blobs)
        if size > MAX_BYTES:
            raise InputError(
                f"{path}: the page would have {size / 1e6:.0f} MB, pages have at most "
                f"{MAX_BYTES / 1e6:.0f} MB; choose fewer frames (--frames A:B)"
            )
        with atomic_write(path) as draft, draft.open("w", encoding="utf-8") as file:
            for piece in self.pieces():
                file.write(piece)

    def pieces(self) -> Iterator[str]:
        """The text of the page, bit by bit."""
        before, after = _template()
        filled = {
            "version": __version__,
            "title": _escaped(self.title),
            "caption": _escaped(self.caption),
            "notes": "".join(f'<p class="notes">{_escaped(note)}</p>\n' for note in self.notes),
            "description": self._description(),
        }
        yield _filled(before, filled)
        for number, blob in enumerate(self.blobs):
            yield f'<script type="application/octet-stream;base64" id="blob-{number}">'
            yield base64.b64encode(blob).decode("ascii")
            yield "</script>\n"
        yield after

    def _description(self) -> str:
        described = {
            "show": self.show,
            "frames": self.frames,
            "rate": self.frame_rate,
            "first_frame": self.first_frame,
            "frame_step": self.frame_step,
            "start": self.start,
            "stage": self.stage,
            "layers": self.layers,
            "spans": self.spans,
            **self.more,
        }
        text = json.dumps(described, separators=(",", ":"), default=_plain, allow_nan=False)
        # Within a script element only a "<" could end it or open a comment.
        return text.replace("<", "\\u003c")


def thinning(frames: int, bytes_per_frame: float, *, budget: int = BUDGET) -> int:
    """Every how many frames one is kept so that all of them stay within the budget.

    >>> thinning(1000, 1000), thinning(100_000, 1000)
    (1, 3)
    """
    return max(int(np.ceil(frames * bytes_per_frame / budget)), 1)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} in a page")


def _escaped(text: str) -> str:
    # Names of files may hold bytes that are no text.
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def _filled(template: str, values: dict[str, str]) -> str:
    """Each `{name}` of the template once; what is filled in is not searched again."""
    pieces: list[str] = []
    for part in template.split("{"):
        name, closed, rest = part.partition("}")
        pieces.append(values[name] + rest if closed and name in values else ("{" if pieces else "") + part)
    return "".join(pieces)


@cache
def _template() -> tuple[str, str]:
    """The page up to its blobs, and its end with the player."""
    folder = Path(__file__).parent
    style, player = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "player.min.js"))
    whole = (folder / "page.html").read_text(encoding="utf-8").replace("{style}", style)
    before, after = whole.split("{blobs}\n")
    return before, after.replace("{player}", player)
