from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marey.errors import FormatError, InputError
from marey.surface import Texture


def test_an_image_comes_back_as_it_was_given() -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    np.testing.assert_array_equal(Texture.from_image(image).read(), image)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 5), np.uint8),
        np.zeros((4, 5, 4), np.uint8),
        np.full((4, 5, 3), 0.5),
        np.zeros((0, 5, 3), np.uint8),
    ],
)
def test_grey_transparent_fractional_and_empty_images_are_refused(image: np.ndarray) -> None:
    with pytest.raises(InputError, match="expected red green blue as uint8"):
        Texture.from_image(image)


@pytest.mark.parametrize("data", [b"", b"not a picture"])
def test_what_is_no_image_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "skin.png"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"skin.png: the texture is not an image"):
        Texture(path=path).read()
    with pytest.raises(FormatError, match="not an image"):
        Texture(data=data).read()
