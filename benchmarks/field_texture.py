"""Distances of all pairs of velocity fields, beside what one writes in NumPy; and all that follows from them.

641 frames of 80 × 80 pixels, as many as the longest capture of Courty & Corpetti 2007 has. The plain version
compares one frame with all later ones at a time, since all pairs at once would take 21 GB. Same process, same
input; results are compared before anything is timed. Exits with 1 where the bar is missed: ten times as fast
as NumPy on one thread.

    python benchmarks/field_texture.py
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
import tracemalloc

import numpy as np
from _ledger import record
from _plain_numpy import fastest

from marey.crowd.fields import FieldSeries
from marey.crowd.texture import FlowTexture, frame_distances, learn
from marey.statistics.graphs.texture import jump_probabilities

FRAMES, ROWS, COLUMNS = 641, 80, 80
SOME = 40
BAR = 10.0


def main() -> int:
    fields = currents()
    n = unit_vectors(fields)
    found = frame_distances(fields, scale=1.0)
    off = max(float(np.abs(plain_row(n, i) - found[i, i + 1 :]).max()) for i in (0, 100, 500))
    if off > 1e-6:
        raise SystemExit(f"the two distances differ by {off:.1e}")
    print(f"{FRAMES} frames of {COLUMNS} x {ROWS} pixels, {FRAMES * (FRAMES - 1) // 2:,} pairs; CPU seconds")
    (ours,) = fastest(lambda: frame_distances(fields, scale=1.0), repeats=3)
    # Rows of the plain version differ in length only: some of them tell the time of all.
    some = np.linspace(0, FRAMES - 2, SOME).astype(int)
    (part,) = fastest(lambda: [plain_row(n, int(i)) for i in some], repeats=2)
    pairs = sum(FRAMES - 1 - int(i) for i in some)
    plain = part * (FRAMES * (FRAMES - 1) / 2) / pairs
    print(f"  marey, exact angle             {ours:8.2f}   (agrees to {off:.0e} rad)")
    print(f"  NumPy, a frame with all others {plain:8.2f}   {plain / ours:5.1f} x ours (from {SOME} rows)")
    flat = n.reshape(FRAMES, -1).astype(np.float64)
    (product,) = fastest(lambda: flat @ flat.T, repeats=3)
    print(
        f"  (one matrix product            {product:8.2f}   gives root mean square chords, another measure)"
    )
    record(f"distances of {FRAMES} fields of {COLUMNS} × {ROWS}", ours, plain, peer="NumPy", bar=BAR)
    memory(fields)
    rest(fields, found)
    if plain / ours < BAR:
        print(f"missed: {plain / ours:.1f} times as fast as NumPy, must be {BAR:.0f}")
        return 1
    print("every bar met")
    return 0


def memory(fields: FieldSeries) -> None:
    tracemalloc.start()
    frame_distances(fields, scale=1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    whole = FRAMES**2 * ROWS * COLUMNS * 8
    print(f"  memory beside the fields       {peak / 1e6:8.1f} MB (all pairs at once: {whole / 1e9:.0f} GB)")


def rest(fields: FieldSeries, distances: np.ndarray) -> None:
    """Jumps from the distances, and frames played with them."""
    (seconds,) = fastest(lambda: jump_probabilities(distances), repeats=3)
    print(f"  jumps from the distances       {seconds:8.2f}")
    found = jump_probabilities(distances)
    texture = FlowTexture(fields, distances, 1.0, 8, 8, found)
    playing = texture.play(rng=0)
    start = time.process_time()
    for _ in range(5000):
        next(playing)
    each = (time.process_time() - start) / 5000
    print(f"  a frame played                 {1e6 * each:8.1f} us")
    start = time.process_time()
    learn(fields)
    print(f"  all of it, fade included       {time.process_time() - start:8.2f}")


def currents() -> FieldSeries:
    """Broad currents that come and go at random, with noise."""
    rng = np.random.default_rng(0)
    row, column = np.mgrid[:ROWS, :COLUMNS] / 20
    velocities = 0.1 * rng.normal(size=(FRAMES, ROWS, COLUMNS, 2)).astype(np.float32)
    for _ in range(6):
        a, b = rng.normal(size=2)
        phase = np.cumsum(rng.normal(0.05, 0.1, size=FRAMES))[:, None, None]
        velocities += np.cos(a * row + b * column + phase)[..., None] * rng.normal(size=2)
    return FieldSeries(velocities, 25)


def unit_vectors(fields: FieldSeries) -> np.ndarray:
    flow = fields.velocities.reshape(FRAMES, -1, 2).astype(np.float32)
    n = np.concatenate([flow, np.ones((*flow.shape[:2], 1), np.float32)], axis=-1)
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def plain_row(n: np.ndarray, i: int) -> np.ndarray:
    """Mean angles of one frame and all later ones."""
    cosine = np.einsum("xc,jxc->jx", n[i].astype(np.float64), n[i + 1 :])
    return np.arccos(np.clip(cosine, -1.0, 1.0)).mean(axis=1)


if __name__ == "__main__":
    sys.exit(main())
