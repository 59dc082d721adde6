"""Pictures of a crowd: people stand where they are, and the truth is that of the very pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marey import samples
from marey.crowd import scenes
from marey.crowd.cameras import Camera
from marey.crowd.polygons import rectangle
from marey.crowd.scenes import Scene
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.filming.pedestrians import RenderedPedestrians
from marey.filming.renderer import FIELD_OF_VIEW, VIEWS, CrowdRenderer, RenderedFrame, camera_of, ring_camera
from marey.stage.walk.figure import figure

SIZE = (320, 240)
FIELD = float(FIELD_OF_VIEW)
ABOVE = Camera.looking((10, 5, 9), (10, 5, 0), size=SIZE, field_of_view=FIELD)
SIDE = Camera.looking((14, -2, 4), (10, 5, 0.5), size=SIZE, field_of_view=FIELD)


@pytest.fixture(scope="module")
def street() -> RenderedPedestrians:
    tracks = samples.crowd(people=30, seconds=10)
    return RenderedPedestrians(Tracks(tracks.positions + np.array([10.0, 5.0]), tracks.frame_rate), rng=1)


def standing(*places: tuple[float, float]) -> RenderedPedestrians:
    return RenderedPedestrians(Tracks(np.tile(np.array(places, dtype=float), (4, 1, 1)), 25), rng=0)


def soles(people: RenderedPedestrians, frame: int) -> np.ndarray:
    """Middle of the two soles of everyone, `(people, 3)` in plan and height."""
    body = figure()
    shoes = np.unique(body.skin.faces[body.parts == 2])
    left = body.skin.vertices[shoes, 0] > 0
    vertices = people.bodies(frame).points.reshape(-1, len(body.skin.vertices), 3)
    feet = [vertices[:, shoes[side]] for side in (left, ~left)]
    middle = np.mean([0.5 * (shoe.min(axis=1) + shoe.max(axis=1)) for shoe in feet], axis=0)
    return np.stack([middle[:, 0], -middle[:, 2], 0 * middle[:, 1]], axis=1)


@pytest.mark.parametrize("camera", [ABOVE, SIDE], ids=["above", "side"])
def test_the_feet_of_who_stands_project_where_the_simulation_put_them(camera: Camera) -> None:
    spots = [(8.0, 3.0), (10.0, 5.0), (11.5, 6.5)]
    expected = camera.project(np.column_stack([spots, np.zeros(3)]))
    found = camera.project(soles(standing(*spots), 0))
    assert np.linalg.norm(found - expected, axis=1).max() < 1.0


@pytest.mark.parametrize("speed", [0.4, 1.2, 4.5])
def test_the_feet_of_who_walks_do_so_over_whole_steps(speed: float) -> None:
    time = np.arange(150) / 25
    path = np.stack([8.0 + speed * (time - 2.0), np.full_like(time, 5.0)], axis=1)
    people = RenderedPedestrians(Tracks(path[:, None], 25), rng=0)
    # Steps are whole where the left foot is as far ahead as at first.
    start, stop = 50, 125
    ahead = np.mean([soles(people, frame)[0, 0] - path[frame, 0] for frame in range(start, stop)])
    aside = np.mean([soles(people, frame)[0, 1] - 5.0 for frame in range(start, stop)])
    at = ABOVE.project([[10.0, 5.0, 0.0], [10.0 + ahead, 5.0 + aside, 0.0]])
    assert np.linalg.norm(at[1] - at[0]) < 1.0


@pytest.mark.parametrize("camera", [ABOVE, SIDE], ids=["above", "side"])
def test_pictures_and_projection_agree_to_the_pixel(camera: Camera, street: RenderedPedestrians) -> None:
    renderer = CrowdRenderer(Scene((20, 10)), camera, shading=False)
    shot = renderer.render(street, 150)
    vertices = street.bodies(150, level=renderer.level).points.reshape(len(shot.people), -1, 3)
    world = np.stack([vertices[..., 0], -vertices[..., 2], vertices[..., 1]], axis=-1)
    for person, body in zip(shot.people, world, strict=True):
        rows, columns = np.nonzero(shot.instance_ids == person + 1)
        if len(rows) < 30:
            continue
        pixels = camera.project(body)
        assert columns.min() >= np.floor(pixels[:, 0].min()) and columns.max() <= np.ceil(pixels[:, 0].max())
        assert rows.min() >= np.floor(pixels[:, 1].min()) and rows.max() <= np.ceil(pixels[:, 1].max())


def warp_residual(renderer: CrowdRenderer, people: RenderedPedestrians, frame: int) -> tuple[float, float]:
    """Grey levels between a frame and the next one warped back, and without warping; unoccluded pixels."""
    import cv2

    now, then = renderer.render(people, frame), renderer.render(people, frame + 1)
    rows, columns = np.indices(now.instance_ids.shape).astype(np.float32)
    x, y = columns + now.flow[..., 0], rows + now.flow[..., 1]
    inside = (x >= 0) & (y >= 0) & (x <= columns.max()) & (y <= rows.max())
    back = cv2.remap(then.image, x, y, cv2.INTER_LINEAR).astype(float)
    there = cv2.remap(then.instance_ids.astype(np.float32), x, y, cv2.INTER_NEAREST)
    slopes = sum(np.abs(part) for k in range(2) for part in np.gradient(now.flow[..., k]))
    same = (there == now.instance_ids) & (now.instance_ids > 0) & inside & (slopes < 0.3)
    kept = cv2.erode(same.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    assert kept.sum() > 300
    error = np.abs(back - now.image).mean(axis=-1)[kept]
    still = np.abs(then.image.astype(float) - now.image).mean(axis=-1)[kept]
    return float(np.median(error)), float(np.median(still))


@pytest.mark.parametrize("camera", [ABOVE, SIDE], ids=["above", "side"])
def test_flow_carries_each_frame_into_the_next(camera: Camera, street: RenderedPedestrians) -> None:
    warped, still = warp_residual(CrowdRenderer(Scene((20, 10)), camera, shading=False), street, 150)
    assert warped < 1.5
    assert warped < 0.4 * still


def test_flow_is_the_projected_motion_of_a_rigid_glide() -> None:
    glide = Tracks(np.array([[[10.0, 5.0]], [[10.0, 5.0]], [[10.04, 5.0]]]), 25)
    people = RenderedPedestrians(glide, rng=0)
    rotations, roots = people.crowd.rotations.copy(), people.crowd.roots.copy()
    rotations[:], roots[:] = rotations[:1], roots[:1]
    roots[2:, :, 0] += 0.04
    people.crowd = replace(people.crowd, rotations=rotations, roots=roots)
    shot = CrowdRenderer(Scene((20, 10)), ABOVE).render(people, 1)
    seen = shot.instance_ids > 0
    # 4 cm at a distance of 9 m less the height of what is seen: head 1.8 m, ground 0 m.
    low, high = 0.04 * ABOVE.intrinsics[0, 0] / np.array([9.0, 7.0])
    assert (shot.flow[seen, 0] > low - 1e-3).all() and (shot.flow[seen, 0] < high + 1e-3).all()
    np.testing.assert_allclose(shot.flow[seen, 1], 0.0, atol=1e-4)
    assert not shot.flow[~seen].any()


def test_numbers_say_who_is_there_and_pixels_are_counted(street: RenderedPedestrians) -> None:
    shot = CrowdRenderer(Scene((20, 10)), SIDE).render(street, 150)
    numbers, counts = np.unique(shot.instance_ids[shot.instance_ids > 0], return_counts=True)
    assert set(numbers - 1) <= set(shot.people.tolist())
    counted = dict(zip((numbers - 1).tolist(), counts.tolist(), strict=True))
    assert [counted.get(int(person), 0) for person in shot.people] == shot.pixels.tolist()
    assert (shot.pixels <= shot.unoccluded_pixels).all()
    for person, box in zip(shot.people, shot.boxes, strict=True):
        rows, columns = np.nonzero(shot.instance_ids == person + 1)
        if len(rows):
            assert box[0] <= columns.min() and columns.max() <= box[2]
            assert box[1] <= rows.min() and rows.max() <= box[3]


def test_people_behind_others_and_behind_walls_are_hidden() -> None:
    camera = Camera.looking((10, -4, 1.5), (10, 5, 1.0), size=SIZE, field_of_view=FIELD)
    people = standing((10.0, 3.0), (10.1, 4.0), (6.0, 4.0), (14.0, 4.0))
    wall = Scene((20, 10), (rectangle(12.5, 2.5, 15.5, 3.0),))
    shot = CrowdRenderer(wall, camera).render(people, 0)
    share = shot.pixels / np.maximum(shot.unoccluded_pixels, 1)
    assert share[0] == 1.0 and share[2] == 1.0
    assert share[1] < 0.7
    assert shot.unoccluded_pixels[3] > 100 and shot.pixels[3] == 0


def test_shadows_fall_only_with_shading() -> None:
    people, empty = standing((10.0, 5.0)), standing((100.0, 5.0))

    def ground(shading: bool) -> tuple[RenderedFrame, np.ndarray]:
        renderer = CrowdRenderer(Scene((20, 10)), ABOVE, shading=shading)
        shot = renderer.render(people, 0)
        change = shot.image.astype(int) - renderer.render(empty, 0).image
        rows, columns = np.nonzero(shot.instance_ids)
        around = np.ones(shot.instance_ids.shape, dtype=bool)
        around[rows.min() - 2 : rows.max() + 3, columns.min() - 2 : columns.max() + 3] = False
        return shot, change[around]

    _, shaded = ground(True)
    _, flat = ground(False)
    assert shaded.min() < -20 and (shaded < -20).mean() > 0.001
    assert not flat.any()


def test_nobody_there_is_a_picture_too() -> None:
    shot = CrowdRenderer(Scene((20, 10)), ABOVE).render(standing((500.0, 500.0)), 0)
    assert not shot.instance_ids.any() and not shot.flow.any() and shot.image.std() > 5


def test_cameras_of_all_scenes_see_their_ground() -> None:
    for name in scenes.SCENES:
        scene = scenes.preset(name)
        for view in VIEWS:
            camera = camera_of(scene, view, size=SIZE)
            centre = camera.to_ground([[0.5 * (SIZE[0] - 1), 0.5 * (SIZE[1] - 1)]])[0]
            assert (centre >= 0).all() and (centre <= scene.size).all(), (name, view)
            focal = camera.intrinsics[0, 0]
            assert np.degrees(2 * np.arctan(0.5 * SIZE[0] / focal)) == pytest.approx(54.43, abs=0.01)
    assert ring_camera(0.0, np.radians(80)).position[2] == pytest.approx(12 * np.sin(np.radians(80)))
    whole = camera_of(Scene((30, 12)), "above", size=SIZE).project([[0, 0, 0], [30, 12, 0]])
    assert (whole > 0).all() and (whole < [SIZE[0], SIZE[1]]).all()


def test_unknown_views_and_bent_lenses_are_refused() -> None:
    with pytest.raises(InputError, match="above, side"):
        camera_of(Scene((4, 4)), "below")
    bent = Camera(ABOVE.intrinsics, ABOVE.rotation, ABOVE.translation, SIZE, distortion=(0.1, 0.0))
    with pytest.raises(InputError, match="distortion"):
        CrowdRenderer(Scene((4, 4)), bent)
