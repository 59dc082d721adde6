"""Motion between two images: the methods, masks, weights, brightness changes, and what they refuse."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from marey.crowd.capture import METHODS, FlowEstimator, estimate
from marey.errors import InputError
from marey.io import flo

Array = NDArray[np.float64]


def textured(rows: int, columns: int, seed: int = 0, *, coarse: float = 6.0, contrast: float = 0.0) -> Array:
    """Band-limited noise as a function on the plane, sampled with a margin of 16 pixels."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(seed)
    shape = (rows + 32, columns + 32)
    parts = [gaussian_filter(rng.normal(size=shape), deviation) for deviation in (1.2, coarse)]
    return 128 + sum(size * part / part.std() for size, part in zip((40.0, contrast), parts))


def moved(picture: Array, u: Array | float, v: Array | float, *, noise: float = 0.0, seed: int = 1) -> Array:
    """`picture` (with margin) seen after every point x went to x + v(x); v is smooth and short."""
    from scipy.ndimage import map_coordinates

    rows, columns = picture.shape[0] - 32, picture.shape[1] - 32
    y, x = np.mgrid[:rows, :columns].astype(float)
    u, v = np.broadcast_to(u, x.shape), np.broadcast_to(v, x.shape)
    came_u, came_v = u, v
    for _ in range(4):
        came_u = map_coordinates(u, [y - came_v, x - came_u], order=1, mode="nearest")
        came_v = map_coordinates(v, [y - came_v, x - came_u], order=1, mode="nearest")
    seen = map_coordinates(picture, [y - came_v + 16, x - came_u + 16], order=3)
    return np.clip(seen + noise * np.random.default_rng(seed).normal(size=seen.shape), 0, 255)


def vortex_and_source(kind: str) -> tuple[Array, Array]:
    """Gaussian envelopes of radius 8 px, peak 1.2 px/frame, on a translation of 0.8 px/frame; 60 × 80."""
    y, x = np.mgrid[:60, :80].astype(float)
    u, v = np.full(x.shape, 0.8), np.zeros(x.shape)
    for place, name in ((24.0, "vortex"), (56.0, "source")):
        if kind not in (name, "both"):
            continue
        dx, dy = x - (40.0 if kind != "both" else place), y - 30.0
        # r exp(-r²/2s²) peaks at r = s with s exp(-1/2).
        bump = 1.2 / (8.0 * np.exp(-0.5)) * np.exp(-(dx**2 + dy**2) / 128.0)
        u, v = (u - dy * bump, v + dx * bump) if name == "vortex" else (u + dx * bump, v + dy * bump)
    return u, v


def endpoint(found: NDArray[np.float32], u: Array | float, v: Array | float, margin: int = 0) -> float:
    inner = slice(margin, -margin or None)
    return float(np.hypot(found[..., 0] - u, found[..., 1] - v)[inner, inner].mean())


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_a_translation(method: str) -> None:
    picture = textured(64, 80)
    found = estimate(moved(picture, 0.0, 0.0), moved(picture, 1.3, -0.7), method=method)
    assert found.shape == (64, 80, 2)
    assert found.dtype == np.float32
    assert endpoint(found, 1.3, -0.7, margin=6) < 0.15


@pytest.mark.parametrize("options", [{}, {"method": "divcurl"}, {"method": "hs"}, {"method": "lk"}])
def test_coarse_to_fine_follows_motion_of_many_pixels(options: dict[str, str]) -> None:
    picture = textured(96, 128, contrast=40.0)
    found = estimate(moved(picture, -3.0, -1.5), moved(picture, 2.0, 1.5), **options)
    assert endpoint(found, 5.0, 3.0, margin=16) < 0.2


