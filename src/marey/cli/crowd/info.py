"""`marey crowd info`: what is in a captured flow."""

from marey.cli._options import Fields, Figure
from marey.cli._run import Output, Run, command


@command()
def info(field: Fields, run: Run, figure: Figure = None) -> Output:
    """Speeds, direction, divergence and vorticity of a flow, and how it compresses.

    Examples:
        marey crowd info street.zarr
        marey crowd info small.mry --json
        marey crowd info street.zarr --figure spectrum.png

    Information is the energy that the lowest 1, 5 and 10 % of the temporal frequencies keep, in per cent. The
    figure shows a pixel over time, and the error against numbers kept.
    """
    from marey import crowd

    return Output(None, {"file": run.path("field"), **crowd.info(field)}, ("spectrum", field))
