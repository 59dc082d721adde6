"""Pedestrians on tracks as whole walking bodies, each a random variant of captured walks.

Steps follow speed: walks are blended by it; stride and cadence both change with its square root below the
slowest and above the fastest walk, as is usual in human gait. Every step is drawn from the distribution of
the captured cycles (Courty & Cuzol 2010, section 6.2); feet are set down once beside the path, stay there
until they are lifted, and the legs bend to meet them. All people share one skeleton, scaled per person. Cost:
about 4 s for 1,000 people and 20 s on two cores; 16 bytes a joint, person and frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import Array, Integers, derived, width
from marey._random import Rng, seed_number
from marey._report import Displayed
from marey._work import Progress
from marey.body.limits.limits import soft_clip
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.stage.walk.figure import OUTFITS, Figure, figure, heights
from marey.stage.walk.gait import PHASES, SETTINGS, Cycle, cycle, trunk_joints
from marey.stage.walk.paths import GroundPaths, ground_paths, origin_of, without_jumps
from marey.statistics.processes.example import ExampleProcess

# Person-frames: 2 million are some 600 MB.
MAX_POSES = 4_000_000
# People that a thread takes at a time; number of people sampled to measure foot skate.
BLOCK, SAMPLED = 32, 60


def walk(
    tracks: Tracks,
    walks: Sequence[Motion] | None = None,
    *,
    deviation: float = 0.3,
    frame_rate: float = 20.0,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> WalkingCrowd:
    """Let the pedestrians of tracks walk as whole bodies.

    Args:
        tracks: positions over time. People slower than 0.15 m/s stand still; after a jump by metres a
            person is another one.
        walks: captured walks and runs of human figures with any joint names; the built-in walks if None.
            People slower than the slowest of them take shorter steps.
        deviation: how far everyone is from the captured walks, 0 … 1.
        frame_rate: of the result, frames a second.
        rng: seed, or what gives one; sizes, clothes and walks of everyone depend on it.
        progress: called with people done and in all.

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
        raise InputError("these tracks hold no one: all positions are missing")
    _check_size(tracks, frame_rate)
    origin = origin_of(tracks)
    tracks = without_jumps(replace(tracks, positions=tracks.positions - origin) if origin.any() else tracks)
    _check_size(tracks, frame_rate)
    body = figure()
    if walks is None:
        from marey.samples import walk as sample

        walks = [sample(seconds=8 / speed, speed=speed) for speed in (0.7, 1.0, 1.3, 1.7)]
    if not walks:
        raise InputError("no walks: give at least one clip, or None for the built-in ones")
    cycles = sorted((cycle(body, clip) for clip in walks), key=lambda one: one.speed)
    even = tracks.resample(frame_rate)
    paths = ground_paths(even, tracks.frame_rate)
    seed = seed_number(rng)
    people_rng = np.random.default_rng(np.random.SeedSequence(seed))
    sizes = heights(even.agents, people_rng) / body.height
    groups: list[list[int]] = [[0]]
    for number in range(1, len(cycles)):
        if cycles[number].speed > SETTINGS.similar * cycles[groups[-1][0]].speed:
            groups.append([])
        groups[-1].append(number)
    # Which cycles each person has, slow to fast, (people, speeds): a random one of each speed.
    drawn = [np.array(group)[people_rng.integers(len(group), size=even.agents)] for group in groups]
    chains = np.stack(drawn, axis=1)
    walkers = _Walkers(body, cycles, deviation, paths, frame_rate, sizes, chains, seed)

    def pose_all(start: int, stop: int) -> None:
        for person in range(start, stop):
            walkers.pose(person)

    _work.spread(pose_all, even.agents, size=BLOCK, progress=progress)
    flat = np.swapaxes(walkers.roots[..., ::2], 0, 1) - np.asarray(even.positions) * [1.0, -1.0]
    assert even.ids is not None
    return WalkingCrowd(
        body.skeleton,
        np.swapaxes(walkers.rotations, 0, 1),
        np.swapaxes(walkers.roots, 0, 1),
        sizes,
        even.present,
        float(frame_rate),
        np.asarray(even.ids),
        people_rng.permutation(even.agents) % OUTFITS,
        sizes * body.height,
        source_skate=float(np.mean([one.skate for one in cycles])),
        path_error=float(np.nanmean(np.linalg.norm(flat, axis=-1))),
        origin=(float(origin[0]), float(origin[1])),
        name=tracks.name,
    )


def _check_size(tracks: Tracks, rate: float) -> None:
    seconds = tracks.frames / tracks.frame_rate
    if seconds * rate * tracks.agents > MAX_POSES:
        raise InputError(
            f"{tracks.agents} people for {seconds:.4g} s are too many to be bodies at once; "
            f"take fewer people, or {MAX_POSES / tracks.agents / rate:.3g} s"
        )


