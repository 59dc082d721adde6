"""The constants of the social forces: sets of three sources, and one fitted to real people.

People and obstacles push each other away by a exp(gap / b); where bodies touch, contact k and friction kappa
are added (Helbing, Farkas & Vicsek 2000). The dataset's set, the default, makes bodies softer and adds
perception, stumbling and reluctance (Courty 2013, section 6.3.2 and table 1): the look of a pressed crowd,
but people in it are far too slow where it is dense. Helbing's hard bodies jam before doors and form lanes.
The everyday set is for speeds and flows of people who walk, not for a panic; it is fitted to experiments by
`reproduce/crowd_calibration.py`. The control set has neither contact nor perception (Courty 2013,
section 7.2.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from marey.errors import InputError

NEGLIGIBLE = 0.005
"""Newtons of avoidance where it is left out; just before it fades out, which takes less than 0.01 N away."""
FADING = 0.6
"""Width of the band in which it fades out, in multiples of its range."""

SETS = ("dataset", "helbing", "everyday", "control")


@dataclass(frozen=True)
class Interaction:
    """How hard one is pushed by another person, or by an obstacle.

    strength: a, newtons at touch
    range: b, metres over which avoidance falls by e
    contact: k, newtons a metre of overlap
    friction: kappa, kg / (m s): newtons a metre of overlap and m/s of sliding
    """

    strength: float
    range: float
    contact: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        for name in ("strength", "contact", "friction"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"{name}: must be 0 or more, got {value}")
        if not (math.isfinite(self.range) and self.range > 0):
            raise InputError(f"range: must be more than 0 metres, got {self.range}")

    def reach(self, radii: float) -> float:
        """Distance in metres beyond which avoidance is left out, for bodies whose radii sum up to `radii`.

        >>> round(Interaction(600, 0.3).reach(0.6), 2)
        4.11
        """
        if self.strength <= NEGLIGIBLE:
            return radii
        return radii + self.range * math.log(self.strength / NEGLIGIBLE)


@dataclass(frozen=True)
class Parameters:
    """Constants of the forces on a person.

    people, obstacles: what other people and walls do
    perception: exponent gamma of 1 - (angle / pi)^gamma, the weight of a neighbour at that angle from where
        one wants to go; None: all count alike
    stumble: psi, kg s / m³; drag -psi |v|² v per metre by which a neighbour is nearer than
        `stumble_reach` times the radii
    reluctance: nu, the drag of walking away from one's goal, in multiples of the usual one

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
        for name in ("stumble", "stumble_reach", "reluctance"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"{name}: must be 0 or more, got {value}")

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
        """Of people that these constants are for, as in `random_people`."""
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
        """Speeds and flows of people in corridors and doors, for `random_people(kind="everyday")`.

        Fitted to two corridor experiments, uo-050-180-180 and uo-180-180-120 of Jülich
        (`reproduce/crowd_calibration.py`); bodies have no friction. For walking only: in a hurry such people
        squeeze through doors far faster than real ones. Its forces reach 5.6 m.
        """
        people, obstacles = Interaction(285.0, 0.49, 2e4), Interaction(100.0, 0.08, 2e4)
        return cls(people, obstacles, 0.68, 0.0, 0.0, 2.0)

    @classmethod
    def control(cls) -> Parameters:
        """Courty 2013, section 7.2.1: smooth forces only, for `random_people(kind="control")`."""
        smooth = Interaction(1000.0, 0.08)
        return cls(smooth, smooth, None, 0.0, 0.0, 0.0)
