"""Gradients of a directed crowd beside JAX: `scan` and `grad` over all pairs, walls and goals included.

The same model, steps and cost for both: people of the crossing between its walls, on the way along fields of
directions, are asked to be elsewhere at the end; the cost's gradient by the controls of every step is
compared, and timed as the CPU time of one process, least of several. Then what a person and step cost
forwards and backwards, and, with --large, a word by 500 people and two minutes of 1,000. Exits with 1 where
a bar is missed; without JAX its part is left out.

    python benchmarks/crowd_direct.py [--large]
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import resource
import sys
import time

import numpy as np
from _ledger import record, record_limit

from marey.crowd.direct import Constraints, DirectResult, Formation, direct, preset
from marey.crowd.direct.direct import _task
from marey.crowd.direct.model import REACH, WALL_REACH, CrowdModel
from marey.crowd.direct.presets import Scenario, _block, assembled
from marey.crowd.direct.terms import States
from marey.crowd.simulation.routes import flattened

BARS = {(40, 400): 20.0, (152, 800): 50.0}
REPEATS = 5


def main() -> int:
    missed = []
    for (count, steps), bar in BARS.items():
        missed += compared(count, steps, bar)
    if "--large" in sys.argv:
        missed += large()
    print("bars met" if not missed else f"bars missed: {', '.join(missed)}")
    return len(missed) > 0


def compared(count: int, steps: int, bar: float) -> list[str]:
    model, term = task(count, steps)
    controls = np.random.default_rng(1).normal(0, 0.1, (steps, count, 2))

    memory: list = []

    def ours() -> np.ndarray:
        positions, velocities, pairs = model.run_and_keep(controls, *memory)
        memory[:] = [pairs]
        by_y, by_u = np.zeros((2, *positions.shape))
        _, by_y[-1], by_u[-1] = term.evaluate(0, positions[-1], velocities[-1])
        return model.sweep(positions, by_y, by_u, pairs)

    own = least(ours)
    print(
        f"{count} people, {steps} steps: {1e3 * own:.1f} ms, {1e9 * own / count / steps:.0f} ns a person-step"
    )
    try:
        theirs = jax_gradient(model, term)
    except ImportError:
        print("  JAX is not installed: pip install jax; its part is left out")
        return []
    peer = theirs(controls)
    off = np.abs(ours() - peer).max() / np.abs(peer).max()
    cost = least(lambda: theirs(controls))
    print(f"  JAX {1e3 * cost:.0f} ms ({cost / own:.0f}×); gradients differ by {off:.1e} of the largest")
    record(
        f"gradient of a directed crowd, {count} people, {steps} steps",
        own,
        cost,
        peer="JAX scan + grad",
        bar=bar,
    )
    missed = [] if cost / own >= bar else [f"{count} people: {cost / own:.0f}×"]
    # Over 40 s of a jam neighbouring runs part: there rounding alone changes gradients.
    differ = off > 1e-6 and steps <= 400
    return missed + ([f"{count} people: gradients differ by {off:.1e}"] if differ else [])


def least(run) -> float:
    """Seconds of CPU, the least of several; the first run compiles."""
    run()
    best = np.inf
    for _ in range(REPEATS):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return best


def task(count: int, steps: int) -> tuple[CrowdModel, States]:
    """People of the crossing, each to be a metre away from where they would be."""
    scenario = preset("crossing", 0)
    chosen = np.random.default_rng(0).permutation(scenario.people.count)[:count]
    model = CrowdModel.of_scene(scenario.scene, scenario.people[chosen])
    there = model.run(np.zeros((steps, count, 2)))[0][-1] + np.random.default_rng(2).normal(size=(count, 2))
    return model, States(np.arange(count), np.array([steps]), there[None])


def jax_gradient(model: CrowdModel, term: States):
    """The gradient of the same cost by controls, as a function of them."""
    import jax
    import jax.numpy as jnp

    people, walls = model.people, model.walls
    strength, scale, dt = model.strength, model.range, model.dt
    vectors, heads = (jnp.asarray(one) for one in flattened(list(model.goals)))
    head = heads[np.asarray(people.goal)]
    features, around = walls.features, walls.around
    faces, corners = features[features[:, 4] >= 0], features[features[:, 4] < 0]
    most = int(corners[:, 6].max())
    sides = np.zeros((len(corners), most, 2))
    for k, corner in enumerate(corners):
        sides[k, : int(corner[6])] = around[int(corner[5]) : int(corner[5] + corner[6])]
    sums = people.radius[:, None] + people.radius[None]
    inverse_tau = 1.0 / people.response_time[:, None]

    def will(y):
        rows, columns = head[:, 1].astype(int), head[:, 2].astype(int)
        at = (y - head[:, 3:5]) / head[:, 5:]
        x, z = jnp.clip(at[:, 0], 0.0, columns - 1.0), jnp.clip(at[:, 1], 0.0, rows - 1.0)
        column, row = jnp.minimum(x.astype(int), columns - 2), jnp.minimum(z.astype(int), rows - 2)
        p, q = (x - column)[:, None], (z - row)[:, None]
        start = head[:, 0].astype(int) + row * columns + column
        low = (1 - p) * vectors[start] + p * vectors[start + 1]
        high = (1 - p) * vectors[start + columns] + p * vectors[start + columns + 1]
        mixed = (1 - q) * low + q * high
        length = jnp.sqrt(jnp.maximum((mixed**2).sum(axis=1, keepdims=True), 1e-18))
        return mixed / length

    def repelled(off, squared, radius, counts):
        d = jnp.sqrt(jnp.where(counts, squared, 1.0))
        push = jnp.where(counts, strength * jnp.exp((radius - d) / scale) / d, 0.0)
        return (push[..., None] * off).sum(axis=1)

    def accelerations(y, u):
        off = y[:, None] - y[None]
        squared = (off**2).sum(axis=-1)
        force = repelled(off, squared, sums, (squared < REACH**2) & ~np.eye(len(y), dtype=bool))
        away = y[:, None] - faces[None, :, :2]
        along = (away * faces[None, :, 2:4]).sum(axis=-1)
        across = away[..., 1] * faces[:, 2] - away[..., 0] * faces[:, 3]
        normal = across[..., None] * np.stack([-faces[:, 3], faces[:, 2]], axis=1)
        near = (along > 0) & (along < faces[:, 4]) & (across**2 < WALL_REACH**2)
        force += repelled(normal, across**2, people.radius[:, None], near)
        away = y[:, None] - corners[None, :, :2]
        squared = (away**2).sum(axis=-1)
        beside = (jnp.einsum("ncd,ckd->nck", away, sides) > 0).any(axis=-1)
        force += repelled(away, squared, people.radius[:, None], ~beside & (squared < WALL_REACH**2))
        return (people.desired_speed[:, None] * will(y) - u) * inverse_tau + force / people.mass[:, None]

    def step(state, control):
        y, u = state
        u = u + dt * (accelerations(y, u) + control)
        return (y + dt * u, u), None

    def cost(controls):
        start = jnp.asarray(people.positions), jnp.asarray(people.velocities)
        (y, _), _ = jax.lax.scan(step, start, controls)
        return 0.5 * (((y - term.places[0]) / term.place_std) ** 2).sum()

    gradient = jax.jit(jax.grad(cost))
    return lambda controls: np.asarray(gradient(jnp.asarray(controls)))


def large() -> list[str]:
    """A word of twelve letters by 500 people, then 1,000 people for two minutes."""
    missed = []
    standing = _block((5.0, 10.0), (84, 6), 1.3)[:500]
    word = "CHOREOGRAPHY"
    asked = Constraints(20.0, (Formation("all", 20.0, word, height=10.0, pos_std=0.06),))
    scenario = assembled("word", (120, 60), [standing], [(0, 1)], asked, np.random.default_rng(0))
    seconds, found = timed(scenario, "collocation", 150)
    off = letters_off(found, word)
    print(
        f"{word} by 500 people: {seconds:.0f} s, RMS of its letters "
        + ", ".join(f"{one:.2f}" for one in off)
        + " m"
    )
    record_limit(f"{word} by 500 people, RMS of the worst letter", max(off), 0.2, unit="m")
    missed += [f"worst letter {max(off):.2f} m"] if max(off) > 0.2 else []
    west, east = _block((5.0, 5.0), (20, 25), 2.0), _block((65.0, 6.0), (20, 25), 2.0)
    asked = Constraints(
        120.0,
        (Formation("group:A", 100.0, "EAST", height=16.0), Formation("group:B", 100.0, "WEST", height=16.0)),
    )
    scenario = assembled("words", (120, 60), [west, east], [(1, 0), (-1, 0)], asked, np.random.default_rng(0))
    seconds, found = timed(scenario)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"1,000 people, two minutes: {seconds:.0f} s, {memory:.1f} GB at most")
    record_limit("1,000 people for two minutes, CPU", seconds, 600.0)
    record_limit("1,000 people for two minutes, memory", memory, 4.0, unit="GB")
    return missed + (
        [f"1,000 people: {seconds:.0f} s, {memory:.1f} GB"] if seconds > 600 or memory > 4 else []
    )


def timed(scenario: Scenario, method: str = "auto", iterations: int = 400) -> tuple[float, DirectResult]:
    began = time.process_time()
    found = direct(scenario, method=method, iterations=iterations)
    report = found.report
    told = ", ".join(f"{one['error']} (free {one['free']}) {one['unit']}" for one in report.constraints)
    print(
        f"  {report.method}, {report.iterations} iterations: {told}; overlap "
        f"{1000 * report.overlap_max_m:.0f} mm, control {report.control_rms}, speed {report.speed_max}"
    )
    return time.process_time() - began, found


def letters_off(found: DirectResult, word: str) -> list[float]:
    """RMS of the people of each letter, who are told apart by where it begins and ends."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    task, _ = _task(found.scenario)
    term = task.terms[0]
    places = term.places[0]
    font = FontProperties(family="DejaVu Sans")
    ends = [TextPath((0, 0), word[: k + 1], size=100, prop=font).get_extents().x1 for k in range(len(word))]
    low, high = places[:, 0].min(), places[:, 0].max()
    share = (places[:, 0] - low) / (high - low)
    letter = np.searchsorted(np.array(ends[:-1]) / ends[-1], share)
    off = ((found.tracks.positions[term.steps[0]][term.who] - places) ** 2).sum(axis=1)
    return [float(np.sqrt(off[letter == k].mean())) for k in range(len(word))]


if __name__ == "__main__":
    sys.exit(main())
