"""Draw the pictures of docs/body from CMU clips: `python tools/body_pictures.py docs/images [NAME …]`.

Clips are looked for as `marey data get` does (set MAREY_DATA to a folder that holds them). Names: modes,
variance, handles, trackers, compression; all of them if none is given.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

import marey
from marey import datasets
from marey.body import PoseModel
from marey.body.ik import PoseSolver, Reach
from marey.body.ik.targets import find_point
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.reconstruct import reconstruct
from marey.body.trackers import Trackers
from marey.errors import MareyWarning
from marey.views import shots, style
from marey.views.actors import Actor, across_view, actor, group

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

# Frames of the walk that are drawn.
SHOWN = 200
FEET_AND_HEAD = ["LeftToeBase", "RightToeBase", "Head_end"]
# Their mean is grey: where both agree, neither shows.
TRUE, MADE = "#62bfe0", "#f2a58e"


def clip(name: str) -> marey.Motion:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MareyWarning)
        return marey.load(datasets.get(f"cmu-{name}"), clean=True)


def modes() -> np.ndarray:
    """The mean of a walk and its first three modes."""
    from marey.views import figures

    return drawn(figures.pose_modes(PoseModel.fit([clip("02_01")], modes=3), (1280, 440)))


def variance() -> np.ndarray:
    """Share of variance by number of modes, in the three metrics, and what it means in centimetres."""
    with style.figure((1280, 400)) as figure:
        shares, errors = figure.subplots(1, 2)
        for index, (name, what) in enumerate(
            (("02_01", "walk"), ("17_10", "boxing"), ("85_12", "break-dance"))
        ):
            motion = clip(name)
            for metric, line in (("canonical", ":"), ("kinetic", "-")):
                model = PoseModel.fit([motion], modes=30, metric=metric)
                look = {"color": style.PALETTE[index], "ls": line, "label": f"{what}, {metric}"}
                shares.plot(np.arange(1, 31), 100 * model.geodesics.explained, **look)
                counts = [1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 25, 30]
                cm = [100 * model.first(k).joint_errors(motion).mean() for k in counts]
                errors.semilogy(counts, cm, **look)
        shares.axhline(99, color=style.SOFT_INK, lw=0.7, ls=(0, (4, 4)))
        shares.set(xlabel="modes", ylabel="share of variance (%)", ylim=(0, 102), xlim=(0, 30))
        shares.set_title("Variance held, each in its own metric")
        errors.set(xlabel="modes", ylabel="mean joint error (cm)", xlim=(0, 30))
        errors.set_title("What that is worth, root held still")
        errors.set_yticks([0.03, 0.1, 0.3, 1, 3, 10], ["0.03", "0.1", "0.3", "1", "3", "10"])
        errors.minorticks_off()
        shares.legend(loc="lower right")
    return drawn(figure)


def handles() -> np.ndarray:
    """A break-dancer's poses, led by three handles."""
    dance = clip("85_12")
    model = PoseModel.fit([dance], modes=10)
    positions, index = dance.positions(), dance.skeleton.index
    frame = int(np.argmax(positions[:, index("Head"), 1]))
    start = dance[frame]
    ahead = actor(start).facing
    axes = np.array([np.cross([0.0, 1.0, 0.0], ahead), [0.0, 1.0, 0.0], ahead])
    places = {name: positions[frame, index(name)] for name in ("RightHand", "LeftToeBase", "RightToeBase")}
    still = (0.0, 0.0, 0.0)
    drags = [
        (still, still),
        ((0, 0.45, 0.05), still),
        ((0.25, -0.1, 0.45), still),
        ((0.3, -0.75, 0.35), still),
        ((0, 0.1, 0), (0.45, 0.25, 0.1)),
    ]
    solver = PoseSolver(model, start=start)
    poses, marks = [], []
    for hand, foot in drags:
        targets = [
            Reach("RightHand", places["RightHand"] + hand @ axes),
            Reach("LeftToeBase", places["LeftToeBase"] + foot @ axes),
            Reach("RightToeBase", places["RightToeBase"]),
        ]
        solver.reset(start)
        posed = solver.solve(targets)
        print(f"  missed by at most {posed.report.residual_cm:.2f} cm, {posed.report.iterations:.0f} steps")
        poses.append(posed.motion())
        marks.append([target.position for target in targets])
    return shots.strip(row(poses, marks=marks, apart=1.3), (1280, 420))


def trackers() -> np.ndarray:
    """A walk, and the same rebuilt from its feet and head."""
    walk = clip("02_01")
    seen = feet_and_cap(walk)
    found = reconstruct(PoseModel.fit([walk], modes=6), seen)
    error = 100 * np.linalg.norm(found.positions() - walk.positions(), axis=2).mean()
    print(f"  mean joint error {error:.2f} cm")
    texts = "captured", f"rebuilt from the balls alone: {error:.1f} cm off on average"
    pictures = [
        shots.strip(group([motion[:SHOWN]], marks=seen.positions[:SHOWN]), (1280, 330))
        for motion in (walk, found)
    ]
    return np.vstack([labelled(picture, text) for picture, text in zip(pictures, texts, strict=True)])


