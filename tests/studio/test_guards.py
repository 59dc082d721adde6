"""Who may talk to the studio: whoever has its address, not other users, other sites, or endless files."""

from __future__ import annotations

import http.client
import socket
from http.cookies import SimpleCookie
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from marey.errors import MareyError
from marey.studio.app import Studio
from tests.browser import LONG

viser = pytest.importorskip("viser", reason="the extra studio is not installed")


def ask(studio: Studio, path: str | None = None, **headers: str) -> http.client.HTTPResponse:
    """The answer to a request, for the whole address unless a path is given."""
    where = urlsplit(studio.address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=LONG)
    connection.request("GET", path or f"{where.path}?{where.query}", headers=headers)
    return connection.getresponse()


def opened_socket(studio: Studio, query: str | None = None, **options: Any) -> ClientConnection:
    where = urlsplit(studio.address)
    return connect(
        f"ws://{where.netloc}/?{where.query if query is None else query}",
        subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
        max_size=None,
        proxy=None,
        open_timeout=LONG,
        **options,
    )


def refused_socket(studio: Studio, query: str | None = None, **options: Any) -> bool:
    try:
        opened_socket(studio, query, **options).close()
    except InvalidStatus as error:
        return error.response.status_code == 403
    return False


@pytest.mark.parametrize("query", ["", "token=", "token=guess", "token=%ff%00", "token"])
def test_without_the_token_neither_page_nor_socket_answers(studio: Studio, query: str) -> None:
    answer = ask(studio, f"/?{query}")
    assert answer.status == 403 and b"Open the address that" in answer.read()
    assert answer.headers["Set-Cookie"] is None
    assert refused_socket(studio, query)


def test_the_token_of_the_address_becomes_a_cookie_that_opens_the_socket(studio: Studio) -> None:
    answer = ask(studio)
    assert answer.status == 200 and b"<html" in answer.read()
    (cookie,) = SimpleCookie(answer.headers["Set-Cookie"]).values()
    assert cookie["httponly"] and cookie["samesite"] == "Strict"
    carried = f"another=1; {cookie.key}={cookie.value}"
    assert ask(studio, "/", Cookie=carried).status == 200
    opened_socket(studio, "", additional_headers={"Cookie": carried}).close()
    # Another studio, on another port of the same host, has a cookie of another name.
    assert str(urlsplit(studio.address).port) in cookie.key
    assert ask(studio, "/", Cookie=f"{cookie.key}=guess").status == 403


def test_two_studios_have_different_tokens(studio: Studio) -> None:
    with Studio(port=0) as other:
        assert urlsplit(other.address).query != urlsplit(studio.address).query


def test_the_page_is_for_this_machine_only(studio: Studio) -> None:
    where = urlsplit(studio.address)
    assert studio.server.get_host() == where.hostname == "127.0.0.1"
    assert ask(studio, Origin=f"http://{where.netloc}").status == 200
    assert ask(studio, Host=f"localhost:{where.port}").status == 200
    assert ask(studio, Host="rebound.example").status == 403


@pytest.mark.parametrize(
    "origin",
    ["https://elsewhere.example", "null", "http://[broken", "http://127.0.0.1:1", "http://localhost"],
)
def test_pages_of_other_sites_and_servers_cannot_open_a_socket(studio: Studio, origin: str) -> None:
    assert refused_socket(studio, origin=origin)


def test_garbage_prints_one_line_and_ends_only_its_own_connection(
    studio: Studio, capfd: pytest.CaptureFixture[str]
) -> None:
    good = opened_socket(studio)
    for garbage in ("text", b"\xff no message", b"\x81\xa4type\xa7Unknown"):
        with opened_socket(studio) as bad, pytest.raises(ConnectionClosed):
            bad.send(garbage)
            while True:
                bad.recv(timeout=LONG)
        assert len(capfd.readouterr().err.splitlines()) == 1
    with socket.create_connection(("127.0.0.1", studio.server.get_port()), timeout=LONG) as bad_client:
        bad_client.sendall(b"\x00\x01 nothing like HTTP\r\n\r\n")
        assert bad_client.recv(1) == b""
    assert ask(studio).status == 200
    good.ping().wait(LONG)
    good.close()
    error = capfd.readouterr().err
    assert len(error.splitlines()) == 1 and error.startswith("marey: ")


def test_a_viser_that_serves_by_another_name_is_found_out_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    import websockets
    from viser.infra import _infra

    own = SimpleNamespace(serve=websockets.asyncio.server.serve, ServerConnection=None)
    names = {"asyncio": SimpleNamespace(server=own), "exceptions": websockets.exceptions}
    monkeypatch.setattr(
        _infra, "websockets", SimpleNamespace(datastructures=websockets.datastructures, **names)
    )
    with pytest.raises(MareyError, match=f"viser {viser.__version__} the studio does not refuse strangers"):
        Studio(port=0)


@pytest.mark.parametrize("handler", ["_handle_file_transfer_start", "_handle_file_transfer_part"])
def test_a_viser_that_keeps_uploads_elsewhere_is_found_out_at_start(
    handler: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from viser._gui_api import GuiApi

    handle = getattr(GuiApi, handler)

    def elsewhere(self: Any, client: int, message: Any) -> None:
        handle(self, client, message)
        state = self._current_file_upload_states.pop(message.transfer_uuid, None)
        self.__dict__.setdefault("_moved", []).append(state)

    monkeypatch.setattr(GuiApi, handler, elsewhere)
    with pytest.raises(MareyError, match="cannot limit uploads"):
        Studio(port=0)
    assert "Traceback" not in capfd.readouterr().err
