"""Driven autoregressions: exact with all inputs, one-step error falls with each."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError
from marey.statistics.autoregression import VectorAutoregression, fit
from marey.statistics.autoregression.fit import control, information_criterion


@pytest.fixture(scope="module")
def example():
    rng = np.random.default_rng(0)
    mixed = rng.standard_normal((4, 2))
    inner = VectorAutoregression([0.0] * 2, [1.7 * np.eye(2), -0.8 * np.eye(2)], np.eye(2))
    return inner.sample(300, rng=1) @ mixed.T + 0.05 * rng.standard_normal((300, 4))


def test_all_inputs_give_the_example_back(example):
    for order in (1, 2, 3):
        model = fit(example, order=order, ridge=0.0)
        assert control(model, example, dimensions=4).open_loop_error < 1e-10


def test_one_step_error_falls_with_every_input_and_is_that_of_the_singular_values(example):
    model = fit(example, order=2)
    found = [control(model, example, dimensions=c) for c in range(5)]
    errors = [one.one_step_error for one in found]
    assert (np.diff(errors) <= 1e-12).all() and errors[-1] < 1e-10
    missed = model.residuals(example) - found[2].inputs @ found[2].directions.T
    assert np.linalg.norm(missed) / np.linalg.norm(example - example.mean(0)) == pytest.approx(errors[2])


def test_the_number_of_inputs_is_found_where_the_singular_values_drop():
    rng = np.random.default_rng(3)
    inner = VectorAutoregression([0.0] * 5, [0.9 * np.eye(5)], np.diag([1.0, 1.0, 1.0, 1e-6, 1e-6]))
    assert control(inner, inner.sample(400, rng=rng)).dimensions == 3


def test_other_inputs_drive_another_series(example):
    driven = control(fit(example, order=2), example, dimensions=2)
    assert driven.driven(np.zeros((50, 2))).shape == (52, 4)
    assert np.abs(driven.driven(np.zeros((2000, 2)))[-1] - driven.model.mean).max() < 1e-2


def test_the_criterion_finds_the_order_on_frames_common_to_all():
    truth = VectorAutoregression([0.0] * 3, [1.6 * np.eye(3), -0.8 * np.eye(3)], np.eye(3))
    scores = information_criterion(truth.sample(2000, rng=4), [1, 2, 3, 4], ridge=0.0)
    assert int(np.argmin(scores)) == 1


def test_wrong_requests_are_refused_in_words(example):
    model = fit(example, order=2)
    with pytest.raises(InputError):
        control(model, example, dimensions=9)
    with pytest.raises(InputError):
        control(model, example[:2])
