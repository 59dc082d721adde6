"""A crowd that meets constraints by the least deviation from its model of walking: `marey crowd direct`.

Courty 2013, section 7.2. The best of a few structured starts is refined: free walking, the wanted field as
desired velocity, every group leaning to one side. Shooting and collocation race for some iterations, and the
one that is ahead goes on; the report says which. The tracks are a run of the model under the controls found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from marey._arrays import Array, FloatArray, IntArray
from marey._random import Rng, as_generator
from marey._report import Report, Result
from marey._work import Progress
from marey.crowd.direct.constraints import (
    TYPES,
    Constraint,
    Constraints,
    Divergence,
    Formation,
    Path,
    Setting,
    State,
    Velocity,
    Vorticity,
)
from marey.crowd.direct.model import CrowdModel
from marey.crowd.direct.presets import PRESETS, Scenario, preset
from marey.crowd.direct.solvers import (
    Collocation,
    Ensemble,
    Shooting,
    Solution,
    Task,
    Unknowns,
    minimise,
    published,
)
from marey.crowd.direct.terms import BRISK, OnGrid, States, Term
from marey.crowd.evaluation.pedestrians import overlaps
from marey.crowd.polygons import rectangle
from marey.crowd.scenes import Scene
from marey.crowd.scenes import preset as scene_preset
from marey.crowd.simulation.simulate import pedestrians_of
from marey.crowd.tracks import Tracks
from marey.errors import InputError

METHODS = ("auto", "shooting", "collocation", "process1", "process2")


@dataclass(frozen=True)
class SoftCrowd:
    """The crowd that is directed first where continuous quantities are asked for.

    Attributes:
        one_in: of so many people.
        strength: of its repulsion, N; over a range in metres.
        knot: seconds between its knots.
        iterations: the most.
        width: metres over which its controls are spread.
    """

    one_in: int = 3
    strength: float = 300.0
    range: float = 0.2
    knot: float = 2.0
    iterations: int = 60
    width: float = 0.6


@dataclass(frozen=True)
class DirectSettings:
    """Numbers of the search.

    Attributes:
        knot: seconds between the knots of controls, for shooting.
        race: share of the iterations after which the better method goes on.
        leans: m/s² by which groups are pushed to their right, or left, in some of the starts.
        shares: of a wanted vorticity or divergence that others add to what people want,
        widths: over so many half widths of its region,
        before: seconds ahead of its time.
        spread: metres by which starts of an ensemble differ.
        stand: seconds before a formation from which those who should stand no longer want to walk.
        haste: seconds before a time from which on people walk no faster to their places.
        show: seconds from one preview to the next.
        soft: the crowd that stands for a continuum.
        after: seconds after the last constraint in which people are controlled, so that none bump then.
    """

    knot: float = 0.5
    race: float = 0.1
    leans: tuple[float, ...] = (0.06, 0.12)
    shares: tuple[float, ...] = (0.33, 0.67)
    widths: tuple[float, ...] = (1.0, 1.6)
    before: tuple[float, ...] = (3.0, 6.0)
    spread: float = 0.02
    stand: float = 3.0
    haste: float = 0.5
    show: float = 1.0
    soft: SoftCrowd = SoftCrowd()
    after: float = 4.0


SETTINGS = DirectSettings()


@dataclass(frozen=True)
class DirectReport(Report):
    """How well a crowd does what it should.

    Attributes:
        iterations: Of the method that won.
        seconds: Of computing.
        method: "shooting", "collocation", "process1" or "process2".
        start: What was refined: "free", "field", or groups that lean to their "right 0.06", "left 0.12", …
        constraints: Type, `error`, its unit, and the errors of free walking and of the start alone.
        overlap_max_m: The deepest overlap of two bodies.
        control_rms: m/s², over all people and times.
        control_rms_max: m/s², of the person who is controlled most.
        speed_max: m/s.
        costs: After each iteration of the method that won.
        runs: Costs of the controls for each of several starts.
    """

    iterations: int
    seconds: float
    method: str
    start: str
    constraints: list[dict[str, Any]]
    overlap_max_m: float
    control_rms: float
    control_rms_max: float
    speed_max: float
    costs: tuple[float, ...]
    runs: tuple[float, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True, eq=False)
class Preview:
    """What was found so far.

    Attributes:
        iteration: Of the present method.
        cost: Then.
        errors: Of each constraint.
        tracks: Of all people up to the last constraint.
    """

    iteration: int
    cost: float
    errors: list[float]
    tracks: Tracks


@dataclass(frozen=True, eq=False)
class DirectResult(Result):
    """A directed crowd.

    Attributes:
        tracks: Of all people, a frame a step.
        controls: `(steps, people, 2)`, m/s².
        model: Whose run under the controls the tracks are.
        scenario: Scene, people and constraints.
        free: Tracks without control.
        report: What was measured.
    """

    tracks: Tracks
    controls: FloatArray
    model: CrowdModel
    scenario: Scenario
    free: Tracks
    report: DirectReport


def direct(
    scene: Scene | Scenario | str,
    constraints: Constraints | None = None,
    *,
    method: str = "auto",
    iterations: int = 400,
    runs: int = 1,
    start: Tracks | None = None,
    rng: Rng = 0,
    progress: Progress | None = None,
    preview: Callable[[Preview], None] | None = None,
) -> DirectResult:
    """Make a crowd do what constraints say.

    Args:
        scene: A scene, a preset, or the name of either.
        constraints: What people should do; a preset has its own.
        method: "auto"; "shooting"; "collocation"; or "process1", "process2", as published.
        iterations: The most.
        runs: Starts that differ by some centimetres, whose mean cost is minimised (shooting).
        start: Tracks of an earlier result to go on from.
        rng: Seed or generator, of people and starts.
        progress: Called with the iterations done and the most there may be.
        preview: Called about once a second with what has been found so far.

    >>> from marey.crowd.direct import Constraints, State
    >>> there = Constraints(8.0, (State([0], 8.0, [[9.0, 2.0]]),))
    >>> found = direct("rendezvous", there, iterations=20)
    >>> found.report.constraints[0]["error"] < found.report.constraints[0]["free"]
    True
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    random = as_generator(rng)
    scenario = _scenario(scene, constraints, random)
    task, setting = _task(scenario)
    began = time.perf_counter()
    shape = (len(setting.free) - 1, task.model.count, 2)

    def whole(controls: Array) -> Array:
        """Controls up to the horizon: after all that is asked for there are none."""
        return np.concatenate([controls, np.zeros((shape[0] - len(controls), *shape[1:]))])

    free = task.model.run(np.zeros(shape))
    ids = np.arange(task.model.count)

    def look(iteration: int, cost: float, controls: Array) -> None:
        if preview is not None:
            run = task.model.run(controls)
            errors = [max(term.error(*run) for term in terms) for terms in _terms(scenario, setting)]
            preview(Preview(iteration, cost, errors, Tracks(run[0], 1.0 / task.model.dt, ids)))

    watch = _Watch(progress, iterations, look)
    starts = (
        _starts(task, setting, scenario)
        if start is None
        else {"given": _controls_of(task.model, start, task.steps)}
    )
    costs = {name: task.cost(controls) for name, controls in starts.items()}
    chosen = min(costs, key=lambda name: costs[name])
    solution, won = _solved(task, starts[chosen], method, iterations, runs, random, watch)
    controls = whole(solution.controls)
    positions, velocities = task.model.run(controls)
    tracks, before = (
        Tracks(one, 1.0 / task.model.dt, ids, name=scenario.scene.name) for one in (positions, free[0])
    )
    began_with = task.model.run(whole(starts[chosen]))
    each = np.sqrt((controls**2).sum(axis=2).mean(axis=0))
    report = DirectReport(
        iterations=solution.iterations,
        seconds=round(time.perf_counter() - began, 2),
        method=won,
        start=chosen,
        constraints=[
            _told(one, terms, (positions, velocities), free, began_with)
            for one, terms in zip(scenario.constraints.constraints, _terms(scenario, setting), strict=True)
        ],
        overlap_max_m=round(overlaps(tracks, task.model.people.radius, tolerance=1.0).deepest, 4),
        control_rms=round(float(np.sqrt((controls**2).sum(axis=2).mean())), 4),
        control_rms_max=round(float(each.max()), 4),
        speed_max=round(float(np.linalg.norm(velocities, axis=2).max()), 3),
        costs=tuple(solution.costs),
        runs=solution.runs,
        interrupted=solution.interrupted,
    )
    return DirectResult(tracks, controls, task.model, scenario, before, report)


