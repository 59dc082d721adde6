"""The page that viser serves, with two corrections before it reaches the browser.

Its scene listens to pressed pointers with a listener that promises not to prevent anything (react-three-fiber
makes it passive), and then tries to prevent the browser's own dragging all the same: in vain, and Chromium
writes an error to the console at every drag. Here it does not try.

Where graphics are drawn in software it asks for the name of the renderer, only to put a notice over the page
that stays until it is closed. Here it is not given the name, as in browsers that keep it private.
"""

from __future__ import annotations

from typing import Any

HEAD = b"<head>"
CORRECTION = b"""<script>
{
  const listen = EventTarget.prototype.addEventListener;
  const let_be = (event) => { event.preventDefault = () => {}; };
  EventTarget.prototype.addEventListener = function (kind, act, options) {
    if (kind === "pointerdown" && options && options.passive) listen.call(this, kind, let_be, options);
    return listen.call(this, kind, act, options);
  };
  for (const { prototype } of [WebGLRenderingContext, WebGL2RenderingContext]) {
    const extension = prototype.getExtension;
    prototype.getExtension = function (name) {
      return name === "WEBGL_debug_renderer_info" ? null : extension.call(this, name);
    };
  }
}
</script>"""


def asked_plain(request: Any) -> None:
    """Ask for the page as it is, not compressed: it only goes to this machine."""
    if "Accept-Encoding" in request.headers:
        del request.headers["Accept-Encoding"]


def corrected(response: Any) -> Any:
    """A response of the server with the correction, if it is a page."""
    if response is not None and HEAD in response.body[:1000]:
        response.body = response.body.replace(HEAD, HEAD + CORRECTION, 1)
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
    return response
