"""Charts as SVG, PNG and PDF, without a network and with the same bytes each time.

A cache keeps rendered figures, so that the next report renders only those that changed (3 s instead of 25 s
for the demo).
"""

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import vl_convert
from PIL import Image

from vouch.pipeline.files import ResultCache
from vouch.report import vegalite
from vouch.report.vegalite import Chart, Part

# The font that vl-convert bundles: a font of the machine, even another version of it, would change pixels.
os.environ["FONTCONFIG_FILE"] = str(Path(__file__).with_name("fonts.conf"))
FONT = "Liberation Sans, Arial, Helvetica, Arimo, Nimbus Sans, sans-serif"
PNG_SCALE = 1.5
VEGA_LITE = "6.4"
CACHE = Path(".vouch/drawings")
DIGITS = 1  # of a coordinate, pixels
SMALLEST = 9.0  # size of a letter to which a page may shrink a figure, pixels

_AXIS = {
    "labelColor": vegalite.MUTED,
    "titleColor": vegalite.MUTED,
    "titleFontWeight": "normal",
    "titleFontSize": 12,
    "labelFontSize": 11,
    "titlePadding": 8,
    "labelFlush": False,
    "labelOverlap": "greedy",
    "gridColor": vegalite.RULE,
    "domainColor": vegalite.RULE,
    "tickColor": vegalite.RULE,
}
_TEXT = {
    "labelColor": vegalite.INK,
    "titleColor": vegalite.MUTED,
    "labelFontSize": 12,
    "titleFontWeight": "normal",
}
CONFIG: dict[str, Any] = {
    "background": None,
    "font": FONT,
    "aria": False,  # the figure as a whole has a description
    "view": {"stroke": None},
    "axis": _AXIS,
    "legend": {
        **_TEXT,
        **{"orient": "top", "title": None, "symbolSize": 70, "symbolOpacity": 1},
        **{"columnPadding": 28, "labelLimit": 400},
        "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 4}},
    },
    "header": {**_TEXT, "titleColor": vegalite.INK},
    # A single weight everywhere, because several fonts would have a random order in a PDF.
    "title": {"color": vegalite.INK, "fontSize": 13, "fontWeight": "normal", "anchor": "start"},
}
_TAG = "{http://www.w3.org/2000/svg}"
ElementTree.register_namespace("", _TAG[1:-1])
_ROUNDED = ("d", "transform", "x", "x1", "x2", "y", "y1", "y2", "width", "height")
_DECIMAL = re.compile(r"-?\d+\.\d+")
_UNSEEN = ("role", "class", "pointer-events", "font-family")
_DEFAULTS = {
    **dict.fromkeys(("fill-opacity", "stroke-opacity", "stroke-width"), "1"),
    **dict.fromkeys(("x2", "y2"), "0"),
    **{"transform": "translate(0,0)", "font-weight": "normal", "text-anchor": "start"},
    "stroke-dasharray": "1,0",
}
_INHERITED = (
    *("fill", "stroke", "fill-opacity", "stroke-opacity", "stroke-width"),
    *("font-size", "text-anchor", "stroke-dasharray"),
)
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")
_WIDTH, _LETTERS = re.compile(r'viewBox="0 0 ([\d.]+) '), re.compile(r'font-size="([\d.]+)')
_MOVED = re.compile(r"translate\(([-\d.]+),([-\d.]+)\)")


