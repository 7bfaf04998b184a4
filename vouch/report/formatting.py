"""Numbers and names in plain English."""

import math
import re
from collections.abc import Sequence
from decimal import Decimal

from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT

NARROW = "\u202f"  # a narrow space that does not break
MINUS = "\u2212"
OUTPUT_NAMES = {LETTERS: "letters", LIKELIHOOD: "likelihood of options", TEXT: "generated text"}
# Control characters except white space, which terminals obey and HTML forbids, and bidirectional controls.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Foreign text with control characters replaced, so that it cannot affect the text around it."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def decimals(value: float, digits: int) -> str:
    """A fixed number of decimals; halves go to the even digit, as they are written in decimal: 0.9145 and
    91.45 become 0.914 and 91.4, although binary numbers lie beside them."""
    if not math.isfinite(value):
        return f"{value:.{digits}f}"
    return f"{Decimal(repr(round(float(value), 12))):.{digits}f}"


def number(value: float, digits: int) -> str:
    """`decimals` with a real minus sign, and no `-0.0`."""
    text = decimals(value, digits)
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def percent(value: float, digits: int = 1) -> str:
    """0.837 -> `83.7 %`."""
    return f"{number(100 * value, digits)}{NARROW}%"


def p_value(value: float) -> str:
    """`0.0312`, or `< 0.0001`."""
    return "< 0.0001" if value < 1e-4 else number(value, 4)


def span(low: float, high: float, digits: int, scale: float = 1.0) -> str:
    """An interval: `82.1–85.2`, or `−0.3 to 0.4` if a minus sign would make a dash hard to read."""
    joint = " to " if low < 0 else "–"
    return f"{number(scale * low, digits)}{joint}{number(scale * high, digits)}"


def without_width(low: float, high: float) -> bool:
    """Whether the ends of an interval are equal up to rounding."""
    return high - low < 1e-9


def bracketed(low: float | None, high: float | None, digits: int, scale: float = 1.0) -> str:
    """` (82.1–85.2)`; empty if there is no interval, or one of width 0."""
    if low is None or high is None or without_width(low, high):
        return ""
    return f" ({span(low, high, digits, scale)})"


def count(value: int) -> str:
    """4377 -> `4,377`."""
    return f"{value:,}"


def roughly(value: float) -> str:
    """3,037 -> `About 3,100`: two digits, rounded up."""
    step = 10 ** max(int(math.log10(max(value, 1))) - 1, 0)
    return f"About {count(math.ceil(value / step) * step)}"


def plural(value: int, one: str, many: str = "") -> str:
    """`1 item`, `4,377 items`."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """`A`, `A and B`, `A, B and C`, `A, B, C, D and 3 more`."""
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def ranks(low: int | None, high: int | None) -> str:
    """`2`, `1–3`, or a dash if there is no rank."""
    if low is None or high is None:
        return "–"
    return str(low) if low == high else f"{low}–{high}"
