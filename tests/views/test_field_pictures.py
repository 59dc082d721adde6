"""Pictures of fields: every kind is drawn, of masked, still and single-frame series too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marey.crowd.fields import FieldSeries
from marey.errors import InputError
from marey.views import figures
from marey.views.render import VIEWS, view
from tests.crowd.flows import street


@pytest.mark.parametrize("kind", VIEWS[FieldSeries].kinds)
def test_every_kind_of_picture_is_drawn(kind: str, tmp_path: Path) -> None:
    still = FieldSeries(np.zeros((2, 5, 6, 2)), 25)
    for name, series in (("street", street(12)), ("still", still), ("one", street(3)[:1])):
        out = tmp_path / f"{name}.png"
        view(series, out, size=(320, 180), kind=kind)
        assert out.read_bytes()[1:4] == b"PNG"


def test_lines_lie_over_the_first_image() -> None:
    image = np.full((40, 56, 3), 120, np.uint8)
    figure = figures.flow_lines(street(12), (320, 180), kind="streak", image=image)
    assert "streak lines" in figure.axes[0].get_title(loc="left")
    with pytest.raises(InputError, match="path or streak"):
        figures.flow_lines(street(3), kind="other")
