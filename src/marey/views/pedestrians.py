"""People of a crowd: small walking figures on tracks, whole bodies, and figures drawn into a video.

Cost: about 1 ms a figure and frame in a video; skinning of people × 700 vertices for bodies, some 0.1 s a
frame for 200 people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey._work import Progress
from marey.body.kinematics import global_frames
from marey.crowd.animation.agents import BODY_RADIUS
from marey.crowd.cameras import Camera as GroundCamera
from marey.crowd.cameras import Homography
from marey.crowd.fields import FieldSeries, Footage
from marey.crowd.polygons import on_ground
from marey.crowd.scenes import Scene as Place
from marey.crowd.tracks import Tracks, shared_columns
from marey.geometry import rigid
from marey.geometry.colour import from_srgb, to_srgb
from marey.io.video import write_frames
from marey.stage.walk.figure import figure, outfits
from marey.stage.walk.paths import steps
from marey.stage.walk.walk import WalkingCrowd
from marey.surface import skinning
from marey.views import style
from marey.views.actors import check_reach
from marey.views.camera import Camera, direction, framing
from marey.views.renderer import Appearance, Ground, Image, Renderer
from marey.views.shapes import Shape, ball, blocks, limb, loft, merged

STATURE = 1.72
HIP, SHOULDER = 0.90, 1.40
WALL_HEIGHT = 0.4
"""Metres; low, so that nobody is hidden behind."""

TRAIL_SECONDS, TRAIL_POINTS = 2.5, 14
MANY = 120
"""People beyond whom figures are coarser and leave no trails, which would hide the ground."""

ELEVATION, TURN = np.radians(33.0), np.radians(-14.0)


def tracks_clip(tracks: Tracks, size: tuple[int, int], place: Place | None = None) -> Iterator[Image]:
    """The frames of a clip of people walking, one image each, from a camera that sees the whole place.

    place: whose walls are drawn as low blocks
    """
    from marey.views import _walker_kernels

    check_reach(tracks.positions)
    caster = _caster()
    slots = shared_columns(tracks)
    count = int(slots.max()) + 1
    many = count > MANY
    template, part = person(coarse=many)
    heading, phase, swing = steps(tracks)
    present = tracks.present
    places = _world(np.asarray(tracks.positions, dtype=np.float64))
    walls = _walls(place)
    everywhere = np.concatenate([_standing(places[present]), walls.vertices])
    extent = float(np.ptp(everywhere[:, [0, 2]], axis=0).max())
    look = _crowd_look(count, template, part, walls)
    scene, camera, centre = _scene(look, everywhere, size, max(0.02, extent / 750), many=many)
    vertices, people = _room(count, template, walls)
    casters, bodies = _room(count, caster, walls)
    still = np.zeros(len(caster.vertices), dtype=np.int64)
    for frame in range(tracks.frames):
        people[:], bodies[:] = np.nan, np.nan
        here = np.flatnonzero(present[frame])
        state = (slots[here], *(values[frame, here] for values in (places, heading, phase, swing)))
        _walker_kernels.set_people(template.vertices, part, HIP, SHOULDER, *state, people)
        _walker_kernels.set_people(caster.vertices, still, HIP, SHOULDER, *state, bodies)
        trails = None if many else _trails(places, frame, here, slots, tracks.frame_rate, extent / 700)
        yield scene.render(vertices, camera, centre=centre, casters=casters, overlay=trails)


def _walls(place: Place | None) -> Shape:
    """The obstacles of a place, as far as they stand on its ground, as blocks."""
    regions = [] if place is None else [r for one in place.obstacles for r in on_ground(one, place.size)]
    return blocks(regions, WALL_HEIGHT) if regions else Shape(np.zeros((0, 3)), np.zeros((0, 3), np.int32))


def _room(count: int, figure: Shape, walls: Shape) -> tuple[Array, Array]:
    """Vertices of `count` figures and then of the walls, and those of the figures, figure by figure."""
    size = count * len(figure.vertices)
    vertices = np.concatenate([np.full((size, 3), np.nan), walls.vertices])
    return vertices, vertices[:size].reshape(count, -1, 3)


def _trails(
    places: Array, frame: int, here: Integers, slots: Integers, frame_rate: float, width: float
) -> tuple[Array, NDArray[np.int32], Array]:
    """The last seconds of everyone's path as tapering strips on the ground."""
    back = np.rint(np.linspace(0, TRAIL_SECONDS * frame_rate, TRAIL_POINTS)).astype(np.int64)
    path = places[np.maximum(frame - back, 0)][:, here]
    along = np.gradient(path, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9)
    half = max(width, 0.03) * np.linspace(0.5, 0.1, TRAIL_POINTS)[:, None, None]
    side = half * np.stack([along[..., 2], 0 * along[..., 1], -along[..., 0]], axis=-1)
    vertices = np.stack([path - side, path + side], axis=2)
    people = len(here)
    point, person = np.mgrid[: TRAIL_POINTS - 1, :people]
    a = 2 * (point * people + person).ravel()
    b = a + 2 * people
    faces = np.concatenate([np.stack([a, a + 1, b], axis=1), np.stack([a + 1, b + 1, b], axis=1)])
    ink = style.linear(style.PALETTE)[slots[here] % len(style.PALETTE)]
    colours = np.broadcast_to(0.6 * ink[:, None] + 0.4 * style.linear(style.GROUND), vertices.shape)
    return vertices.reshape(-1, 3), faces.astype(np.int32), colours.reshape(-1, 3)