def specification(chart: Chart) -> str:
    """The vega-lite of a chart, without CONFIG, as JSON that may be put into a script element.

    A dataset is written as the names of its columns, then its rows as lists; page.js puts them together.
    """
    packed = {name: [sorted(rows[0]) if rows else [], *_lists(rows)] for name, rows in chart.datasets.items()}
    short = _short(chart.spec | {"datasets": packed})
    text = json.dumps(short, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _lists(rows: Sequence[Part]) -> list[list[Any]]:
    return [[row[name] for name in sorted(row)] for row in rows]


def _short(value: Any) -> Any:
    """The value, with floats rounded to as many digits as a figure can show."""
    if isinstance(value, dict):
        return {name: _short(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def svg(chart: Chart) -> str:
    """A chart as a small SVG element with a transparent background."""
    drawn = str(vl_convert.vegalite_to_svg(chart.to_dict() | {"config": CONFIG}, vl_version=VEGA_LITE))
    root = ElementTree.fromstring(drawn)
    _shorten(root)
    root.set("font-family", FONT)
    return ElementTree.tostring(root, "unicode").replace(" />", "/>")


def _shorten(element: ElementTree.Element) -> None:
    """Removes needless things: parts that draw nothing, their roles, the font of each text, extra digits.

    What all children share moves to the group. Opacity becomes opacity of fill and stroke: no mark has both,
    and a PDF then needs no layers.
    """
    _shorten_attributes(element.attrib)
    _as_circle(element)
    for child in list(element):
        _shorten(child)
        if child.tag == _TAG + "g" and not child.attrib:
            place = list(element).index(child)
            element[place : place + 1] = list(child)
        elif child.tag == _TAG + "path" and child.get("d") in ("", "M0,0h0v0h0Z"):
            element.remove(child)
    if element.tag == _TAG + "g" and len(element) > 1:
        for name in _INHERITED:
            values = {child.get(name) for child in element}
            if len(values) == 1 and None not in values:
                element.set(name, str(values.pop()))
                for child in element:
                    del child.attrib[name]


def _shorten_attributes(of: dict[str, str]) -> None:
    if opacity := of.pop("opacity", ""):
        of |= {"fill-opacity": opacity, "stroke-opacity": opacity}
    for name in list(of):
        if name in _ROUNDED:
            of[name] = _DECIMAL.sub(lambda number: f"{round(float(number[0]), DIGITS):g}", of[name])
        unseen = (
            name in _UNSEEN or name.startswith("aria-") or (name == "stroke-width" and "stroke" not in of)
        )
        if unseen or of[name] == _DEFAULTS.get(name):
            del of[name]


def _as_circle(element: ElementTree.Element) -> None:
    """Turns a path that is a full circle into the element `circle`, a quarter of the bytes."""
    of = element.attrib
    radius, moved = (
        _CIRCLE.fullmatch(of.get("d", "")),
        _MOVED.fullmatch(of.get("transform", "translate(0,0)")),
    )
    if radius and moved:
        element.tag = _TAG + "circle"
        for name in ("d", "transform"):
            of.pop(name, None)
        of |= {"cx": moved[1], "cy": moved[2], "r": radius[1]}


def document(drawn: str, title: str, description: str) -> str:
    """The SVG as a file, with title and description."""
    words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    head, tail = drawn.split(">", 1)
    return f'{head} role="img">{words}{tail}\n'


def png(drawn: str) -> bytes:
    """An SVG as PNG, on white."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    width, height = size.groups() if size else ("100%", "100%")
    paper = f'<rect width="{width}" height="{height}" fill="{vegalite.PAPER}"/>'
    head, tail = drawn.split(">", 1)
    return _small(bytes(vl_convert.svg_to_png(f"{head}>{paper}{tail}", scale=PNG_SCALE)))


def _small(pixels: bytes) -> bytes:
    """A PNG with at most 256 colours, which are enough for a chart, in a quarter of the bytes."""
    with Image.open(io.BytesIO(pixels)) as image:
        drawn = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    drawn.save(packed, "PNG", optimize=True)
    return packed.getvalue()


def pdf(drawn: str) -> bytes:
    """An SVG as PDF. vl-convert lists resources in random order; they are sorted. Circles become
    arcs, which take fewer bytes."""
    arcs = r'<path \1transform="translate(\2,\3)" d="M\4,0A\4,\4,0,1,1,-\4,0A\4,\4,0,1,1,\4,0"'
    drawn = re.sub(r'<circle ([^>]*?)cx="([^"]+)" cy="([^"]+)" r="([^"]+)"', arcs, drawn)

    def ordered(match: re.Match[bytes]) -> bytes:
        return match[1] + b"\n".join(sorted(match[2].split(b"\n"))) + match[3]

    return re.sub(
        rb"(/[A-Z]\w+ <<\n)((?: *\S+ \d+ 0 R\n)* *\S+ \d+ 0 R)(\n *>>)",
        ordered,
        bytes(vl_convert.svg_to_pdf(drawn)),
    )


def least_width(drawn: str) -> int:
    """The width of the SVG at which its smallest letters are SMALLEST, at most its own; pixels."""
    width = float(_WIDTH.findall(drawn)[0])
    letters = [float(size) for size in _LETTERS.findall(drawn)]
    return math.ceil(width * min(1.0, SMALLEST / min(letters, default=SMALLEST)))


def inline(drawn: str, prefix: str) -> str:
    """The SVG for use inside a page: no namespaces, unique ids, hidden from screen readers (the figure has
    its own description), and never so small that nobody could read it."""

    def tag(match: re.Match[str]) -> str:
        text = re.sub(r' xmlns(?::\w+)?="[^"]*"', "", match.group())
        text = re.sub(r' id="([^"]+)"', rf' id="{prefix}-\1"', text)
        return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)

    body = re.sub(r"<[^>]+>", tag, drawn)
    style = f'style="min-width:{least_width(drawn)}px"'
    return body.replace("<svg", f'<svg aria-hidden="true" focusable="false" {style}', 1)


@cache
def script() -> str:
    """vega, vega-lite and vega-embed: a script that defines `window.vegaEmbed` and `window.chartConfig`."""
    libraries = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # The function keeps the names of the libraries out of the global scope.
    config = json.dumps(CONFIG, sort_keys=True)
    return f"(function () {{\n{libraries}\n}})();\nwindow.chartConfig = {config};\n"


@cache
def _revision() -> str:
    code = [Path(path).read_text("utf-8") for path in (__file__, str(vegalite.__file__))]
    return "\0".join([*code, *map(metadata.version, ("vl-convert-python", "pillow"))])


class RenderCache(ResultCache):
    """`RenderCache()(kind, given, make)`: what `make` returned for this kind and text, now or earlier.

    The key covers all that can change the bytes: the chart, the drawing code, and the versions of the
    renderer and of Pillow.
    """

    def __init__(self, root: Path = CACHE) -> None:
        super().__init__(root)

    def __call__(self, kind: str, given: str, make: Callable[[], bytes]) -> bytes:
        """make: draws the figure; its bytes must depend only on `given` and the code."""
        name = hashlib.sha256("\0".join([kind, _revision(), given]).encode()).hexdigest()
        drawn = self.get(name)
        if drawn is None:
            drawn = make()
            self.put(name, drawn)
        return drawn
