"""Taking away what is shown: a list of files that can be made, and a button that makes one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from marey._work import Progress
from marey.errors import InputError
from marey.studio.desk import Desk
from marey.studio.panel import Export
from marey.studio.uploads import harmless

NOTHING = "nothing yet"
# The browser holds a download whole.
MOST_BYTES = 512 << 20


class Exporter:
    """A choice of files and a button; the file is made aside and handed to the browser."""

    def __init__(self, desk: Desk, exports: Callable[[], Sequence[Export]]):
        self._desk = desk
        self._exports = exports
        self._choice = desk.gui.add_dropdown("File", (NOTHING,), hint="What to make of what is shown")
        desk.gui.add_button("Export", icon="download").on_click(desk.guard(lambda _: self.run()))

    def refresh(self) -> None:
        """Offer what can be made of what is shown now."""
        labels = tuple(export.label for export in self._exports()) or (NOTHING,)
        if tuple(self._choice.options) != labels:
            chosen = self._choice.value
            self._choice.options = labels
            self._choice.value = chosen if chosen in labels else labels[0]

    def run(self) -> None:
        """Make the chosen file."""
        chosen = [export for export in self._exports() if export.label == self._choice.value]
        if not chosen:
            raise InputError("there is nothing to export yet: open a file or a sample first")
        export = chosen[0]

        def make(progress: Progress) -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / harmless(export.name)
                export.write(path, progress)
                if path.stat().st_size > MOST_BYTES:
                    raise InputError(f"{export.name} is too large for the browser; use the command line")
                return path.read_bytes()

        self._desk.jobs.start(
            f"making {export.name}", make, lambda content: self._desk.download(export.name, content)
        )
