"""The renderer draws what is there: positions, order, colours, light and shadow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marey.views import style
from marey.views.camera import Camera, direction, framing
from marey.views.renderer import Appearance, Ground, Renderer
from tests.views.things import SMALL, box, centroid, coloured, half_red_half_blue

RED = np.tile([0.7, 0.05, 0.05], (8, 1))
BLUE = np.tile([0.05, 0.05, 0.7], (8, 1))


def scene_of(colours=RED, faces=None, **options):
    faces = box()[1] if faces is None else faces
    return Renderer(Appearance(faces, colours, **options), Ground(), size=SMALL, subject_size=1.0)


def looking_at(vertices, azimuth=0.5, elevation=0.3, margin=0.4):
    return framing(vertices, direction(azimuth, elevation), SMALL, margin=margin)


def test_pixels_lie_where_the_camera_projects_them():
    vertices, _ = box()
    camera = looking_at(vertices)
    mask = coloured(scene_of().render(vertices, camera), threshold=40)
    screen = camera.project(vertices, SMALL)
    rows, columns = np.nonzero(mask)
    found = [columns.min(), columns.max() + 1, rows.min(), rows.max() + 1]
    wanted = [screen[:, 0].min(), screen[:, 0].max(), screen[:, 1].min(), screen[:, 1].max()]
    assert found == pytest.approx(wanted, abs=1.5)


def test_moving_the_subject_moves_its_image():
    vertices, _ = box()
    camera = looking_at(vertices, azimuth=0.0)
    scene = scene_of()
    here = centroid(coloured(scene.render(vertices, camera)))
    right = centroid(coloured(scene.render(vertices + np.array([0.5, 0, 0]), camera)))
    higher = centroid(coloured(scene.render(vertices + np.array([0, 0.5, 0]), camera)))
    assert right[1] > here[1] + 10 and abs(right[0] - here[0]) < 4
    assert higher[0] < here[0] - 10


def test_the_same_input_gives_the_same_picture():
    vertices, _ = box()
    camera = looking_at(vertices)
    scene = scene_of()
    first = scene.render(vertices, camera)
    scene.render(vertices + 0.3, camera)
    assert np.array_equal(first, scene.render(vertices, camera))
    assert np.array_equal(first, scene_of().render(vertices, camera))


def test_the_shadow_is_darker_than_the_ground_and_lies_away_from_the_light():
    vertices, _ = box(at=(0.0, 0.4, 0.0))
    camera = looking_at(vertices, azimuth=0.0, margin=0.25)
    scene = scene_of()
    empty = scene.render(vertices + np.array([500, 0, 0]), camera, centre=np.zeros(3)).astype(int)
    image = scene.render(vertices, camera, centre=np.zeros(3)).astype(int)
    darkened = (empty - image).mean(axis=-1)
    darkened[coloured(image.astype(np.uint8), threshold=12)] = 0
    assert darkened.max() > 25
    assert darkened.min() > -6, "nothing gets brighter"
    below = centroid(darkened > 12)
    cube = centroid(coloured(image.astype(np.uint8), threshold=40))
    assert below[0] > cube[0], "below the cube"
    assert below[1] > cube[1], "the light comes from the left"


def test_a_shadow_softens_with_height():
    vertices, _ = box(0.4)
    camera = looking_at(
        np.concatenate([vertices, vertices + np.array([0, 1.2, 0])]), elevation=0.6, margin=0.35
    )
    scene = scene_of()

    def darkest(lift):
        scene.render(vertices + np.array([0, lift, 0]), camera)
        return scene._shadow.max()

    assert darkest(0.01) > 1.3 * darkest(1.2)


def test_the_nearer_surface_hides_the_farther():
    near, faces = box(0.5, at=(0.0, 0.0, 1.0))
    far, _ = box(1.0, at=(0.0, 0.0, -1.0))
    both = np.concatenate([near, far])
    camera = Camera(np.array([0.0, 0.3, 6.0]), np.array([0.0, 0.0, -1.0]))
    look = Appearance(np.concatenate([faces, faces + 8]), np.concatenate([RED, BLUE]))
    image = Renderer(look, Ground(), size=SMALL, subject_size=1.0).render(both, camera).astype(int)
    column, row = (int(n) for n in camera.project(np.array([[0.0, 0.25, 1.5]]), SMALL)[0, :2])
    assert image[row, column, 0] > image[row, column, 2] + 50
    column, row = (int(n) for n in camera.project(np.array([[0.0, 0.9, -0.5]]), SMALL)[0, :2])
    assert image[row, column, 2] > image[row, column, 0] + 50


def test_hidden_backs_make_no_difference():
    vertices, _ = box()
    camera = looking_at(vertices)
    whole = scene_of().render(vertices, camera).astype(int)
    fronts = scene_of(closed=True).render(vertices, camera).astype(int)
    assert np.abs(whole - fronts).mean() < 0.5


def test_edges_are_smoothed():
    vertices, _ = box()
    camera = Camera(np.array([0.0, 0.5, 6.0]), np.array([0.0, 0.0, -1.0]))
    tilted = vertices @ np.array([[0.995, 0.0998, 0], [-0.0998, 0.995, 0], [0, 0, 1]])
    image = scene_of(colours=np.zeros((8, 3))).render(tilted, camera).astype(int)
    levels = np.unique(image[:60].min(axis=-1))
    assert len(levels[(levels > 60) & (levels < 200)]) >= 4


def test_faces_with_a_missing_corner_are_left_out():
    vertices, faces = box()
    two = np.concatenate([vertices, vertices + np.array([2.0, 0, 0])])
    look = Appearance(np.concatenate([faces, faces + 8]), np.concatenate([RED, BLUE]))
    camera = looking_at(two, azimuth=0.0)
    scene = Renderer(look, Ground(), size=SMALL, subject_size=1.0)
    two[8:] = np.nan
    image = scene.render(two, camera).astype(int)
    assert (image[..., 0] > image[..., 2] + 40).any()
    assert not (image[..., 2] > image[..., 0] + 40).any()


def test_nobody_on_the_stage_is_an_empty_stage():
    vertices, _ = box()
    camera = looking_at(vertices)
    image = scene_of().render(np.full((8, 3), np.nan), camera)
    assert not coloured(image).any()
    assert image.min() > 150


def test_a_texture_is_laid_where_its_coordinates_say():
    vertices, faces = box()
    uv = vertices[:, [0, 1]] + [0.5, 0.0]
    look = Appearance(faces, np.ones((8, 3)), uv, faces)
    camera = Camera(np.array([0.0, 0.5, 6.0]), np.array([0.0, 0.0, -1.0]))
    scene = Renderer(look, Ground(), size=SMALL, subject_size=1.0)
    image = scene.render(vertices, camera, textures=half_red_half_blue()[None]).astype(int)
    red, blue = image[..., 0] > image[..., 2] + 60, image[..., 2] > image[..., 0] + 60
    assert red.sum() > 500 and blue.sum() > 500
    assert centroid(red)[1] < centroid(blue)[1] - 10


def test_what_is_under_a_roof_sees_less_of_the_sky():
    roof = np.array([[-2.0, 1.0, -2], [2, 1, -2], [2, 1, 2], [-2, 1, 2]])
    floor = np.array([[-0.1, 0.05, -0.1], [0.1, 0.05, -0.1], [0.1, 0.05, 0.1], [-0.1, 0.05, 0.1]])
    quad = np.array([[0, 2, 1], [0, 3, 2]])
    vertices = np.concatenate([roof, floor])
    look = Appearance(np.concatenate([quad, quad + 4]), np.full((8, 3), 0.5))
    scene = Renderer(look, Ground(), size=SMALL, subject_size=4.0)
    scene.render(vertices, looking_at(vertices))
    assert scene._seen[:4].min() > 0.9
    assert scene._seen[4:].max() < 0.3


def test_marks_are_drawn_in_their_own_colour():
    vertices, _ = box(0.2)
    camera = looking_at(vertices, margin=0.1)
    strip = np.array([[-1.0, 0, 0.5], [1, 0, 0.5], [1, 0, 0.6], [-1, 0, 0.6]])
    green = np.tile(style.linear("#30c050"), (4, 1))
    overlay = (strip, np.array([[0, 1, 2], [0, 2, 3]]), green)
    image = scene_of().render(vertices, camera, overlay=overlay)
    assert (np.abs(image.astype(int) - [0x30, 0xC0, 0x50]).max(axis=-1) <= 1).sum() > 50


def test_doubled_vertices_share_their_normal():
    vertices, faces = box()
    camera = looking_at(vertices)
    split = Appearance(np.arange(36).reshape(-1, 3), np.tile(RED[0], (36, 1)), welded=faces.ravel())
    first = {int(v): i for i, v in reversed(list(enumerate(faces.ravel())))}
    split = replace(split, welded=np.array([first[int(v)] for v in faces.ravel()]))
    joined = scene_of().render(vertices, camera).astype(int)
    apart = Renderer(split, Ground(), size=SMALL, subject_size=1.0)
    image = apart.render(vertices[faces.ravel()], camera).astype(int)
    assert np.abs(image - joined).max() <= 2
