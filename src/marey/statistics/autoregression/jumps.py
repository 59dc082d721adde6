"""Many frames of a vector autoregression at once: what a run of free frames makes of the state before it.

After n frames the state `order · components` is Fⁿ s plus noise of covariance P_n = Σ Fᵏ Q Fᵏᵀ; both follow
by doubling in O(log n · (order · components)³), and what happens in between is two recursions of `order`
products a frame (Courty 2013, section 3.2.2: a free run, then a correction that meets the end). So a long
hole costs hardly more than a short one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError

if TYPE_CHECKING:
    from marey.statistics.autoregression.model import VectorAutoregression

Array = NDArray[np.float64]

# Jumps that a model keeps.
KEPT = 32
# Powers of the recursion below this are nothing beside 1.
NOTHING = 1e-18
# Doublings after which a model that still remembers counts as not stable.
SLOWEST = 40
# Multiplications that BLAS does in one thread, and the fewest rows that are worth a call.
ONE_THREAD, SLIMMEST = 1 << 18, 4


class Power(NamedTuple):
    """n steps: the matrix Fⁿ and the covariance of the noise gathered, oldest frame first, noise whitened."""

    matrix: Array
    covariance: Array

    def then(self, later: Power) -> Power:
        """These steps, then the later ones."""
        moved = product(product(later.matrix, self.covariance), later.matrix.T)
        gathered = later.covariance + 0.5 * (moved + moved.T)
        return Power(product(later.matrix, self.matrix), gathered)


@dataclass(frozen=True, eq=False)
class Jump:
    """n steps in the model's own units, states oldest frame first.

    matrix: Fⁿ; factor: lower triangular, of the covariance of the noise gathered
    """

    matrix: Array
    factor: Array

    @cached_property
    def energy(self) -> Array:
        """The matrix of the energy that the jump adds, of the state before and the one after together."""
        inverse = self.weighed(np.eye(len(self.matrix)))
        across = product(inverse, self.matrix)
        return np.block([[product(self.matrix.T, across), -across.T], [-across, inverse]])

    def weighed(self, states: Array) -> Array:
        """The inverse covariance times states `(n, order · components)`."""
        from scipy.linalg.lapack import dpotrs

        return np.ascontiguousarray(dpotrs(self.factor, states.T, lower=1)[0].T)


class Jumps:
    """Jumps of a model, made when first asked for; the powers of two are kept, and some jumps."""

    def __init__(self, model: VectorAutoregression) -> None:
        size, order = model.components, model.order
        try:
            root = np.linalg.cholesky(model.noise)
        except np.linalg.LinAlgError as error:
            raise InputError("the noise of the model is singular: it cannot be conditioned") from error
        back = np.linalg.inv(root)
        self._root, self._back, self._shape = root, back, (order, size)
        matrix = np.eye(order * size, k=size)
        for i, one in enumerate(model.coefficients):
            at = (order - 1 - i) * size
            matrix[-size:, at : at + size] = back @ one @ root
        push = np.zeros_like(matrix)
        push[-size:, -size:] = np.eye(size)
        self._powers = [Power(matrix, push)]
        self._kept: dict[int, Jump] = {}
        self._kept_steps: dict[int, Power] = {}

    def over(self, steps: int) -> Jump:
        """The jump over so many steps, at least `order`."""
        if steps not in self._kept:
            _make_room(self._kept)
            self._kept[steps] = self._in_units(self._power(steps))
        return self._kept[steps]

    def steps(self, steps: int) -> Power:
        """Any number of steps from 1 on, in the model's own units."""
        if steps not in self._kept_steps:
            order, size = self._shape
            power = self._power(steps)
            matrix = self._scaled(power.matrix).reshape(-1, order, size) @ self._back
            _make_room(self._kept_steps)
            self._kept_steps[steps] = Power(
                matrix.reshape(power.matrix.shape), self._coloured(power.covariance)
            )
        return self._kept_steps[steps]

    def stationary(self) -> Array:
        """Covariance of the state in the long run, oldest frame first; the model must be stable."""
        return self._coloured(self._settled())

    def precision(self) -> Array:
        """The inverse of :meth:`stationary`."""
        factor = np.asfortranarray(self._scaled(_root_of(self._settled())))
        return Jump(np.empty((0, 0)), factor).weighed(np.eye(len(factor)))

    def _settled(self) -> Array:
        for level in range(SLOWEST):
            power = self._doubled(level)
            if np.abs(power.matrix).max() < NOTHING:
                return power.covariance
            if not np.isfinite(power.covariance).all():
                break
        raise InputError("the model is not stable (spectral radius 1 or more): it has no law in the long run")

    def _power(self, steps: int) -> Power:
        whole: Power | None = None
        for level in range(steps.bit_length()):
            part = self._doubled(level)
            if steps >> level & 1:
                whole = part if whole is None else whole.then(part)
            if np.abs(part.matrix).max() < NOTHING:
                return part
        assert whole is not None
        return whole

    def _doubled(self, level: int) -> Power:
        while len(self._powers) <= level:
            self._powers.append(self._powers[-1].then(self._powers[-1]))
        return self._powers[level]

    def _in_units(self, power: Power) -> Jump:
        order, size = self._shape
        if not np.isfinite(power.matrix).all():
            raise InputError("the model is not stable: it runs away within the frames that are not known")
        matrix = self._scaled(power.matrix).reshape(-1, order, size) @ self._back
        return Jump(
            matrix.reshape(power.matrix.shape), np.asfortranarray(self._scaled(_root_of(power.covariance)))
        )

    def _scaled(self, factor: Array) -> Array:
        """Rows of whitened frames in the model's units."""
        order, size = self._shape
        return np.asarray((self._root @ factor.reshape(order, size, order * size)).reshape(factor.shape))

    def _coloured(self, covariance: Array) -> Array:
        order, size = self._shape
        half = self._scaled(covariance)
        whole = np.asarray(half.reshape(-1, order, size) @ self._root.T).reshape(covariance.shape)
        return 0.5 * (whole + whole.T)


def product(a: Array, b: Array) -> Array:
    """`a @ b` in slices so small that BLAS stays in one thread: to wake others costs more than it gives."""
    inner, columns = b.shape
    rows = max(1, ONE_THREAD // (inner * columns))
    if rows < SLIMMEST:
        return np.asarray(a @ b)
    found = np.empty((len(a), columns))
    for first in range(0, len(a), rows):
        np.matmul(a[first : first + rows], b, out=found[first : first + rows])
    return found


def _make_room(kept: dict[int, Any]) -> None:
    if len(kept) >= KEPT:
        del kept[next(iter(kept))]


def _root_of(covariance: Array) -> Array:
    """Lower triangular factor, with the least floor that it needs."""
    from marey.statistics.autoregression._kernels import PANEL, factor_band

    size, floor = len(covariance), 0.0
    row, back = np.tril_indices(size)
    for _ in range(8):
        band = np.zeros((size, size + PANEL - 1))
        band[back, row - back] = covariance[row, back]
        band[:, 0] += floor
        if factor_band(band):
            found = np.zeros_like(covariance)
            found[row, back] = band[back, row - back]
            return found
        floor = max(10.0 * floor, 1e-15 * float(np.trace(covariance)))
    raise InputError("the law of the autoregression is too wide to be computed: it is hardly stable")
