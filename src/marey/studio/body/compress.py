"""The clip compressed: choose centimetres, see what is lost (Tournier 2011, chapter 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from marey._work import Progress
from marey.studio.body.state import Compressed, State
from marey.studio.controls import button, slider, text
from marey.studio.layers.figure import Body
from marey.studio.room import Task, Tool
from marey.studio.settings import THEME
from marey.views.mannequin_parts import Poses

if TYPE_CHECKING:
    from marey.studio.body.room import BodyRoom


class CompressTool(Tool[State]):
    """A slider of centimetres; size, ratio and error; both bodies overlaid."""

    room: BodyRoom
    drawn_from = ("compressed",)
    title = "Compression"
    bound = slider("Error (cm)", 0.1, 5.0, 0.1, 1.0, "How far off any joint may be in any frame", on="follow")

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self.ghost = Body(self.group, tint=THEME.warm, opacity=0.45)
        self._poses: Poses | None = None

    @button("Compress", "In as few bytes as this error allows", icon="file-zip")
    def compress(self) -> Task[State]:
        """Compress within the centimetres of the slider; another error replaces the step before."""
        from marey.body.codec import CompressedMotion, compress
        from marey.body.compare import joint_error

        state, motion, bound = self.state, self.state.workable, float(self.bound.value) / 100

        def work(progress: Progress) -> State:
            clip = CompressedMotion(compress(motion, max_error=bound, progress=progress).data)
            decoded = clip.decode()
            error = joint_error(motion, decoded, threshold=bound)
            return replace(state, compressed=Compressed(clip, decoded, error))

        return Task("compressing", work, needs=("motion",), gesture="compress")

    report = text()

    def follow(self) -> None:
        """Once both bodies are shown, the slider works by itself."""
        if self.state.compressed is not None and not self.workspace.jobs.busy:
            self.compress()

    def set(self, state: State) -> None:
        found = state.compressed
        if found is None:
            self.ghost.clear()
            self.report.content = "The decoded body is drawn in red over the original."
            return
        self._poses = Poses(found.motion)
        self.ghost.build_meshes(self._poses, found.motion, self.room.size)
        self.report.content = (
            f"**{found.clip.bytes:,} bytes**, {found.clip.ratio:.0f} times smaller\n\n"
            f"Off by **{100 * found.error.mean:.2f} cm** on average, "
            f"**{100 * found.error.maximum:.2f} cm** at most"
        )

    def frame(self, state: State, frame: int) -> None:
        if state.compressed is not None and self._poses is not None:
            self.ghost.pose(state.compressed.motion, frame, self._poses)
