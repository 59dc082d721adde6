// Goes before the scripts of the page that viser serves; see server.py.
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
