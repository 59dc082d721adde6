"""People who come and go, told in few columns: whoever comes later takes the column of somebody who has left.

Recordings of hours hold hundreds of people of whom a few are there at a time; whatever is worked out a frame
and a person (steps, velocities, figures) costs as little as those few. Cost: a pass over the tracks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.crowd.tracks import Tracks, annotation_stride

# Seconds between two people of one column: neither velocities nor smoothed headings reach across.
APART = 1.5


@dataclass(frozen=True, eq=False)
class Packed:
    """Tracks whose columns are shared, and the group `(columns,)` whose people are in each, if known."""

    tracks: Tracks
    groups: NDArray[np.int64] | None


def packed(tracks: Tracks, groups: NDArray[np.int64] | None = None) -> Packed:
    """Tracks in as few columns as needed; people of different groups, `(agents,)`, share none.

    >>> gone = np.full((40, 2, 2), np.nan)
    >>> gone[:10, 0], gone[30:, 1] = 1.0, 2.0
    >>> packed(Tracks(gone, 10.0)).tracks.agents, packed(Tracks(gone, 10.0), np.array([0, 1])).tracks.agents
    (1, 2)
    """
    present = tracks.present
    apart = int(np.ceil(APART * tracks.frame_rate)) + annotation_stride(present)
    of_group = np.zeros(tracks.agents, np.int64) if groups is None else groups
    first = present.argmax(axis=0)
    last = len(present) - 1 - present[::-1].argmax(axis=0)
    here = np.flatnonzero(present.any(axis=0))
    order = here[np.lexsort((first[here], of_group[here]))]
    columns, group_of, free_from = (
        np.zeros(tracks.agents, np.int64),
        np.zeros(len(order), np.int64),
        0 * order,
    )
    count = begins = 0
    for agent in order:
        if count and group_of[count - 1] != of_group[agent]:
            begins = count
        free = np.flatnonzero(free_from[begins:count] <= first[agent])
        column = begins + int(free[0]) if len(free) else count
        count = max(count, column + 1)
        columns[agent], free_from[column], group_of[column] = column, last[agent] + apart, of_group[agent]
    positions = np.full((tracks.frames, max(count, 1), 2), np.nan)
    for agent in order:
        during = slice(first[agent], last[agent] + 1)
        positions[during, columns[agent]] = tracks.positions[during, agent]
    return Packed(Tracks(positions, tracks.frame_rate), None if groups is None else group_of[:count])
