"""Density of a crowd from a video: `marey crowd density` (Courty 2013, section 6.2; AD-28 of the docs).

The crowd's flow moves the density, a law of walking says where people want to go and how they slow down, and
the covered share of the image says how many there are. Each window of some seconds is one variational
assimilation; windows overlap, and begin where the one before came to. Nothing outside the windows is held,
so a video may have any length, or still be running. Cost: iterations × cells × steps × 1 µs a window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.crowd.capture.framing import filled
from marey.crowd.density.transport import (
    NUMBERS,
    FlowData,
    FlowObservation,
    LawSettings,
    Transport,
    scene_directions,
)
from marey.crowd.density.view import PACKED, CoverageObservation, GroundView
from marey.crowd.scales import FlowFrame
from marey.crowd.scenes import Scene
from marey.statistics.assimilation import Diagonal, Observation, Problem, SmoothGrid, Stacked, assimilate


@dataclass(frozen=True, kw_only=True)
class DensitySettings:
    """Numbers of an estimate, in metres and seconds.

    Attributes:
        step: Seconds of a step of the model, at least a frame.
        window: Seconds assimilated together.
        overlap: Seconds that a window has in common with the next.
        iterations: Of the first window, and of the others.
        flow: Standard deviation of the observed velocity where people are surely seen, m/s.
        law: The same of the law of walking.
        law_weight: What the law's disagreement with the motion counts as evidence of density, 0 to 1: it
            errs in the same way for seconds and metres.
        covered: Standard deviation of the covered share of a silhouette.
        start: The same of the density at first, as a share of it and in people per m².
        carried: The same at the start of later windows.
        drift: The same of what the model gains or loses in a second, people per m².
        unseen: The same where the camera does not see: who comes in from there is not known.
        length: Correlation of these errors, metres.
        numbers: Of the logarithms of the law's numbers where they are estimated.
    """

    step: float = 0.2
    window: float = 5.0
    overlap: float = 1.0
    iterations: tuple[int, int] = (30, 12)
    flow: float = 0.15
    law: float = 0.6
    law_weight: float = 0.1
    covered: float = 0.3
    start: tuple[float, float] = (1.0, 0.3)
    carried: tuple[float, float] = (0.2, 0.1)
    drift: float = 0.1
    unseen: float = 0.5
    length: float = 0.7
    numbers: float = 0.3


SETTINGS = DensitySettings()


@dataclass(frozen=True, eq=False)
class Seen:
    """What is seen of a step: velocities `(cells, 2)` m/s, how surely `(cells,)`, covered `(pixels,)`."""

    velocity: Array
    sure: Array
    covered: Array | None


@dataclass(frozen=True, eq=False)
class Moment:
    """The crowd at a time.

    Attributes:
        density: `(cells,)` people per m²; without a unit for the model `disturbance`.
        velocity: `(cells, 2)` m/s.
        spread: `(cells,)`, posterior standard deviation of the density, or None.
    """

    density: Array
    velocity: Array
    spread: Array | None = None


def steps_seen(
    frames: Iterable[FlowFrame], view: GroundView, frame_rate: float, per_step: int, every: int = 1
) -> Iterator[Seen]:
    """Fields and presence as steps of `per_step` frames; presence counts in one step of `every`."""
    left, number = iter(frames), 0
    while group := list(islice(left, per_step)):
        flow = np.mean([field for field, _ in group], axis=0)
        shown = group[0][1]
        covered = None if shown is None or number % every else view.presence(shown, flow * frame_rate)
        yield Seen(view.motion(flow, frame_rate), view.confidence(shown), covered)
        number += 1


class Estimator:
    """Densities of a scene as its video goes on.

    Args:
        scene: Walls and goals.
        view: How images show its ground.
        frame_time: Seconds of a step.
        model: "continuity" or "disturbance".
        law: Its numbers.
        initial: `(cells,)`, the density at first; None = by how much of the images is covered.
        fit_law: Whether the numbers of the law are estimated too.
        spread: Samples by which the posterior spread is estimated; 0 = it is not.
        settings: Of the method.
    """

    def __init__(
        self,
        scene: Scene,
        view: GroundView,
        frame_time: float,
        *,
        model: str = "continuity",
        law: LawSettings | None = None,
        initial: ArrayLike | None = None,
        fit_law: bool = False,
        spread: int = 0,
        settings: DensitySettings = SETTINGS,
    ) -> None:
        self.view, self.ground, self.frame_time = view, view.ground, frame_time
        usual = LawSettings.of(model) if law is None else law
        # Where people want to go is not known, so they do not want anything.
        self.law = usual if scene.goals else replace(usual, alpha=1e-6)
        self.model, self.settings, self.fit_law, self.spread = model, settings, fit_law, spread
        self.directions, self.kept = scene_directions(scene, self.ground)
        self.initial = None if initial is None else np.asarray(initial, dtype=np.float64)
        self.evaluations = 0

    def moments(self, seen: Iterable[Seen]) -> Iterator[tuple[Moment, Moment]]:
        """The crowd at the start and the end of each step, a window later than it is seen at most."""
        settings, left = self.settings, iter(seen)
        length = max(2, round(settings.window / self.frame_time))
        stride = max(1, length - round(settings.overlap / self.frame_time))
        lag = (length - stride) // 2
        known = list(islice(left, length))
        state: Array | None = None
        done = 0
        while len(known) > done:
            found = self._window(known, state)
            more = list(islice(left, stride)) if len(known) == length else []
            last = stride + lag if more else len(known)
            yield from found[1][done:last]
            state, known, done = found[0][stride] if more else None, known[stride:] + more, lag
            if not more:
                return

    def _window(self, seen: list[Seen], state: Array | None) -> tuple[Array, list[tuple[Moment, Moment]]]:
        """States, and moments at both ends of each step."""
        settings, first = self.settings, state is None
        transport = self._transport(seen)
        if state is None:
            state = transport.state(self._first(seen, transport))
        density = np.maximum(transport.density(state), 0.0)
        background = np.concatenate([density.ravel(), state[-len(NUMBERS) :]])
        share, least = settings.start if first else settings.carried
        cells = settings.length / self.ground.spacing
        # Where the law's numbers are known their deviation is 0.
        numbers = np.full(len(NUMBERS), settings.numbers if self.fit_law else 0.0)
        parts = [SmoothGrid(self.ground.free, share * one + least, cells) for one in density]
        knots = max(1, round(1.0 / self.frame_time))
        drift = np.where(self.view.inside, settings.drift, settings.unseen) * self.frame_time
        drifts = [SmoothGrid(self.ground.free, drift, cells) for _ in density]
        still = Diagonal(np.zeros(len(NUMBERS)))
        problem = Problem(
            transport,
            background,
            len(seen),
            self._observations(transport, seen),
            Stacked([*parts, Diagonal(numbers)]),
            Stacked([*drifts, still]),
            knots,
        )
        found = assimilate(problem, iterations=settings.iterations[0 if first else 1])
        self.evaluations += found.evaluations
        deviations = found.deviations(samples=self.spread) if self.spread else None
        total = np.maximum(transport.density(found.states).sum(axis=1), 0.0)
        if self.model == "disturbance":
            # Of a disturbance only differences act on anything: its least value is 0.
            total -= total.min(axis=1, keepdims=True)
        spread = None if deviations is None else np.sqrt((transport.density(deviations) ** 2).sum(axis=1))
        velocity = [transport.velocity(n, found.states[n]) for n in range(len(seen))]
        velocity.append(velocity[-1])
        moments = [
            Moment(total[n], velocity[n], None if spread is None else spread[n]) for n in range(len(seen) + 1)
        ]
        return found.states, list(pairwise(moments))

    def _transport(self, seen: list[Seen]) -> Transport:
        settings = self.settings
        sure = np.stack([one.sure for one in seen])
        observed = np.stack([one.velocity for one in seen])
        # r = (R + Q)^(-1/2) (v observed - v of the law), of which the cost counts a share; gain Q (R + Q)^-1.
        precision = sure / settings.flow**2
        noise = settings.law**2
        whole = np.sqrt(precision / (1.0 + precision * noise))
        weight = np.sqrt(settings.law_weight)
        one = np.eye(2)
        scale = (weight * whole)[..., None]
        flow = FlowData(
            scale[..., None] * one, scale * observed, (noise * whole / weight)[..., None, None] * one
        )
        return Transport(
            self.ground,
            self.directions,
            flow,
            frame_time=self.frame_time,
            model=self.model,
            law=self.law,
            kept=self.kept,
            speed=max(1.25 * self.law.alpha, float(np.quantile(np.abs(observed[sure > 0.5]), 0.99)))
            if (sure > 0.5).any()
            else None,
        )

    def _observations(self, transport: Transport, seen: list[Seen]) -> list[Observation]:
        found: list[Observation] = [FlowObservation(transport)]
        covered = [one.covered for one in seen]
        if self.model == "continuity" and any(one is not None for one in covered):
            nothing = np.full(self.view.weights.shape, np.nan)
            values = np.stack([nothing if one is None else one for one in covered])
            found.append(CoverageObservation(transport, self.view, values, self.settings.covered))
        return found

    def _first(self, seen: list[Seen], transport: Transport) -> Array:
        """Densities before anything is assimilated `(populations, cells)`, shared out by directions."""
        total, covered = self.initial, seen[0].covered
        if total is None:
            if covered is None or self.model == "disturbance":
                total = np.full(self.ground.cells, 0.3)
            else:
                total = uncovered(self.view, covered)
        around = np.pad(self.directions, ((0, 0), (0, 1)))[:, self.ground.around]
        wanted = 0.5 * (around[..., [0, 2]] + around[..., [1, 3]])
        agrees = np.exp(3.0 * seen[0].sure * np.einsum("kci,ci->kc", wanted, seen[0].velocity))
        return np.asarray(total * agrees / agrees.sum(axis=0))


def uncovered(view: GroundView, covered: Array, iterations: int = 20) -> Array:
    """The density `(cells,)` that explains one image's covered share `(pixels,)` (Richardson and Lucy)."""
    from cv2 import GaussianBlur

    known = np.isfinite(covered) & (view.weights > 0)
    areas = view.silhouettes[known]
    bodies = -np.log(1.0 - np.minimum(covered[known], 0.8))
    reach, whole = (np.asarray(one.sum(axis=0)).ravel() for one in (areas, view.silhouettes))
    shown = (reach > 0.6 * whole) & (whole > 0.5 * np.median(whole[whole > 0]))
    # Too little is known to go on from there.
    if shown.sum() < 0.1 * view.ground.free.size:
        return np.full(view.ground.cells, 0.3)
    density = np.full(view.ground.cells, 0.3)
    for _ in range(iterations):
        density *= (areas.T @ (bodies / np.maximum(areas @ density, 1e-9))) / np.maximum(reach, 1e-9)
        density[~shown] = 0.3
    # Where too little is known the crowd goes on as it is beside.
    free = view.ground.free
    known_cells, plane = free.copy(), np.zeros(free.shape, np.float32)
    known_cells[free], plane[free] = shown, PACKED * (1.0 - np.exp(-density / PACKED))
    return np.asarray(GaussianBlur(filled(plane, known_cells), (0, 0), 1.0)[free], np.float64)
