"""Where random numbers come from: what every `rng` may be."""

from __future__ import annotations

import numpy as np

from marey.errors import InputError

Rng = int | np.random.SeedSequence | np.random.Generator | None
"""A seed, a sequence of seeds, a generator, or None for new numbers each time, as NumPy's `default_rng`."""


def seed_number(rng: Rng) -> int:
    """One number to derive others from: a seed itself; drawn from a generator, which moves on.

    >>> seed_number(7), seed_number(np.random.SeedSequence(7)) == seed_number(np.random.SeedSequence(7))
    (7, True)
    """
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**31))
    if rng is None or isinstance(rng, np.random.SeedSequence):
        return int(seed_sequence(rng).generate_state(1)[0])
    if int(rng) < 0:
        raise InputError(f"seed: a whole number, not below 0, got {rng}")
    return int(rng)


def seed_sequence(rng: Rng) -> np.random.SeedSequence:
    """A sequence of its own to spawn from, so that one that was given gives the same again next time."""
    if isinstance(rng, np.random.SeedSequence):
        return np.random.SeedSequence(rng.entropy, spawn_key=rng.spawn_key, pool_size=rng.pool_size)
    return np.random.SeedSequence(None if rng is None else seed_number(rng))


def as_generator(rng: Rng) -> np.random.Generator:
    """The generator that was given, or a new one, whose children do not count as those of a given sequence.

    >>> seeds = np.random.SeedSequence(7)
    >>> _ = as_generator(seeds).spawn(2)
    >>> seeds.n_children_spawned
    0
    """
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(seed_sequence(rng))
