"""Play, scrub, step: the time that all rooms share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from marey.studio.workspace import Workspace

SPEEDS = {"¼×": 0.25, "½×": 0.5, "1×": 1.0, "2×": 2.0}


class Timeline:
    """A slider of frames and a clock that moves it; `show(frame)` draws.

    It loops. The clock is the wall's: a page that cannot keep up drops frames instead of slowing down.
    """

    def __init__(self, workspace: Workspace, show: Callable[[int], None]):
        self._workspace = workspace
        self._show = show
        self.frames, self.frame_rate = 1, 30.0
        self.frame, self.first = 0, 0
        self.playing = False
        self._began, self._from = 0.0, 0
        gui = workspace.gui
        with gui.add_folder("Time"):
            self._play = gui.add_button("Play", icon="player-play", hint="K")
            self._slider = gui.add_slider("Frame", 0, 1, 1, 0, hint="J and L step")
            self._clock = gui.add_markdown("")
            self._speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1×")

        def answer(act: Callable[[], None]) -> Callable[[object], None]:
            return workspace.callback(lambda _: act())

        self._play.on_click(answer(self.toggle))
        self._slider.on_update(answer(self._scrubbed))
        self._speed.on_update(answer(self._restart))
        # Letters, as in video editing: space and arrows belong to the button or slider that has the focus.
        gui.add_command("Play or pause", hotkey="K").on_trigger(answer(self.toggle))
        gui.add_command("Next frame", hotkey="L").on_trigger(answer(lambda: self.step(1)))
        gui.add_command("Previous frame", hotkey="J").on_trigger(answer(lambda: self.step(-1)))
        threading.Thread(target=self._run, daemon=True).start()

    def set(self, frames: int, frame_rate: float, first: int = 0, frame: int = 0) -> None:
        """Another length of time, whose first frame has the number `first` on the slider; the frame shown,
        which counts from 0, is kept inside it."""
        self.frames, self.frame_rate, self.first = max(int(frames), 1), float(frame_rate), int(first)
        self._slider.max = self.first + max(self.frames - 1, 1)
        self._slider.min = self.first
        self._slider.disabled = self.frames < 2
        self._play.disabled = self.frames < 2
        if self.frames < 2:
            self.play(False)
        self.seek(frame)

    def seek(self, frame: int) -> None:
        """Show a frame; play goes on from there."""
        self.frame = int(min(max(frame, 0), self.frames - 1))
        self._restart()
        self._move_slider()
        self._show(self.frame)

    def step(self, frames: int) -> None:
        """Pause, and go some frames on or back."""
        self.play(False)
        self.seek((self.frame + frames) % self.frames)

    def play(self, playing: bool) -> None:
        """Start or pause."""
        self.playing = playing and self.frames > 1
        self._play.label = "Pause" if self.playing else "Play"
        self._play.icon = "player-pause" if self.playing else "player-play"
        self._restart()
        if not self.playing:
            self._move_slider()

    def toggle(self) -> None:
        """Start if paused, else pause."""
        self.play(not self.playing)

    def _restart(self) -> None:
        self._began, self._from = time.monotonic(), self.frame

    def _scrubbed(self) -> None:
        self.frame = min(max(int(self._slider.value) - self.first, 0), self.frames - 1)
        self._restart()
        self._write_time()
        self._show(self.frame)

    def _move_slider(self) -> None:
        self._slider.value = self.first + self.frame
        self._write_time()

    def _write_time(self) -> None:
        seconds = self.frame / self.frame_rate
        self._clock.content = f"{seconds:.2f} s of {(self.frames - 1) / self.frame_rate:.2f} s"

    def _run(self) -> None:
        moved = 0.0
        while not self._workspace.closed:
            # Images a second that are sent at most.
            time.sleep(1.0 / 30.0)
            if not self.playing:
                continue
            with self._workspace.lock, self._workspace.reporting_errors():
                if not self.playing:
                    continue
                now = time.monotonic()
                factor = SPEEDS[self._speed.value]
                frame = (self._from + int((now - self._began) * self.frame_rate * factor)) % self.frames
                if frame != self.frame:
                    self.frame = frame
                    self._show(frame)
                if now - moved >= 0.1:
                    moved = now
                    self._move_slider()