@pytest.mark.parametrize("kind", ["vortex", "source", "both"])
def test_div_curl_keeps_vortices_and_sources_better_than_horn_schunck(kind: str) -> None:
    from marey.crowd.evaluation.fields import field_errors

    u, v = vortex_and_source(kind)
    truth = np.stack([u, v], axis=-1)
    pairs = []
    for seed in range(4):
        picture = textured(60, 80, seed)
        pairs.append(
            (moved(picture, 0, 0, noise=5, seed=seed), moved(picture, u, v, noise=5, seed=seed + 50))
        )

    def best(method: str, alphas: list[float]) -> tuple[float, Array]:
        means = []
        for alpha in alphas:
            found = [estimate(a, b, method=method, alpha=alpha, robust="quadratic") for a, b in pairs]
            errors = [field_errors(field, truth) for field in found]
            means.append(
                np.mean([[e.endpoint, e.relative_divergence, e.relative_vorticity] for e in errors], axis=0)
            )
        at = int(np.argmin([mean[0] for mean in means]))
        assert 0 < at < len(alphas) - 1, "the best alpha lies at the edge of the search"
        return alphas[at], means[at]

    _, ours = best("divcurl", [1e3, 4e3, 1.6e4, 6.4e4, 2.56e5])
    _, theirs = best("hs", [60.0, 240.0, 1e3, 4e3, 1.6e4])
    assert ours[0] <= 0.75 * theirs[0]
    counts = {"vortex": [2], "source": [1], "both": [1, 2]}[kind]
    for column in counts:
        assert ours[column] <= 0.6 * theirs[column]


def test_a_textureless_border_stays_calm() -> None:
    u, v = vortex_and_source("both")
    picture = textured(60, 80)
    first, second = moved(picture, 0, 0), moved(picture, u, v)
    for image in (first, second):
        image[:10] = image[-10:] = 128.0
        image[:, :10] = image[:, -10:] = 128.0
    for options in ({}, {"method": "divcurl"}, {"method": "divcurl", "robust": "quadratic"}):
        found = estimate(first, second, **options)
        speed = np.hypot(found[..., 0], found[..., 1])
        assert speed.max() <= 2 * np.hypot(u, v)[10:-10, 10:-10].max()


def test_exposure_changes_do_not_disturb() -> None:
    picture = textured(64, 80)
    first, second = moved(picture, 0, 0), 0.9 * moved(picture, 1.0, 0.5) + 20
    assert endpoint(estimate(first, second), 1.0, 0.5, margin=6) < 0.1
    assert endpoint(estimate(first, second, method="divcurl"), 1.0, 0.5, margin=6) > 0.1


@pytest.mark.parametrize(("method", "most"), [("divcurl", 0.25), ("default", 0.15)])
def test_a_cut_mask_hides_its_content_altogether(method: str, most: float) -> None:
    picture, mask = textured(60, 80), np.ones((60, 80), dtype=bool)
    mask[20:40, 30:50] = False
    first, second = moved(picture, 0, 0), moved(picture, 1.5, 0.5)
    clean = estimate(first, second, mask=mask, method=method)
    spoilt = [
        np.where(mask, image, np.random.default_rng(k).uniform(0, 255, mask.shape))
        for k, image in enumerate((first, second))
    ]
    np.testing.assert_array_equal(estimate(*spoilt, mask=mask, method=method), clean)
    assert (clean[~mask] == 0).all()
    ring = np.zeros_like(mask)
    ring[16:44, 26:54] = True
    ring &= mask
    assert np.hypot(clean[..., 0] - 1.5, clean[..., 1] - 0.5)[ring].mean() < most


def test_a_weight_drops_data_that_do_not_count() -> None:
    picture = textured(60, 80)
    first, second = moved(picture, 0, 0), moved(picture, 1.5, 0.5)
    counts = np.ones((60, 80))
    counts[:, 26:54] = 0.0
    frozen = second.copy()
    frozen[:, 30:50] = first[:, 30:50]
    with_it, without = (estimate(first, frozen, weight=w, method="divcurl") for w in (counts, None))
    apart, plain = (np.abs(field[:, 30:50] - [1.5, 0.5]).mean() for field in (with_it, without))
    assert apart < 0.15 < 0.5 < plain


