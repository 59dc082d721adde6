"""What can be done with a crowd in the studio: capture its flow, tune it, let people walk.

Each function takes a state and gives the next one; nothing here touches the page, so all of it may run aside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._work import Progress
from marey.crowd.fields import FieldSeries
from marey.errors import InputError
from marey.studio.crowd.bodies import check_few
from marey.studio.crowd.floor import Floor
from marey.studio.crowd.maps import PeopleMaps
from marey.studio.crowd.obstacles import blocked, walled
from marey.studio.crowd.state import State, Tuning

Array = NDArray[np.float64]

# Hz: changes slower than the first are slow, quicker than the second quick.
SLOW, QUICK = 0.3, 1.0
FRAME_RATE = 25.0


@dataclass(frozen=True)
class Walk:
    """How people walk: how many, how long, by which seed, how they avoid each other, only where seen."""

    people: int = 100
    seconds: float = 10.0
    seed: int = 0
    avoid: Any = "social"
    seen: bool = False


def capture_flow(state: State, *, method: str, size: int, progress: Progress) -> State:
    """The flow of the film."""
    from marey.crowd.capture import capture

    if state.footage is None:
        raise InputError("there is no film: open a video, then capture its flow")
    return state.with_flow(capture(state.footage, method=method, size=size, progress=progress))


def tune(state: State, tuning: Tuning) -> tuple[State, str]:
    """The captured flow with other gains of its frequencies, and what that kept, in words."""
    from marey.crowd import spectrum

    fields = state.captured
    if fields is None:
        raise InputError("there is no flow to tune: open or capture one, or let people walk first")
    if tuning.changes_nothing:
        return replace(state, flow=fields, tuning=tuning), "As captured."
    told = []
    changed = fields
    if tuning.keep < 1.0:
        small = spectrum.compress(fields, keep=tuning.keep)
        changed = replace(small.decode(), presence=fields.presence)
        told.append(f"{small.bytes / 1e6:.3g} MB instead of {fields.velocities.size * 4 / 1e6:.3g} MB")
    if (tuning.slow, tuning.medium, tuning.quick) != (1.0, 1.0, 1.0):
        changed = spectrum.restyle(changed, lambda hertz: band_gains(hertz, tuning))
    kept = spectrum.information(fields, changed)
    told.insert(0, f"{max(kept.whole, 0.0):.1f} % of the motion is as captured")
    return replace(state, flow=changed, tuning=tuning), " · ".join(told) + "."


def band_gains(hertz: Array, tuning: Tuning) -> Array:
    """Gains `(n,)` of frequencies `(n,)` in Hz, smooth from band to band.

    >>> band_gains(np.array([0.01, 0.55, 5.0]), Tuning(slow=2.0, medium=1.0, quick=0.0)).round(2).tolist()
    [2.0, 1.0, 0.0]
    """
    width = 1.35
    at = np.log([SLOW / width, SLOW * width, QUICK / width, QUICK * width])
    gains = [tuning.slow, tuning.medium, tuning.medium, tuning.quick]
    return np.asarray(np.interp(np.log(np.maximum(hertz, 1e-9)), at, gains))


def walk(state: State, how: Walk, progress: Progress) -> State:
    """People simulated in the place, or carried by the flow; the flow of people is made first if needed."""
    if state.scene is not None:
        return _simulated(state, how, progress)
    if state.flow is None:
        state = _with_flow_of_people(state, progress)
    return _carried(state, how, progress)


def embody(state: State, progress: Progress) -> State:
    """The people as whole bodies, each a variant of captured walks."""
    from marey.stage import walk as walk_bodies

    if state.tracks is None:
        raise InputError("there is nobody yet: let people walk first")
    check_few(state.tracks.agents)
    return replace(state, bodies=walk_bodies(state.tracks, progress=progress))


def _simulated(state: State, how: Walk, progress: Progress) -> State:
    from marey.crowd.simulation.simulate import simulate

    assert state.scene is not None
    bare = state.scene
    scene = walled(bare.with_people(how.people), state)
    crowd = simulate(scene, seconds=how.seconds, frame_rate=FRAME_RATE, rng=how.seed, progress=progress)
    # Painted walls stay strokes, so that they can be erased.
    return replace(state.with_simulated(crowd, ours=True), scene=bare)


def _carried(state: State, how: Walk, progress: Progress) -> State:
    from marey.crowd.animation import AgentSettings, AnimatedCrowd, animate

    assert state.flow is not None
    crowd = AnimatedCrowd(
        blocked(state.flow, state),
        how.people,
        frame_rate=FRAME_RATE,
        settings=AgentSettings(avoid=how.avoid, match_density=how.seen),
        rng=how.seed,
    )
    tracks = animate(crowd, how.seconds, progress=progress)
    return state.with_tracks(tracks, ours=True)


def _with_flow_of_people(state: State, progress: Progress) -> State:
    """A flow made of people on tracks, on the floor they have."""
    if state.tracks is None:
        raise InputError("there is no flow that could carry people: press Capture first")
    maps = PeopleMaps(state.tracks, state.floor, state.scene)
    pictures = []
    for frame in range(state.tracks.frames):
        progress(frame, 2 * state.tracks.frames)
        pictures.append(maps.ground.as_image(maps.moment(frame), state.tracks.frame_rate))
    fields = FieldSeries(
        np.stack([velocity for velocity, _ in pictures]),
        state.tracks.frame_rate,
        homography=_moved(maps.ground.homography, state.floor),
        name=state.tracks.name,
        presence=np.stack([presence for _, presence in pictures]),
    )
    return replace(state, captured=fields, flow=fields, tuning=Tuning())


def _moved(homography: Array, floor: Floor) -> Array:
    """A homography of a ground that begins at 0, for the floor."""
    there = np.eye(3)
    there[:2, 2] = floor.low
    return there @ homography
