"""Principal geodesics as published (Tournier 2011, 8; Courty 2013, 2.2), by plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize

import marey
from marey.body.motion import Motion
from tests.cli.commands import result
from tests.published import plain

MODES = 2


@pytest.fixture(scope="module")
def clip() -> Motion:
    """Twelve poses of a walk whose joints turn twice as far, so that space is curved."""
    walk = marey.samples.walk(seconds=3)[::15]
    turns = marey.geometry.rotations
    return marey.body.Motion(
        walk.skeleton, turns.exp(2.0 * turns.log(walk.rotations)), walk.root, walk.frame_rate
    )


@pytest.fixture(scope="module")
def turns(clip: Motion) -> plain.Array:
    return plain.matrices(clip.rotations)[:, 1:]


def first_kind(middle, directions, values):
    return middle @ plain.exp(np.tensordot(values, directions, axes=1))


def second_kind(middle, directions, values):
    made = middle
    for value, direction in zip(values, directions, strict=True):
        made = made @ plain.exp(value * direction)
    return made


def nearest(decode, middle, directions, pose):
    """Coordinates of the nearest pose, and its squared distance, by a general solver."""

    def apart(values):
        return plain.log(np.swapaxes(pose, -1, -2) @ decode(middle, directions, values)).ravel()

    found = least_squares(apart, np.zeros(len(directions)), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    return found.x, 2.0 * found.cost


def fitted(clip, tmp_path, capsys, *options):
    """The model that the command writes."""
    marey.save(clip, tmp_path / "clip.mry")
    line = ["body", "fit", tmp_path / "clip.mry", "-o", tmp_path / "model.mry", "--modes", MODES, "--raw"]
    told = result(capsys, *line, *options)
    model = marey.load(tmp_path / "model.mry")
    assert told["method"] == model.method and told["modes"] == model.modes == MODES
    assert told["metric"] == "canonical"
    return model


@pytest.mark.parametrize("scheme", ["variance", "error"])
def test_exact_directions_and_projections(clip, turns, tmp_path, capsys, scheme):
    model = fitted(clip, tmp_path, capsys, "--method", "exact", "--scheme", scheme)
    middle, linear, _ = plain.principal_geodesics(turns)
    assert (
        np.abs(plain.log(np.swapaxes(middle, -1, -2) @ plain.matrices(model.geodesics.mean)[1:])).max() < 1e-8
    )
    directions = model.geodesics.directions[:, 1:]
    for pose, ours in zip(turns, model.encode(clip), strict=True):
        assert ours == pytest.approx(nearest(first_kind, middle, directions, pose)[0], abs=1e-6)

    def value(kept, direction):
        """What the scheme makes small along a direction of length 1 at right angles to the ones before."""
        for one in kept:
            direction = direction - np.sum(direction * one) * one
        trial = np.array([*kept, direction / np.linalg.norm(direction)])
        found = [nearest(first_kind, middle, trial, pose) for pose in turns]
        return (
            sum(-float(x @ x) for x, _ in found) if scheme == "variance" else sum(cost for _, cost in found)
        )

    rng = np.random.default_rng(0)
    for mode in range(MODES):
        kept, here = list(directions[:mode]), value(list(directions[:mode]), directions[mode])
        assert here <= value(kept, linear[mode]) + 1e-7 * abs(here)
        # No direction nearby is better: the least of the scheme, not of the tangent space.
        for _ in range(4):
            aside = rng.standard_normal(directions[mode].shape)
            aside *= np.linalg.norm(plain.log(turns)) / np.linalg.norm(aside) / 1e3
            assert here <= value(kept, directions[mode] + aside) + 1e-5 * abs(here)


def test_deflation_has_one_geodesic_after_the_other(clip, turns, tmp_path, capsys):
    model = fitted(clip, tmp_path, capsys, "--method", "exact", "--scheme", "deflation")
    assert model.method == "second-kind"
    middle = plain.mean(turns)
    left = np.swapaxes(middle, -1, -2) @ turns
    ours = model.encode(clip)
    same = np.broadcast_to(np.eye(3), left.shape[1:])
    for mode, direction in enumerate(model.geodesics.directions[:, 1:]):
        steps = np.array([nearest(first_kind, same, direction[None], pose)[0][0] for pose in left])
        assert ours[:, mode] == pytest.approx(steps, abs=1e-6)
        left = plain.exp(-steps[:, None, None] * direction) @ left
    decoded = plain.matrices(model.decode(ours))[:, 1:]
    made = np.stack([second_kind(middle, model.geodesics.directions[:, 1:], one) for one in ours])
    assert np.abs(decoded - made).max() < 1e-8


def test_coordinates_of_the_second_kind_are_the_nearest_product(clip, turns, tmp_path, capsys):
    model = fitted(clip, tmp_path, capsys, "--method", "second-kind")
    middle, linear, _ = plain.principal_geodesics(turns)
    directions = model.geodesics.directions[:, 1:]
    assert np.abs(np.einsum("mji,mji->m", directions, linear[:MODES])) == pytest.approx(1.0, abs=1e-8)
    for pose, ours in zip(turns, model.encode(clip), strict=True):
        assert ours == pytest.approx(nearest(second_kind, middle, directions, pose)[0], abs=1e-5)


def test_principal_components_of_rotation_vectors(clip, turns, tmp_path, capsys):
    model = fitted(clip, tmp_path, capsys, "--method", "pca")
    logs = plain.log(turns).reshape(len(turns), -1)
    middle = logs.mean(axis=0)
    _, sizes, directions = np.linalg.svd(logs - middle, full_matrices=False)
    assert model.geodesics.variances == pytest.approx(sizes[:MODES] ** 2 / len(logs), rel=1e-9)
    theirs = (logs - middle) @ directions[:MODES].T
    assert np.abs(model.encode(clip)) == pytest.approx(np.abs(theirs), abs=1e-9)
    rebuilt = plain.exp((middle + theirs @ directions[:MODES]).reshape(len(logs), -1, 3))
    assert np.abs(plain.matrices(model.decode(model.encode(clip)))[:, 1:] - rebuilt).max() < 1e-9


@pytest.mark.parametrize("method", ["second-kind", "pca"])
def test_inverse_kinematics_in_the_coordinates_of_the_model(tmp_path, capsys, method):
    walk = marey.samples.walk(seconds=2)
    marey.save(walk, tmp_path / "clip.bvh")
    model = tmp_path / "model.mry"
    result(capsys, "body", "fit", tmp_path / "clip.bvh", "-o", model, "--method", method, "--modes", 6)
    told = result(
        capsys, "body", "ik", tmp_path / "clip.bvh", "-o", tmp_path / "out.mry", "--model", model,
        "--move", "LeftHand=0.03,0.05,0.05", "--fixed-root", "--at", "0.5", "--raw",
    )  # fmt: skip
    assert told["residual_cm"] < 3.0
    loaded, posed = marey.load(model), marey.load(tmp_path / "out.mry")
    geodesics, skeleton = loaded.geodesics, posed.skeleton
    hand = skeleton.index("LeftHand")
    goal = walk.positions()[30, hand] + [0.03, 0.05, 0.05]
    middle, directions = plain.matrices(geodesics.mean), geodesics.directions

    def poses(values):
        if method == "second-kind":
            return second_kind(middle, directions, values)
        return plain.exp(plain.log(middle) + np.tensordot(values, directions, axes=1))

    def place(local):
        at, turn = np.array(walk.root[30]), plain.matrices(walk.rotations[30, 0])
        for joint in reversed(skeleton.ancestors(hand)[:-1]):
            at, turn = at + turn @ skeleton.offsets[joint], turn @ local[joint]
        return at

    def cost(values):
        prior = 0.005**2 * float((values**2 / np.maximum(geodesics.variances, 1e-12)).sum())
        return float(np.sum((place(poses(values)) - goal) ** 2)) + prior

    ours = loaded.encode(posed)[0]
    least = minimize(cost, ours, method="BFGS", options={"gtol": 1e-10})
    assert cost(ours) == pytest.approx(least.fun, rel=1e-3, abs=1e-9)
    assert np.abs(poses(ours)[1:] - plain.matrices(posed.rotations[0])[1:]).max() < 1e-6
    slopes = [(cost(ours + step) - cost(ours - step)) / 2e-5 for step in 1e-5 * np.eye(6)]
    assert np.abs(slopes).max() < 1e-3 * np.sqrt(cost(ours))


def test_timing_is_aligned_in_principal_components_as_published(tmp_path, capsys):
    slow, quick = marey.samples.walk(1.0, speed=1.0)[::3], marey.samples.walk(0.8, speed=1.3)[::3]
    marey.save(slow, tmp_path / "a.mry"), marey.save(quick, tmp_path / "b.mry")
    line = ["body", "restyle", tmp_path / "a.mry", tmp_path / "b.mry", "-o", tmp_path / "c.mry", "--raw"]
    told = result(capsys, *line, "--method", "pca", "--modes", 3)
    frames = max(slow.frames, quick.frames)
    paced = [marey.body.resample.retime(one, np.linspace(0, one.frames - 1, frames)) for one in (slow, quick)]
    logs = plain.log(np.concatenate([plain.matrices(one.rotations)[:, 1:] for one in paced]))
    logs = logs.reshape(2 * frames, -1)
    directions = np.linalg.svd(logs - logs.mean(axis=0), full_matrices=False)[2][:3]
    one, other = (
        (plain.log(plain.matrices(motion.rotations)[:, 1:]).reshape(motion.frames, -1)) @ directions.T
        for motion in (slow, quick)
    )
    apart = np.linalg.norm(one[:, None] - other, axis=2)
    table = np.full((len(one) + 1, len(other) + 1), np.inf)
    table[0, 0] = 0.0
    for i, row in enumerate(apart, start=1):
        for j, cost in enumerate(row, start=1):
            table[i, j] = cost + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    assert told["path_cost"] == pytest.approx(table[-1, -1], rel=1e-5)
    assert marey.load(tmp_path / "c.mry").frames == quick.frames


# Frames; modes for 90, 95 and 99 % of the variance, counted independently on the clips as captured (K-11).
COUNTED = {
    "02_01": (343, (3, 5, 11)),
    "09_06": (141, (3, 4, 9)),
    "35_01": (None, (5, 7, 13)),
    "17_10": (None, (16, 21, 30)),
    "85_01": (None, (12, 16, 25)),
    "85_12": (None, (18, 23, 31)),
}


@pytest.mark.parametrize("name", COUNTED)
def test_modes_of_captured_clips(data_dir, tmp_path, capsys, name):
    frames, counts = COUNTED[name]
    clip = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{name}.bvh")[1:]
    assert frames in (None, clip.frames)
    marey.save(clip, tmp_path / "clip.mry")
    _, _, values = plain.principal_geodesics(plain.matrices(clip.rotations)[:, 1:])
    share = np.cumsum(np.sum(values**2, axis=0)) / np.sum(values**2)
    for level, count in zip((0.9, 0.95, 0.99), counts, strict=True):
        line = ["body", "fit", tmp_path / "clip.mry", "-o", tmp_path / "model.mry", "--raw"]
        modes = result(capsys, *line, "--variance", level, "--metric", "canonical")["modes"]
        assert modes == np.argmax(share > level) + 1
        assert abs(modes - count) <= 1
