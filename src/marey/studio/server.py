"""The studio's server: for one user alone, its page corrected, uploads limited while they arrive.

Neither other users of this machine nor pages of other sites may talk to it.

The page that viser serves is corrected in two places before it reaches the browser. Its scene listens to
pressed pointers with a listener that promises not to prevent anything (react-three-fiber makes it passive),
and then tries to prevent the browser's own dragging all the same: in vain, and Chromium writes an error to
the console at every drag. Here it does not try. Where graphics are drawn in software it asks for the name of
the renderer, only to put a notice over the page that stays until it is closed. Here it is not given the
name, as in browsers that keep it private.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hmac import compare_digest
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from marey.errors import InputError, MissingExtraError, require
from marey.studio.settings import LIMITS
from marey.studio.text import safe_filename
from marey.studio.workspace import Workspace

if TYPE_CHECKING:
    from viser import _messages
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

HOST = "127.0.0.1"
OURS = frozenset({"localhost", "127.0.0.1", "::1"})
REFUSAL = """The studio answers only to the user who started it.
Open the address that `marey studio` printed, with everything after the question mark.
"""
TOO_LARGE = "Too large"
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket"}
HEAD = b"<head>"
CORRECTION = b"<script>" + Path(__file__).with_name("correction.js").read_bytes() + b"</script>"


def is_ours(host: str, *origins: str) -> bool:
    """Whether a request is for this machine by its Host header, and from the studio's own page by its Origin.

    A page of another server on this machine is as foreign as one from elsewhere.

    >>> is_ours("localhost:8080"), is_ours("127.0.0.1:8080", "http://127.0.0.1:8080")
    (True, True)
    >>> is_ours("elsewhere.example"), is_ours("127.0.0.1:8080", "http://127.0.0.1:9000")
    (False, False)
    """
    try:
        here = urlsplit(f"//{host}").hostname in OURS
    except ValueError:
        return False
    return here and all(origin == f"http://{host}" for origin in origins)


@contextmanager
def local_only(token: str) -> Iterator[None]:
    """Servers that start inside answer 403 to requests that lack the token or come from elsewhere.

    The token comes with the address, then as a cookie, which the socket carries, too. Without the checks of
    host and origin any page could open a socket to the studio (browsers let sockets cross sites, and send the
    cookies of a host to all its ports), or reach it by a name that resolves to this machine.
    """
    server = require("websockets.asyncio.server", extra="studio")
    serve = server.serve

    def guarded(*arguments: Any, process_request: Any, **options: Any) -> Any:
        def answer(connection: ServerConnection, request: Request) -> Response | None:
            headers = request.headers
            hosts = headers.get_all("Host")
            host = hosts[0] if len(hosts) == 1 else ""
            cookie = f"marey-{host.rpartition(':')[2]}"
            asked = parse_qs(request.path.partition("?")[2]).get("token", [])
            pairs = (pair.strip().partition("=") for pair in ";".join(headers.get_all("Cookie")).split(";"))
            given = asked + [value for name, _, value in pairs if name == cookie]
            known = any(compare_digest(one.encode(errors="replace"), token.encode()) for one in given)
            if not known or not is_ours(host, *headers.get_all("Origin")):
                return connection.respond(HTTPStatus.FORBIDDEN, REFUSAL)
            # The page as it is, not compressed: it only goes to this machine.
            if "Accept-Encoding" in headers:
                del headers["Accept-Encoding"]
            response = _corrected(process_request(connection, request))
            if response is not None and asked:
                response.headers["Set-Cookie"] = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
            return response

        asyncio.get_running_loop().set_exception_handler(lambda _, what: _report(what.get("exception")))
        return serve(*arguments, process_request=answer, logger=_Log("studio", logging.WARNING), **options)

    server.serve = guarded
    try:
        yield
    finally:
        server.serve = serve


def check_local_only(port: int, token: str) -> None:
    """Ask the running server as strangers would: should its version of viser let one in, it must not run."""
    ours = f"/?token={token}"
    for path, headers in (
        ("/", {}),
        (ours, {"Host": "marey.example"}),
        (ours, {"Origin": "http://marey.example"}),
    ):
        for kind in ({}, UPGRADE):
            connection = HTTPConnection(HOST, port, timeout=60)
            try:
                connection.request("GET", path, headers=headers | kind)
                status = connection.getresponse().status
            finally:
                connection.close()
            if status != HTTPStatus.FORBIDDEN:
                raise unguarded("does not refuse strangers")


def unguarded(what: str) -> MissingExtraError:
    """The error of a studio that would not be safe."""
    version = require("viser", extra="studio").__version__
    return MissingExtraError(
        f"with viser {version} the studio {what}, so it does not start: pip install 'marey[studio]' brings a "
        "version that it can be used with"
    )


def add_upload_button(workspace: Workspace, folder: Path, opened: Callable[[Path], None]) -> None:
    """A button to open a file; it arrives in `folder` under a safe_filename name."""
    button = workspace.gui.add_upload_button("Open a file…", icon="folder-open", hint=_hint())

    def arrived(_event: object) -> None:
        file = button.value
        if len(file.content) > LIMITS.upload_bytes:
            raise InputError(f"{safe_filename(file.name)} is larger than {LIMITS.upload_bytes >> 20} MB")
        path = folder / safe_filename(file.name)
        path.write_bytes(file.content)
        opened(path)

    button.on_upload(workspace.callback(arrived))
    _limit(workspace)


def _hint() -> str:
    kinds = "BVH, AMC after its ASF, C3D, GLB, OBJ, PLY, video, tracks and tables, marey's own files"
    return f"{kinds}; up to {LIMITS.upload_bytes >> 20} MB"


def _limit(workspace: Workspace) -> None:
    """Drop a transfer as soon as it is known to be too large, before it fills the memory."""
    from viser import _messages as messages

    gui = workspace.gui

    def drop(transfer: str) -> None:
        del gui._current_file_upload_states[transfer]
        workspace.notify_error(
            TOO_LARGE,
            f"Files of up to {LIMITS.upload_bytes >> 20} MB can be opened here; the command line takes more.",
        )

    def started(_client: int, message: _messages.FileTransferStartUpload) -> None:
        if message.size_bytes > LIMITS.upload_bytes or message.part_count > LIMITS.upload_parts:
            drop(message.transfer_uuid)

    def continued(_client: int, message: _messages.FileTransferPart) -> None:
        state = gui._current_file_upload_states.get(message.transfer_uuid)
        if state is not None and state["transferred_bytes"] > state["total_bytes"]:
            drop(message.transfer_uuid)

    gui._websock_interface.register_handler(messages.FileTransferStartUpload, started)
    gui._websock_interface.register_handler(messages.FileTransferPart, continued)


def check_limit(workspace: Workspace, address: str) -> None:
    """Send the running server, as the page does, a file that is too large and one longer than announced.

    Both must have been dropped when a third, which is empty, has arrived.

    address: of the server's socket
    """
    import viser
    from msgspec.msgpack import encode
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    button = workspace.gui.add_upload_button("")

    def message(kind: str, transfer: str, **rest: object) -> bytes:
        return encode(
            {"type": kind, "source_component_uuid": button._impl.uuid, "transfer_uuid": transfer, **rest}
        )

    try:
        protocol = Subprotocol(f"viser-v{viser.__version__}")
        with connect(address, subprotocols=[protocol], max_size=None, proxy=None, open_timeout=60) as socket:
            for name, parts, size in (("large", 2, LIMITS.upload_bytes + 1), ("liar", 2, 0), ("end", 0, 0)):
                if name == "end":
                    socket.send(message("FileTransferPart", "liar", part_index=0, content=b"x"))
                about = {"filename": name, "mime_type": "", "part_count": parts, "size_bytes": size}
                socket.send(message("FileTransferStartUpload", name, **about))
            while button.value.name != "end":
                socket.recv(timeout=60)
        dropped = [notice.title for notice in workspace.notices] == [TOO_LARGE, TOO_LARGE]
    except Exception as error:
        raise unguarded("cannot limit uploads") from error
    if not dropped:
        raise unguarded("cannot limit uploads")
    button.remove()
    workspace.notices.clear()


def _corrected(response: Response | None) -> Response | None:
    """A response of the server with the correction, if it is a page."""
    if response is not None and HEAD in response.body[:1000]:
        response.body = response.body.replace(HEAD, HEAD + CORRECTION, 1)
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
    return response


class _Log(logging.Logger):
    """What the server reports of its connections, in a line each."""

    def handle(self, record: logging.LogRecord) -> None:
        error = root = record.exc_info[1] if record.exc_info else None
        while root is not None and root.__cause__ is not None:
            root = root.__cause__
        # Browsers open connections that they never use, and close others at any time.
        if type(root).__name__ != "ConnectionClosedError" and "after 0 bytes" not in str(root):
            _report(error or record.getMessage())


def _report(what: object) -> None:
    kind = f"{type(what).__name__}: " if isinstance(what, BaseException) else ""
    line = " ".join(f"{kind}{what}".split())[:200]
    print(f"marey: the studio could not make sense of what came over a connection ({line})", file=sys.stderr)
