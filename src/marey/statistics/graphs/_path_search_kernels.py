"""Compiled: expand states of the path search along their edges; queue successors by arc length.

A state stands at a captured frame that is placed on the ground by (angle, x, z) and has reached a sample of
the path. Playing on keeps the placement, a transition changes it by the edge's own planar motion. States wait
in a ring of slots, one for each stretch of the path ahead. A full slot keeps its best states; from then on
nothing worse enters, and a transition is given up as soon as it is almost sure to be worse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, FloatArray, IntArray, Integers
from marey._compiling import OPTIONS, njit

Bits = NDArray[np.uint64]

# Columns of a state: whole numbers, then real ones.
PARENT, EDGE, PLAYED, NODE, SAMPLE = range(5)
ANGLE, X, Z, COST, AT_X, AT_Z = range(6)

# At samples that allow every behaviour, none was asked for.
ANY = np.uint64(2**64 - 1)
# Samples of the path that may be gained beside the length walked, where a corner is cut.
EXTRA = 4
# Metres off the path from which distances cost more and more.
NEAR = 0.2


class Edges(NamedTuple):
    """What a search needs of a graph.

    next_edge `(frames,)`: the edge that plays on, or -1
    first, edges: transitions leaving a node are `edges[first[node] : first[node + 1]]`
    targets, costs `(edges,)`; lengths `(edges,)`: samples of the path each is long
    moves, first_point, points, tracks: of the edge motion
    behaviours `(frames,)`: bits; gait_cost `(frames,)`: cost of a frame where no behaviour is asked for
    groups `(frames,)`: frames of one group are a moment of the library
    """

    next_edge: Integers
    first: Integers
    edges: Integers
    targets: IntArray
    costs: Array
    lengths: Array
    moves: Array
    first_point: Integers
    points: FloatArray
    tracks: Array
    behaviours: Bits
    gait_cost: Array
    groups: Integers


class Along(NamedTuple):
    """The path, and how it is searched.

    points `(samples, 3)`, evenly spaced; spatial: whether heights count
    allowed `(samples,)`: bits of the behaviours allowed there
    ahead: samples among which the nearest is searched; stride: frames played on at once
    slot: samples whose states share a slot; width: states kept there
    path_weight: cost of a frame a metre off
    merge, merge_angle: metres and radians within which states at one frame are the same
    """

    points: FloatArray
    spatial: bool
    spacing: float
    allowed: Bits
    ahead: int
    stride: int
    slot: int
    width: int
    path_weight: float
    merge: float
    merge_angle: float


class Slots(NamedTuple):
    """States that wait.

    whole `(slots, capacity, 5)`, real `(slots, capacity, 6)`, counts `(slots,)`
    table `(slots, n)`: places in a slot by frame, place and heading, -1 where there is none
    worst `(slots, groups + 1, 2)`: cost and sample of the worst state that enters by its group, and, last,
        whatever its group
    """

    whole: Integers
    real: Array
    counts: Integers
    table: IntArray
    worst: Array


@njit(**OPTIONS)
def nearest_ahead(along: Along, sample: int, x: float, y: float, z: float) -> tuple[int, float]:
    """The sample nearest to a point, of those up to `ahead` further on, and its distance."""
    best, found = np.inf, sample
    k, end = sample, min(sample + along.ahead + 1, along.points.shape[0])
    while k < end:
        dx, dz = along.points[k, 0] - x, along.points[k, 2] - z
        off = dx * dx + dz * dz
        if along.spatial:
            dy = along.points[k, 1] - y
            off += dy * dy
        off = np.sqrt(off)
        if off <= best:
            best, found = off, k
        # A path comes no faster nearer than it is long.
        k += max(1, int((off - best) / along.spacing))
    return found, best


@njit(**OPTIONS)
def frame_cost(along: Along, sample: int, off: float, bits: np.uint64, gait_cost: float) -> float:
    """Cost of a frame: its distance from the path, more and more beyond a step's width, and its behaviour."""
    cost = along.path_weight * (off * (1.0 + off / NEAR))
    if along.allowed[sample] == ANY:
        cost += gait_cost
    elif along.allowed[sample] & bits == 0:
        cost += 100.0  # more than any detour
    return cost


