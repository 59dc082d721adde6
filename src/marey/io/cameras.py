"""Cameras in files: Tsai calibrations (XML), homographies as text, our own `camera.json`.

A Tsai file is in millimetres with a lens term of first order on the sensor (Tsai, "A versatile camera
calibration technique", 1987). A homography is nine numbers; those of the ETH and UCY recordings take
(row, column) of the image, not (column, row), to metres. Cost: nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from xml.etree import ElementTree

import msgspec
import numpy as np

from marey._arrays import Array
from marey.crowd.cameras import Camera, Homography
from marey.errors import FormatError, InputError
from marey.io._files import atomic_write, quoted, read_bytes
from marey.io._json import decode
from marey.io._limits import LIMITS

View = Camera | Homography
_Pixels = Annotated[int, msgspec.Meta(ge=1, lt=10**9)]
_Row = tuple[float, float, float]
_Matrix = tuple[_Row, _Row, _Row]
Order = Literal["row-column", "column-row"]

TSAI = {
    "Geometry": ("width", "height", "dpx", "dpy"),
    "Intrinsic": ("focal", "kappa1", "cx", "cy", "sx"),
    "Extrinsic": ("tx", "ty", "tz", "rx", "ry", "rz"),
}


class _Kind(msgspec.Struct):
    kind: str = ""


class _Camera(msgspec.Struct):
    size: tuple[_Pixels, _Pixels]
    intrinsics: _Matrix
    rotation: _Matrix
    translation: _Row
    distortion: tuple[float, float] = (0.0, 0.0)
    name: str = ""


class _Homography(msgspec.Struct):
    matrix: _Matrix
    name: str = ""


@np.errstate(all="ignore")  # what overflows is refused as not finite
def read(path: Path, *, order: Order = "row-column") -> View:
    """The camera of a file: a :class:`Camera` if it says all, else a :class:`Homography`.

    order: of the pixel coordinates that a homography written as text takes

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "H.txt"
    >>> _ = path.write_text("0 0.1 0\\n-0.1 0 0\\n0 0 1\\n")
    >>> read(path).to_ground([[30.0, 20.0]]).tolist()  # column 30, row 20
    [[3.0, -2.0]]
    """
    path = Path(path)
    if order not in ("row-column", "column-row"):
        raise InputError(f"order {order!r}: row-column or column-row")
    content = read_bytes(path, limit=LIMITS.small_json)
    head = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    try:
        if head == b"<":
            return _tsai(content, path)
        if head == b"{":
            return _of_json(content, path)
        return _of_text(content, path, order)
    except InputError as error:
        raise FormatError(str(error), path=path) from error


def write(camera: View, path: Path) -> None:
    """As JSON, metres and pixels, that :func:`read` gives back exactly."""
    values = {
        "kind": type(camera).__name__.lower(),
        **msgspec.to_builtins(camera, enc_hook=np.ndarray.tolist),
    }
    with atomic_write(Path(path)) as draft:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(values), indent=1) + b"\n")


def _tsai(content: bytes, path: Path) -> Camera:
    values, name = _tsai_values(content, path)
    # The sensor's pixels are dpx × dpy millimetres; sx makes up for the frame grabber's clock.
    focal = values["focal"]
    intrinsics = np.array(
        [
            [focal * values["sx"] / values["dpx"], 0, values["cx"]],
            [0, focal / values["dpy"], values["cy"]],
            [0, 0, 1.0],
        ]
    )
    translation = 1e-3 * np.array([values["tx"], values["ty"], values["tz"]])
    return Camera(
        intrinsics,
        _rotation(values["rx"], values["ry"], values["rz"]),
        translation,
        (int(values["width"]), int(values["height"])),
        # kappa1 is per square millimetre on the sensor, ours per square of X / Z.
        (values["kappa1"] * focal**2, 0.0),
        name or path.stem,
    )


def _tsai_values(content: bytes, path: Path) -> tuple[dict[str, float], str]:
    if b"<!" in content.replace(b"<!--", b""):
        raise FormatError("declares a document type, which a camera file has no need of", path=path)
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise FormatError(f"is not XML: {error}", path=path) from error
    camera = root if root.tag == "Camera" else root.find(".//Camera")
    if camera is None:
        raise FormatError("has no <Camera>: not a Tsai calibration", path=path)
    values = {}
    for part, wanted in TSAI.items():
        element = camera.find(part)
        if element is None:
            raise FormatError(f"its <Camera> has no <{part}>", path=path)
        for key in wanted:
            text = element.get(key)
            if text is None:
                raise FormatError(f"its <{part}> has no {key}", path=path)
            values[key] = _number(text, f"{key} of <{part}>", path)
    for key in ("width", "height", "dpx", "dpy", "focal", "sx"):
        if not 0 < values[key] < 1e9:
            raise FormatError(f"{key} is {values[key]:g}; it must be positive", path=path)
    return values, camera.get("name") or ""


def _rotation(about_x: float, about_y: float, about_z: float) -> Array:
    """About x, then y, then z, radians."""
    (cx, sx), (cy, sy), (cz, sz) = ((np.cos(a), np.sin(a)) for a in (about_x, about_y, about_z))
    first = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    second = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    third = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return np.asarray(third @ second @ first)


def _of_json(content: bytes, path: Path) -> View:
    tags = decode(content, _Kind, path)
    if tags.kind not in ("camera", "homography"):
        raise FormatError('is no camera: "kind" is neither "camera" nor "homography"', path=path)
    if tags.kind == "homography":
        plane = decode(content, _Homography, path)
        return Homography(np.array(plane.matrix), plane.name)
    found = decode(content, _Camera, path)
    intrinsics, rotation, translation = map(np.array, (found.intrinsics, found.rotation, found.translation))
    return Camera(intrinsics, rotation, translation, found.size, found.distortion, found.name)


def _of_text(content: bytes, path: Path, order: Order) -> Homography:
    words = content.decode("latin-1").replace(",", " ").replace(";", " ").split()
    if len(words) != 9:
        raise FormatError(
            f"is no camera we know: neither XML nor JSON, and {len(words)} words are not the nine numbers of "
            "a homography",
            path=path,
        )
    matrix = np.array([_number(word, "an entry", path) for word in words]).reshape(3, 3)
    if order == "row-column":
        matrix = matrix[:, [1, 0, 2]]
    return Homography(matrix, path.parent.name if path.stem == "H" else path.stem)


def _number(text: str, what: str, path: Path) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise FormatError(f"{what} is {quoted(text)}, not a number", path=path) from error
    if not np.isfinite(value):
        raise FormatError(f"{what} is {quoted(text)}, not finite", path=path)
    return value
