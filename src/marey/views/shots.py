"""Images of one actor: a strip of poses along time (after Marey's chronophotographs) and a clip.

A strip shows the poses where they happened if they stand apart there, else side by side; earlier ones are
paler. A clip's camera stands still if the whole action fits, and otherwise follows it smoothly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Bytes, Integers
from marey.views import style
from marey.views.actors import Actor, first_shown, viewpoint
from marey.views.camera import FIELD_OF_VIEW, Camera, framing, smooth_path
from marey.views.renderer import Appearance, Ground, Image, Renderer, key_light
from marey.views.shapes import ribbon

SAMPLED_FRAMES = 120
MAX_POSES, MIN_POSES = 9, 4
PALEST = 0.62


def strip(actor: Actor, size: tuple[int, int], *, overlay: Actor | None = None) -> Image:
    """One image of the whole clip.

    overlay: another actor of the same frames, seen through the first
    """
    chosen, beside = _poses_to_show(actor)
    towards = viewpoint(actor, frontal=len(chosen) == 1)
    poses = [np.asarray(actor.vertices(frame), dtype=np.float64) for frame in chosen]
    shifts = np.zeros((len(poses), 3))
    if beside:
        shifts = in_row(poses, actor.anchors[chosen], towards)
        poses = [pose + shift for pose, shift in zip(poses, shifts, strict=True)]
    vertices = np.concatenate(poses)
    extent = float(np.ptp(_finite(vertices)[:, [0, 2]], axis=0).max())
    seen = poses if beside else [_finite(actor.vertices(frame)) for frame in sampled_frames(actor)]
    ground = _ground(actor, seen, extent=extent)
    # Poses in a row are to be compared: seen from afar, all show the same side.
    lens = FIELD_OF_VIEW if not beside else 0.45 * FIELD_OF_VIEW
    around = _with_shadow(_finite(vertices), towards, ground, actor.size)
    camera = framing(around, towards, size, margin=0.9, field_of_view=lens)
    tints = [actor.tints(int(frame)) for frame in chosen]
    scene = Renderer(repeated(actor.look, len(poses), tints), ground, size=size, subject_size=actor.size)
    trail = _trail(actor, ground) if not beside and actor.trail and len(chosen) > 1 else None
    textures = _Wardrobe(actor, camera, size).layers_of([actor.textures(int(frame)) for frame in chosen])
    image = scene.render(vertices, camera, textures=textures, overlay=trail)
    if overlay is None:
        return image
    other = Renderer(repeated(overlay.look, len(poses)), ground, size=size, subject_size=actor.size)
    moved = [overlay.vertices(frame) + shift for frame, shift in zip(chosen, shifts, strict=True)]
    return _through(image, other.render(np.concatenate(moved), camera, overlay=trail))


def clip(actor: Actor, size: tuple[int, int], *, overlay: Actor | None = None) -> Iterator[Image]:
    """The frames of a clip, one image each.

    overlay: another actor of the same frames, seen through the first
    """
    framed = sampled_frames(actor)
    seen = [_finite(actor.vertices(frame))[:: _thinning(actor)] for frame in framed]
    ground = _ground(actor, seen)
    towards = viewpoint(actor, frontal=False)
    seen = [_with_shadow(points, towards, ground, actor.size) for points in seen]
    path = smooth_path(actor.anchors * [1.0, 0.0, 1.0], actor.frame_rate)
    everywhere = np.concatenate(seen)
    followed = np.concatenate([points - path[frame] for points, frame in zip(seen, framed, strict=True)])
    still, close = framing(everywhere, towards, size), framing(followed, towards, size)
    if _distance(still, everywhere) > 1.35 * _distance(close, followed):
        camera, middle = close, np.zeros(3)
    else:
        camera, middle, path = still, everywhere.mean(axis=0), np.zeros_like(path)
    scene = Renderer(actor.look, ground, size=size, subject_size=actor.size)
    wardrobe = _Wardrobe(actor, camera.moved(path[0]), size)
    trail = _trail(actor, ground) if actor.trail else None
    other = None if overlay is None else Renderer(overlay.look, ground, size=size, subject_size=actor.size)
    for frame in range(actor.frames):
        here, centre = camera.moved(path[frame]), middle + path[frame]
        textures = wardrobe.layers_of([actor.textures(frame)])
        image = scene.render(
            actor.vertices(frame), here, centre=centre, textures=textures, overlay=trail,
            tint=actor.tints(frame),
        )  # fmt: skip
        if overlay is None or other is None:
            yield image
            continue
        yield _through(image, other.render(overlay.vertices(frame), here, centre=centre, overlay=trail))


def _through(first: Image, second: Image) -> Image:
    """Both images, each half transparent."""
    return ((first.astype(np.uint16) + second + 1) // 2).astype(np.uint8)


def _with_shadow(points: Array, towards: Array, ground: Ground, size: float) -> Array:
    """Points, and where the lower half of the body throws its shadow: the rest of it may be cut off."""
    lamp = key_light(towards)
    height = points[:, 1] - ground.level
    low = height < 0.5 * size
    return np.concatenate([points, points[low] - height[low, None] / lamp[1] * lamp])


def _poses_to_show(actor: Actor) -> tuple[Integers, bool]:
    """Frames of a strip, equally far apart in time, and whether to put them side by side."""
    frames = _shown(actor)
    if len(frames) == 1 or _stillness(actor) < 0.02 * actor.size:
        return _centred(frames, 1), False
    extent = np.ptp(actor.anchors[frames][:, [0, 2]], axis=0).max()
    for count in range(min(MAX_POSES, len(frames)), MIN_POSES - 1, -1):
        chosen = _centred(frames, count)
        places = actor.anchors[chosen][:, [0, 2]]
        apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
        # On a longer path than this the figures would be specks.
        if apart[~np.eye(count, dtype=bool)].min() > 0.36 * actor.size and extent < 3.8 * actor.size:
            return chosen, False
    framed = sampled_frames(actor)
    some = [_finite(actor.vertices(frame)) for frame in framed[:: max(len(framed) // 8, 1)]]
    sizes = np.median([np.ptp(points, axis=0) for points in some], axis=0)
    wide, tall = np.hypot(sizes[0], sizes[2]), sizes[1]
    count = int(np.clip(4.2 * tall / max(wide, 1e-9), MIN_POSES, 7))
    return _centred(frames, min(count, len(frames))), True


def _centred(frames: Integers, count: int) -> Integers:
    """Those in the middles of `count` equal stretches."""
    return frames[np.rint((np.arange(count) + 0.5) / count * len(frames) - 0.5).astype(np.int64)]


def in_row(poses: Sequence[Array], anchors: Array, towards: Array, *, gap: float = 0.16) -> Array:
    """Shifts `(poses, 3)` off their path that set poses in a row across the view, close but not touching.

    Args:
        poses: `(vertices, 3)` each.
        anchors: `(poses, 3)`, what is moved into the row.
        towards: `(3,)`, from the subject to the camera.
        gap: Between neighbours, of the width of the right one.
    """
    across = np.array([towards[2], 0.0, -towards[0]]) / np.hypot(towards[0], towards[2])
    shifts: list[Array] = []
    edge = 0.0
    for pose, anchor in zip(poses, anchors * [1.0, 0.0, 1.0], strict=True):
        reach = _finite(pose - anchor) @ across
        shift = edge + gap * float(np.ptp(reach)) - float(reach.min()) if shifts else 0.0
        shifts.append(shift * across - anchor)
        edge = shift + float(reach.max())
    return np.array(shifts)


def repeated(look: Appearance, count: int, tints: Sequence[Array | None] = ()) -> Appearance:
    """The look of several poses in one scene, the earlier ones paler, each in its tint if it has one."""
    vertices, corners = len(look.colours), len(look.uv)
    paler = PALEST * (1.0 - np.linspace(0, 1, count)) ** 0.8 if count > 1 else np.zeros(1)
    paper = style.linear(style.GROUND) if not corners else np.zeros(3)
    worn = [look.colours if tint is None else np.tile(tint, (vertices, 1)) for tint in tints]
    worn = worn or [look.colours] * count
    colours = [paint + pale * (paper - paint) for paint, pale in zip(worn, paler, strict=True)]
    steps = np.arange(count)
    welded = np.arange(vertices) if look.welded is None else look.welded
    return replace(
        look,
        faces=np.concatenate([look.faces + i * vertices for i in steps]),
        colours=np.concatenate(colours),
        uv=np.tile(look.uv, (count, 1)),
        uv_faces=np.concatenate([look.uv_faces + i * corners for i in steps]),
        welded=np.concatenate([welded + i * vertices for i in steps]),
        layers=np.repeat(steps, len(look.faces)),
    )


class _Wardrobe:
    """Textures as layers, reduced to about the resolution at which they will be seen."""

    def __init__(self, actor: Actor, camera: Camera, size: tuple[int, int]) -> None:
        distance = float(np.linalg.norm(actor.anchors - camera.position, axis=1).min())
        # Pixels across the actor; a texture wraps it about two and a half times as far.
        self.pixels = 2.5 * camera.focal(size) * actor.size / max(distance, 1e-6)
        self.worn: list[Bytes | None] = []
        self.layers: Bytes | None = None

    def layers_of(self, images: list[Bytes | None]) -> Bytes | None:
        """One layer an image; what was asked for last is kept."""
        if len(images) != len(self.worn) or any(a is not b for a, b in zip(images, self.worn, strict=True)):
            given = [image for image in images if image is not None]
            self.worn, self.layers = images, np.stack(self._reduced(given)) if given else None
        return self.layers

    def _reduced(self, images: list[Bytes]) -> list[Bytes]:
        import cv2

        rows, columns = images[0].shape[:2]
        factor = max(max(rows, columns) / max(self.pixels, 1.0), 1.0)
        fitted = max(int(columns / factor), 1), max(int(rows / factor), 1)
        return [np.asarray(cv2.resize(image, fitted, interpolation=cv2.INTER_AREA)) for image in images]


def _ground(actor: Actor, poses: list[Array], *, extent: float = 0.0) -> Ground:
    """A floor where the lowest point usually is: toes dip below it when a foot is pointed, jumps rise."""
    lowest = np.array([np.nanmin(pose[:, 1]) for pose in poses])
    return Ground.of_size(actor.size, level=float(np.quantile(lowest, 0.3)), extent=extent)


def _trail(actor: Actor, ground: Ground) -> tuple[Array, NDArray[np.int32], Array] | None:
    """The path over the ground as a thin ribbon."""
    path = smooth_path(actor.anchors[first_shown(actor) :], actor.frame_rate, seconds=0.15)
    if np.ptp(path[:, [0, 2]], axis=0).max() < 0.3 * actor.size:
        return None
    path[:, 1] = ground.level
    vertices, faces = ribbon(path, 0.008 * actor.size)
    ink = style.linear(style.PALETTE[1])
    return vertices, faces, np.tile(0.75 * ink + 0.25 * style.linear(style.GROUND), (len(vertices), 1))


def _shown(actor: Actor) -> Integers:
    """Frames with something to see, without a pose set apart at the start."""
    frames = np.arange(actor.frames) if actor.shown is None else np.asarray(actor.shown)
    return frames[frames >= first_shown(actor)] if len(frames) > 1 else frames


def sampled_frames(actor: Actor) -> list[int]:
    """Frames by which a clip is framed."""
    frames = _shown(actor)
    return [int(frame) for frame in _centred(frames, min(len(frames), SAMPLED_FRAMES))]


def _stillness(actor: Actor) -> float:
    """The most that any vertex moves over the clip, by a look at a few frames."""
    frames = sampled_frames(actor)
    frames = frames[:: max(len(frames) // 12, 1)]
    first = actor.vertices(frames[0])[:: _thinning(actor)]
    moves = [np.abs(actor.vertices(f)[:: _thinning(actor)] - first) for f in frames[1:]]
    return float(np.nan_to_num(np.fmax.reduce(moves, axis=None))) if moves else 0.0


def _thinning(actor: Actor) -> int:
    return max(len(actor.look.colours) // 1500, 1)


def _distance(camera: Camera, points: Array) -> float:
    return float((points.mean(axis=0) - camera.position) @ camera.forward)


def _finite(points: Array) -> Array:
    points = np.asarray(points, dtype=np.float64)
    return points[np.isfinite(points).all(axis=1)]
