"""How one clip moves, as a stochastic model: pose model, trend, and what is left as a stationary process.

Ours ("joint"): the pose model has the root motion in the heading frame, so its coordinates do not depend on
where the clip was taken. What drifts or repeats is the trend, which keeps a walk's rhythm; the rest follows a
joint autoregression, which keeps the limbs together (Courty 2013, section 2.3.1). As published ("gp", Courty
& Cuzol 2010, section 3; Courty 2013, section 2.3.2): the linearised analysis counts all angles equally, with
the root's velocity and orientation in the world; each coordinate is a Gaussian process about its mean, with
the likeliest squared exponential and nugget. Learning costs O(frames · (order · modes)²), or O(frames ·
length) a coordinate and evaluation of the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, assign, checked, checked_rate, derived
from marey._random import Rng
from marey._report import Displayed, rounded
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.root_motion import yaw
from marey.errors import InputError
from marey.statistics.autoregression import VectorAutoregression, fit
from marey.statistics.autoregression.fit import Control, control, information_criterion
from marey.statistics.autoregression.stream import Stream
from marey.statistics.processes.process import GaussianProcesses
from marey.statistics.processes.stream import Stream as ProcessStream
from marey.statistics.processes.trend import Trend, find_period

METHODS = ("joint", "gp")


@dataclass(frozen=True)
class DynamicsSettings:
    """Numbers of the fit.

    Attributes:
        orders: Orders compared; one frame back has no velocity.
        ridge: Share of a predictor's variance added to it. Neighbouring frames differ by a thousandth of
            their variance, the velocity: more would damp every swing.
        ridge_for_few: The same for short clips.
        enough: Frames per coefficient of a row below which a clip is short.
        widest: A recursion whose standard deviation is larger than the example's by more than this factor
            in some direction is scaled down as a whole.
        most_change: Largest change of one direction against another then; more would make motion too fast.
        pose_variance: Share of the poses' variance in which a cycle is looked for.
    """

    orders: tuple[int, ...] = (2, 3, 4)
    ridge: float = 1e-7
    ridge_for_few: float = 1e-4
    enough: int = 2
    widest: float = 2.0
    most_change: float = 1.5
    pose_variance: float = 0.99


DEFAULT = DynamicsSettings()


@dataclass(frozen=True, eq=False)
class MotionModel(Displayed):
    """A clip's poses and how they follow one another.

    Attributes:
        poses: Pose model with the root motion.
        trend: Of the coordinates: drift, and a cycle if the clip repeats.
        dynamics: Of what the trend leaves, one step per frame; for "gp" processes about 0.
        frame_rate: Frames per second.
        start: `(3,)`, metres, where the example began.
        heading: Radians about y, its yaw there.
        method: "joint", or "gp": each coordinate by itself, by Courty & Cuzol (2010); or "lti", with inputs.
        control: The example and its inputs, of "lti" (Courty 2013, section 2.3.1), else None.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=6)
    >>> model = MotionModel.fit(walk)
    >>> model.sample(120, rng=0).frames, model.trend.period is not None
    (120, True)
    """

    poses: PoseModel
    trend: Trend
    dynamics: VectorAutoregression | GaussianProcesses
    frame_rate: float
    start: Array = field(default_factory=lambda: np.zeros(3))
    heading: float = 0.0
    method: str = "joint"
    control: Control | None = None

    def __post_init__(self) -> None:
        if self.poses.root == "none":
            raise InputError("a motion model needs a pose model with root motion")
        if not self.poses.modes == self.dynamics.components == self.trend.coefficients.shape[1]:
            raise InputError("pose model, trend and dynamics have different numbers of coordinates")
        rate, start = checked_rate(self.frame_rate), checked("start", self.start, (3,))
        assign(self, frame_rate=rate, start=start, heading=float(self.heading), method=str(self.method))

    @classmethod
    def fit(
        cls,
        motion: Motion,
        *,
        modes: int | None = None,
        variance: float | None = None,
        order: int | None = None,
        period: float | Literal["auto"] | None = "auto",
        method: str = "joint",
        kernel: str = "se",
        inputs: int | None = None,
    ) -> MotionModel:
        """Learn from one clip.

        Args:
            modes: Number of coordinates.
            variance: Or enough of them for that share of the variance (0.99 if neither is given).
            order: Frames that "joint" looks back; by the information criterion if None.
            period: Seconds of a cycle, None for a clip that does not repeat; if "auto", found for "joint",
                none for "gp", as published.
            method: "joint" or "gp", see above.
            kernel: Covariance of method "gp": "se" (squared exponential), as published, or ours: "matern12",
                "matern32", "matern52".
            inputs: Numbers a frame by which the motion can be driven (:func:`marey.body.drive`): the dynamics
                are then those of Courty 2013, section 2.3.1, least squares about the mean, as they come.
        """
        if method not in METHODS:
            raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
        if modes is not None and modes < 1:
            raise InputError(f"modes {modes}: at least one is needed")
        if isinstance(period, float | int) and not period <= motion.frames / motion.frame_rate:
            raise InputError(f"period {period:g}: a cycle is not longer than the clip, in seconds")
        gp, driven = method == "gp", inputs is not None
        if gp and driven:
            raise InputError('inputs: of method "joint"; processes have none')
        metric, root = ("canonical", "world") if gp or driven else ("kinetic", "heading")
        poses = PoseModel.fit([motion], modes=modes, variance=variance, metric=metric, root=root)
        if not poses.modes:
            raise InputError("the clip does not move: there is nothing to learn")
        coordinates = poses.encode(motion)
        if period == "auto" and (gp or driven):
            period = None
        if period == "auto":
            # Poses repeat more plainly than the root motion, which also turns and drifts.
            alone = PoseModel.fit([motion], variance=DEFAULT.pose_variance)
            period = find_period(alone.encode(motion), motion.frame_rate) if alone.modes else None
        trend = Trend.fit(coordinates, motion.frame_rate, degree=0, period=period)
        rest = coordinates - trend.at(np.arange(motion.frames) / motion.frame_rate)
        dynamics: VectorAutoregression | GaussianProcesses
        if gp:
            level = Trend(np.zeros((1, poses.modes)), trend.duration, 0, 0, None)
            dynamics = GaussianProcesses.fit(rest, motion.frame_rate, kernel=kernel, trend=level)
        elif driven:
            centre = np.zeros(poses.modes)
            dynamics = fit(rest, order=order, ridge=0.0, mean=centre, largest_radius=np.inf)
        else:
            dynamics = fit_autoregression(rest, order=order)
        followed = None
        if driven and isinstance(dynamics, VectorAutoregression):
            method, followed = "lti", control(dynamics, rest, dimensions=inputs)
        facing = float(yaw(motion)[0])
        return cls(poses, trend, dynamics, motion.frame_rate, motion.root[0], facing, method, followed)

    frames = derived(int, "poses.frames", "Number of frames it was learned from.")

    @property
    def duration(self) -> float:
        """Seconds that the example lasts."""
        return self.frames / self.frame_rate

    @property
    def radius(self) -> float | None:
        """Spectral radius of the recursion: the nearer to 1, the longer it remembers. None for processes."""
        return None if isinstance(self.dynamics, GaussianProcesses) else self.dynamics.radius

    @property
    def order(self) -> int | None:
        """Frames that the recursion looks back; None for processes."""
        return None if isinstance(self.dynamics, GaussianProcesses) else self.dynamics.order

    def log_likelihood(self, motion: Motion) -> float:
        """Log-likelihood of a clip's coordinates; of "joint", given its first frames."""
        rest = self.poses.encode(motion) - self.trend_at(motion.frames)
        if isinstance(self.dynamics, GaussianProcesses):
            return self.dynamics.log_likelihood(rest)
        steps = self.dynamics.residuals(rest)
        root = np.linalg.cholesky(self.dynamics.noise)
        scaled = np.linalg.solve(root, steps.T)
        each = 2 * np.log(np.diag(root)).sum() + self.modes * np.log(2 * np.pi)
        return float(-0.5 * (scaled**2).sum() - 0.5 * len(steps) * each)

    def deviations(self, frames: int, *, count: int = 1, rng: Rng = None) -> Array:
        """Simulated deviations from the trend, `(count, frames, modes)`."""
        if isinstance(self.dynamics, GaussianProcesses):
            return self.dynamics.sample(frames, draws=count, rng=rng)
        return self.dynamics.sample(frames, count=count, rng=rng)

    def autocovariance(self, lags: int) -> Array:
        """Covariance `(lags, modes)` of the deviations of a frame and of those before it."""
        if isinstance(self.dynamics, GaussianProcesses):
            return self.dynamics.covariance(np.arange(lags) / self.frame_rate)
        return np.diagonal(self.dynamics.covariances(lags), axis1=1, axis2=2)

    def stream(self, characters: int, *, rng: Rng = None) -> Stream | ProcessStream:
        """The deviations frame by frame, `(characters, modes)` a step, with constraints while it runs."""
        if isinstance(self.dynamics, GaussianProcesses):
            return self.dynamics.stream(rng=rng, draws=characters)
        return self.dynamics.stream(rng, characters=characters)

    modes = derived(int, "poses.modes", "Number of coordinates of a frame.")

    def trend_at(self, frames: int) -> Array:
        """Coordinates `(frames, modes)` of the trend from the example's first frame on."""
        return self.trend.at(np.arange(frames) / self.frame_rate)

    def decode(self, coordinates: ArrayLike, *, name: str = "") -> Motion:
        """The clip of coordinates `(frames, modes)`, from where the example began."""
        decode, begin = self.poses.decode_motion, self.start
        return decode(coordinates, self.frame_rate, start=begin, heading=self.heading, name=name)

    def sample(self, frames: int, *, rng: Rng = None) -> Motion:
        """A new clip of so many frames, sampled from the model."""
        return self.decode(self.trend_at(frames) + self.deviations(frames, rng=rng)[0])

    def measures(self) -> dict[str, object]:
        """Numbers of the dynamics: order and radius; or alpha, rho (frames²) and sigma of each coordinate."""
        if isinstance(self.dynamics, GaussianProcesses):
            covariance = self.dynamics.covariance
            squares = (covariance.length * self.frame_rate) ** 2
            named = {"alpha": covariance.variance, "rho": squares, "sigma": self.dynamics.noise}
            return {name: [float(f"{x:.4g}") for x in values] for name, values in named.items()}
        found: dict[str, object] = {"order": self.dynamics.order, "radius": rounded(self.dynamics.radius)}
        return found if self.control is None else {**found, "inputs": self.control.dimensions}

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {
            "kind": "motion model",
            "joints": self.poses.skeleton.joints,
            "modes": self.modes,
            "variance": rounded(self.poses.variance),
            "method": self.method,
            **self.measures(),
            "period": None if self.trend.period is None else rounded(self.trend.period),
            "joint_names": list(self.poses.skeleton.names),
        }


