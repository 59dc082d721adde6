"""People on tracks as whole walking bodies, each a stochastic variant of captured walks (no two alike).

Steps follow speed: walks are blended by it, stride and cadence both grow with its root below and above them
(as is usual in human walking), and legs and arms move with the way gone. Every step is drawn from the law of
the captured cycles (Courty & Cuzol 2010, section 6.2); feet are set down once beside the way, stay there
until they are lifted, and the legs bend to meet them. Cost: about 20 s for 1,000 people and 20 s on two
cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey._random import Rng, seed_number
from marey.body.motion import Motion
from marey.body.variation.shaping import within_range
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.stage.walking.crowd import WalkingCrowd
from marey.stage.walking.cycles import PHASES, Cycle, cycle, trunk_joints
from marey.stage.walking.figure import Figure, figure
from marey.stage.walking.outfits import OUTFITS, statures
from marey.stage.walking.ways import Ways, origin_of, ways, without_jumps
from marey.statistics.processes.example_law import ExampleLaw

Array = NDArray[np.float64]

FRAME_RATE = 20.0
DEVIATION = 0.3
# Person-frames: 2 million are some 600 MB.
MOST = 4_000_000
WORKERS, BLOCK = 2, 32
# Cycles that a law is learnt from at least, cycles of chance that a person has before they come again.
LEAST_CYCLES, LONG = 3, 24
# Share of what the body does that modes hold; radians by which everyone holds himself differently.
VARIANCE, POSTURE = 0.99, 0.12
# Ratio of speeds up to which two walks are told apart by chance and not by speed.
ALIKE = 1.15
# Metres, metres and radians by which footholds scatter to the side, along the way and in heading.
SCATTER = (0.012, 0.015, 0.05)
# Spread of stride lengths among people of one height.
STRIDES = 0.04


def walk(
    tracks: Tracks,
    walks: Sequence[Motion] | None = None,
    *,
    deviation: float = DEVIATION,
    frame_rate: float = FRAME_RATE,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> WalkingCrowd:
    """Let the people of tracks walk as whole bodies.

    walks: captured walks and runs of human figures, see :mod:`marey.stage.humanoid`; the built-in walks if
        None. People slower than the slowest take shorter steps, who stands stands; who is suddenly metres
        away is somebody new there.
    deviation: how far everyone is from the captured walks, 0 … 1
    frame_rate: of the result, frames a second
    rng: seed, or what gives one; sizes, clothes and walks of everyone depend on it

    >>> import marey
    >>> crowd = walk(marey.samples.crowd(people=4, seconds=3))
    >>> crowd.rotations.shape, crowd.person(0).joints
    ((60, 4, 18, 4), 18)
    """
    if not 0 <= deviation <= 1:
        raise InputError(f"deviation: 0 to 1, got {deviation:g}")
    if not 10 <= frame_rate <= 120:
        raise InputError(f"frame rate: 10 to 120 frames a second, got {frame_rate:g}")
    if not tracks.present.any():
        raise InputError("nobody is present in these tracks")
    _check_size(tracks, frame_rate)
    origin = origin_of(tracks)
    tracks = without_jumps(replace(tracks, positions=tracks.positions - origin) if origin.any() else tracks)
    _check_size(tracks, frame_rate)
    body = figure()
    cycles = sorted((cycle(body, clip) for clip in _given(walks)), key=lambda one: one.speed)
    way = ways(tracks, frame_rate)
    people, frames = len(way.places), way.places.shape[1] - 2 * way.margin
    seed = seed_number(rng)
    people_rng = np.random.default_rng(np.random.SeedSequence(seed))
    sizes = statures(people, people_rng) / body.stature
    chains = _chains(cycles, people, people_rng)
    seeds = np.random.SeedSequence((seed, 1)).spawn(people)
    laws = [_Law(one.captured, _parts(body)) for one in cycles]
    rotations = np.empty((people, frames, body.skeleton.joints, 4), np.float32)
    roots = np.empty((people, frames, 3), np.float32)
    worker = _Worker(body, cycles, laws, deviation, way, frame_rate, sizes, chains, seeds, rotations, roots)
    worker.all(progress)
    present = way.present[:, way.margin : way.margin + frames]
    flat = roots[..., ::2] - _even(tracks, frame_rate)
    assert tracks.ids is not None
    resampled = tracks.resample(frame_rate)
    assert resampled.ids is not None
    return WalkingCrowd(
        body.skeleton,
        np.swapaxes(rotations, 0, 1),
        np.swapaxes(roots, 0, 1),
        sizes,
        np.ascontiguousarray(present.T),
        float(frame_rate),
        np.asarray(resampled.ids),
        people_rng.permutation(people) % OUTFITS,
        sizes * body.stature,
        clip_slide=float(np.mean([one.slide for one in cycles])),
        path_error=float(np.nanmean(np.linalg.norm(flat, axis=-1))),
        origin=(float(origin[0]), float(origin[1])),
        name=tracks.name,
    )


def _even(tracks: Tracks, rate: float) -> Array:
    """Where tracks have people, `(people, frames, 2)` as x, z."""
    return np.moveaxis(np.asarray(tracks.resample(rate).positions, np.float64), 0, 1) * [1.0, -1.0]


def _check_size(tracks: Tracks, rate: float) -> None:
    frames = tracks.frames / tracks.frame_rate * rate
    if frames * tracks.agents > MOST:
        seconds = MOST / tracks.agents / rate
        raise InputError(
            f"{tracks.agents} people for {frames / rate:.4g} s are too many to be bodies at once; "
            f"take fewer people, or {seconds:.3g} s"
        )


def _given(walks: Sequence[Motion] | None) -> Sequence[Motion]:
    if walks is None:
        from marey.samples import walk as sample

        return [sample(seconds=8 / speed, speed=speed) for speed in (0.7, 1.0, 1.3, 1.7)]
    if not walks:
        raise InputError("no walks: give at least one clip, or None for the built-in ones")
    return walks


def _chains(cycles: Sequence[Cycle], people: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which cycles each person has, slow to fast, `(people, speeds)`: of those alike one by chance."""
    groups: list[list[int]] = [[0]]
    for number in range(1, len(cycles)):
        if cycles[number].speed > ALIKE * cycles[groups[-1][0]].speed:
            groups.append([])
        groups[-1].append(number)
    return np.stack([np.array(group)[rng.integers(len(group), size=people)] for group in groups], axis=1)


