"""The clip in few bytes: choose centimetres, see what is lost (Tournier 2011, chapter 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from marey._work import Progress
from marey.studio.body.figure import Body
from marey.studio.body.section import Section, workable
from marey.studio.body.state import Small, State
from marey.views.mannequin_parts import Poses

if TYPE_CHECKING:
    from marey.studio.body.panel import BodyPanel

ASK = "The body that comes back is drawn in red over the original."


class Compressing(Section):
    """A slider of centimetres; size, ratio and error; both bodies overlaid."""

    def __init__(self, panel: BodyPanel):
        super().__init__(panel)
        gui, guard = self.desk.gui, self.desk.guard
        with self.desk.drawer("Compression"):
            self.bound = gui.add_slider(
                "Error (cm)", 0.1, 5.0, 0.1, 1.0, hint="How far off any joint may be in any frame"
            )
            gui.add_button("Compress", icon="file-zip", hint="In as few bytes as this error allows").on_click(
                guard(lambda _: self.compress())
            )
            self.text = gui.add_markdown(ASK)
        self.bound.on_update(guard(lambda _: self._follow()))
        self.ghost = Body(self.desk.scene, panel.path("decoded"), tint=(200, 85, 61), opacity=0.45)
        self._drawn: Small | None = None
        self._poses: Poses | None = None

    def restore(self, state: State) -> None:
        small = state.small
        if small is self._drawn:
            return
        self._drawn = small
        if small is None:
            self.ghost.clear()
            self._poses = None
            self.text.content = ASK
            return
        self._poses = Poses(small.motion)
        self.ghost.dress(self._poses, small.motion, self.panel.size)
        clip, error = small.clip, small.error
        self.text.content = (
            f"**{clip.bytes:,} bytes**, {clip.ratio:.0f} times smaller\n\n"
            f"Off by **{100 * error.mean:.2f} cm** on average, **{100 * error.maximum:.2f} cm** at most"
        )

    def show(self, frame: int) -> None:
        if self._drawn is not None and self._poses is not None:
            self.ghost.pose(self._drawn.motion, frame, self._poses)

    def compress(self) -> None:
        """Compress aside, within the centimetres of the slider."""
        from marey.body.codec import CompressedMotion, compress
        from marey.body.compare import joint_error

        motion = workable(self.state.motion)
        bound = float(self.bound.value) / 100

        def work(progress: Progress) -> Small:
            clip = CompressedMotion(compress(motion, max_error=bound, progress=progress).data)
            decoded = clip.decode()
            return Small(clip, decoded, joint_error(motion, decoded, threshold=bound), bound)

        def then(small: Small) -> None:
            state = self.state
            if state.motion is not motion:
                return
            # Another error replaces the step before: one undo takes the compression back.
            if state.small is not None:
                self.panel.step_back()
                state = self.state
            self.panel.change(replace(state, small=small))

        self.desk.jobs.start("compressing", work, then)

    def _follow(self) -> None:
        """Once both bodies are shown, the slider works by itself."""
        if self.state.small is not None and not self.desk.jobs.busy:
            self.compress()
