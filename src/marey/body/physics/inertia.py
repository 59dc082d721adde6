"""Masses and inertias of the bones of a skeleton: cylinders along the bones, masses by de Leva (1996).

Tournier (2011, section 11.1.2) gives no masses. Each joint carries one bone, from the joint to the middle of
what hangs on it. Its radius follows from its mass and the density of water, so that no bone is thinner than a
finger or thicker than a thigh.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from marey._arrays import FloatArray, assign, checked, read_only
from marey.body.anatomy import anatomy, masses
from marey.body.skeleton import Skeleton
from marey.errors import InputError

# Metres: what is nearer than this is on the spot.
SPOT = 0.01


@dataclass(frozen=True)
class BodySettings:
    """What a body is made of.

    Args:
        mass: kilograms, of the whole body.
        density: kg/m³.
        thinnest, thickest: metres, radius of a bone.
        least_share: of the body's mass that a joint without a segment of its own has (fingers, toes), so that
            the mass matrix stays positive definite.
        carrier_share: the same, of joints that carry others (neck, collarbones). Where they have next to no
            mass, the two joints at its ends may turn against each other at no cost, and steps must be short.
    """

    mass: float = 75.0
    density: float = 1000.0
    thinnest: float = 0.02
    thickest: float = 0.08
    least_share: float = 3e-3
    carrier_share: float = 0.015


@dataclass(frozen=True, eq=False)
class Bones:
    """Rigid bodies at the joints of a skeleton, in the joints' frames.

    Args:
        masses: `(joints,)`, kg.
        centres: `(joints, 3)`, centres of mass, metres.
        inertias: `(joints, 3, 3)`, about the centres of mass, kg m².
        tips: `(joints, 3)`, the far ends of the bones, metres.
        radii: `(joints,)`, metres.
    """

    masses: FloatArray
    centres: FloatArray
    inertias: FloatArray
    tips: FloatArray
    radii: FloatArray

    def __post_init__(self) -> None:
        joints = np.size(self.masses)
        weights = checked("masses", self.masses, (joints,))
        inertias = checked("inertias", self.inertias, (joints, 3, 3))
        if not (weights > 0).all() or np.linalg.eigvalsh(inertias).min() <= 0:
            raise InputError("bones: every mass and every principal moment of inertia must be above 0")
        vectors = {n: checked(n, getattr(self, n), (joints, 3)) for n in ("centres", "tips")}
        assign(
            self, masses=weights, inertias=inertias, radii=checked("radii", self.radii, (joints,)), **vectors
        )

    @classmethod
    def of(
        cls,
        skeleton: Skeleton,
        *,
        mass: float | None = None,
        single: Mapping[str, float] | None = None,
        settings: BodySettings | None = None,
    ) -> Bones:
        """Bones of a skeleton.

        Args:
            mass: kilograms of the whole body; 75 if None. Single masses are given on top.
            single: kilograms of single bones, by the joints' names.

        >>> import marey
        >>> float(Bones.of(marey.samples.walk().skeleton, mass=60).masses.sum().round(6))
        60.0
        """
        options = settings or BodySettings()
        total = options.mass if mass is None else float(mass)
        if not (np.isfinite(total) and total > 0):
            raise InputError(f"mass: kilograms, above 0, got {mass}")
        found = masses(skeleton)
        carries = [bool(skeleton.children(joint)) for joint in range(skeleton.joints)]
        least = np.where(carries & (found.masses == 0), options.carrier_share, options.least_share)
        shares = np.maximum(found.masses, least)
        weights = total * shares / shares.sum()
        for name, value in (single or {}).items():
            weights[skeleton.index(name)] = value
        tips = _tips(skeleton, 2 * found.points)
        lengths = np.maximum(np.linalg.norm(tips, axis=1), 2 * options.thinnest)
        radii = np.sqrt(weights / (options.density * np.pi * lengths))
        radii = np.clip(radii, options.thinnest, options.thickest)
        return cls(weights, 0.5 * tips, cylinders(weights, tips, radii, lengths), tips, read_only(radii))


def cylinders(weights: FloatArray, axes: FloatArray, radii: FloatArray, lengths: FloatArray) -> FloatArray:
    """Inertias `(bones, 3, 3)` of solid cylinders about their centres, kg m².

    >>> cylinders(np.array([12.0]), np.array([[0, 1.0, 0]]), np.array([1.0]), np.array([2.0]))[0].diagonal()
    array([7., 6., 7.])
    """
    norms = np.linalg.norm(axes, axis=1, keepdims=True)
    along = np.where(norms > 1e-9, axes / np.maximum(norms, 1e-9), [0.0, 1.0, 0.0])
    across = weights * (3 * radii**2 + lengths**2) / 12
    about = 0.5 * weights * radii**2
    outer = along[:, :, None] * along[:, None, :]
    return np.asarray(across[:, None, None] * np.eye(3) + (about - across)[:, None, None] * outer)


def _tips(skeleton: Skeleton, middles: FloatArray) -> FloatArray:
    """Far ends of the bones: of limbs the next joint, where a helper joint hangs on them as well."""
    tips = np.array(middles)
    for joint in range(skeleton.joints - 1, -1, -1):
        below = skeleton.children(joint)
        if below and np.linalg.norm(tips[joint]) < SPOT:
            # Children on the spot, such as the fingers of a hand, say with their own ends where it goes.
            tips[joint] = np.mean([skeleton.offsets[c] + tips[c] for c in below], axis=0)
    for limb in (*anatomy(skeleton).legs, *anatomy(skeleton).arms):
        for upper, lower in ((limb.root, limb.middle), (limb.middle, limb.end)):
            if skeleton.parents[lower] == upper:
                tips[upper] = skeleton.offsets[lower]
    return tips