class _Watch:
    """Counts the iterations of all that is tried, and shows what was found about once a second."""

    def __init__(
        self, progress: Progress | None, total: int, look: Callable[[int, float, Array], None]
    ) -> None:
        self.progress, self.total, self.done, self.look = progress, total, 0, look
        self.looked = time.monotonic()

    def __call__(self, iteration: int, cost: float, controls: Callable[[], Array]) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total)
        if time.monotonic() - self.looked > SETTINGS.show:
            self.look(iteration, cost, controls())
            self.looked = time.monotonic()


def _scenario(
    scene: Scene | Scenario | str, constraints: Constraints | None, rng: np.random.Generator
) -> Scenario:
    if isinstance(scene, str):
        scene = preset(scene, rng) if scene in PRESETS else scene_preset(scene)
    if isinstance(scene, Scenario):
        return scene if constraints is None else replace(scene, constraints=constraints)
    if constraints is None:
        raise InputError(f"a scene needs constraints; presets have their own: {', '.join(PRESETS)}")
    people = pedestrians_of(scene, int(rng.integers(2**31)), "control")
    return Scenario(scene, people, None, constraints)


def _task(scenario: Scenario) -> tuple[Task, Setting]:
    """What is to be solved, and what its constraints are about."""
    if not scenario.constraints.constraints:
        raise InputError("constraints: there is none")
    asked, scene = scenario.constraints, scenario.scene
    steps, model = round(asked.horizon / asked.dt), scenario.model
    groups: dict[str, IntArray] = {}
    for number, group in enumerate(scene.groups):
        members = np.flatnonzero(np.asarray(scenario.people.goal) == number)
        groups |= {str(number): members, chr(ord("A") + number % 26): members}
        groups[group.goal] = np.concatenate([groups.get(group.goal, members[:0]), members])
    regions = {name: goal.area for name, goal in scene.goals.items()}
    regions |= {"ground": rectangle(0, 0, *scene.size), **scenario.regions}
    setting = Setting(model, np.zeros((steps + 1, model.count, 2)), groups, regions, scene.obstacles)
    until = np.full(model.count, np.inf)
    for one in asked.constraints:
        if isinstance(one, Formation) and one.stand:
            until[setting.people(one.who)] = one.t - SETTINGS.stand
    model = model.standing(until)
    setting = replace(setting, model=model, free=model.run(np.zeros((steps, model.count, 2)))[0])
    terms = [term for found in _terms(scenario, setting) for term in found]
    asked_until = max(int(term.steps.max()) for term in terms) + round(SETTINGS.after / asked.dt)
    return Task(model, terms, min(steps, asked_until), asked.accel_std), setting


