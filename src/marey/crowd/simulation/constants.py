"""Constants of the social forces, and the pedestrians that go with them: three published sets, one fitted.

Pedestrians and obstacles repel each other by a exp(gap / b); where bodies touch, contact k and friction kappa
are added (Helbing, Farkas & Vicsek 2000). The dataset's set, the default, makes bodies softer and adds
perception, stumbling and reluctance (Courty 2013, section 6.3.2 and table 1): the look of a pressed crowd,
but pedestrians are far too slow where it is dense. Helbing's hard bodies jam before doors and form lanes. The
everyday set has speeds and flows of pedestrians who walk, not of a panic; it is fitted to experiments by
`reproduce/crowd_calibration.py`. The control set has neither contact nor perception (Courty 2013,
section 7.2.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from marey.errors import InputError

SETS = ("dataset", "helbing", "everyday", "control")


@dataclass(frozen=True)
class EngineSettings:
    """Numbers of the integration, in metres, seconds and newtons.

    Attributes:
        step: length of a step.
        negligible: repulsion where it is left out; just before it fades out, which removes less than 0.01 N.
        fading: width of the band in which it fades out, in multiples of its range.
        max_move: of a pedestrian in a substep; less if somebody is smaller than usual.
        max_substeps: of a step; should more be needed, moves are cut short.
        min_share: pedestrians below whom another thread costs more than it helps.
        tries: positions tried for an entering pedestrian, who is retried in the next step.
    """

    step: float = 0.02
    negligible: float = 0.005
    fading: float = 0.6
    max_move: float = 0.1
    max_substeps: int = 256
    min_share: int = 1500
    tries: int = 16


SETTINGS = EngineSettings()


@dataclass(frozen=True)
class Population:
    """Distribution of the pedestrians that go with a set of constants; ranges are uniform.

    Attributes:
        radius: metres, smallest and largest.
        mass: kilograms, smallest and largest; None: 320 kg a metre of radius.
        response_time: seconds, mean of a range of ± 10 %; None: mass / 140.
        speed: desired speed, metres a second, mean.
        speed_spread: share by which desired speeds are higher or lower at most.
    """

    radius: tuple[float, float] = (0.2, 0.3)
    mass: tuple[float, float] | None = None
    response_time: float | None = 0.5
    speed: float = 1.2
    speed_spread: float = 0.1


POPULATIONS = {
    "dataset": Population(),
    "everyday": Population((0.08, 0.12), (60.0, 90.0), 0.32, 1.45, 0.2),
    "control": Population((0.25, 0.35), (60.0, 80.0), None, 1.0, 0.0),
}
"""By the name of the constants; those of the dataset go with Helbing's too."""


@dataclass(frozen=True)
class Interaction:
    """Force of another pedestrian or of an obstacle.

    Attributes:
        strength: a, newtons at touch.
        range: b, metres over which repulsion falls by e.
        contact: k, newtons a metre of overlap.
        friction: kappa, kg / (m s): newtons a metre of overlap and m/s of sliding.
    """

    strength: float
    range: float
    contact: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        _check_not_negative(self, "strength", "contact", "friction")
        if not (math.isfinite(self.range) and self.range > 0):
            raise InputError(f"range: must be more than 0 metres, got {self.range}")

    def reach(self, radii: float) -> float:
        """Distance in metres beyond which repulsion is left out, for bodies whose radii sum up to `radii`.

        >>> round(Interaction(600, 0.3).reach(0.6), 2)
        4.11
        """
        if self.strength <= SETTINGS.negligible:
            return radii
        return radii + self.range * math.log(self.strength / SETTINGS.negligible)


@dataclass(frozen=True)
class Parameters:
    """Constants of the forces on a pedestrian.

    Attributes:
        people, obstacles: forces of other pedestrians and of walls.
        perception: exponent gamma of 1 - (angle / pi)^gamma, the weight of a neighbour at that angle from
            the desired direction; None: all count equally.
        stumble: psi, kg s / m³; drag -psi |v|² v per metre by which a neighbour is nearer than
            `stumble_reach` times the radii.
        stumble_reach: see `stumble`.
        reluctance: nu, the drag of walking away from the goal, in multiples of the usual one.

    >>> Parameters().people.strength, Parameters.helbing().people.strength
    (600.0, 2000.0)
    """

    people: Interaction = field(default_factory=lambda: Interaction(600.0, 0.3, 6e3, 12e3))
    obstacles: Interaction = field(default_factory=lambda: Interaction(400.0, 0.3, 6e3, 12e3))
    perception: float | None = 0.7
    stumble: float = 300.0
    stumble_reach: float = 1.2
    reluctance: float = 2.0

    def __post_init__(self) -> None:
        if self.perception is not None and not 0 < self.perception <= 10:
            raise InputError(
                f"perception: must be more than 0 and at most 10, or None, got {self.perception}"
            )
        _check_not_negative(self, "stumble", "stumble_reach", "reluctance")

    @classmethod
    def named(cls, name: str) -> Parameters:
        """One of the sets by name.

        >>> Parameters.named("helbing") == Parameters.helbing()
        True
        """
        if name not in SETS:
            raise InputError(f"there are no constants {name!r}; there are {', '.join(SETS)}")
        chosen: Parameters = getattr(cls, name)()
        return chosen

    @property
    def kind(self) -> str:
        """Name of the population that goes with these constants, in :data:`POPULATIONS`."""
        return next((name for name in ("everyday", "control") if self == self.named(name)), "dataset")

    @classmethod
    def dataset(cls) -> Parameters:
        """Soft bodies, perception, stumbling and reluctance: Courty 2013, table 1 and section 6.3.2."""
        return cls()

    @classmethod
    def helbing(cls) -> Parameters:
        """Helbing, Farkas & Vicsek 2000: hard bodies, avoidance of short range, no direction preferred."""
        rigid = Interaction(2000.0, 0.08, 1.2e5, 2.4e5)
        return cls(rigid, rigid, None, 0.0, 0.0, 0.0)

    @classmethod
    def everyday(cls) -> Parameters:
        """Speeds and flows of pedestrians in corridors and doors, for `random_pedestrians(kind="everyday")`.

        Fitted to two corridor experiments, uo-050-180-180 and uo-180-180-120 of Jülich
        (`reproduce/crowd_calibration.py`); bodies have no friction. For walking only: in a hurry they
        squeeze through doors far faster than real pedestrians. Its forces reach 5.6 m.
        """
        people, obstacles = Interaction(285.0, 0.49, 2e4), Interaction(100.0, 0.08, 2e4)
        return cls(people, obstacles, 0.68, 0.0, 0.0, 2.0)

    @classmethod
    def control(cls) -> Parameters:
        """Courty 2013, section 7.2.1: smooth forces only, for `random_pedestrians(kind="control")`."""
        smooth = Interaction(1000.0, 0.08)
        return cls(smooth, smooth, None, 0.0, 0.0, 0.0)


def _check_not_negative(constants: Interaction | Parameters, *names: str) -> None:
    for name in names:
        value = getattr(constants, name)
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{name}: must be 0 or more, got {value}")
