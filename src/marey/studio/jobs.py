"""Long work aside: in a thread of its own, with a bar, and it can be cancelled at any moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from marey._work import Progress
from marey.studio.plain import plain

if TYPE_CHECKING:
    from marey.studio.desk import Desk

Result = TypeVar("Result")

# Seconds between two steps of the bar: more would only fill the wire.
BETWEEN_STEPS = 0.1


class CancelledError(Exception):
    """Raised inside the work, from its progress, once somebody no longer wants it."""


class Jobs:
    """One piece of long work at a time.

    The work is a function of a :data:`Progress`; it is left at its next report after Cancel. What never
    reports goes on to its end unseen, its result dropped: the page is free at once either way.
    """

    def __init__(self, desk: Desk):
        self._desk = desk
        self._job: _Job | None = None
        gui = desk.gui
        self._folder = gui.add_folder("Working", visible=False)
        with self._folder:
            self._label = gui.add_markdown("")
            self._bar = gui.add_progress_bar(0.0, animated=True)
            gui.add_button("Cancel", color="gray", icon="x").on_click(desk.guard(lambda _: self.cancel()))

    @property
    def busy(self) -> bool:
        """Whether something is being worked on."""
        return self._job is not None

    def start(self, label: str, work: Callable[[Progress], Result], then: Callable[[Result], None]) -> bool:
        """Begin `work(progress)` aside; `then(result)` is called at the desk when it is done.

        While one job runs another is refused with a notice (false); `then` may start the next. Errors of
        either become notices.
        """
        if self._job is not None and not self._job.finishing:
            self._desk.complain(f"Still {self._job.label}", "Wait for it, or press Cancel, then try again.")
            return False
        job = _Job(label)
        self._job = job
        self._label.content = f"{plain(label)}…"
        self._bar.value = 0.0
        self._folder.visible = True
        threading.Thread(target=self._run, args=(job, work, then), daemon=True).start()
        return True

    def cancel(self) -> None:
        """Give up what is being worked on."""
        job = self._job
        if job is not None:
            job.cancelled = True
            self._free(job)
            self._desk.say(f"Cancelled: {job.label}.")

    def wait(self, seconds: float = 900.0) -> bool:
        """Until nothing is being worked on; false if that takes longer."""
        end = time.monotonic() + seconds
        while self.busy and time.monotonic() < end:
            time.sleep(0.01)
        return not self.busy

    def _run(self, job: _Job, work: Callable[[Progress], Any], then: Callable[[Any], None]) -> None:
        def progress(done: int, total: int) -> None:
            if job.cancelled:
                raise CancelledError
            if time.monotonic() - job.told >= BETWEEN_STEPS:
                job.told = time.monotonic()
                self._bar.value = 100.0 * min(done / max(total, 1), 1.0)

        try:
            with self._desk.errors_told():
                result = work(progress)
                with self._desk.lock:
                    if not job.cancelled:
                        job.finishing = True
                        then(result)
        except CancelledError:
            pass
        finally:
            self._free(job)

    def _free(self, job: _Job) -> None:
        if self._job is job:
            self._job = None
            self._folder.visible = False


class _Job:
    def __init__(self, label: str):
        self.label = label
        self.cancelled = False
        self.finishing = False
        self.told = 0.0
