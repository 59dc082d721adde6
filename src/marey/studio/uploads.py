"""Files from the browser: limited in size while they arrive, kept under harmless names, read as any file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from marey.errors import InputError
from marey.studio.desk import Desk
from marey.studio.loopback import unguarded

MOST_BYTES = 200 << 20
# The browser cuts files into parts of half a megabyte or more.
MOST_PARTS = 4096
TOO_LARGE = "Too large"


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
        del gui._current_file_upload_states[transfer]
        desk.complain(
            TOO_LARGE,
            f"Files of up to {MOST_BYTES >> 20} MB can be opened here; the command line takes more.",
        )

    def began(_client: int, message: Any) -> None:
        if message.size_bytes > MOST_BYTES or message.part_count > MOST_PARTS:
            drop(message.transfer_uuid)

    def went_on(_client: int, message: Any) -> None:
        state = gui._current_file_upload_states.get(message.transfer_uuid)
        if state is not None and state["transferred_bytes"] > state["total_bytes"]:
            drop(message.transfer_uuid)

    gui._websock_interface.register_handler(_messages.FileTransferStartUpload, began)
    gui._websock_interface.register_handler(_messages.FileTransferPart, went_on)


def check_limit(desk: Desk, address: str) -> None:
    """Send the running server, as the page does, a file that is too large and one longer than announced.

    Both must have been dropped when a third, which is empty, has arrived.

    address: of the server's socket
    """
    import viser
    from msgspec.msgpack import encode
    from websockets.sync.client import connect

    button = desk.gui.add_upload_button("")

    def message(kind: str, transfer: str, **rest: Any) -> bytes:
        return encode(
            {"type": kind, "source_component_uuid": button._impl.uuid, "transfer_uuid": transfer, **rest}
        )

    try:
        protocol: Any = f"viser-v{viser.__version__}"
        with connect(address, subprotocols=[protocol], max_size=None, proxy=None, open_timeout=60) as socket:
            for name, parts, size in (("large", 2, MOST_BYTES + 1), ("liar", 2, 0), ("end", 0, 0)):
                if name == "end":
                    socket.send(message("FileTransferPart", "liar", part_index=0, content=b"x"))
                about = {"filename": name, "mime_type": "", "part_count": parts, "size_bytes": size}
                socket.send(message("FileTransferStartUpload", name, **about))
            while button.value.name != "end":
                socket.recv(timeout=60)
        dropped = [notice.title for notice in desk.notices] == [TOO_LARGE, TOO_LARGE]
    except Exception as error:
        raise unguarded("cannot limit uploads") from error
    if not dropped:
        raise unguarded("cannot limit uploads")
    button.remove()
    desk.notices.clear()