def compression() -> np.ndarray:
    """A pose at several errors, seen through the original; and bytes against error."""
    from _compression_codecs import ACL, OURS, curves

    wheel = clip("49_06")
    bounds = (0.001, 0.01, 0.02, 0.05, 0.1)
    clips = [marey.body.compress(wheel, max_error=bound) for bound in bounds]
    decoded = [small.decode() for small in clips]
    errors = np.linalg.norm(decoded[-1].positions() - wheel.positions(), axis=2).mean(axis=1)
    frame = int(np.argmax(errors))
    with style.figure((1280, 760)) as figure:
        grid = figure.add_gridspec(2, len(bounds), height_ratios=(1, 1.15))
        for column, (bound, small, again) in enumerate(zip(bounds, clips, decoded, strict=True)):
            axes = figure.add_subplot(grid[0, column])
            axes.imshow(through(wheel[frame], again[frame], (480, 600)))
            axes.set_title(
                f"within {100 * bound:g} cm\n{small.bytes:,} bytes, 1 : {small.ratio:.0f}", fontsize=10
            )
            axes.set_axis_off()
        axes = figure.add_subplot(grid[1, :])
        looks = {
            OURS: ("marey", 0, 2.4),
            ACL: ("ACL-style", 1, 1.4),
            "key reduction + zstd": ("", 2, 1.4),
            "16 bit + zstd": ("", 4, 1.0),
        }
        points = list(curves(wheel, Path(datasets.get("cmu-49_06"))))
        for codec in dict.fromkeys(point.codec for point in points):
            _, colour, width = looks.get(codec, ("", 7, 1.0))
            mine = [point for point in points if point.codec == codec and point.mean > 1e-6]
            if not mine:
                continue
            sizes = [point.size / 1000 for point in mine]
            look = {"color": style.PALETTE[colour], "lw": width, "marker": "o", "ms": 3.5}
            axes.loglog([100 * point.maximum for point in mine], sizes, label=codec, **look)
        axes.set(xlabel="largest joint error (cm)", ylabel="size (kB)", xlim=(0.008, 12))
        axes.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
        axes.set_yticks([0.3, 1, 3, 10, 30, 100], ["0.3", "1", "3", "10", "30", "100"])
        axes.minorticks_off()
        axes.set_title(
            f"A cartwheel (CMU 49_06): {wheel.frames} frames, {wheel.joints} joints, 120 per second"
        )
        axes.legend(loc="lower left")
    return drawn(figure)


def feet_and_cap(motion: marey.Motion) -> Trackers:
    """Trackers on the feet and on a cap: 11 cm beyond the end of the head's bone, where it can be seen."""
    pose, places = forward_kinematics(motion), [find_point(motion.skeleton, name) for name in FEET_AND_HEAD]
    joints, ends = [joint for joint, _ in places], np.array([end for _, end in places])
    points = np.zeros((3, 3))
    points[2] = 0.11 * ends[2] / np.linalg.norm(ends[2])
    rotations = np.full((motion.frames, 3, 4), np.nan)
    rotations[:, 2] = pose.rotations[:, joints[2]]
    positions = points_on(pose, joints, points + ends)
    return Trackers(tuple(FEET_AND_HEAD), positions, motion.frame_rate, rotations, points)


def row(poses: Sequence[marey.Motion], *, marks: Sequence[Sequence[np.ndarray]], apart: float) -> Actor:
    """Single poses with their marks, in a row across the view."""
    shifts = apart * np.arange(len(poses))[:, None] * across_view(poses[0])
    return group(poses, shifts=shifts, marks=(np.array(marks) + shifts[:, None]).reshape(1, -1, 3))


def through(true: marey.Motion, made: marey.Motion, size: tuple[int, int]) -> np.ndarray:
    return shots.strip(group([true], colours=[TRUE]), size, overlay=group([made], colours=[MADE]))


def labelled(picture: np.ndarray, text: str) -> np.ndarray:
    picture = np.ascontiguousarray(picture)
    ink = tuple(int(style.SOFT_INK[i : i + 2], 16) for i in (1, 3, 5))
    cv2.putText(picture, text, (16, len(picture) - 12), cv2.FONT_HERSHEY_DUPLEX, 0.55, ink, 1, cv2.LINE_AA)
    return picture


PICTURES: dict[str, Callable[[], np.ndarray]] = {
    "modes": modes,
    "variance": variance,
    "handles": handles,
    "trackers": trackers,
    "compression": compression,
}


def drawn(figure: object) -> np.ndarray:
    path = Path(tempfile.mkdtemp()) / "figure.png"
    style.save(figure, path)
    return cv2.imread(str(path))[..., ::-1]


def main(folder: Path, names: list[str]) -> None:
    for name in names or PICTURES:
        print(name)
        picture = Image.fromarray(PICTURES[name]())
        if name == "trackers":
            picture.save(folder / "body-trackers.jpg", quality=85, optimize=True)
            continue
        small = picture.quantize(256, kmeans=4, dither=Image.Dither.FLOYDSTEINBERG)
        small.save(folder / f"body-{name}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
