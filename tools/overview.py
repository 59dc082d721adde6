"""Draw the README's picture from built-in samples: `python tools/overview.py docs/images/overview.jpg`."""

import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

import marey
from marey.views import view


def main(target: str) -> None:
    folder = Path(tempfile.mkdtemp())
    walk = marey.samples.walk()
    view(marey.samples.human(walk), folder / "human.png")
    view(walk, folder / "walk.png")
    view(marey.samples.crowd().between(1.3, 1.5), folder / "crowd.mp4")
    human = cv2.imread(str(folder / "human.png"))[110:610]
    skeleton = cv2.imread(str(folder / "walk.png"))
    _, people = cv2.VideoCapture(str(folder / "crowd.mp4")).read()
    below = [cv2.resize(image, (640, 360), interpolation=cv2.INTER_AREA) for image in (skeleton, people)]
    picture = np.vstack([human, np.hstack(below)])
    cv2.imwrite(target, picture, [cv2.IMWRITE_JPEG_QUALITY, 84, cv2.IMWRITE_JPEG_OPTIMIZE, 1])


if __name__ == "__main__":
    main(sys.argv[1])
