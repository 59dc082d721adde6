"""Several figures on one stage, with balls where targets are: the truth beside what was made of it.

Figures are drawn as their own actors draw them, in their own colours or each in one; all share the camera,
the ground and the light. Cost: that of the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey._progress import Progress
from marey.body.motion import Motion
from marey.errors import InputError
from marey.io._files import atomic_write
from marey.io.images import encode_image
from marey.io.video import write_frames
from marey.views import style
from marey.views.actors import Actor, actor
from marey.views.scene import Look
from marey.views.shapes import ball
from marey.views.shots import clip, clip_rate, strip, viewpoint

Array = NDArray[np.float64]

# Of the figure's size: large enough to show around a wrist.
MARK_RADIUS = 0.028
MARK_COLOUR = "#d8483c"
ORIGINAL_COLOUR = "#8a8f98"
# Metres from the root beyond which a mark is left out, and between figures side by side.
IN_VIEW, SPACING = 3.0, 1.2


def troupe(
    motions: Sequence[Motion],
    *,
    colours: Sequence[str | None] | None = None,
    shifts: ArrayLike | None = None,
    marks: ArrayLike | None = None,
) -> Actor:
    """Clips of equal length as one actor.

    colours: one a figure, `#rrggbb`; None for a figure's own
    shifts: `(figures, 3)`, metres that each is moved aside
    marks: `(frames, marks, 3)`, metres, where to draw balls; NaN where there is none

    >>> import marey
    >>> walk = marey.samples.walk(seconds=1)
    >>> both = troupe([walk, walk], shifts=[[0, 0, 0], [1, 0, 0]], marks=walk.positions()[:, :2])
    >>> both.frames, bool(np.ptp(both.vertices(0)[:, 0]) > 1)
    (60, True)
    """
    frames = {motion.frames for motion in motions}
    if len(frames) != 1:
        raise InputError("figures on one stage need clips of equal length, and at least one")
    count = frames.pop()
    moved = np.zeros((len(motions), 3)) if shifts is None else checked("shifts", shifts, (len(motions), 3))
    places = np.zeros((count, 0, 3)) if marks is None else np.asarray(marks, dtype=np.float64)
    if places.ndim != 3 or places.shape[::2] != (count, 3):
        raise InputError(f"marks: expected ({count}, marks, 3), got {places.shape}")
    cast = [actor(motion) for motion in motions]
    tints = [None] * len(cast) if colours is None else list(colours)
    paints = [
        one.look.colours if tint is None else np.tile(style.linear(tint), (len(one.look.colours), 1))
        for one, tint in zip(cast, tints, strict=True)
    ]
    size = max(one.size for one in cast)
    dot = ball(MARK_RADIUS * size, rings=7, sectors=14)
    faces, colour = _joined(
        [(one.look.faces, paint) for one, paint in zip(cast, paints, strict=True)]
        + [(dot.faces, np.tile(style.linear(MARK_COLOUR), (len(dot.vertices), 1)))] * places.shape[1]
    )

    def vertices(frame: int) -> Array:
        figures = [one.vertices(frame) + shift for one, shift in zip(cast, moved, strict=True)]
        return np.concatenate([*figures, (places[frame][:, None] + dot.vertices).reshape(-1, 3)])

    return Actor(
        look=Look(faces, colour, closed=True),
        vertices=vertices,
        frames=count,
        frame_rate=motions[0].frame_rate,
        size=size,
        anchors=np.mean([one.anchors + shift for one, shift in zip(cast, moved, strict=True)], axis=0),
        facing=cast[0].facing,
        trail=len(cast) == 1,
    )


def draw_figures(
    motions: Sequence[Motion],
    path: Path,
    *,
    colours: Sequence[str | None] | None = None,
    shifts: ArrayLike | None = None,
    marks: ArrayLike | None = None,
    size: tuple[int, int] = (1280, 720),
    progress: Progress | None = None,
) -> None:
    """Draw figures on one stage as an image or, if the ending says so, as a clip; else as :func:`troupe`.

    Marks far from the first figure's root are left out.
    """
    if marks is not None:
        places = np.asarray(marks, dtype=np.float64)
        near = np.linalg.norm(places - np.asarray(motions[0].root)[:, None], axis=2) < IN_VIEW
        marks = np.where(near[..., None], places, np.nan)[:, near.all(axis=0)]
    rate = motions[0].frame_rate
    if path.suffix.lower() in (".png", ".jpg"):
        image = strip(troupe(motions, colours=colours, shifts=shifts, marks=marks), size)
        with atomic_write(path) as draft:
            draft.write_bytes(encode_image(image, path.suffix))
        return
    if not np.isclose(rate := clip_rate(rate), motions[0].frame_rate):
        motions = [motion.resample(rate) for motion in motions]
    actors = troupe(motions, colours=colours, shifts=shifts, marks=marks)
    write_frames(clip(actors, size), path, frame_rate=rate, progress=progress, total=actors.frames)


def draw_variants(
    original: Motion, variants: Sequence[Motion], path: Path, progress: Progress | None
) -> None:
    """Draw a clip in grey and up to six variants of it side by side, across the direction it goes in."""
    shown = [original, *variants[:6]]
    along = np.array(original.root[-1] - original.root[0])
    length = float(np.hypot(along[0], along[2]))
    across = np.array([along[2], 0.0, -along[0]]) / length if length > 0.5 else np.array([1.0, 0.0, 0.0])
    shifts = (np.arange(len(shown)) - 0.5 * (len(shown) - 1))[:, None] * SPACING * across
    colours = [ORIGINAL_COLOUR, *[None] * (len(shown) - 1)]
    draw_figures(shown, path, colours=colours, shifts=shifts, progress=progress)


def across_view(motion: Motion) -> Array:
    """Unit vector `(3,)` to the right of a picture of a single pose, to set others beside it.

    >>> import marey
    >>> right = across_view(marey.samples.walk()[0])
    >>> bool(abs(right[1]) < 1e-12), bool(abs(np.linalg.norm(right) - 1) < 1e-12)
    (True, True)
    """
    towards = viewpoint(actor(motion), frontal=True)
    return np.array([towards[2], 0.0, -towards[0]]) / np.hypot(towards[0], towards[2])


def _joined(parts: Sequence[tuple[NDArray[np.int32], Array]]) -> tuple[NDArray[np.int32], Array]:
    """Faces and colours of meshes as one."""
    starts = np.cumsum([0, *(len(paint) for _, paint in parts)])
    faces = np.concatenate([part + start for (part, _), start in zip(parts, starts[:-1], strict=True)])
    return faces.astype(np.int32), np.concatenate([paint for _, paint in parts])