def fit_autoregression(rest: Array, *, order: int | None = None) -> VectorAutoregression:
    """The autoregression of coordinates `(frames, modes)` about 0, with their covariance in the long run.

    Args:
        rest: `(frames, modes)`, the coordinates without the trend.
        order: Frames to look back; by the information criterion if None.
    """
    frames, modes = rest.shape
    if order is None:
        usable = [m for m in DEFAULT.orders if frames > DEFAULT.enough * m * modes]
        scores = information_criterion(rest, usable, ridge=DEFAULT.ridge) if usable else np.zeros(1)
        order = (usable or [min(DEFAULT.orders[0], max(1, frames - 2))])[int(np.argmin(scores))]
    few = frames <= DEFAULT.enough * order * modes
    ridge = DEFAULT.ridge_for_few if few else DEFAULT.ridge
    found = fit(rest, order=order, ridge=ridge, mean=np.zeros(modes))
    return match_covariance(found, rest.T @ rest / frames)


def match_covariance(model: VectorAutoregression, covariance: Array) -> VectorAutoregression:
    """The same recursion in coordinates in which its long-run covariance is the given one.

    Simulated values are mapped by the symmetric M with M S M = C, so eigenvalues, that is rhythm and memory,
    stay. Directions are changed by no more than half against one another; a model that swings too widely is
    scaled down as a whole first.

    >>> swing = VectorAutoregression([0.0], [[[1.9]], [[-0.95]]], [[0.01]])
    >>> match_covariance(swing, np.array([[1.1]])).stationary[0, 0].round(6).item()
    1.1
    """
    size = model.components
    spread = model.stationary[:size, :size]
    least = 1e-9 * max(float(np.trace(covariance)) / size, 1e-300)
    wanted = _root(covariance + least * np.eye(size))
    inner = _root(wanted @ spread @ wanted)
    factors, along = np.linalg.eigh(wanted @ np.linalg.solve(inner, wanted))
    # Of a nearly noiseless example the recursion knows little, and may swing far more widely than that did.
    calmer = min(1.0, DEFAULT.widest * float(factors.min()))
    factors = np.clip(factors / calmer, 1 / DEFAULT.most_change, DEFAULT.most_change)
    to, back = (along * factors) @ along.T, (along / factors) @ along.T
    noise = calmer**2 * to @ model.noise @ to.T
    return VectorAutoregression(model.mean, to @ model.coefficients @ back, 0.5 * (noise + noise.T))


def _root(matrix: Array) -> Array:
    """Symmetric square root of a covariance, with the least floor that lets it be inverted."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 1e-14 * max(values[-1], 1e-300)))) @ vectors.T)
