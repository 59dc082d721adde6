"""A peer of path following: depth first with branch and bound, as in Boukhayma 2017, section 3.5.

The same walks and costs as ours, in one loop. It is given the frame to begin with, the worth of a metre of
the curve, so that it tries first what promises most, and the length at which a walk is too long. A walk that
costs as much as the best one known is given up. Places are paired with the curve as ours are, by the nearest
sample ahead, or as in Boukhayma 2017, by the length travelled: then every walk ends, wherever that is. The
same loop runs interpreted over lists and compiled over arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs._path_search_kernels import NEAR
from marey.statistics.graphs.graph import Walk
from marey.statistics.graphs.path_search import BeamSearch, PathSearchSettings

# Seconds a metre of the curve after which a walk is given up.
SLOWEST = 2.5
STRIDE = PathSearchSettings().stride


@dataclass(frozen=True, eq=False)
class Problem:
    """What a search is given: arrays for the compiled loop, lists for the interpreted one."""

    arrays: tuple[Any, ...]
    lists: tuple[Any, ...]
    numbers: tuple[float, ...]

    @classmethod
    def of(cls, beam: BeamSearch, start: int, placed: PlanarMotion, price: float) -> Problem:
        """That of a beam, from a placed frame; price: what a sample of the curve is worth."""
        edges, along, graph = beam._edges, beam._along, beam.candidates.graph
        arrays = (
            edges.next_edge, edges.first, edges.edges, edges.targets.astype(np.int64), edges.costs,
            graph.steps.astype(np.int64), edges.moves, edges.first_point, edges.points.astype(np.float64),
            edges.tracks, edges.gait_cost, along.points,
        )  # fmt: skip
        most = int(SLOWEST * beam.path.length * beam.candidates.motion.clips.frame_rate)
        place = (float(placed.angle), float(placed.shift[0]), float(placed.shift[1]))
        numbers = (start, *place, along.spacing, along.ahead, along.path_weight, price, most)
        return cls(arrays, tuple(array.tolist() for array in arrays), numbers)

    def cost(self, walk: Walk) -> float:
        """Of a walk from the start, as the searches count it."""
        *_, costs, _, moves, first_point, points, tracks, unease, curve = self.lists
        targets, (node, angle, x, z, spacing, ahead, weight, *_) = self.lists[3], self.numbers
        total, sample = 0.0, 0
        for edge in walk.edges.tolist():
            target = targets[edge]
            route = points[first_point[edge] : first_point[edge + 1]]
            ill = 0.5 * (unease[node] + unease[target]) if route else unease[target]
            total += costs[edge]
            for at in route or [tracks[target]]:
                sample, off = plain_nearest(curve, spacing, sample, ahead, *_placed(angle, x, z, at))
                total += weight * off * (1 + off / NEAR) + ill
            x, z = _placed(angle, x, z, (moves[edge][1], 0.0, moves[edge][2]))
            angle, node = angle + moves[edge][0], target
        return total

    def search(self, budget: int, *, compiled: bool, by_length: bool) -> tuple[float, Walk | None, float]:
        """The best walk that is found by trying so many ways, its cost, and metres of the curve come to."""
        given = self.arrays if compiled else self.lists
        cost, pieces, come = (quick if compiled else plain)(*given, *self.numbers, by_length, budget)
        if not math.isfinite(cost):
            return cost, None, come * self.numbers[4]
        onward, targets, edges = self.arrays[0], self.arrays[3], []
        for edge, played in pieces:
            edges.append(edge)
            for _ in range(played - 1):
                edges.append(int(onward[targets[edges[-1]]]))
        return cost, Walk(int(self.numbers[0]), np.array(edges, np.int64)), come * self.numbers[4]


def _placed(angle: float, x: float, z: float, point: Any) -> tuple[float, float]:
    c, s = math.cos(angle), math.sin(angle)
    return c * point[0] + s * point[2] + x, c * point[2] - s * point[0] + z


def plain_nearest(curve: Any, spacing: float, sample: int, ahead: int, x: float, z: float) -> Any:
    """The sample nearest to a point on the ground, of those up to `ahead` further on, and how far off."""
    best, found = math.inf, sample
    k, end = sample, min(sample + ahead + 1, len(curve))
    while k < end:
        off = math.hypot(curve[k][0] - x, curve[k][2] - z)
        if off <= best:
            best, found = off, k
        k += max(1, int((off - best) / spacing))
    return found, best


def searcher(nearest: Any) -> Any:
    """The loop, with its way of finding the nearest sample."""

    def depth_first(
        onward: Any, first: Any, ways: Any, targets: Any, costs: Any, steps: Any, moves: Any,
        first_point: Any, points: Any, tracks: Any, unease: Any, curve: Any,
        start: int, angle: float, x: float, z: float,
        spacing: float, ahead: int, weight: float, price: float, most: int, by_length: bool, budget: int,
    ) -> Any:  # fmt: skip
        # Promise; cost, placement, point, metres gone; frame, sample, steps, depth, edge, frames played.
        begin_x, begin_z = curve[0][0], curve[0][2]
        stack = [(0.0, 0.0, angle, x, z, begin_x, begin_z, 0.0, start, 0, 0, 0, -1, 0)]
        way = [(-1, 0)] * (most + 2)
        best, found, furthest = math.inf, [(-1, 0)], 0
        tried, last = 0, len(curve) - 1
        while len(stack) > 0 and tried < budget:
            _, cost, angle, x, z, at_x, at_z, gone, node, sample, lasted, depth, edge, played = stack.pop()
            if cost >= best:
                continue
            way[depth] = (edge, played)
            if sample >= last:
                best, found = cost, way[1 : depth + 1]
                continue
            if lasted > most:
                continue
            c, s = math.cos(angle), math.sin(angle)
            bottom = len(stack)
            for branch in range(-1, first[node + 1] - first[node]):
                playing = branch < 0
                edge = onward[node] if playing else ways[first[node] + branch]
                if edge < 0:
                    continue
                tried += 1
                target, going, played = targets[edge], edge, 0
                now, come, far, old_x, old_z = cost + costs[edge], sample, gone, at_x, at_z
                count = STRIDE if playing else first_point[edge + 1] - first_point[edge]
                for k in range(count):
                    if playing:
                        if going < 0:
                            break
                        target = targets[going]
                        point, ill = tracks[target], unease[target]
                        now += costs[going] if k > 0 else 0.0
                        going = onward[target]
                        played += 1
                    else:
                        point, ill = points[first_point[edge] + k], 0.5 * (unease[node] + unease[target])
                    new_x = c * point[0] + s * point[2] + x
                    new_z = c * point[2] - s * point[0] + z
                    far += math.hypot(new_x - old_x, new_z - old_z)
                    old_x, old_z = new_x, new_z
                    if by_length:
                        come = min(int(far / spacing), last)
                        off = math.hypot(curve[come][0] - new_x, curve[come][2] - new_z)
                    else:
                        come, off = nearest(curve, spacing, come, ahead, new_x, new_z)
                    now += weight * off * (1 + off / NEAR) + ill
                    if now >= best:
                        break
                if now >= best:
                    continue
                furthest = max(furthest, come)
                turn, shift_x, shift_z, taken = angle, x, z, played
                if not playing:
                    move, taken = moves[edge], steps[edge]
                    turn = angle + move[0]
                    shift_x, shift_z = c * move[1] + s * move[2] + x, c * move[2] - s * move[1] + z
                stack.append(
                    (price * come - now, now, turn, shift_x, shift_z, old_x, old_z, far, target, come,
                     lasted + taken, depth + 1, edge, played)
                )  # fmt: skip
            stack[bottom:] = sorted(stack[bottom:])
        return best, found, furthest

    return depth_first


plain = searcher(plain_nearest)
quick = numba.njit(error_model="numpy")(searcher(numba.njit(error_model="numpy")(plain_nearest)))
