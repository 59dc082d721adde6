"""Agents who do not walk through each other while the field stays what they want.

Courty & Corpetti 2007, section 5.3, carry agents who collide, and say so. By social force (Helbing, Farkas &
Vicsek 2000) agents feel each other before they touch: the field carries everyone as before, and only a
velocity beside it, which forces make and the response time takes away, is added. An agent without neighbours
follows the field exactly. Cost: 2 µs an agent and frame at one agent a square metre.
"""

from __future__ import annotations

import numpy as np

from marey import _work
from marey._arrays import Array
from marey.crowd.animation.agents import LEAST_AGENTS, Agents
from marey.crowd.simulation.constants import Interaction, Parameters
from marey.crowd.simulation.engine import ForceEngine
from marey.crowd.simulation.pedestrians import Pedestrians

FORCES = Parameters(
    people=Interaction(600.0, 0.08, 6e3),
    obstacles=Interaction(0.0, 0.3),
    perception=0.7,
    stumble=0.0,
    reluctance=0.0,
)
"""Strength and softness of the dataset (Courty 2013, table 1) at the short range of Helbing 2000, without
what only slows pedestrians down: captured motion has its distances and its pace already. Longer ranges and
stronger forces drive agents off the field and prevent no more collisions."""


class SocialForces(ForceEngine):
    """Social forces on agents whose desired velocity is the field's, the same during a step."""

    def __init__(self, count: int, radius: float) -> None:
        super().__init__(Pedestrians(np.zeros((count, 2)), radius=radius), parameters=FORCES)  # type: ignore[arg-type]

    def apply(self, agents: Agents, before: Array, seconds: float) -> None:
        """Repeat, among neighbours, the step by which the field carried present agents from `before`.

        Args:
            agents: After the step.
            before: `(agents, 2)`, their positions before it.
            seconds: Its length.
        """
        from marey.crowd.animation import _kernels

        here = agents.present
        carried = (agents.positions[here] - before[here]) / seconds
        speeds = np.linalg.norm(carried, axis=1)
        self.positions[:] = before[here]
        self.velocities[:] = carried + agents.avoidance_velocity[here]
        self._traits[:, 3] = speeds
        self._directions[:] = carried / np.maximum(speeds, 1e-12)[:, None]
        self.advance(seconds)
        agents.positions[here] = self.positions
        agents.avoidance_velocity[here] = self.velocities - carried
        state = (agents.settings.radius, agents.positions, agents.avoidance_velocity, agents.status)

        def part(start: int, stop: int) -> None:
            _kernels.block_walls(start, stop, before, agents.flow.ground.arrays, *state)

        _work.spread(part, len(before), least=LEAST_AGENTS)

    def update_routes(self) -> tuple[float, float, float, float]:
        """Bounds of all places; desired directions stay."""
        low, high = self.positions.min(axis=0), self.positions.max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])
