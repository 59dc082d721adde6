"""Dense crowd motion as published (Courty & Corpetti 2007), the energy written out and minimised plainly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import RectBivariateSpline
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import marey
from marey.crowd.fields import Footage
from marey.io.images import encode_image
from tests.cli.commands import result

ROWS, COLUMNS, ALPHA = 36, 44, 250.0


def motion() -> np.ndarray:
    """A vortex and a drift, `(2, rows, columns)`, pixels a frame."""
    y, x = np.mgrid[:ROWS, :COLUMNS].astype(float)
    x, y = x - COLUMNS / 2, y - ROWS / 2
    envelope = np.exp(-(x**2 + y**2) / (2 * 9.0**2)) / 9.0
    return np.stack([0.4 - 1.2 * y * envelope, 0.2 + 1.2 * x * envelope])


@pytest.fixture(scope="module")
def images() -> list[np.ndarray]:
    texture = gaussian_filter(np.random.default_rng(0).normal(size=(ROWS, COLUMNS)), 1.5)
    first = np.clip(127 + 50 * texture / texture.std(), 0, 255)
    spline, (u, v) = RectBivariateSpline(np.arange(ROWS), np.arange(COLUMNS), first), motion()
    y, x = np.mgrid[:ROWS, :COLUMNS]
    second = np.clip(spline.ev(y - v, x - u), 0, 255)
    return [np.rint(image).astype(np.uint8) for image in (first, second)]


def capture(capsys, folder, images, *options):
    for number, image in enumerate(images):
        (folder / f"f_{number}.png").write_bytes(encode_image(np.repeat(image[..., None], 3, axis=2), ".png"))
    out = folder / "flow.mry"
    told = result(
        capsys, "crowd", "capture", folder / "f_%d.png", "-o", out, "--method", "divcurl", "--alpha", ALPHA,
        "--size", "full", *options,
    )  # fmt: skip
    assert (told["method"], told["alpha"], told["scale"]) == ("divcurl", ALPHA, "person")
    return np.moveaxis(marey.load(out).velocities[0].astype(float), -1, 0)


def energy(first, second, tolerance):
    """Robust differences of brightness and 250 times the squared gradients of divergence and curl, and slope.

    Over the plane the latter are the squared second derivatives of both components, without what
    would touch the border.
    """
    spline = RectBivariateSpline(np.arange(ROWS), np.arange(COLUMNS), second)
    y, x = np.mgrid[:ROWS, :COLUMNS]

    def value(flat):
        u, v = flat.reshape(2, ROWS, COLUMNS)
        ay, ax = y + v, x + u
        inside = (ay >= 0) & (ay <= ROWS - 1) & (ax >= 0) & (ax <= COLUMNS - 1)
        off = np.where(inside, spline.ev(ay, ax) - first, 0.0)
        root = np.sqrt(1.0 + (off / tolerance) ** 2)
        total = tolerance**2 * float((root - 1.0).sum())
        force = np.where(inside, off / root, 0.0)
        slope = np.stack([force * spline.ev(ay, ax, dy=1), force * spline.ev(ay, ax, dx=1)])
        for one, down in zip((u, v), slope, strict=True):
            for axis in (0, 1):
                bend = np.diff(one, 2, axis=axis)
                total += 0.5 * ALPHA * float((bend**2).sum())
                down += ALPHA * adjoint(bend, axis)
            cross = np.diff(np.diff(one, axis=0), axis=1)
            total += ALPHA * float((cross**2).sum())
            padded = np.pad(cross, 1)
            down += 2 * ALPHA * np.diff(np.diff(padded, axis=0), axis=1)
        return total, slope.ravel()

    def adjoint(bend, axis):
        wide = [(2, 2) if a == axis else (0, 0) for a in (0, 1)]
        return np.diff(np.pad(bend, wide), 2, axis=axis)

    return value


def test_the_field_is_that_of_least_published_energy(images, tmp_path, capsys):
    found = capture(capsys, tmp_path, images)
    first, second = (image.astype(float) for image in images)
    y, x = np.mgrid[:ROWS, :COLUMNS]
    warped = RectBivariateSpline(np.arange(ROWS), np.arange(COLUMNS), second).ev(y + found[1], x + found[0])
    changed = (second - first) ** 2 > 1.0
    steepness = np.mean([np.square(np.gradient(0.5 * (first + warped), axis=a)).mean() for a in (0, 1)]) * 2
    # The M-estimator's scale: three medians of what is left, and a hundredth of a pixel.
    tolerance = 3 * np.median(np.abs(warped - first)[changed]) + 0.01 * np.sqrt(steepness)
    value = energy(first, second, tolerance)
    least = minimize(value, found.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    # Images between pixels are cubic in both, by other cubics: that, and a hundredth of a pixel, is left.
    still = value(np.zeros(found.size))[0]
    assert value(found.ravel())[0] - least.fun < 0.01 * (still - least.fun)
    theirs = least.x.reshape(2, ROWS, COLUMNS)
    inner = np.s_[:, 3:-3, 3:-3]
    assert np.linalg.norm(found - theirs, axis=0)[3:-3, 3:-3].mean() < 0.02
    truth = motion()
    assert np.linalg.norm((found - truth)[inner], axis=0).mean() < 0.2


def test_a_decorrelated_area_says_nothing_of_its_own(images, tmp_path, capsys):
    """What is behind the mask drops out of the data: it may be anything, and has the motion around it."""
    hidden = np.zeros((ROWS, COLUMNS), bool)
    hidden[14:22, 18:26] = True
    drawn = np.where(hidden, 0, 255).astype(np.uint8)
    (tmp_path / "mask.png").write_bytes(encode_image(np.repeat(drawn[..., None], 3, axis=2), ".png"))
    options = ("--mask", tmp_path / "mask.png", "--mask-mode", "decorrelate")
    spoilt = [np.where(hidden, 40 + 60 * k, image).astype(np.uint8) for k, image in enumerate(images)]
    kept, other = (capture(capsys, tmp_path, one, *options) for one in (images, spoilt))
    around = ~hidden
    truth = motion()
    errors = [np.linalg.norm(one - truth, axis=0)[around].mean() for one in (kept, other)]
    assert max(errors) < 0.35
    assert abs(errors[0] - errors[1]) < 0.1


def test_fields_do_not_depend_on_the_threads(tmp_path, capsys):
    film: Footage = marey.samples.video(marey.samples.crowd(people=5, seconds=1), pixels_per_metre=8)
    marey.save(film, tmp_path / "s_%03d.png")
    rows, columns = film.rows, film.columns
    drawn = np.full((rows, columns, 3), 255, np.uint8)
    drawn[: rows // 3, : columns // 3] = 0
    (tmp_path / "mask.png").write_bytes(encode_image(drawn, ".png"))
    fields = []
    for jobs in (1, 2):
        result(
            capsys, "crowd", "capture", tmp_path / "s_%03d.png", "-o", tmp_path / f"{jobs}.mry",
            "--method", "divcurl", "--alpha", ALPHA, "--size", "64", "--mask", tmp_path / "mask.png",
            "--mask-mode", "decorrelate", "--jobs", jobs,
        )  # fmt: skip
        fields.append(marey.load(tmp_path / f"{jobs}.mry").velocities)
    assert np.array_equal(*fields)
