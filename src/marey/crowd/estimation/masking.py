"""The source's way with obstacles: spoil them differently in every image (Courty & Corpetti 2007, 5.1).

No motion then satisfies the brightness equation there, and a robust penalty gives the area up. Kept to
compare with; cutting the mask out is better. Cost: one blur.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray

Plane = NDArray[np.float32]


def decorrelated(image: Plane, mask: BoolArray, *, seed: int) -> Plane:
    """`image` with what the mask hides replaced by blurred noise of the image's own mean and contrast."""
    import cv2

    rng = np.random.default_rng(seed)
    # Another blur for each image, as the source has it.
    noise = cv2.GaussianBlur(rng.normal(size=image.shape).astype(np.float32), (0, 0), 0.8 + 0.4 * (seed % 2))
    spoilt = image[mask].mean() + image[mask].std() * noise / max(float(noise.std()), 1e-12)
    return np.where(mask, image, spoilt).astype(np.float32)
