"""Moments chunk by chunk against those of everything at once."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean
from marey.statistics.geodesics.streaming import LARGEST_SAMPLE, Chunk, moments
from tests.statistics.clouds import cloud


def drifting(samples=30_000, joints=3, seed=0):
    """Chunks of a motion whose pose wanders: its head is not like the whole."""
    rotations = cloud(samples, joints, spread=0.6, seed=seed)
    wander = np.linspace(0, 1, samples)[:, None, None] * [[0.5, 0.2, 0.0]]
    numbers = np.random.default_rng(seed).standard_normal((samples, 2)) + np.linspace(0, 3, samples)[:, None]
    rotations = so3.multiply(rotations, so3.exp(wander))
    edges = [0, 100, 101, 9_000, 9_500, 22_222, samples]
    return [Chunk(rotations[a:b], numbers[a:b]) for a, b in pairwise(edges)]


def at_once(chunks):
    rotations = np.concatenate([chunk.rotations for chunk in chunks])
    numbers = np.concatenate([chunk.numbers for chunk in chunks])
    mean = rotation_mean(rotations).mean
    logs = so3.log(so3.multiply(so3.inverse(mean), rotations)).reshape(len(rotations), -1)
    stacked = np.concatenate([logs, numbers - numbers.mean(axis=0)], axis=1)
    return mean, numbers.mean(axis=0), stacked.T @ stacked / len(stacked)


def test_several_passes_are_exact():
    chunks = drifting()
    found = moments(chunks)
    mean, numbers, covariance = at_once(chunks)
    assert so3.distance(found.mean, mean).max() < 1e-8
    assert found.numbers == pytest.approx(numbers, abs=1e-12)
    assert found.covariance == pytest.approx(covariance, abs=1e-8)
    assert found.passes <= 4
    assert found.samples == 30_000


def test_one_pass_is_off_by_a_fraction_of_a_percent():
    chunks = drifting()
    found = moments(iter(chunks))
    mean, numbers, covariance = at_once(chunks)
    assert found.passes == 1
    assert so3.distance(found.mean, mean).max() < 2e-3
    assert found.numbers == pytest.approx(numbers, abs=1e-9)
    spectrum, exact = np.linalg.eigvalsh(found.covariance), np.linalg.eigvalsh(covariance)
    assert np.abs(spectrum - exact).max() < 5e-3 * exact.max()


def test_few_samples_are_exact_in_one_pass():
    chunks = [Chunk(chunk.rotations[:50], chunk.numbers[:50]) for chunk in drifting()]
    assert moments(iter(chunks)).covariance == pytest.approx(at_once(chunks)[2], abs=1e-9)


def test_sample_is_even_and_bounded():
    chunks = [Chunk(part, np.arange(len(part))[:, None] * 1.0) for part in [cloud(40_000, 1, spread=0.3)]]
    sample = moments(chunks).sample
    assert LARGEST_SAMPLE // 2 <= len(sample.rotations) <= LARGEST_SAMPLE
    assert set(np.diff(sample.numbers[:, 0])) == {8.0}


class Endless:
    """Chunks made when they are asked for, the same every time."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        for seed in range(self.count):
            yield Chunk(cloud(2_000, 4, spread=0.3, seed=seed % 3), np.empty((2_000, 0)))


@pytest.mark.parametrize("through", [lambda chunks: chunks, iter])
def test_memory_does_not_grow_with_the_number_of_chunks(through):
    moments(through(Endless(2)))
    peaks = []
    tracemalloc.start()
    for count in (12, 48):
        tracemalloc.reset_peak()
        assert moments(through(Endless(count))).samples == 2_000 * count
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_nothing_cannot_be_averaged():
    for nothing in ([], iter([])):
        with pytest.raises(InputError, match="at least one pose"):
            moments(nothing)
