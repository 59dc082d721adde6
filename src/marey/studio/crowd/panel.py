"""The crowd panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from marey import samples
from marey.crowd.tracks import Tracks
from marey.studio.panel import Export, Panel


@dataclass(frozen=True)
class State:
    """What is shown."""

    thing: Tracks


class CrowdPanel(Panel[State]):
    """Placeholder."""

    title = "Crowd"

    def accepts(self, thing: Any) -> bool:
        return isinstance(thing, Tracks)

    def open(self, thing: Any, name: str) -> None:
        self.begin(State(thing))

    def samples(self) -> dict[str, Callable[[], Any]]:
        return {"crowd": samples.crowd}

    def restore(self, state: State) -> None:
        self.retime(state.thing.frames, state.thing.frame_rate)

    def show(self, frame: int) -> None:
        pass

    def exports(self) -> Sequence[Export]:
        from marey.io import save

        return [Export("file", "crowd.npz", lambda path, progress: save(self.state.thing, path))]