def _terms(scenario: Scenario, setting: Setting) -> list[list[Term]]:
    """Of each constraint; a mistake names it."""
    found = []
    for number, one in enumerate(scenario.constraints.constraints):
        try:
            found.append(one.terms(setting))
        except InputError as error:
            raise InputError(f"constraint {number} ({_type(one)}): {error}") from error
    return found


def _type(constraint: Constraint) -> str:
    return next(name for name, kind in TYPES.items() if type(constraint) is kind)


def _starts(task: Task, setting: Setting, scenario: Scenario) -> dict[str, Array]:
    """Controls to refine, by name."""
    pairs = list(zip(scenario.constraints.constraints, _terms(scenario, setting), strict=True))
    starts = _flowing(task, pairs)
    # Places of a formation are near those of free walking, from which collocation gets further.
    states = [term for one, terms in pairs if isinstance(one, State | Path) for term in terms]
    if states:
        starts["places"] = task.model.following(partial(_towards, states, task.model.dt), task.steps)
    if any(isinstance(term, OnGrid) for term in task.terms):
        starts["continuum"] = _continuum(task, pairs)
    return starts


def _flowing(task: Task, pairs: Sequence[tuple[Constraint, list[Term]]]) -> dict[str, Array]:
    """No controls, and those with which people follow wanted fields, whirl or spread."""
    starts = {"free": np.zeros(task.shape)}
    for one, terms in pairs:
        if isinstance(one, Velocity):
            starts["field"] = task.model.following(one.at, task.steps)
        if isinstance(one, Vorticity | Divergence):
            starts |= _turning(task, terms[0], one)
    return starts