@njit(**OPTIONS)
def advance(
    whole: Integers, real: Array, offset: int, edges: Edges, along: Along, price: float, slots: Slots
) -> int:
    """Put the successors of states into their slots; returns how many edges were tried.

    whole `(n, 5)`, real `(n, 6)`: the states, whose numbers are `offset…`; price: of a sample of the path
    """
    tried = 0
    last = along.points.shape[0] - 1
    ring = slots.counts.shape[0]
    points, tracks, worst = edges.points, edges.tracks, slots.worst
    new_whole, new_real = np.empty(5, np.int64), np.empty(6)
    for state in range(whole.shape[0]):
        node, begun = whole[state, NODE], whole[state, SAMPLE]
        if begun >= last:
            continue
        angle, shift_x, shift_z = real[state, ANGLE], real[state, X], real[state, Z]
        c, s = np.cos(angle), np.sin(angle)
        new_whole[PARENT] = offset + state
        sample, cost, target, played = begun, real[state, COST], node, 0
        x = z = 0.0
        edge = edges.next_edge[node]
        new_whole[EDGE] = edge
        while played < along.stride and edge >= 0:
            target = edges.targets[edge]
            x = c * tracks[target, 0] + s * tracks[target, 2] + shift_x
            z = c * tracks[target, 2] - s * tracks[target, 0] + shift_z
            sample, off = nearest_ahead(along, sample, x, tracks[target, 1], z)
            cost += edges.costs[edge]
            cost += frame_cost(along, sample, off, edges.behaviours[target], edges.gait_cost[target])
            played += 1
            edge = edges.next_edge[target]
        if played > 0:
            tried += 1
            new_whole[PLAYED], new_whole[NODE], new_whole[SAMPLE] = played, target, sample
            new_real[ANGLE], new_real[X], new_real[Z] = angle, shift_x, shift_z
            new_real[COST], new_real[AT_X], new_real[AT_Z] = cost, x, z
            insert((sample // along.slot) % ring, new_whole, new_real, edges.groups, along, price, slots)
        for k in range(edges.first[node], edges.first[node + 1]):
            edge = edges.edges[k]
            target = edges.targets[edge]
            cost = real[state, COST] + edges.costs[edge]
            group = edges.groups[target]
            slot = (int(begun + edges.lengths[edge]) // along.slot) % ring
            most = price * (begun + edges.lengths[edge] + EXTRA) + max(
                worst[slot, group, 0] - price * worst[slot, group, 1],
                worst[slot, -1, 0] - price * worst[slot, -1, 1],
            )
            if cost > most:
                continue
            tried += 1
            sample = begun
            bits = edges.behaviours[node] | edges.behaviours[target]
            gait_cost = 0.5 * (edges.gait_cost[node] + edges.gait_cost[target])
            for point in range(edges.first_point[edge], edges.first_point[edge + 1]):
                x = c * points[point, 0] + s * points[point, 2] + shift_x
                z = c * points[point, 2] - s * points[point, 0] + shift_z
                sample, off = nearest_ahead(along, sample, x, points[point, 1], z)
                cost += frame_cost(along, sample, off, bits, gait_cost)
                if cost > most:
                    break
            if cost > most:
                continue
            new_whole[EDGE], new_whole[PLAYED] = edge, 0
            new_whole[NODE], new_whole[SAMPLE] = target, sample
            move = edges.moves[edge]
            new_real[ANGLE] = angle + move[0]
            new_real[X] = c * move[1] + s * move[2] + shift_x
            new_real[Z] = c * move[2] - s * move[1] + shift_z
            new_real[COST], new_real[AT_X], new_real[AT_Z] = cost, x, z
            insert((sample // along.slot) % ring, new_whole, new_real, edges.groups, along, price, slots)
    return tried


@njit(**OPTIONS)
def insert(
    slot: int, whole: Integers, real: Array, groups: Integers, along: Along, price: float, slots: Slots
) -> None:
    """Let a state wait in a slot, unless a similar one costs less, or so many others do."""
    expected = real[COST] - price * whole[SAMPLE]
    worst = slots.worst[slot]
    group = groups[whole[NODE]]
    if expected > worst[group, 0] - price * worst[group, 1] and (
        expected > worst[-1, 0] - price * worst[-1, 1]
    ):
        return
    place = lookup(slot, whole[NODE], real, along, slots)
    there = slots.table[slot, place]
    if there >= 0:
        if expected < slots.real[slot, there, COST] - price * slots.whole[slot, there, SAMPLE]:
            slots.whole[slot, there], slots.real[slot, there] = whole, real
        return
    there = slots.counts[slot]
    slots.whole[slot, there], slots.real[slot, there] = whole, real
    slots.table[slot, place] = there
    slots.counts[slot] += 1
    if slots.counts[slot] == slots.whole.shape[1]:
        compact(slot, groups, along, price, slots)


@njit(**OPTIONS)
def compact(slot: int, groups: Integers, along: Along, price: float, slots: Slots) -> None:
    """Keep the `width` most promising states of a slot, the best one of every group among them."""
    count, width = slots.counts[slot], along.width
    if count <= width:
        return
    whole, real, worst = slots.whole[slot], slots.real[slot], slots.worst[slot]
    order = np.argsort(real[:count, COST] - price * whole[:count, SAMPLE], kind="mergesort")
    seen = np.zeros(worst.shape[0], np.bool_)
    chosen = np.zeros(count, np.bool_)
    for rank in range(count):
        state = order[rank]
        group = groups[whole[state, NODE]]
        if not seen[group]:
            worst[group, 0], worst[group, 1] = real[state, COST], whole[state, SAMPLE]
        chosen[rank] = rank < width // 2 or not seen[group]
        seen[group] = True
    best_whole, best_real = np.empty((width, 5), np.int64), np.empty((width, 6))
    spare, kept = max(width - chosen.sum(), 0), 0
    for rank in range(count):
        state = order[rank]
        if kept == width or not (chosen[rank] or spare > 0):
            continue
        if not chosen[rank]:
            spare -= 1
        if not chosen[rank] or rank < width // 2:
            worst[-1, 0], worst[-1, 1] = real[state, COST], whole[state, SAMPLE]
        best_whole[kept], best_real[kept] = whole[state], real[state]
        kept += 1
    slots.table[slot, :] = -1
    slots.counts[slot] = kept
    for state in range(kept):
        whole[state], real[state] = best_whole[state], best_real[state]
        slots.table[slot, lookup(slot, best_whole[state, NODE], best_real[state], along, slots)] = state


@njit(**OPTIONS)
def lookup(slot: int, node: int, real: Array, along: Along, slots: Slots) -> int:
    """Where in a slot's table a state at the same frame, place and heading is, or has to go."""
    x, z, turn = cell(real, along)
    size = slots.table.shape[1]
    place = ((((node * 1000003) ^ x) * 1000003 ^ z) * 1000003 ^ turn) % size
    while slots.table[slot, place] >= 0:
        there = slots.table[slot, place]
        if slots.whole[slot, there, NODE] == node:
            other_x, other_z, other_turn = cell(slots.real[slot, there], along)
            if other_x == x and other_z == z and other_turn == turn:
                break
        place = (place + 1) % size
    return place


@njit(**OPTIONS)
def cell(real: Array, along: Along) -> tuple[int, int, int]:
    """Place and heading in steps within which states are the same."""
    turns = round(2 * np.pi / along.merge_angle)
    turn = round(real[ANGLE] / along.merge_angle) % turns
    return round(real[AT_X] / along.merge), round(real[AT_Z] / along.merge), turn
