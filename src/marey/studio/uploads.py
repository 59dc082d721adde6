"""Files from the browser: limited in size while they arrive, kept under harmless names, read as any file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from marey.errors import InputError
from marey.studio.desk import Desk

MOST_BYTES = 200 << 20
# The browser cuts files into parts of half a megabyte or more.
MOST_PARTS = 4096


def add_upload_button(desk: Desk, folder: Path, opened: Callable[[Path], None]) -> None:
    """A button to open a file; it arrives in `folder` under a harmless name."""
    button = desk.gui.add_upload_button("Open a file…", icon="folder-open", hint=_hint())

    def arrived(_event: Any) -> None:
        file = button.value
        if len(file.content) > MOST_BYTES:
            raise InputError(f"{harmless(file.name)} is larger than {MOST_BYTES >> 20} MB")
        path = folder / harmless(file.name)
        path.write_bytes(file.content)
        opened(path)

    button.on_upload(desk.guard(arrived))
    _limit(desk)


def harmless(name: str) -> str:
    """A file name without folders and control characters, of a decent length.

    >>> harmless("../../etc/pass\\nwd"), harmless("C:\\\\clips\\\\walk 1.bvh"), harmless("..")
    ('pass_wd', 'walk 1.bvh', 'upload')
    """
    last = re.split(r"[\\/]", name)[-1]
    kept = re.sub(r"[^\w .()+-]", "_", last).strip(" .")
    stem, dot, ending = kept.rpartition(".")
    return f"{stem[:80]}{dot}{ending[-16:]}" if stem else kept[:80] or "upload"


def _hint() -> str:
    kinds = "BVH, AMC after its ASF, C3D, GLB, OBJ, PLY, video, tracks and tables, marey's own files"
    return f"{kinds}; up to {MOST_BYTES >> 20} MB"


def _limit(desk: Desk) -> None:
    """Drop a transfer as soon as it is known to be too large, before it fills the memory."""
    from viser import _messages

    gui = desk.gui

    def drop(transfer: str) -> None:
        gui._current_file_upload_states.pop(transfer, None)
        desk.complain(
            "Too large",
            f"Files of up to {MOST_BYTES >> 20} MB can be opened here; the command line takes more.",
        )

    def began(_client: int, message: Any) -> None:
        if message.size_bytes > MOST_BYTES or message.part_count > MOST_PARTS:
            drop(message.transfer_uuid)

    def went_on(_client: int, message: Any) -> None:
        state = gui._current_file_upload_states.get(message.transfer_uuid)
        if state is not None and state["transferred_bytes"] > MOST_BYTES:
            drop(message.transfer_uuid)

    gui._websock_interface.register_handler(_messages.FileTransferStartUpload, began)
    gui._websock_interface.register_handler(_messages.FileTransferPart, went_on)