class _Law:
    """The captured cycles as modes of the whole body and of its parts, to draw new ones from.

    Of a few cycles the law knows little of what goes together by chance: half of what is drawn is common to
    the whole body, half each part's own.
    """

    def __init__(self, captured: Array, parts: Sequence[Sequence[int]]) -> None:
        whole = len(captured) // PHASES * PHASES
        times = -(-LEAST_CYCLES * PHASES // whole)
        series = np.concatenate([captured[:whole]] * times) if times > 1 else captured
        about = series - series.mean(axis=0)
        found = [_modes(about, np.arange(about.shape[1])), *(_modes(about, np.array(part)) for part in parts)]
        self.modes = np.concatenate(found)
        coordinates = [about @ modes.T for modes in found]
        self.laws = [ExampleLaw.of(values) for values in coordinates]
        self.ranges = [(values.min(axis=0), values.max(axis=0)) for values in coordinates]

    def draws(self, seed: np.random.SeedSequence) -> Array:
        """What chance adds to :data:`LONG` cycles, `(samples, modes)`."""
        samples = LONG * PHASES + 1
        drawn = [
            within_range(law.sample(samples, rngs=[own])[0], *limits)
            for law, limits, own in zip(self.laws, self.ranges, seed.spawn(len(self.laws)), strict=True)
        ]
        return np.sqrt(0.5) * np.hstack(drawn)


def _modes(about: Array, columns: NDArray[np.int64]) -> Array:
    """Orthonormal directions `(modes, numbers)` in some columns that hold 99 % of what they do."""
    _, sizes, directions = np.linalg.svd(about[:, columns], full_matrices=False)
    kept = int(np.searchsorted(np.cumsum(sizes**2) / max(np.sum(sizes**2), 1e-300), VARIANCE)) + 1
    modes = np.zeros((min(kept, len(sizes)), about.shape[1]))
    modes[:, columns] = directions[: len(modes)]
    return modes


def _parts(body: Figure) -> list[list[int]]:
    """Columns of trunk and root, and of each arm."""
    arms = [set(body.skeleton.descendants(body.skeleton.index(f"{side}Arm"))) for side in ("Left", "Right")]
    joints = trunk_joints(body)
    columns = [
        [3 * n + k for n, joint in enumerate(joints) if joint in arm for k in range(3)] for arm in arms
    ]
    rest = set(range(3 * len(joints) + 3)) - {c for part in columns for c in part}
    return [sorted(rest), *columns]


class _Worker:
    """Everything that bodies are made from; threads take blocks of people."""

    def __init__(
        self,
        body: Figure,
        cycles: Sequence[Cycle],
        laws: Sequence[_Law],
        deviation: float,
        way: Ways,
        rate: float,
        sizes: Array,
        chains: NDArray[np.int64],
        seeds: Sequence[np.random.SeedSequence],
        rotations: NDArray[np.float32],
        roots: NDArray[np.float32],
    ) -> None:
        self.cycles, self.laws, self.way, self.rate = cycles, laws, way, rate
        self.sizes, self.chains, self.seeds = sizes, chains, seeds
        self.rotations, self.roots = rotations, roots
        angle = 0.5 * np.pi * deviation
        self.kept, self.new = float(np.cos(angle)), float(np.sin(angle))
        self.figure = _as_arrays(body)
        means = [one.body.mean(axis=0) for one in cycles]
        self.posture = POSTURE * deviation
        self.body = np.stack([m + self.kept * (one.body - m) for one, m in zip(cycles, means, strict=True)])
        self.feet = np.stack([one.feet for one in cycles])
        self.still = [_standing(body, m) for m in means]

    def all(self, progress: Progress | None) -> None:
        people = len(self.sizes)
        blocks = [range(a, min(a + BLOCK, people)) for a in range(0, people, BLOCK)]
        self._block(blocks[0][:1])  # compiles
        with ThreadPoolExecutor(WORKERS) as pool:
            done = 0
            for count in pool.map(self._block, blocks):
                done += count
                if progress is not None:
                    progress(done, people)

    def _block(self, block: Sequence[int]) -> int:
        for person in block:
            self._one(person)
        return len(block)

    def _one(self, person: int) -> None:
        from marey.stage.walking import _kernels, _pose_kernels

        way, rate, size = self.way, self.rate, float(self.sizes[person])
        chain = self.chains[person]
        rng = np.random.default_rng(self.seeds[person].spawn(1)[0])
        longer = float(np.exp(rng.normal(0.0, STRIDES)))
        mine = [self.cycles[c] for c in chain]
        strides = np.array([one.stride for one in mine])
        cadences = np.array([one.cadence for one in mine]) / longer
        curve = np.array([one.speed for one in mine]), cadences, np.array([one.duty for one in mine])
        speed, place, heading = way.speeds[person], way.places[person], way.headings[person]
        frames = len(speed)
        phase, stands, paces = np.empty(frames), np.empty(frames, np.bool_), np.empty((frames, 4))
        _kernels.step_along(
            speed, place, heading, rate, size, curve, float(rng.random()), phase, stands, paces
        )
        first = int(np.floor(phase[0])) - 2
        steps = int(phase[-1]) - first + 3
        chance = rng.normal(size=(2, steps, 3)) * SCATTER
        under = np.stack([one.under for one in mine])
        holds = np.empty((2, steps, 3))
        _kernels.footholds(phase, stands, paces, place, heading, under, size, chance, first, holds)
        usual = np.median(speed[way.present[person]]) / np.sqrt(size)
        home = int(np.abs(curve[0] - usual).argmin())
        law = self.laws[chain[home]]
        drawn = self.new * law.draws(self.seeds[person].spawn(1)[0]), law.modes
        posture = np.append(rng.normal(0.0, self.posture, self.body.shape[-1] - 3), np.zeros(3))
        posture[:3] = 0.0
        tables = self.body[chain] + posture, self.feet[chain], strides, self.still[chain[0]] + posture
        _pose_kernels.pose(
            self.figure,
            tables,
            drawn,
            phase,
            stands,
            paces,
            place,
            heading,
            rate,
            size,
            holds,
            first,
            self.rotations[person],
            self.roots[person],
            way.margin,
        )


def _standing(body: Figure, mean: Array) -> Array:
    """The body of somebody who stands: the walk's mean, upright, legs almost straight."""
    still = mean.copy()
    still[-3:] = 0.0, body.standing_height, mean[-1]
    still[:3] = 0.0
    return still


def _as_arrays(body: Figure) -> tuple[NDArray[np.generic], ...]:
    """The figure as kernels want it."""
    local = np.ascontiguousarray(body.character.motion.rotations[0], np.float64)
    legs = np.array(body.legs, np.int64)
    frames = np.empty((2, 2, 3, 3))
    for side, leg in enumerate(body.legs):
        for part, (a, b) in enumerate(((leg.hip, leg.knee), (leg.knee, leg.ankle))):
            bone = body.places[b] - body.places[a]
            bone /= np.linalg.norm(bone)
            hinge = np.array([1.0, 0.0, 0.0]) - bone[0] * bone
            hinge /= np.linalg.norm(hinge)
            frames[side, part] = np.stack([hinge, bone, np.cross(hinge, bone)], axis=1)
    return (
        local,
        np.ascontiguousarray(body.turns, np.float64),
        np.ascontiguousarray(body.skeleton.offsets, np.float64),
        np.array(trunk_joints(body), np.int64),
        legs,
        frames,
        np.ascontiguousarray(body.places[legs[:, 3], 1]),
    )