class _CycleDistribution:
    """The distribution of captured cycles, over modes of the whole body and of its parts.

    A few cycles say little about how parts vary together: half of the variance that is drawn is common to the
    whole body, half is each part's own.
    """

    def __init__(self, captured: Array, parts: Sequence[Integers]) -> None:
        whole = len(captured) // PHASES * PHASES
        times = -(-SETTINGS.min_cycles * PHASES // whole)
        series = np.concatenate([captured[:whole]] * times) if times > 1 else captured
        centred = series - series.mean(axis=0)
        found = []
        for columns in (np.arange(centred.shape[1]), *parts):
            # Orthonormal directions that hold most of the variance of these columns.
            _, sizes, directions = np.linalg.svd(centred[:, columns], full_matrices=False)
            share = np.cumsum(sizes**2) / max(np.sum(sizes**2), 1e-300)
            count = min(int(np.searchsorted(share, SETTINGS.variance)) + 1, len(sizes))
            found.append(np.zeros((count, centred.shape[1])))
            found[-1][:, columns] = directions[:count]
        self.modes = np.concatenate(found)
        coordinates = [centred @ modes.T for modes in found]
        self.processes = [ExampleProcess.of(values) for values in coordinates]
        self.ranges = [(values.min(axis=0), values.max(axis=0)) for values in coordinates]

    def sample(self, seed: np.random.SeedSequence) -> Array:
        """Deviations over `drawn_cycles` cycles, `(samples, modes)`."""
        samples = SETTINGS.drawn_cycles * PHASES + 1
        seeds = seed.spawn(len(self.processes))
        drawn = [
            soft_clip(process.sample(samples, rngs=[own])[0], *limits, give=0.1)
            for process, limits, own in zip(self.processes, self.ranges, seeds, strict=True)
        ]
        return np.asarray(np.sqrt(0.5) * np.hstack(drawn))


def _parts(body: Figure) -> list[Integers]:
    """Columns of trunk and root, and of each arm."""
    skeleton, joints = body.skeleton, trunk_joints(body)
    arms = [np.isin(joints, skeleton.descendants(skeleton.index(f"{side}Arm"))) for side in ("Left", "Right")]
    masks = [np.append(np.repeat(arm, 3), [False] * 3) for arm in arms]
    return [np.flatnonzero(mask) for mask in (~(masks[0] | masks[1]), *masks)]


class _Walkers:
    """What bodies are made from, and the bodies: `rotations` and `roots`; threads take blocks of people."""

    def __init__(
        self,
        body: Figure,
        cycles: Sequence[Cycle],
        deviation: float,
        paths: GroundPaths,
        rate: float,
        sizes: Array,
        chains: Integers,
        seed: int,
    ) -> None:
        self.cycles, self.deviation, self.paths, self.rate = cycles, deviation, paths, rate
        self.sizes, self.chains, self.seed = sizes, chains, seed
        self.figure = _as_arrays(body)
        self.distributions = [_CycleDistribution(one.captured, _parts(body)) for one in cycles]
        tables = np.stack([one.body for one in cycles])
        means = tables.mean(axis=1)
        self.body = means[:, None] + np.cos(0.5 * np.pi * deviation) * (tables - means[:, None])
        # The body of people at rest: the walk's mean, upright, legs almost straight.
        self.still = means.copy()
        self.still[:, :3] = 0.0
        self.still[:, -3:-1] = 0.0, body.standing_height
        people, frames = paths.speeds.shape
        shape = people, frames - 2 * paths.margin
        self.rotations = np.empty((*shape, body.skeleton.joints, 4), np.float32)
        self.roots = np.empty((*shape, 3), np.float32)

    def pose(self, person: int) -> None:
        """Pose one person, by random numbers of the seed and the person's number alone."""
        from marey.stage.walk import _kernels

        size, chain = float(self.sizes[person]), self.chains[person]
        own, draws = np.random.SeedSequence((self.seed, 1), spawn_key=(person,)).spawn(2)
        rng = np.random.default_rng(own)
        longer = float(np.exp(rng.normal(0.0, SETTINGS.strides)))
        mine = [self.cycles[c] for c in chain]
        table = [(one.speed, one.cadence / longer, one.duty, one.stride) for one in mine]
        speeds, cadences, duties, strides = np.array(table).T.copy()
        speed = self.paths.speeds[person]
        path = self.paths.positions[person], self.paths.headings[person]
        frames = len(speed)
        phase, stands, paces = np.empty(frames), np.empty(frames, np.bool_), np.empty((frames, 4))
        _kernels.step_along(
            speed, path, self.rate, size, (speeds, cadences, duties), SETTINGS, float(rng.random()), phase,
            stands, paces,
        )  # fmt: skip
        first = int(np.floor(phase[0])) - 2
        steps = int(phase[-1]) - first + 3
        scatter = rng.normal(size=(2, steps, 3)) * SETTINGS.scatter
        under = np.stack([one.under for one in mine])
        footfalls = np.empty((2, steps, 3))
        _kernels.footfalls((phase, stands, paces), path, under, size, scatter, first, footfalls)
        usual = np.median(speed[self.paths.present[person]]) / np.sqrt(size)
        distribution = self.distributions[chain[int(np.abs(speeds - usual).argmin())]]
        drawn = np.sin(0.5 * np.pi * self.deviation) * distribution.sample(draws), distribution.modes
        posture = rng.normal(0.0, SETTINGS.posture * self.deviation, self.body.shape[-1] - 3)
        posture = np.append(posture, np.zeros(3))
        posture[:3] = 0.0
        feet = np.stack([one.feet for one in mine])
        tables = self.body[chain] + posture, feet, strides, self.still[chain[0]] + posture
        _kernels.pose(
            self.figure, tables, drawn, (phase, paces, footfalls, first), path, self.rate, size, SETTINGS,
            self.rotations[person], self.roots[person], self.paths.margin,
        )  # fmt: skip


def _as_arrays(body: Figure) -> tuple[NDArray[np.generic], ...]:
    """The figure as the kernels take it."""
    legs = np.array(body.legs, np.int64)
    bones = body.positions[legs[:, 1:3]] - body.positions[legs[:, :2]]
    bones /= np.linalg.norm(bones, axis=-1, keepdims=True)
    hinges = np.array([1.0, 0.0, 0.0]) - bones[..., :1] * bones
    hinges /= np.linalg.norm(hinges, axis=-1, keepdims=True)
    offsets, trunk = np.array(body.skeleton.offsets, np.float64), np.array(trunk_joints(body), np.int64)
    axes = np.stack([hinges, bones, np.cross(hinges, bones)], axis=-2)
    soles = np.ascontiguousarray(body.positions[legs[:, 3], 1])
    return body.local, body.rotations, offsets, trunk, legs, axes, soles


@dataclass(frozen=True, eq=False)
class WalkingCrowd(Displayed):
    """Walking bodies of one skeleton, scaled per person.

    Attributes:
        skeleton: joints of the shared body.
        rotations: `(frames, people, joints, 4)`, float32, in the parents' frames; the root's in the world.
        roots: `(frames, people, 3)`, float32, metres, y up.
        sizes: `(people,)`, scale of each person's skeleton.
        present: `(frames, people)`.
        frame_rate: frames a second.
        ids: `(people,)`, of the tracks.
        outfits: `(people,)`, which of :func:`marey.stage.walk.figure.outfits` each wears.
        heights: `(people,)`, metres.
        source_skate: metres a second, foot skate of the captured walks.
        path_error: metres between bodies and their tracks, mean.
        origin: metres, position in the tracks' plan that is 0, 0 here; not 0, 0 for map coordinates.
    """

    skeleton: Skeleton
    rotations: NDArray[np.float32]
    roots: NDArray[np.float32]
    sizes: Array
    present: NDArray[np.bool_]
    frame_rate: float
    ids: NDArray[np.int64]
    outfits: NDArray[np.int64]
    heights: Array
    source_skate: float = 0.0
    path_error: float = 0.0
    origin: tuple[float, float] = (0.0, 0.0)
    name: str = ""

    frames = derived(len, "rotations", "Number of frames.")

    people = derived(width, "rotations", "Number of people.")

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.frames / self.frame_rate

    def person(self, number: int) -> Motion:
        """One of the people, from the first to the last sighting, as a clip of that person's size."""
        if not 0 <= number < self.people:
            raise InputError(f"person {number}: there are 0 to {self.people - 1}")
        seen = np.flatnonzero(self.present[:, number])
        when = slice(int(seen[0]), int(seen[-1]) + 1)
        bones = replace(self.skeleton, offsets=self.sizes[number] * self.skeleton.offsets)
        turns = self.rotations[when, number].astype(np.float64)
        turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
        name = f"person {self.ids[number]}"
        return Motion(bones, turns, self.roots[when, number].astype(np.float64), self.frame_rate, name=name)

    def foot_skate(self) -> float:
        """Mean horizontal speed of feet in contact, metres a second, of at most 60 people."""
        from marey.body.feet import contacts, slide_speed

        chosen = np.unique(np.linspace(0, self.people - 1, SAMPLED).astype(np.int64))
        motions = [motion for number in chosen if (motion := self.person(int(number))).frames > 5]
        found = [(slide_speed(motion, mask := contacts(motion)), mask.sum()) for motion in motions]
        speeds, weights = np.transpose(found) if found else np.zeros((2, 0))
        return float(speeds @ weights / weights.sum()) if weights.any() else 0.0

    def save(self, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
        """Write all people as skinned, animated bodies, `.glb` or `.gltf`."""
        from marey.stage.walk.gltf import write

        write(self, path, progress=progress)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {"kind": "walking crowd", "people": self.people, "joints": self.skeleton.joints}
