"""The placement of transitions in plain NumPy, written from its definition: oracle of the compiled one."""

from __future__ import annotations

from typing import Any

import numpy as np

from marey.geometry.planar import rotate
from marey.geometry.resampling import linear as at_times
from marey.surface.synthesis.placement import GroundFrames

FIRM = 0.25


def lay_out(
    tracks: GroundFrames, times: Any, weights: Any, turns: Any, *, anchored: bool = True
) -> tuple[Any, Any, Any, Any, Any]:
    """Turns of both clips, positions, floors and touching patches of one transition."""
    change = np.concatenate([turns[:1], np.mod(np.diff(turns) + np.pi, 2 * np.pi) - np.pi])
    source_turns = -np.cumsum(weights * change)
    destination_turns = source_turns + np.cumsum(change)
    contacts = tracks.contacts
    shares = (1.0 - weights, weights)
    angles = (source_turns, destination_turns)
    middles = [at_times(tracks.centroids, times[:, i]) for i in (0, 1)]
    floors = [at_times(contacts.floors, times[:, i]) for i in (0, 1)]
    patches = [at_times(tracks.patches, times[:, i]) for i in (0, 1)]
    height = sum(shares[i][:, None] * (patches[i][..., 1] - floors[i][:, None]) for i in (0, 1))
    known = sum(shares[i][:, None] * at_times(contacts.touching, times[:, i]) for i in (0, 1))
    touching = contacts.low(np.asarray(height)) * known
    steps, moved, own, shown, rises = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in (0, 1):
        share = 0.5 * (shares[i][1:] + shares[i][:-1])
        angle = 0.5 * (angles[i][1:] + angles[i][:-1])
        steps = steps + share[:, None] * rotate(np.diff(middles[i], axis=0), angle)
        rises = rises + share * np.diff(floors[i])
        beside = patches[i][..., 0::2] - middles[i][:, None]
        moved = moved + np.diff(shares[i][:, None, None] * rotate(beside, angles[i][:, None]), axis=0)
        touched = at_times(contacts.touching, times[:, i])
        counts = (share[:, None] * (touched[1:] + touched[:-1]))[..., None]
        own = own + counts * rotate(np.diff(patches[i][..., 0::2], axis=0), angle[:, None])
        shown = shown + counts
    if anchored:
        both = np.minimum(touching[1:], touching[:-1])
        slide = np.asarray(steps)[:, None] + moved - own / np.where(shown > 0, shown, 1.0)
        steps = steps - np.einsum("tp,tpk->tk", both / np.maximum(both.sum(1, keepdims=True), FIRM), slide)
    positions = middles[0][0] + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    grounds = floors[0][0] + np.concatenate([[0.0], np.cumsum(rises)])
    return source_turns, destination_turns, positions, grounds, touching
