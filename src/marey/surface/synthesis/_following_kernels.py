"""Compiled: what becomes of the states of a search when each takes every way it can.

A state stands at a captured frame that is placed on the ground by (angle, x, z); it has come to a sample of
the curve. Playing on keeps the placement, a transition changes it by the edge's own planar motion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marey._compiling import njit


@njit(cache=True, nogil=True)
def nearest_ahead(curve: Any, spatial: bool, sample: int, ahead: int, x: float, y: float, z: float) -> Any:
    """The sample nearest to a point, of those up to `ahead` further on, and how far it is off."""
    best, found = np.inf, sample
    for k in range(sample, min(sample + ahead + 1, curve.shape[0])):
        dx, dz = curve[k, 0] - x, curve[k, 2] - z
        off = dx * dx + dz * dz
        if spatial:
            dy = curve[k, 1] - y
            off += dy * dy
        if off <= best:
            best, found = off, k
    return found, np.sqrt(best)


@njit(cache=True, nogil=True)
def expand(
    nodes: Any,
    placements: Any,
    samples: Any,
    costs: Any,
    first_leaving: Any,
    targets: Any,
    synthetic: Any,
    edge_costs: Any,
    gains: Any,
    bounds: Any,
    moves: Any,
    first_point: Any,
    points: Any,
    tracks: Any,
    behaviours: Any,
    curve: Any,
    spatial: bool,
    allowed: Any,
    ahead: int,
    stride: int,
    path_weight: float,
    violation: float,
    out_parents: Any,
    out_edges: Any,
    out_played: Any,
    out_nodes: Any,
    out_placements: Any,
    out_samples: Any,
    out_costs: Any,
    out_positions: Any,
) -> int:
    """Write every successor of every state that is worth it; returns how many there are.

    nodes, samples, costs `(n,)`, placements `(n, 3)`: the states; the graph as arrays; bounds `(n,)`: what a
    transition may cost less what it gains; moves `(edges, 3)`:
    what an edge does to the placement; points of edge e from `first_point[e]`, one a step, `(x, y, z)` in the
    place of its source; tracks `(frames, 3)`: the followed point of captured frames; behaviours `(frames,)`
    and allowed `(samples,)`: bits.
    """
    count = 0
    for state in range(nodes.shape[0]):
        node = nodes[state]
        angle, shift_x, shift_z = placements[state, 0], placements[state, 1], placements[state, 2]
        c, s = np.cos(angle), np.sin(angle)
        for edge in range(first_leaving[node], first_leaving[node + 1]):
            sample, cost = samples[state], costs[state]
            target = targets[edge]
            x = z = 0.0
            played = 0
            if synthetic[edge]:
                if edge_costs[edge] - gains[edge] > bounds[state]:
                    continue
                cost += edge_costs[edge]
                bits = behaviours[node] | behaviours[target]
                for k in range(first_point[edge], first_point[edge + 1]):
                    x = c * points[k, 0] + s * points[k, 2] + shift_x
                    z = c * points[k, 2] - s * points[k, 0] + shift_z
                    sample, off = nearest_ahead(curve, spatial, sample, ahead, x, points[k, 1], z)
                    cost += path_weight * off
                    if allowed[sample] & bits == 0:
                        cost += violation
                out_placements[count, 0] = angle + moves[edge, 0]
                out_placements[count, 1] = c * moves[edge, 1] + s * moves[edge, 2] + shift_x
                out_placements[count, 2] = c * moves[edge, 2] - s * moves[edge, 1] + shift_z
            else:
                current, target = edge, node
                while played < stride and current >= 0:
                    target = targets[current]
                    cost += edge_costs[current]
                    x = c * tracks[target, 0] + s * tracks[target, 2] + shift_x
                    z = c * tracks[target, 2] - s * tracks[target, 0] + shift_z
                    sample, off = nearest_ahead(curve, spatial, sample, ahead, x, tracks[target, 1], z)
                    cost += path_weight * off
                    if allowed[sample] & behaviours[target] == 0:
                        cost += violation
                    played += 1
                    current = -1
                    for further in range(first_leaving[target], first_leaving[target + 1]):
                        if not synthetic[further]:
                            current = further
                for axis in range(3):
                    out_placements[count, axis] = placements[state, axis]
            out_parents[count] = state
            out_edges[count] = edge
            out_played[count] = played
            out_nodes[count] = target
            out_samples[count] = sample
            out_costs[count] = cost
            out_positions[count, 0] = x
            out_positions[count, 1] = z
            count += 1
    return count
