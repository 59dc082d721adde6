"""The running simulation against the law of whole series: many characters stand for many seeds."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError
from marey.statistics.autoregression import VectorAutoregression, condition
from marey.statistics.autoregression.condition import evidence

SIZE, MANY = 2, 40000


def model(order: int = 2) -> VectorAutoregression:
    first = [[1.5, 0.1], [-0.1, 1.6]] if order > 1 else [[0.9, 0.1], [-0.1, 0.9]]
    rest = [[[-0.65, 0.0], [0.05, -0.75]], [[0.05, 0.0], [0.0, -0.03]]][: order - 1]
    return VectorAutoregression([1.0, -2.0], [first, *rest], [[0.2, 0.05], [0.05, 0.1]])


def known(one: VectorAutoregression, history: np.ndarray, frames: int) -> np.ndarray:
    series = np.full((len(history) + frames, SIZE), np.nan)
    series[: len(history)] = history
    return series


def assert_same_law(drawn: np.ndarray, law, start: int) -> None:
    """drawn: `(frames, characters, components)`; the law's frames from `start` on."""
    frames = len(drawn)
    flat = drawn.transpose(1, 0, 2).reshape(drawn.shape[1], -1)
    unit = np.zeros((frames * SIZE, *law.mean.shape))
    unit[:, start : start + frames] = np.eye(frames * SIZE).reshape(-1, frames, SIZE)
    covariance = law.covariance_times(unit)[:, start : start + frames].reshape(frames * SIZE, -1)
    variance = np.maximum(np.diag(covariance), 0.0)
    mean = law.mean[start : start + frames].ravel()
    assert (np.abs(flat.mean(axis=0) - mean) <= 5 * np.sqrt(variance / len(flat)) + 1e-8).all()
    spread = np.sqrt((np.outer(variance, variance) + covariance**2) / len(flat))
    assert (np.abs(np.cov(flat.T, bias=True) - covariance) <= 5 * spread + 1e-8).all()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_stream_has_the_law_of_the_whole_series(order):
    one = model(order)
    history = one.sample(3, rng=1)
    stream = one.stream(2, characters=MANY, history=history)
    measure = np.array([[1.0, 2.0]])
    stream.constrain(9, [3.0, 1.0])
    stream.constrain(4, [np.nan, 0.5])
    stream.constrain(6, [0.7], measure, 0.3)
    velocity = np.array([[[-1.0, 0.0], [1.0, 0.0]]])
    stream.constrain(9, [0.25], velocity)
    drawn = stream.run(12)
    series = known(one, history, 12)
    series[3 + 9], series[3 + 4, 1] = [3.0, 1.0], 0.5
    law = condition(one, series, soft=evidence([3 + 6], measure, [[0.7]], 0.3))
    row = np.zeros((1, *series.shape))
    row[0, 3 + 8 : 3 + 10] = velocity[0]
    law = law.condition(row, [0.25])
    assert_same_law(drawn, law, 3)
    assert np.abs(drawn[9] - [3.0, 1.0]).max() < 1e-9
    assert np.abs(drawn[4, :, 1] - 0.5).max() < 1e-9
    assert np.abs(drawn[9, :, 0] - drawn[8, :, 0] - 0.25).max() < 1e-9


def test_what_is_asked_late_is_met_with_the_law_given_the_past():
    one = model()
    past = one.stream(5, history=one.sample(2, rng=1))
    emitted = past.run(7)
    stream = one.stream(6, characters=MANY, history=emitted)
    stream.constrain(5, [0.0, 0.0])
    first = stream.run(1)
    series = known(one, emitted, 6)
    series[7 + 5] = 0.0
    assert_same_law(first, condition(one, series), 7)
    stream.constrain(1, [5.0, np.nan])
    assert np.abs(stream.step()[:, 0] - 5.0).max() < 1e-9
    assert np.abs(stream.run(4)[-1]).max() < 1e-9


def test_many_things_asked_are_compressed_without_changing_the_law():
    one, rng = model(), np.random.default_rng(3)
    history = one.sample(2, rng=1)
    stream = one.stream(2, characters=MANY, history=history)
    series = known(one, history, 30)
    for time in (3, 5, 8, 9, 10, 14, 20, 29):
        value = rng.standard_normal(SIZE)
        stream.constrain(time, value)
        series[2 + time] = value
    assert_same_law(stream.run(30), condition(one, series), 2)


def test_each_character_has_values_and_moments_of_its_own():
    one = model()
    stream = one.stream(0, characters=4)
    stream.constrain(10, [[1.0, 2.0], [3.0, np.nan]], characters=[1, 3])
    stream.constrain(6, [9.0, 9.0], characters=[3])
    stream.constrain(10, [7.0, 7.0], characters=[0])
    frames = stream.run(30)
    assert np.abs(frames[10, 1] - [1.0, 2.0]).max() < 1e-9
    assert abs(frames[10, 3, 0] - 3.0) < 1e-9 and np.abs(frames[6, 3] - 9.0).max() < 1e-9
    assert np.abs(frames[10, 0] - 7.0).max() < 1e-9
    assert np.abs(frames[10, 2] - 7.0).max() > 1e-3


def test_a_long_run_keeps_its_variance_and_forgets_what_was_asked():
    one = model()
    stream = one.stream(0, characters=200)
    for time in range(0, 2000, 100):
        stream.constrain(time, [1.0, -2.0])
    frames = stream.run(3000)
    assert not stream._plans and not stream._waiting
    late = frames[2300:].reshape(-1, SIZE)
    assert np.abs(np.cov(late.T) / one.covariances(1)[0] - 1.0).max() < 0.1
    stirred = np.array([np.abs(frames[time] - [1.0, -2.0]).max() for time in range(0, 2000, 100)])
    assert stirred.max() < 1e-9


def test_the_horizon_can_be_longer_than_the_models_memory_without_change():
    one = model()
    a, b = (one.stream(3, history=np.zeros((2, SIZE)), horizon=h) for h in (None, 2000))
    for stream in (a, b):
        stream.constrain(500, [0.0, 1.0])
    assert np.abs(a.run(510) - b.run(510)).max() < 1e-5


def test_wrong_requests_are_refused_in_words():
    stream = model().stream(0, characters=2)
    stream.step()
    for arguments in [
        {"time": 0, "value": [0.0, 0.0]},
        {"time": 5, "value": [0.0]},
        {"time": 5, "value": [0.0], "matrix": np.zeros((1, 5, SIZE))},
        {"time": 5, "value": [0.0, 0.0], "noise": -1.0},
        {"time": 5, "value": [0.0, 0.0], "characters": [2]},
        {"time": 5, "value": [np.inf, 0.0]},
    ]:
        with pytest.raises(InputError):
            stream.constrain(**arguments)
    with pytest.raises(InputError):
        model().stream(0, history=np.zeros((1, SIZE)))
