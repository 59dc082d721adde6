"""Long work in a thread of its own, with a bar and a button to cancel; and work that follows the hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from marey._work import Progress
from marey.studio.text import escape_markdown

if TYPE_CHECKING:
    from viser import GuiButtonHandle

    from marey.studio.workspace import Workspace

Value = TypeVar("Value")
Result = TypeVar("Result")


class CancelledError(Exception):
    """Raised inside the work, from its progress, once it has been cancelled."""


class Jobs:
    """One piece of long work at a time.

    The work is a function of a :data:`Progress`; it is left at its next report after Cancel. What never
    reports goes on to its end unseen, its result dropped: the page is free at once in both cases.
    """

    def __init__(self, workspace: Workspace):
        self._workspace = workspace
        self._job: _Job | None = None
        gui = workspace.gui
        self._folder = gui.add_folder("Working", visible=False)
        with self._folder:
            self._label = gui.add_markdown("")
            self._bar = gui.add_progress_bar(0.0, animated=True)
            cancel = gui.add_button("Cancel", color="gray", icon="x")
        cancel.on_click(workspace.callback(lambda _: self.cancel()))

    @property
    def busy(self) -> bool:
        """Whether something is being worked on."""
        return self._job is not None

    def run(
        self,
        label: str,
        task: Callable[[Progress], Result],
        on_done: Callable[[Result], None],
        pressed: GuiButtonHandle | None = None,
    ) -> bool:
        """Begin `task(progress)` aside; `on_done(result)` is called holding the lock when it is done.

        While one job runs another is refused with a notice (false); `on_done` may start the next. Errors of
        either become notices. The button that was pressed is marked as busy meanwhile.
        """
        if self._job is not None and not self._job.finishing:
            title = f"Still {self._job.label}"
            self._workspace.notify_error(title, "Wait for it, or press Cancel, then try again.")
            return False
        if self._job is not None:
            self._job.unmark()
        job = _Job(label, pressed)
        self._job = job
        self._label.content = f"{escape_markdown(label)}…"
        self._bar.value = 0.0
        self._folder.visible = True
        threading.Thread(target=self._work, args=(job, task, on_done), daemon=True).start()
        return True

    def cancel(self) -> None:
        """Give up what is being worked on."""
        job = self._job
        if job is not None:
            job.cancelled = True
            self._free(job)
            self._workspace.notify(f"Cancelled: {job.label}.")

    def wait(self, seconds: float = 900.0) -> bool:
        """Until nothing is being worked on; false if that takes longer."""
        end = time.monotonic() + seconds
        while self.busy and time.monotonic() < end:
            time.sleep(0.01)
        return not self.busy

    def _work(self, job: _Job, task: Callable[[Progress], Result], on_done: Callable[[Result], None]) -> None:
        def progress(done: int, total: int) -> None:
            if job.cancelled:
                raise CancelledError
            # More steps a second would only fill the wire.
            if time.monotonic() - job.reported >= 0.1:
                job.reported = time.monotonic()
                self._bar.value = 100.0 * min(done / max(total, 1), 1.0)

        try:
            with self._workspace.reporting_errors():
                result = task(progress)
                with self._workspace.lock:
                    if not job.cancelled:
                        job.finishing = True
                        on_done(result)
        except CancelledError:
            pass
        finally:
            self._free(job)

    def _free(self, job: _Job) -> None:
        job.unmark()
        if self._job is job:
            self._job = None
            self._folder.visible = False


class _Job:
    """What is being worked on, and the mark on the button that asked for it."""

    def __init__(self, label: str, pressed: GuiButtonHandle | None):
        self.label, self.pressed = label, pressed
        self.cancelled = self.finishing = False
        self.reported = 0.0
        if pressed is not None:
            self.icon, pressed.icon, pressed.disabled = pressed.icon, "loader-2", True

    def unmark(self) -> None:
        """Make the button as it was."""
        if self.pressed is not None:
            self.pressed.icon, self.pressed.disabled, self.pressed = self.icon, False, None


class LatestOnly(Generic[Value]):
    """Calls `work` in a thread of its own with the newest value submitted, one call after another.

    A pointer may move faster than a pose is solved; what is shown must be the answer to where it is now.
    """

    def __init__(self, work: Callable[[Value], None]):
        self._work = work
        self._values: list[Value] = []
        self._given = threading.Condition()
        self._busy = False
        threading.Thread(target=self._run, daemon=True).start()

    def submit(self, value: Value) -> None:
        """Replace the value that waits, if any; returns at once."""
        with self._given:
            self._values = [value]
            self._given.notify_all()

    def wait(self, seconds: float = 900.0) -> bool:
        """Until everything submitted has been worked on; false if that takes longer."""
        with self._given:
            return self._given.wait_for(lambda: not self._values and not self._busy, seconds)

    def _run(self) -> None:
        while True:
            with self._given:
                self._busy = False
                self._given.notify_all()
                self._given.wait_for(lambda: bool(self._values))
                value = self._values.pop()
                self._busy = True
            self._work(value)
