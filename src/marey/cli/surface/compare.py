"""`marey surface compare`: how well two pose metrics agree on the same frames."""

from marey.cli._options import Distances, Figure, Seed, argument, option
from marey.cli._run import Output, Run, command


@command()
def compare(
    run: Run,
    candidate: Distances = argument("Made by `marey surface distance`.", "D1"),
    truth: Distances = argument("Of the same frames: what is held to be true, e.g. skeleton.", "D2"),
    permutations: int = option(
        10_000, "Number of permutations of the significance test.", "N", min=1, max=1_000_000
    ),
    blocks: bool = option(
        False, "Permute whole sequences: stricter, since frames in succession are similar."
    ),
    classes: int = option(
        10, "Classes from near pairs to far ones, of equally many pairs.", "N", min=1, max=100
    ),
    seed: Seed = 0,
    figure: Figure = None,
) -> Output:
    """Test how well two pose metrics agree (Mantel's test).

    Examples:
        marey surface compare surface.npz skeleton.npz
        marey surface compare surface.npz skeleton.npz --figure agreement.png --blocks
        marey surface distance walk.bvh run.bvh -o surface.npz
        marey surface distance walk.bvh run.bvh -o skeleton.npz --metric skeleton

    Correlations are of all pairs of frames; p is the share of permutations that agree as well at random. The
    figure shows the agreement from near to far pairs, and that of permutations.
    """
    from marey import surface

    found = run.call("permuting frames", surface.compare, candidate, truth)
    return Output(None, found, ("agreement", found.test, found.by_class, found.metrics))