def _continuum(task: Task, pairs: Sequence[tuple[Constraint, list[Term]]]) -> Array:
    """Controls of a soft crowd of every third person, which flows as a continuum, spread among all people.

    Its forces give way, so that slow changes are found; people then take the mean control of those of their
    goal about them.
    """
    model, soft = task.model, SETTINGS.soft
    few = np.arange(0, model.count, soft.one_in)
    parcels = model.people[few]
    parcels = replace(parcels, radius=parcels.radius * np.sqrt(soft.one_in))
    flow = replace(model, people=parcels, until=model.until[few], strength=soft.strength, range=soft.range)
    coarse = replace(task, model=flow, terms=[term for term in task.terms if isinstance(term, OnGrid)])
    base = min(_flowing(coarse, pairs).values(), key=coarse.cost)
    shooting = Shooting(coarse, soft.knot, base)
    found = minimise(shooting, np.zeros(shooting.size), soft.iterations, lambda *_: None).controls
    places, _ = flow.run(found)
    goals, own = np.asarray(flow.people.goal), np.asarray(model.people.goal)

    def carried(y: Array, seconds: float) -> Array:
        n = min(round(seconds / model.dt), task.steps - 1)
        squared = ((y[:, None] - places[n][None]) ** 2).sum(axis=2) + 1e6 * (own[:, None] != goals)
        share = np.exp(-0.5 * squared / soft.width**2)
        mean = (share @ found[n]) / (share.sum(axis=1, keepdims=True) + 0.1)
        return np.asarray(mean / model.friction)

    return model.following(carried, task.steps, besides=True)


def _towards(terms: Sequence[Term], dt: float, y: Array, seconds: float) -> Array:
    """Velocities `(people, 2)` with which people come to their next place in time; NaN of those without."""
    result = np.full_like(y, np.nan)
    for term in terms:
        if not isinstance(term, States) or term.places is None:
            continue
        times = term.steps * dt
        k = int(np.searchsorted(times, seconds, side="right"))
        if k < len(times):
            off = (term.places[k] - y[term.who]) / max(times[k] - seconds, SETTINGS.haste)
            speed = np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-9)
            result[term.who] = off * np.minimum(1.0, BRISK / speed)
    return result


def _turning(task: Task, term: Term, asked: Vorticity | Divergence) -> dict[str, Array]:
    """Controls that lean groups to one side, or add a whirl or a source to what people want, by name."""
    assert isinstance(term, OnGrid)
    model = task.model
    starts: dict[str, Array] = {}
    first, last = term.steps[0], term.steps[-1]
    ahead = np.array([goal.at(model.people.positions) for goal in model.goals])
    ahead = ahead[model.people.goal, np.arange(model.count)]
    right = np.stack([ahead[:, 1], -ahead[:, 0]], axis=1)
    time = first * model.dt

    def start(name: str, added: Callable[[Array], Array], begin: float, end: float) -> None:
        def within(places: Array, seconds: float) -> Array:
            return added(places) if begin <= seconds < end else np.zeros_like(places)

        starts[name] = model.following(within, task.steps, besides=True)

    for lean, (side, sign) in product(SETTINGS.leans, (("right", 1), ("left", -1))):

        def leaning(places: Array, aside: Array = sign * lean * right / model.friction) -> Array:
            return aside

        start(f"{side} {lean:g}", leaning, time / 8, 0.55 * time)
    middle = term.cells.mean(axis=0)
    half = 0.5 * float(np.ptp(term.cells, axis=0).max())
    # A solid body that turns by q / 2, or grows by q / 2, has a vorticity, or a divergence, of q.
    turn = np.eye(2) if term.kind == "divergence" else np.array([[0.0, -1.0], [1.0, 0.0]])
    for share, width, before in product(SETTINGS.shares, SETTINGS.widths, SETTINGS.before):

        def turned(places: Array, share: float = share, width: float = width * half) -> Array:
            off = places - middle
            near = np.exp(-0.5 * ((off / width) ** 2).sum(axis=1, keepdims=True))
            return np.asarray(0.5 * share * asked.value * near * (off @ turn.T))

        name = f"{term.kind} {share:.2g} over {width * half:.2g} m from {time - before:g} s"
        start(name, turned, time - before, last * model.dt)
    return starts


