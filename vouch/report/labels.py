"""Where to write the name beside each point of a scatter plot so that names do not cover one another."""

from collections.abc import Sequence
from typing import NamedTuple

CHARACTER = 0.56  # mean width of a character, in font sizes
POINT = 5.0  # half the side of the square that a point keeps free, pixels


class Box(NamedTuple):
    """A rectangle in pixels, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Shared area, square pixels."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0.0) * max(height, 0.0)


class Label(NamedTuple):
    """x, y: anchor of the text, pixels. align: `left` or `right`. linked: whether it stands off its point."""

    x: float
    y: float
    align: str
    linked: bool


def place(
    points: Sequence[tuple[float, float]], names: Sequence[str], size: tuple[float, float], font: float
) -> list[Label | None]:
    """A label for each point (pixels), earlier points first; None where no free place was found.

    Deterministic: for each point the nearest of a fixed list of places that covers neither another
    label, nor a point, nor the edge.
    """
    taken = [Box(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    labels: list[Label | None] = []
    for (x, y), name in zip(points, names, strict=True):
        width = len(name) * CHARACTER * font
        for label in _candidates(x, y, font):
            box = _box(label, width, font)
            inside = box.left >= 0 and box.right <= size[0] and box.top >= 0 and box.bottom <= size[1]
            if inside and not any(box.overlap(other) for other in taken):
                taken.append(box)
                labels.append(label)
                break
        else:
            labels.append(None)
    return labels


def _candidates(x: float, y: float, font: float) -> list[Label]:
    steps = [0.0]
    for step in range(1, 11):
        steps += [-step * 0.5 * (font + 1), step * 0.5 * (font + 1)]
    near = [Label(x + 7, y + dy, "left", False) for dy in steps[:3]]
    near += [Label(x - 7, y + dy, "right", False) for dy in steps[:3]]
    far = []
    for reach in (16, 30, 48, 72):
        for dy in steps[1:]:
            far += [Label(x + reach, y + dy, "left", True), Label(x - reach, y + dy, "right", True)]
    return near + far


def _box(label: Label, width: float, font: float) -> Box:
    left = label.x if label.align == "left" else label.x - width
    return Box(left - 1, label.y - font * 0.6, left + width + 1, label.y + font * 0.6)
