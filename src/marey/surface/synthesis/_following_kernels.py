"""Compiled: the states of a search take every way they can; what becomes of them waits for its turn.

A state stands at a captured frame that is placed on the ground by (angle, x, z); it has come to a sample of
the curve. Playing on keeps the placement, a transition changes it by the edge's own planar motion. States
wait in a ring of slots, one for each piece of the curve ahead. A slot that is full keeps its best; from then
on nothing worse comes in, and a way is given up as soon as it is all but sure to be worse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marey._compiling import njit

# Columns of a state: whole numbers, then real ones.
PARENT, EDGE, PLAYED, NODE, SAMPLE = range(5)
ANGLE, X, Z, COST, AT_X, AT_Z = range(6)

# At samples that allow every behaviour, none was asked for.
ANY = np.uint64(2**64 - 1)
# Samples of the curve that may be gained beside the way gone, where a corner is cut.
EXTRA = 4
# Metres off the curve from which being off costs more and more.
NEAR = 0.2

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def nearest_ahead(
    curve: Any, spatial: bool, spacing: float, sample: int, ahead: int, x: float, y: float, z: float
) -> Any:
    """The sample nearest to a point, of those up to `ahead` further on, and how far it is off."""
    best, found = np.inf, sample
    k, end = sample, min(sample + ahead + 1, curve.shape[0])
    while k < end:
        dx, dz = curve[k, 0] - x, curve[k, 2] - z
        off = dx * dx + dz * dz
        if spatial:
            dy = curve[k, 1] - y
            off += dy * dy
        off = np.sqrt(off)
        if off <= best:
            best, found = off, k
        # A curve comes no faster nearer than it is long.
        k += max(1, int((off - best) / spacing))
    return found, best


@njit(**_OPTIONS)
def strayed(off: float) -> float:
    """What being off the curve counts, metres: little beside a step's width, ever more beyond."""
    return off * (1.0 + off / NEAR)