def _solved(
    task: Task, start: Array, method: str, iterations: int, runs: int, rng: np.random.Generator, watch: _Watch
) -> tuple[Solution, str]:
    """The best controls from a start, and the method that found them."""
    if method in ("process1", "process2"):
        return published(task, iterations, watch, inner=int(method == "process2")), method
    if runs > 1 and method != "shooting":
        raise InputError("runs: several starts are solved by shooting; give method='shooting'")
    # Few knots first: slow changes have fewer minima to get stuck in.
    shooting: Unknowns = Shooting(task, (2.0 if method == "auto" else 1.0) * SETTINGS.knot, start)
    if runs > 1:
        people = task.model.people
        moved = [rng.normal(0.0, SETTINGS.spread, people.positions.shape) * (n > 0) for n in range(runs)]
        models = [
            replace(task.model, people=replace(people, positions=people.positions + one)) for one in moved
        ]
        shooting = Ensemble([Shooting(replace(task, model=model), SETTINGS.knot, start) for model in models])
    ways: dict[str, Unknowns] = {
        "shooting": shooting,
        "collocation": Collocation(task, task.model.run(start)),
    }
    tried: dict[str, Solution] = {}
    heat = max(8, round(SETTINGS.race * iterations)) if method == "auto" else iterations
    for name in ways if method == "auto" else (method,):
        tried[name] = minimise(ways[name], np.zeros(ways[name].size), heat, watch)
        if tried[name].interrupted:
            break
    won = min(tried, key=lambda name: task.cost(tried[name].controls))
    solution = tried[won]
    interrupted = any(one.interrupted for one in tried.values())
    if method == "auto" and not interrupted:
        last, white = ways[won], solution.white
        if won == "shooting":
            last = Shooting(task, SETTINGS.knot, solution.controls)
            white = np.zeros(last.size)
        rest = minimise(last, white, max(iterations - solution.iterations, 1), watch)
        solution = replace(rest, costs=solution.costs + rest.costs[1:])
    if isinstance(shooting, Ensemble):
        costs = [one.task.cost(solution.controls) for one in shooting.members]
        solution = replace(solution, runs=tuple(round(cost, 2) for cost in costs))
    return replace(solution, interrupted=interrupted or solution.interrupted), won


def _controls_of(model: CrowdModel, tracks: Tracks, steps: int) -> Array:
    """The controls under which people walk along tracks."""
    if tracks.agents != model.count or tracks.frames < steps + 1 or not tracks.present[: steps + 1].all():
        raise InputError(
            f"start: {tracks.agents} people in {tracks.frames} frames; needed are tracks of a run of these "
            f"{model.count} people in {steps + 1} frames"
        )
    positions = np.asarray(tracks.positions[: steps + 1], dtype=np.float64)
    moved = np.diff(positions, axis=0) / model.dt
    velocities = np.concatenate([np.asarray(model.people.velocities)[None], moved])
    wanted = np.diff(velocities, axis=0) / model.dt + model.friction * velocities[:-1]
    return model.needed_controls(positions, wanted)


def _told(constraint: Constraint, terms: Sequence[Term], *runs: tuple[Array, Array]) -> dict[str, Any]:
    """Errors of the result, of free walking and of the start."""
    found, free, start = (round(max(term.error(*run) for term in terms), 4) for run in runs)
    told = {"type": _type(constraint), "error": found, "unit": constraint.unit, "free": free, "start": start}
    grids = [term for term in terms if isinstance(term, OnGrid) and term.coverage]
    return told | ({"covered": round(grids[0].error(*runs[0], covered=True), 4)} if grids else {})