@pytest.mark.parametrize("options", [{}, {"method": "lk"}])
def test_the_scale_of_the_weights_changes_nothing(options: dict[str, str]) -> None:
    u, v = vortex_and_source("both")
    picture = textured(60, 80)
    first, second = moved(picture, 0, 0, noise=3), moved(picture, u, v, noise=3, seed=2)
    full, faint = (estimate(first, second, weight=np.full((60, 80), w), **options) for w in (1.0, 0.05))
    np.testing.assert_allclose(full, faint, atol=2e-3)


def test_few_pixels_that_count_are_smoothed_as_many_are() -> None:
    u, v = vortex_and_source("both")
    picture = textured(60, 80)
    first, second = moved(picture, 0, 0, noise=3), moved(picture, u, v, noise=3, seed=2)
    left = np.full((60, 80), 0.01)
    left[:, :40] = 1.0
    whole, half = (estimate(first, second, method="hs", weight=w) for w in (None, left))
    assert np.abs(whole - half)[:, :30].mean() < 0.03


def test_an_estimator_gives_the_same_with_and_without_memory() -> None:
    picture = textured(60, 80)
    film = [moved(picture, 0.6 * k, 0.2 * k) for k in range(4)]
    lasting = FlowEstimator((60, 80))
    for first, second in pairwise(film):
        np.testing.assert_array_equal(lasting(first, second), estimate(first, second))


def test_still_noiseless_and_flat_images_do_not_move() -> None:
    picture = moved(textured(40, 48), 0, 0)
    for method in METHODS:
        assert np.abs(estimate(picture, picture, method=method)).mean() < 2e-2
        assert np.abs(estimate(np.full((40, 48), 7), np.full((40, 48), 7), method=method)).max() < 1e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "magic"}, "method 'magic'"),
        ({"alhpa": 3}, "no option 'alhpa'"),
        ({"method": "divcurl", "alpha": -1.0}, "alpha"),
        ({"method": "divcurl", "tolerance": float("nan")}, "tolerance"),
        ({"method": "divcurl", "order": 3}, "order"),
        ({"method": "divcurl", "robust": "l3"}, "robust"),
        ({"method": "hs", "warps": 0}, "warps"),
        ({"mask_mode": "paint"}, "mask_mode"),
        ({"mask": np.zeros((40, 48), dtype=bool)}, "hides the whole image"),
        ({"mask": np.zeros((4, 48), dtype=bool)}, "mask"),
        ({"weight": np.full((40, 48), 2.0)}, "between 0 and 1"),
        ({"method": "dis", "preset": "slow"}, "no option 'preset'"),
    ],
)
def test_wrong_options_are_refused_in_words(options: dict[str, object], words: str) -> None:
    picture = np.zeros((40, 48))
    with pytest.raises(InputError, match=words):
        estimate(picture, picture, **options)  # type: ignore[arg-type]


def test_wrong_images_are_refused_in_words() -> None:
    with pytest.raises(InputError, match="grey"):
        estimate(np.zeros((40, 48, 3)), np.zeros((40, 48, 3)))
    with pytest.raises(InputError, match="second image"):
        estimate(np.zeros((40, 48)), np.zeros((40, 47)))
    with pytest.raises(InputError, match="too small"):
        estimate(np.zeros((16, 16)), np.zeros((16, 16)), method="dis")


def test_rubber_whale_is_found_better_than_by_dense_inverse_search(data_dir: Path) -> None:
    import cv2

    folder = data_dir / "flow" / "middlebury_rubberwhale"
    first, second = (cv2.imread(str(folder / f"RubberWhale{k}.png"), cv2.IMREAD_GRAYSCALE) for k in (1, 2))
    truth = flo.read(folder / "RubberWhale.flo")
    assert truth.mask is not None

    def mean_error(method: str) -> float:
        apart = estimate(first, second, method=method) - truth.velocities[0]
        return float(np.hypot(apart[..., 0], apart[..., 1])[truth.mask].mean())

    assert mean_error("default") < mean_error("dis")
