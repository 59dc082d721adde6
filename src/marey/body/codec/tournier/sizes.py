"""How many numbers a clip takes in Tournier's codec (Tournier 2011, section 9.2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from marey.errors import InputError


def published_ratio(
    frames: int,
    joints: int,
    *,
    modes: int,
    dropped_root: int,
    dropped_effectors: int | Sequence[int],
    effectors: int = 5,
) -> float:
    """The published compression ratio: numbers of the clip over numbers kept.

    `3 (n + 1) m` numbers become `3 n (k + 1)` of the pose model and three for each coarse sample of the
    root's position and orientation and of each end effector. The published table needs n = 31, the joints
    of a CMU figure with the root: 96 numbers a frame.

    Args:
        frames: m.
        joints: n.
        modes: k.
        dropped_root: finest pyramid levels left out of the root's curves.
        dropped_effectors: of the end effectors, one number or one each.
        effectors: how many there are, if one number is given.

    >>> round(published_ratio(4499, 31, modes=15, dropped_root=5, dropped_effectors=5), 1)
    97.1
    """
    dropped = (
        [dropped_effectors] * effectors if isinstance(dropped_effectors, int) else list(dropped_effectors)
    )
    curves = [dropped_root, dropped_root, *dropped]
    kept = 3 * joints * (modes + 1) + sum(3 * coarse_length(frames, p) for p in curves)
    return 3 * (joints + 1) * frames / kept


def coarse_length(frames: int, dropped: int) -> int:
    """Samples left of a curve without its finest levels: `ceil(frames / 2^dropped)`.

    >>> coarse_length(141, 5)
    5
    """
    if frames < 1:
        raise InputError(f"frames: a curve has at least one sample, got {frames}")
    if dropped < 0:
        raise InputError(f"dropped levels: must not be negative, got {dropped}")
    return -(-frames >> dropped)


def level_count(frames: int) -> int:
    """Levels of the pyramid of a curve: `ceil(log2 frames) + 1`, the single coarsest sample included.

    >>> [level_count(m) for m in (1, 2, 3, 141, 6179, 22948, 4499, 2783)]
    [1, 2, 3, 9, 14, 16, 14, 13]
    """
    if frames < 1:
        raise InputError(f"frames: a curve has at least one sample, got {frames}")
    return (frames - 1).bit_length() + 1
