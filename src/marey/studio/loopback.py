"""A server for this machine alone: pages of other sites that run in the same browser may not talk to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from marey.studio.client import asked_plain, corrected

HOST = "127.0.0.1"
OURS = frozenset({"localhost", "127.0.0.1", "::1"})


def is_ours(address: str | None) -> bool:
    """Whether an Origin or a Host header names this machine.

    >>> is_ours("http://127.0.0.1:8080"), is_ours("localhost:8080"), is_ours("https://elsewhere.example")
    (True, True, False)
    """
    if address is None:
        return True
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname in OURS
    except ValueError:
        return False


@contextmanager
def strangers_refused() -> Iterator[None]:
    """Servers that start inside answer 403 to requests for another host or from another site's page.

    Without it any page could open a socket to the studio (browsers let sockets cross sites), or reach it by a
    name that resolves to this machine.
    """
    from viser.infra import _infra

    server = _infra.websockets.asyncio.server
    serve = server.serve

    def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        def refuse(connection: Any, request: Any) -> Any:
            headers = request.headers
            if not (is_ours(headers.get("Origin")) and is_ours(headers.get("Host"))):
                return connection.respond(HTTPStatus.FORBIDDEN, "The studio answers to this machine only.\n")
            if process_request is None:
                return None
            asked_plain(request)
            return corrected(process_request(connection, request))

        return serve(*arguments, process_request=refuse, **options)

    server.serve = guarded
    try:
        yield
    finally:
        server.serve = serve
