"""A texture image that is read only when it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError, InputError


@dataclass(frozen=True)
class Texture:
    """An encoded image (PNG or JPEG): a file, or bytes that came inside another file."""

    path: Path | None = None
    data: bytes | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.data is None):
            raise InputError("texture: give either a path or the encoded bytes")

    def encoded(self) -> bytes:
        """The PNG or JPEG bytes."""
        if self.data is not None:
            return self.data
        assert self.path is not None
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot read the texture: {error.strerror}", path=self.path) from error

    def read(self) -> NDArray[np.uint8]:
        """`(rows, columns, 3)`, red green blue."""
        import cv2

        try:
            image = cv2.imdecode(np.frombuffer(self.encoded(), dtype=np.uint8), cv2.IMREAD_COLOR)
        except cv2.error:  # no bytes at all, or more pixels than OpenCV allows
            image = None
        if image is None:
            raise FormatError("the texture is not an image we can read (PNG, JPEG)", path=self.path)
        return np.ascontiguousarray(image[..., ::-1])

    @staticmethod
    def from_image(image: NDArray[np.uint8]) -> Texture:
        """Encode `(rows, columns, 3)` red green blue, uint8, as PNG."""
        import cv2

        if image.ndim != 3 or image.shape[2] != 3 or image.size == 0 or image.dtype != np.uint8:
            raise InputError(
                f"texture: expected red green blue as uint8 of shape (rows, columns, 3), "
                f"got {image.dtype} of shape {image.shape}"
            )
        done, data = cv2.imencode(".png", np.ascontiguousarray(image[..., ::-1]))
        if not done:
            raise InputError(f"texture: cannot encode an image of shape {image.shape}")
        return Texture(data=data.tobytes())
