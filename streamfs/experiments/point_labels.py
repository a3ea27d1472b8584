"""Names beside the points of a plot, clear of each other."""

from collections.abc import Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from feature_extractors.arrays import Array
from streamfs.relief.figure_1 import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RADII, _ANGLES = (8.0, 13.0, 19.0, 26.0, 34.0), np.deg2rad([90, 45, 135, 0, 180, 315, 225, 270])
"""Where a name is tried, in points: near its point first, and above before below."""

_LETTER, _HEIGHT, _POINT, _STROKE = 5.0, 8.0, 7.0, 2.0  # sizes in points
_NEAR = _RADII[0]


Numbers = Sequence[float] | Array


def label_points(axes: "Axes", x: Numbers, y: Numbers, names: Sequence[str]) -> None:
    """Write a name beside each point: where others are in the way farther off, with a line to the point.

    Lines are in the way, too. Call it when all else is drawn, since it needs the final limits of the axes. A name
    for which there is no room at all is left out. Names of the same point are written together.
    """
    x, y, names = _together(x, y, names)
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes are in no figure, expected some that can be drawn")
    figure.draw_without_rendering()
    scale = 72.0 / figure.dpi
    points = axes.transData.transform(np.column_stack([x, y])) * scale
    inside = np.array(axes.bbox.extents) * scale
    taken = [_box(point, _POINT, _POINT) for point in points]
    for line in axes.get_lines():
        if line.get_linestyle() != "None":
            taken += _along(axes.transData.transform(line.get_xydata()) * scale)
    for place, name in enumerate(names):
        found = _free_place(points[place], name, taken, inside)
        if found is not None:
            offset, box = found
            taken.append(box)
            is_near = np.hypot(*offset) < _NEAR + 1e-9
            axes.annotate(
                name,
                (x[place], y[place]),
                xytext=(offset[0], offset[1]),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=7,
                arrowprops=None if is_near else {"arrowstyle": "-", "linewidth": 0.5, "color": GREY},
                zorder=4,
            )


def _together(x: Numbers, y: Numbers, names: Sequence[str]) -> tuple[Array, Array, list[str]]:
    """Return each point once, with its name, or the first and last of several.

    Examples
    --------
    >>> _together([1, 2, 2, 2], [5, 6, 6, 6], ["a", "b", "c", "d"])[2]
    ['a', 'b to d']
    """
    of_point: dict[tuple[float, float], list[str]] = {}
    for place, name in zip(zip(x, y, strict=True), names, strict=True):
        of_point.setdefault(place, []).append(name)
    points = np.array(list(of_point), dtype=float).reshape(-1, 2)
    return (
        points[:, 0],
        points[:, 1],
        [" to ".join(dict.fromkeys((each[0], each[-1]))) for each in of_point.values()],
    )


def _free_place(point: Array, name: str, taken: Sequence[Array], inside: Array) -> tuple[Array, Array] | None:
    """Return an offset from a point at which its name hits nothing, and its box; None without such an offset."""
    for radius, angle in product(_RADII, _ANGLES):
        offset = radius * np.array([np.cos(angle), np.sin(angle)])
        offset[0] *= 1.0 + 0.2 * (len(name) - 1)
        box = _box(point + offset, _LETTER * len(name), _HEIGHT)
        is_within = (box[:2] >= inside[:2]).all() and (box[2:] <= inside[2:]).all()
        if is_within and not any(_overlap(box, other) for other in taken):
            return offset, box
    return None


def _along(vertices: Array) -> list[Array]:
    """Return small boxes that cover a line."""
    boxes = []
    for start, end in pairwise(vertices):
        n = 2 + int(np.nan_to_num(np.hypot(*(end - start))) / _STROKE)
        boxes += [_box(start + share * (end - start), _STROKE, _STROKE) for share in np.linspace(0.0, 1.0, n)]
    return boxes


def _box(middle: Array, width: float, height: float) -> Array:
    half = np.array([width, height]) / 2.0
    return np.concatenate([middle - half, middle + half])


def _overlap(one: Array, other: Array) -> bool:
    return bool((one[:2] < other[2:]).all() and (other[:2] < one[2:]).all())
