"""A server for one person: neither other users of this machine nor pages of other sites may talk to it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hmac import compare_digest
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit

from marey.errors import MissingExtraError, require
from marey.studio.client import asked_plain, corrected

HOST = "127.0.0.1"
OURS = frozenset({"localhost", "127.0.0.1", "::1"})
REFUSAL = """The studio answers only to whoever started it.
Open the address that `marey studio` printed, with everything after the question mark.
"""
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket"}


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
def strangers_refused(token: str) -> Iterator[None]:
    """Servers that start inside answer 403 to requests that lack the token or come from elsewhere.

    The token comes with the address, then as a cookie, which the socket carries, too. Without the checks of
    host and origin any page could open a socket to the studio (browsers let sockets cross sites, and send the
    cookies of a host to all its ports), or reach it by a name that resolves to this machine.
    """
    server = require("websockets.asyncio.server", extra="studio")
    serve = server.serve

    def guarded(*arguments: Any, process_request: Any, **options: Any) -> Any:
        def answer(connection: Any, request: Any) -> Any:
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
            asked_plain(request)
            response = corrected(process_request(connection, request))
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


def check_strangers_are_refused(port: int, token: str) -> None:
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
