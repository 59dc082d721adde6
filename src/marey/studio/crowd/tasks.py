"""What can be done with a crowd in the studio: capture its flow, tune it, let people walk.

Each function takes a state and gives the next one; nothing here touches the page, so all of it may run aside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.errors import InputError
from marey.studio.crowd.maps import PeopleMaps
from marey.studio.crowd.obstacles import blocked, walled
from marey.studio.crowd.state import FrequencyGains, State
from marey.studio.settings import LIMITS

# Hz: changes slower than the first are slow, quicker than the second quick.
SLOW, QUICK = 0.3, 1.0
FRAME_RATE = 25.0


@dataclass(frozen=True)
class WalkSettings:
    """How people walk: how many, how long, by which seed, how they avoid each other, only where detected."""

    people: int = 100
    seconds: float = 10.0
    seed: int = 0
    avoid: Literal["social", "none"] = "social"
    detected: bool = False


def capture_flow(state: State, *, method: str, size: int, progress: Progress) -> State:
    """The flow of the video."""
    from marey.crowd.capture import capture

    if state.footage is None:
        raise InputError("there is no video: open a video, then capture its flow")
    return state.with_flow(capture(state.footage, method=method, size=size, progress=progress))


def tune(state: State, gains: FrequencyGains) -> tuple[State, str]:
    """The captured flow with other gains of its frequencies, and what that kept, in words."""
    from marey.crowd import spectrum
    from marey.crowd.edit import restyle

    fields = state.captured
    if fields is None:
        raise InputError("there is no flow to tune: open or capture one, or let people walk first")
    if gains.changes_nothing:
        return replace(state, flow=fields, gains=gains), "As captured."
    notes = []
    changed = fields
    if gains.keep < 1.0:
        small = spectrum.compress(fields, keep=gains.keep)
        changed = replace(small.decode(), foreground=fields.foreground)
        notes.append(f"{small.bytes / 1e6:.3g} MB instead of {fields.velocities.size * 4 / 1e6:.3g} MB")
    if (gains.slow, gains.medium, gains.quick) != (1.0, 1.0, 1.0):
        changed = restyle(changed, lambda hertz: band_gains(hertz, gains))
    kept = spectrum.information(fields, changed)
    notes.insert(0, f"{max(kept.whole, 0.0):.1f} % of the motion is as captured")
    return replace(state, flow=changed, gains=gains), " · ".join(notes) + "."


def band_gains(hertz: Array, gains: FrequencyGains) -> Array:
    """Gains `(n,)` of frequencies `(n,)` in Hz, smooth from band to band.

    >>> gains = FrequencyGains(slow=2.0, medium=1.0, quick=0.0)
    >>> band_gains(np.array([0.01, 0.55, 5.0]), gains).round(2).tolist()
    [2.0, 1.0, 0.0]
    """
    width = 1.35
    at = np.log([SLOW / width, SLOW * width, QUICK / width, QUICK * width])
    levels = [gains.slow, gains.medium, gains.medium, gains.quick]
    return np.asarray(np.interp(np.log(np.maximum(hertz, 1e-9)), at, levels))


def walk(state: State, how: WalkSettings, progress: Progress) -> State:
    """People simulated in the scene, or carried by the flow; the flow of people is made first if needed."""
    if state.scene is not None:
        return _simulated(state, how, progress)
    if state.flow is None:
        state = _with_flow_of_people(state, progress)
    return _carried(state, how, progress)


def make_bodies(state: State, progress: Progress) -> State:
    """The people as whole bodies, each a variant of captured walks."""
    from marey.stage import walk as walk_bodies

    if state.tracks is None:
        raise InputError("there is no crowd yet: let people walk first")
    people, most = state.tracks.agents, LIMITS.bodies
    if people > most:
        raise InputError(
            f"whole bodies are shown for up to {most} people, here are {people}; let fewer walk, or shorter, "
            "or export them: bodies (GLB) and bodies (HTML) take thousands"
        )
    return replace(state, bodies=walk_bodies(state.tracks, progress=progress))


def _simulated(state: State, how: WalkSettings, progress: Progress) -> State:
    from marey.crowd.simulation.simulate import simulate

    assert state.scene is not None
    bare = state.scene
    scene = walled(bare.with_people(how.people), state)
    crowd = simulate(scene, seconds=how.seconds, frame_rate=FRAME_RATE, rng=how.seed, progress=progress)
    # Painted walls stay strokes, so that they can be erased.
    return replace(state.with_simulated(crowd, ours=True), scene=bare)


def _carried(state: State, how: WalkSettings, progress: Progress) -> State:
    from marey.crowd.animation import AgentSettings, AnimatedCrowd

    assert state.flow is not None
    crowd = AnimatedCrowd(
        blocked(state.flow, state),
        how.people,
        frame_rate=FRAME_RATE,
        settings=AgentSettings(avoid=how.avoid, match_density=how.detected),
        rng=how.seed,
    )
    tracks = crowd.tracks(how.seconds, progress=progress)
    return state.with_tracks(tracks, ours=True)


def _with_flow_of_people(state: State, progress: Progress) -> State:
    """A flow made of people on tracks, on the floor they have."""
    if state.tracks is None:
        raise InputError("there is no flow that could carry people: press Capture first")
    tracks, low = state.tracks, state.floor.low
    fields = PeopleMaps(tracks, state.floor).ground.series(
        replace(tracks, positions=tracks.positions - low), progress=progress
    )
    # The ground of the maps begins at 0, the floor where people are.
    moved = np.eye(3)
    moved[:2, 2] = low
    fields = replace(fields, homography=moved @ np.asarray(fields.homography))
    return replace(state, captured=fields, flow=fields, gains=FrequencyGains())