def _world(positions: Array) -> Array:
    """Ground plane (x, y) in the world: y of the plan points away from the viewer, `(..., 3)`."""
    flat = np.zeros(positions.shape[:-1])
    return np.stack([positions[..., 0], flat, -positions[..., 1]], axis=-1)


def _standing(places: Array) -> Array:
    """Feet and heads of people at `places`, thinned: what a camera must see."""
    some = places[:: max(len(places) // 20_000, 1)]
    shoulder = 0.3
    around = np.array([[-shoulder, 0, -shoulder], [shoulder, 0, shoulder], [0, STATURE, 0]])
    return np.asarray((some[:, None] + around).reshape(-1, 3))


def _scene(
    look: Appearance, everywhere: Array, size: tuple[int, int], texel: float, *, many: bool
) -> tuple[Renderer, Camera, Array]:
    """Renderer and camera of a place, seen from the side on which it is wide, and its centre."""
    wide, deep = np.ptp(everywhere[:, [0, 2]], axis=0)
    extent = float(max(wide, deep))
    ground = Ground(spacing=1.0 if extent < 60 else 10.0, reach=0.75 * extent + 4.0)
    scene = Renderer(
        look, ground, size=size, subject_size=STATURE, texel=texel, sky=3, samples=4 if many else 8
    )
    towards = direction(TURN if wide > 0.8 * deep else TURN + np.pi / 2, ELEVATION)
    centre = 0.5 * (everywhere.min(axis=0) + everywhere.max(axis=0))
    return scene, framing(everywhere, towards, size, margin=0.92), centre


@cache
def person(coarse: bool) -> tuple[Shape, Integers]:
    """A figure looking along +z, and which part each vertex is: 0 body, 1 2 legs, 3 4 arms."""
    round_, thin = (7, 5) if coarse else (16, 12)
    trunk = [
        (0.82, 0.0, 0.0), (0.84, 0.10, 0.08), (0.93, 0.150, 0.105), (1.10, 0.130, 0.095),
        (1.28, 0.165, 0.115), (1.40, 0.180, 0.095), (1.47, 0.090, 0.065), (1.50, 0.0, 0.0),
    ]  # fmt: skip
    body = _upright(trunk, sectors=round_)
    head = ball(1.0, rings=3 if coarse else 9, sectors=round_)
    head = Shape(head.vertices[:, [1, 2, 0]] * [0.085, 0.115, 0.10] + [0.0, 1.60, 0.015], head.faces)

    def hanging(length: float, profile: list[tuple[float, float]], x: float, top: float) -> Shape:
        shape = limb(length, profile, sectors=thin, coarse=coarse)
        across, deep, down = shape.vertices.T
        return Shape(np.stack([across + x, top - down, deep], axis=1), shape.faces)

    legs = [hanging(0.80, [(0, 0.085), (0.5, 0.062), (1, 0.045)], x, 0.86) for x in (0.09, -0.09)]
    arms = [hanging(0.56, [(0, 0.058), (1, 0.036)], x, 1.38) for x in (0.188, -0.188)]
    shoe = limb(0.13, [(0, 0.052), (1, 0.042)], sectors=thin, coarse=coarse)
    shoes = [Shape(shoe.vertices * [1.0, 0.7, 1.0] + [x, 0.037, 0.0], shoe.faces) for x in (0.09, -0.09)]
    vertices, faces, part = merged([body, *legs, *arms, *shoes, head])
    return Shape(vertices, faces), np.array([0, 1, 2, 3, 4, 1, 2, 0])[part]


@cache
def _caster() -> Shape:
    """A coarse body for the shadow."""
    rings = [(0.01, 0.0, 0.0), (0.03, 0.15, 0.11), (1.38, 0.21, 0.12), (1.50, 0.09, 0.09), (1.74, 0.0, 0.0)]
    return _upright(rings, sectors=6)


def _upright(rings: list[tuple[float, float, float]], *, sectors: int) -> Shape:
    """A loft over rings (height, half-widths) set up along y; x stays to the left, y turns backwards."""
    shape = loft([(*ring, 0.0, 0.0) for ring in rings], sectors=sectors)
    x, y, z = shape.vertices.T
    return Shape(np.stack([x, z, -y], axis=1), shape.faces)


def _crowd_look(count: int, template: Shape, part: Integers, walls: Shape) -> Appearance:
    people = np.arange(count)
    clothes = style.linear(style.PALETTE)[people % len(style.PALETTE)]
    clothes = 0.62 * clothes + 0.38 * style.linear(style.CLOTH)
    legs = 0.55 * clothes + 0.45 * style.linear(style.SOFT_INK)
    skin = style.linear(style.SKIN)
    is_head = template.vertices[:, 1] > 1.485
    colours = np.where(((part == 1) | (part == 2))[None, :, None], legs[:, None], clothes[:, None])
    colours = np.where(is_head[None, :, None], skin, colours)
    # Nearer the ground one sees less of the sky.
    sky = 0.45 + 0.55 * np.clip(template.vertices[:, 1] / 1.4, 0, 1)
    seen = np.stack([np.ones_like(sky), sky], axis=1)
    stone = np.broadcast_to(style.linear(style.WALL), walls.vertices.shape)
    return Appearance(
        faces=_copied(template, count, walls),
        colours=np.concatenate([colours.reshape(-1, 3), stone]),
        casters=_copied(_caster(), count, walls),
        seen=np.concatenate([np.tile(seen, (count, 1)), np.ones((len(walls.vertices), 2))]),
        closed=True,
    )


def _copied(figure: Shape, count: int, walls: Shape) -> NDArray[np.int32]:
    """Faces of `count` figures and then of the walls."""
    first = np.arange(count)[:, None, None] * len(figure.vertices)
    own = (figure.faces + first).reshape(-1, 3)
    return np.concatenate([own, walls.faces + count * len(figure.vertices)]).astype(np.int32)


def bodies_image(crowd: WalkingCrowd, size: tuple[int, int]) -> Image:
    """The people at the time when most are there."""
    return next(_body_images(crowd, size, [int(crowd.present.sum(axis=1).argmax())]))


def bodies_clip(crowd: WalkingCrowd, size: tuple[int, int]) -> Iterator[Image]:
    """All frames, one image each, from a camera that sees all of them."""
    return _body_images(crowd, size, range(crowd.frames))


def bodies(crowd: WalkingCrowd, frame: int) -> Array:
    """Everyone's vertices at a frame, `(people, vertices, 3)`, metres; NaN for those who are absent.

    >>> import marey
    >>> from marey.stage import walk
    >>> crowd = walk(marey.samples.crowd(people=3, seconds=2))
    >>> bodies(crowd, 0).shape[::2]
    (3, 3)
    """
    here = np.flatnonzero(crowd.present[frame])
    found = np.full((crowd.people, len(figure().skin.vertices), 3), np.nan)
    found[here] = skinned(crowd, frame, here)
    return found


def skinned(crowd: WalkingCrowd, frame: int, people: Integers, *, level: int = 0) -> Array:
    """Vertices of some people at a frame, `(people, vertices, 3)`, metres, at a level of detail."""
    skin, skeleton = figure(level).skin, crowd.skeleton
    # In the shared body's own size, about the root.
    pose = global_frames(
        skeleton.parents, skeleton.offsets, crowd.rotations[frame, people], np.zeros((len(people), 3))
    )
    world = rigid.to_matrix(rigid.Rigid(pose.rotations, pose.positions)) @ np.linalg.inv(skin.bind)
    placed = skinning.skin(skin.vertices, skin.influences, skin.weights, world)
    return np.asarray(placed * crowd.sizes[people, None, None] + crowd.roots[frame, people][:, None])


def _body_images(crowd: WalkingCrowd, size: tuple[int, int], frames: Sequence[int]) -> Iterator[Image]:
    shown = frames if len(frames) == 1 else slice(None)
    places = np.asarray(crowd.roots[shown], np.float64)[crowd.present[shown]] * [1.0, 0.0, 1.0]
    check_reach(places)
    everywhere = np.concatenate([places + np.array([x, y, 0.0]) for x in (-0.3, 0.3) for y in (0.0, 1.9)])
    extent = float(np.ptp(everywhere[:, [0, 2]], axis=0).max())
    own, part, faces = figure().corners
    first = np.arange(crowd.people)[:, None, None] * len(own)
    colours = from_srgb(outfits()[crowd.outfits][:, part].reshape(-1, 3))
    look = Appearance((faces + first).reshape(-1, 3).astype(np.int32), colours, closed=False)
    texel = max(0.012, extent / 900)
    scene, camera, centre = _scene(look, everywhere, size, texel, many=crowd.people > MANY)
    for frame in frames:
        yield scene.render(bodies(crowd, frame)[:, own].reshape(-1, 3), camera, centre=centre)


SHADOW = 0.45
LIGHT = np.array([0.35, -0.25, 0.9]) / np.linalg.norm([0.35, -0.25, 0.9])
CORNERS = 20
# Binary digits after the point of coordinates that OpenCV takes.
FRACTION = 4


def video_overlay(tracks: Tracks, footage: Footage, camera: GroundCamera | Homography) -> Iterator[Image]:
    """The images of a video with people in them, at its frame rate, as long as both last.

    tracks: at the rate of the video
    """
    stage = _Figures(tracks, camera) if isinstance(camera, GroundCamera) else _Disks(tracks, camera)
    for frame, image in zip(range(tracks.frames), footage, strict=False):
        yield stage.drawn(np.ascontiguousarray(image).copy(), frame)


def _colours(ids: Integers) -> Array:
    """Display colours `(people, 3)`, 0 to 255."""
    return 255 * to_srgb(style.linear(style.PALETTE)[ids % len(style.PALETTE)])


def _fixed(pixels: Array) -> NDArray[np.int32]:
    return np.rint(np.clip(pixels, -1e4, 1e4) * (1 << FRACTION)).astype(np.int32)


def _rings(places: Array, radius: float) -> Array:
    """Circles on the ground about places `(people, 2)`: `(people, corners, 2)`."""
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    return places[:, None] + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


class _Disks:
    def __init__(self, tracks: Tracks, camera: Homography) -> None:
        self._tracks, self._camera = tracks, camera
        self._inks = _colours(np.asarray(tracks.ids, dtype=np.int64))

    def drawn(self, image: Image, frame: int) -> Image:
        import cv2

        places = np.asarray(self._tracks.positions[frame], dtype=np.float64)
        here = np.flatnonzero(np.isfinite(places[:, 0]))
        rings = self._camera.to_image(_rings(places[here], BODY_RADIUS))
        for who, ring in zip(here, rings, strict=True):
            if np.isfinite(ring).all():
                cv2.fillPoly(image, [_fixed(ring)], self._inks[who].tolist(), cv2.LINE_AA, FRACTION)
        return image


class _Figures:
    def __init__(self, tracks: Tracks, camera: GroundCamera) -> None:
        self._tracks, self._camera = tracks, camera
        self._template, self._part = person(coarse=True)
        self._gait = steps(tracks)
        inks = _colours(np.asarray(tracks.ids, dtype=np.int64))
        faces, height = self._template.faces, self._template.vertices[:, 1]
        part = self._part[faces[:, 0]]
        skin = 255 * to_srgb(style.linear(style.SKIN))
        tone = np.where((part == 1) | (part == 2), 0.5, 1.0)[None, :, None] * inks[:, None]
        self._inks = np.where((height[faces].mean(axis=1) > 1.485)[None, :, None], skin, tone)

    def drawn(self, image: Image, frame: int) -> Image:
        import cv2

        places = np.asarray(self._tracks.positions[frame], dtype=np.float64)
        here = np.flatnonzero(np.isfinite(places[:, 0]))
        if len(here) == 0:
            return image
        eye = self._camera.position
        here = here[np.argsort(-np.linalg.norm(places[here] - eye[:2], axis=1))]
        self._darken(image, places[here])
        bodies = self._bodies(places, here, frame)
        pixels = self._camera.project(bodies)
        for who, points, seen in zip(here, bodies, pixels, strict=True):
            if not np.isfinite(seen).all() or (seen.max(axis=0) < 0).any():
                continue
            if seen[:, 0].min() > image.shape[1] or seen[:, 1].min() > image.shape[0]:
                continue
            corners = points[self._template.faces]
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            middle = corners.mean(axis=1)
            facing = np.einsum("fi,fi->f", normals, eye - middle) > 0
            size = np.maximum(np.linalg.norm(normals, axis=1), 1e-12)
            lit = 0.72 + 0.42 * np.clip(normals @ LIGHT / size, -0.6, 1)
            order = np.flatnonzero(facing)
            order = order[np.argsort(-np.linalg.norm(middle[order] - eye, axis=1))]
            polygons = _fixed(seen[self._template.faces])
            shades = np.clip(self._inks[who] * lit[:, None], 0, 255)
            for face in order:
                cv2.fillConvexPoly(image, polygons[face], shades[face].tolist(), cv2.LINE_8, FRACTION)
        return image

    def _bodies(self, places: Array, here: NDArray[np.intp], frame: int) -> Array:
        """Vertices `(people, vertices, 3)` in the camera's world, height last."""
        from marey.views import _walker_kernels

        heading, phase, swing = (values[frame, here] for values in self._gait)
        vertices = np.empty((len(here), len(self._template.vertices), 3))
        figure = self._template.vertices, self._part, HIP, SHOULDER
        gait = _world(places[here]), heading, phase, swing
        _walker_kernels.set_people(*figure, np.arange(len(here)), *gait, vertices)
        return vertices[..., [0, 2, 1]] * [1.0, -1.0, 1.0]

    def _darken(self, image: Image, places: Array) -> None:
        """Soft shadows under everyone's feet."""
        import cv2

        rings = _rings(places, BODY_RADIUS)
        ground = np.concatenate([rings, np.zeros((*rings.shape[:2], 1))], axis=2)
        shade = np.zeros(image.shape[:2], dtype=np.uint8)
        for ring in self._camera.project(ground):
            if np.isfinite(ring).all():
                cv2.fillPoly(shade, [_fixed(ring)], 255, cv2.LINE_AA, FRACTION)
        factor = 1 - SHADOW * cv2.GaussianBlur(shade, (0, 0), 1.5)[..., None].astype(np.float32) / 255
        image[...] = np.rint(image * factor).astype(np.uint8)


def draw_overlay(
    tracks: Tracks,
    footage: Footage,
    fields: FieldSeries,
    camera: GroundCamera | Homography | None,
    path: Path,
    progress: Progress | None = None,
) -> None:
    """Write the video with people in it, seen by `camera` or, if None, by the homography of their fields."""
    if camera is None:
        from marey.crowd.fields import pixel_map

        shapes = (footage.rows, footage.columns), (fields.rows, fields.columns)
        camera = Homography(np.asarray(fields.homography) @ pixel_map(*shapes))
    count = min(tracks.frames, footage.frames)
    images = video_overlay(tracks, footage, camera)
    write_frames(images, path, frame_rate=footage.frame_rate, progress=progress, total=count)
