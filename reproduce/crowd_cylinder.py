"""Flow around a cylinder with and without the treatment of obstacles (Courty & Corpetti 2007, figure 6).

Potential flow round a disk of radius 9 px in 80 × 60 pixels, over several textures; the disk is flat, has a
texture of its own, or casts a shadow. The error is the mean endpoint error in the ring of 4 px round it: with
nothing done, with the source's way (the disk spoilt differently in every image, with and without a robust
penalty), and with the mask cut out.

    python reproduce/crowd_cylinder.py [--out cylinder.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

from marey.crowd.capture import estimate

Array = NDArray[Any]

ROWS, COLUMNS, RADIUS, SPEED, NOISE, SEEDS, ALPHA = 60, 80, 9.0, 1.2, 3.0, 6, 1000.0
Y, X = np.mgrid[:ROWS, :COLUMNS].astype(float)
DISTANCE = np.hypot(X - COLUMNS / 2, Y - ROWS / 2)
MASK = DISTANCE > RADIUS
RING = MASK & (DISTANCE <= RADIUS + 4)
COMMON: dict[str, Any] = {"alpha": ALPHA, "smoothness": "quadratic"}
TREATMENTS: dict[str, dict[str, Any]] = {
    "nothing, quadratic": {"robust": "quadratic"},
    "nothing, robust": {"robust": "geman-mcclure"},
    "source's way, quadratic": {"mask": MASK, "mask_mode": "decorrelate", "robust": "quadratic"},
    "source's way, robust": {"mask": MASK, "mask_mode": "decorrelate", "robust": "geman-mcclure"},
    "mask cut out, quadratic": {"mask": MASK, "robust": "quadratic"},
    "mask cut out, robust": {"mask": MASK, "robust": "geman-mcclure"},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("crowd_cylinder.png"))
    given = parser.parse_args()
    kinds = ("flat", "textured", "shadow")
    print(f"mean endpoint error in the ring, px/frame, {SEEDS} seeds, alpha {ALPHA:g}")
    print(f"{'':26s}" + "".join(f"{kind:>18s}" for kind in kinds))
    kept = {}
    for name, options in TREATMENTS.items():
        line = f"{name:26s}"
        for kind in kinds:
            found = [ring_error(*pair(kind, seed), options) for seed in range(SEEDS)]
            errors = np.array([error for error, _ in found])
            kept[kind, name] = (errors, found[0][1])
            line += f"{errors.mean():10.3f} ± {errors.std():.3f}"
        print(line)
    for kind in kinds:
        mean = {name: kept[kind, name][0].mean() for name in TREATMENTS}
        cut = min(mean["mask cut out, quadratic"], mean["mask cut out, robust"])
        order = cut < mean["source's way, robust"] < mean["source's way, quadratic"]
        nothing = min(mean["nothing, quadratic"], mean["nothing, robust"])
        print(
            f"{kind}: mask < source's robust < source's quadratic: {order}; mask <= nothing: {cut <= nothing}"
        )
    picture(given.out, kept)
    print(f"wrote {given.out}")


def flow() -> Array:
    """Potential flow round the disk, `(rows, columns, 2)`."""
    z = (X - COLUMNS / 2) + 1j * (Y - ROWS / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        velocity = np.conj(SPEED * (1 - RADIUS**2 / z**2))
    return np.where(MASK[..., None], np.stack([velocity.real, velocity.imag], -1), 0.0)


def pair(kind: str, seed: int) -> tuple[Array, Array]:
    """Two images 0 to 255: a texture carried by the flow, the disk at rest before it."""
    rng = np.random.default_rng(seed)
    margin = 10
    fabric = gaussian_filter(rng.normal(size=(ROWS + 2 * margin, COLUMNS + 2 * margin)), 1.2)
    fabric = 128 + 40 * fabric / fabric.std()
    disk = gaussian_filter(rng.normal(size=(ROWS, COLUMNS)), 1.0)
    disk = 90 + (35 * disk / disk.std() if kind == "textured" else 0)
    shade = np.ones((ROWS, COLUMNS))
    if kind == "shadow":
        shade -= 0.4 * (np.hypot(X - COLUMNS / 2 - 4, Y - ROWS / 2 - 4) <= RADIUS)
    field = flow()
    came = np.stack([Y, X])
    # Each point is followed back along the flow in small steps.
    for _ in range(20):
        step = [map_coordinates(field[..., k], came, order=1, mode="nearest") for k in (1, 0)]
        came = came - np.stack(step) / 20
    images = []
    for at in (np.stack([Y, X]), came):
        seen = map_coordinates(fabric, at + margin, order=3) * shade
        seen = np.where(MASK, seen, disk) + NOISE * rng.normal(size=seen.shape)
        images.append(np.clip(seen, 0, 255))
    return images[0], images[1]


def ring_error(first: Array, second: Array, options: dict[str, Any]) -> tuple[float, Array]:
    found = estimate(first, second, **COMMON, **options)
    return float(np.linalg.norm(found - flow(), axis=-1)[RING].mean()), found


def picture(path: Path, kept: dict[tuple[str, str], tuple[Array, Array]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = ("nothing, quadratic", "source's way, robust", "mask cut out, quadratic")
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.4))
    fields = [("truth", flow()), *((name, kept["textured", name][1]) for name in names)]
    part = (slice(12, 49, 2), slice(20, 61, 2))
    for axis, (name, field) in zip(axes, fields):
        axis.imshow(pair("textured", 0)[0], cmap="gray", alpha=0.5)
        axis.quiver(
            X[part], Y[part], field[part][..., 0], field[part][..., 1], angles="xy", scale=30, color="C3"
        )
        axis.set(xlim=(19, 61), ylim=(49, 11), title=name, xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main()
