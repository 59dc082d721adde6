"""The surface panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from marey import samples
from marey.studio.panel import Export, Panel
from marey.surface.sequence import MeshSequence


@dataclass(frozen=True)
class State:
    """What is shown."""

    thing: MeshSequence


class SurfacePanel(Panel[State]):
    """Placeholder."""

    title = "Surface"

    def accepts(self, thing: Any) -> bool:
        return isinstance(thing, MeshSequence)

    def open(self, thing: Any, name: str) -> None:
        self.begin(State(thing))

    def samples(self) -> dict[str, Callable[[], Any]]:
        return {"performance": samples.performance}

    def restore(self, state: State) -> None:
        self.retime(state.thing.frames, state.thing.frame_rate)

    def show(self, frame: int) -> None:
        pass

    def exports(self) -> Sequence[Export]:
        from marey.io import save

        return [Export("file", "surface.npz", lambda path, progress: save(self.state.thing, path))]