@njit(**_OPTIONS)
def advance(
    whole: Any, real: Any, offset: int,
    onward: Any, first_way: Any, ways: Any, targets: Any, costs: Any, lengths: Any,
    moves: Any, first_point: Any, points: Any, tracks: Any, behaviours: Any, unease: Any, groups: Any,
    curve: Any, spatial: bool, spacing: float, allowed: Any, ahead: int, stride: int,
    piece: int, price: float, path_weight: float, violation: float, merge: float, merge_angle: float,
    width: int, quota: int, slots_whole: Any, slots_real: Any, counts: Any, table: Any, worst: Any,
) -> int:  # fmt: skip
    """Put what becomes of states into their slots; returns how many ways were tried.

    whole `(n, 5)`, real `(n, 6)`: the states, whose numbers are `offset…`; onward `(frames,)`: the edge that
    plays on, or -1; transitions leaving a node are `ways[first_way[node] : first_way[node + 1]]`; lengths
    `(edges,)`: samples each goes, that is, metres over the curve's spacing; behaviours `(frames,)`, allowed
    `(samples,)`: bits; unease `(frames,)`: what a frame costs where no behaviour is asked for; piece: samples
    of the curve whose states share a slot; price: of a sample.
    slots_whole `(slots, capacity, 5)`, slots_real, counts `(slots,)`, table `(slots, n)`: places in a slot by
    what makes states alike, -1 where none; worst `(slots, groups + 1, 2)`: cost and sample of the worst
    that comes in by its group, and, last, whatever its group.
    """
    tried = 0
    last = curve.shape[0] - 1
    slots = counts.shape[0]
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
        edge = onward[node]
        new_whole[EDGE] = edge
        while played < stride and edge >= 0:
            target = targets[edge]
            x = c * tracks[target, 0] + s * tracks[target, 2] + shift_x
            z = c * tracks[target, 2] - s * tracks[target, 0] + shift_z
            sample, off = nearest_ahead(curve, spatial, spacing, sample, ahead, x, tracks[target, 1], z)
            cost += costs[edge] + path_weight * strayed(off)
            if allowed[sample] == ANY:
                cost += unease[target]
            elif allowed[sample] & behaviours[target] == 0:
                cost += violation
            played += 1
            edge = onward[target]
        if played > 0:
            tried += 1
            new_whole[PLAYED], new_whole[NODE], new_whole[SAMPLE] = played, target, sample
            new_real[ANGLE], new_real[X], new_real[Z] = angle, shift_x, shift_z
            new_real[COST], new_real[AT_X], new_real[AT_Z] = cost, x, z
            insert((sample // piece) % slots, new_whole, new_real, groups, price, merge, merge_angle, width,
                   quota, slots_whole, slots_real, counts, table, worst)  # fmt: skip
        for way in range(first_way[node], first_way[node + 1]):
            edge = ways[way]
            target = targets[edge]
            cost = real[state, COST] + costs[edge]
            group = groups[target]
            slot = (int(begun + lengths[edge]) // piece) % slots
            most = price * (begun + lengths[edge] + EXTRA) + max(
                worst[slot, group, 0] - price * worst[slot, group, 1],
                worst[slot, -1, 0] - price * worst[slot, -1, 1],
            )
            if cost > most:
                continue
            tried += 1
            sample = begun
            bits, ill = behaviours[node] | behaviours[target], 0.5 * (unease[node] + unease[target])
            for k in range(first_point[edge], first_point[edge + 1]):
                x = c * points[k, 0] + s * points[k, 2] + shift_x
                z = c * points[k, 2] - s * points[k, 0] + shift_z
                sample, off = nearest_ahead(curve, spatial, spacing, sample, ahead, x, points[k, 1], z)
                cost += path_weight * strayed(off)
                if allowed[sample] == ANY:
                    cost += ill
                elif allowed[sample] & bits == 0:
                    cost += violation
                if cost > most:
                    break
            if cost > most:
                continue
            new_whole[EDGE], new_whole[PLAYED] = edge, 0
            new_whole[NODE], new_whole[SAMPLE] = target, sample
            new_real[ANGLE] = angle + moves[edge, 0]
            new_real[X] = c * moves[edge, 1] + s * moves[edge, 2] + shift_x
            new_real[Z] = c * moves[edge, 2] - s * moves[edge, 1] + shift_z
            new_real[COST], new_real[AT_X], new_real[AT_Z] = cost, x, z
            insert((sample // piece) % slots, new_whole, new_real, groups, price, merge, merge_angle, width,
                   quota, slots_whole, slots_real, counts, table, worst)  # fmt: skip
    return tried


@njit(**_OPTIONS)
def insert(
    slot: int, whole: Any, real: Any, groups: Any, price: float, merge: float, merge_angle: float,
    width: int, quota: int, slots_whole: Any, slots_real: Any, counts: Any, table: Any, worst: Any,
) -> None:  # fmt: skip
    """Let a state wait in a slot, unless one alike costs less, or so many others do."""
    expected = real[COST] - price * whole[SAMPLE]
    group = groups[whole[NODE]]
    if expected > worst[slot, group, 0] - price * worst[slot, group, 1] and (
        expected > worst[slot, -1, 0] - price * worst[slot, -1, 1]
    ):
        return
    place = lookup(slot, whole[NODE], real, merge, merge_angle, slots_whole, slots_real, table)
    there = table[slot, place]
    if there >= 0:
        if expected < slots_real[slot, there, COST] - price * slots_whole[slot, there, SAMPLE]:
            slots_whole[slot, there], slots_real[slot, there] = whole, real
        return
    there = counts[slot]
    slots_whole[slot, there], slots_real[slot, there] = whole, real
    table[slot, place] = there
    counts[slot] += 1
    if counts[slot] == slots_whole.shape[1]:
        compact(slot, groups, price, merge, merge_angle, width, quota, slots_whole, slots_real, counts,
                table, worst)  # fmt: skip


@njit(**_OPTIONS)
def compact(
    slot: int, groups: Any, price: float, merge: float, merge_angle: float, width: int, quota: int,
    slots_whole: Any, slots_real: Any, counts: Any, table: Any, worst: Any,
) -> None:  # fmt: skip
    """Keep the `width` most promising states of a slot, up to `quota` of every group among them."""
    count = counts[slot]
    if count <= width:
        return
    expected = slots_real[slot, :count, COST] - price * slots_whole[slot, :count, SAMPLE]
    order = np.argsort(expected, kind="mergesort")
    of_group = np.zeros(worst.shape[1], np.int64)
    chosen = np.zeros(count, np.bool_)
    taken = 0
    for rank in range(count):
        state = order[rank]
        group = groups[slots_whole[slot, state, NODE]]
        of_group[group] += 1
        if of_group[group] == quota:
            worst[slot, group, 0] = slots_real[slot, state, COST]
            worst[slot, group, 1] = slots_whole[slot, state, SAMPLE]
        if rank < width // 2 or of_group[group] <= quota:
            chosen[rank] = True
            taken += 1
    best_whole, best_real = np.empty((width, 5), np.int64), np.empty((width, 6))
    spare, kept = max(width - taken, 0), 0
    for rank in range(count):
        state = order[rank]
        if kept == width or not (chosen[rank] or spare > 0):
            continue
        if not chosen[rank]:
            spare -= 1
        if not chosen[rank] or rank < width // 2:
            worst[slot, -1, 0] = slots_real[slot, state, COST]
            worst[slot, -1, 1] = slots_whole[slot, state, SAMPLE]
        best_whole[kept], best_real[kept] = slots_whole[slot, state], slots_real[slot, state]
        kept += 1
    table[slot, :] = -1
    counts[slot] = kept
    for state in range(kept):
        slots_whole[slot, state], slots_real[slot, state] = best_whole[state], best_real[state]
        node = best_whole[state, NODE]
        place = lookup(slot, node, best_real[state], merge, merge_angle, slots_whole, slots_real, table)
        table[slot, place] = state


@njit(**_OPTIONS)
def lookup(
    slot: int, node: int, real: Any, merge: float, merge_angle: float, slots_whole: Any, slots_real: Any,
    table: Any,
) -> int:  # fmt: skip
    """Where in a slot's table a state alike is, or has to go: at the same frame, place and heading."""
    x, z, turn = cell(real, merge, merge_angle)
    size = table.shape[1]
    place = ((((node * 1000003) ^ x) * 1000003 ^ z) * 1000003 ^ turn) % size
    while table[slot, place] >= 0:
        there = table[slot, place]
        if slots_whole[slot, there, NODE] == node:
            other_x, other_z, other_turn = cell(slots_real[slot, there], merge, merge_angle)
            if other_x == x and other_z == z and other_turn == turn:
                break
        place = (place + 1) % size
    return place


@njit(**_OPTIONS)
def cell(real: Any, merge: float, merge_angle: float) -> Any:
    """Place and heading in steps within which states are alike."""
    turns = round(2 * np.pi / merge_angle)
    return round(real[AT_X] / merge), round(real[AT_Z] / merge), round(real[ANGLE] / merge_angle) % turns
