"""Charts as SVG, PNG and PDF, without a network and with the same bytes each time.

A cache keeps rendered figures, so that the next report renders only those that changed (3 s instead of 25 s
for the demo).
"""

import hashlib
import io
import json
import os
import re
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import vl_convert
from PIL import Image

from vouch.pipeline.files import ResultCache
from vouch.report import vegalite
from vouch.report.vegalite import Chart

# The font that vl-convert bundles: a font of the machine, even another version of it, would change pixels.
os.environ["FONTCONFIG_FILE"] = str(Path(__file__).with_name("fonts.conf"))
FONT = "Liberation Sans, Arial, Helvetica, Arimo, Nimbus Sans, sans-serif"
PNG_SCALE = 1.5
VEGA_LITE = "6.4"
CACHE = Path(".vouch/drawings")
DIGITS = 2  # of a coordinate, pixels

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
    "legend": {**_TEXT, "orient": "top", "title": None, "symbolSize": 70, "columnPadding": 28},
    "header": {**_TEXT, "titleColor": vegalite.INK},
    # A single weight everywhere, because several fonts would have a random order in a PDF.
    "title": {"color": vegalite.INK, "fontSize": 13, "fontWeight": "normal", "anchor": "start"},
}
_FONT = f' font-family="{FONT}"'


def specification(chart: Chart) -> str:
    """The vega-lite of a chart, without CONFIG, as JSON that may stand in a script element."""
    text = json.dumps(_short(chart.to_dict()), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _short(value: Any) -> Any:
    """The same with floats rounded to as many digits as a figure can show."""
    if isinstance(value, dict):
        return {name: _short(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def svg(chart: Chart) -> str:
    """A chart as a small SVG element with a transparent background."""
    drawn = str(vl_convert.vegalite_to_svg(chart.to_dict() | {"config": CONFIG}, vl_version=VEGA_LITE))
    return re.sub(r"<[^>]+>", _tidy, drawn.strip()).replace("<svg", f"<svg{_FONT}", 1)


def _tidy(match: re.Match[str]) -> str:
    """A tag without what has no effect: roles of parts, the font of each text, extra digits, an opacity of 1.

    Opacity becomes opacity of fill and stroke: no mark has both, and a PDF then needs no layers.
    """
    tag = match.group()
    if tag.startswith("</"):
        return tag
    tag = re.sub(r' (?:aria-[\w-]+|role|class|pointer-events)="[^"]*"', "", tag)
    tag = tag.replace(_FONT, "").replace(' opacity="1"', "")
    tag = re.sub(r' opacity="([^"]+)"', r' fill-opacity="\1" stroke-opacity="\1"', tag)
    return re.sub(r' (?:d|transform|[xy][12]?|width|height)="[^"]*"', _rounded, tag)


def _rounded(match: re.Match[str]) -> str:
    return re.sub(r"-?\d+\.\d+", lambda number: f"{round(float(number[0]), DIGITS):g}", match.group())


def document(drawn: str, title: str, description: str) -> str:
    """The SVG as a file, with title and description."""
    words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    head, tail = drawn.split(">", 1)
    return f'{head} role="img">{words}{tail}\n'


def png(drawn: str) -> bytes:
    """The same figure as PNG, on white."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    width, height = size.groups() if size else ("100%", "100%")
    paper = f'<rect width="{width}" height="{height}" fill="{vegalite.PAPER}"/>'
    head, tail = drawn.split(">", 1)
    return _small(bytes(vl_convert.svg_to_png(f"{head}>{paper}{tail}", scale=PNG_SCALE)))


def _small(pixels: bytes) -> bytes:
    """The same image in at most 256 colours, which are enough for a chart: a quarter of the bytes."""
    with Image.open(io.BytesIO(pixels)) as image:
        drawn = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    drawn.save(packed, "PNG", optimize=True)
    return packed.getvalue()


def pdf(drawn: str) -> bytes:
    """The same figure as PDF. vl-convert lists resources in random order; they are sorted."""

    def ordered(match: re.Match[bytes]) -> bytes:
        return match[1] + b"\n".join(sorted(match[2].split(b"\n"))) + match[3]

    return re.sub(
        rb"(/[A-Z]\w+ <<\n)((?: *\S+ \d+ 0 R\n)* *\S+ \d+ 0 R)(\n *>>)",
        ordered,
        bytes(vl_convert.svg_to_pdf(drawn)),
    )


def inline(drawn: str, prefix: str) -> str:
    """The SVG for use inside a page: no namespaces, unique ids, hidden from screen readers (the figure has
    its own description)."""

    def tag(match: re.Match[str]) -> str:
        text = re.sub(r' xmlns(?::\w+)?="[^"]*"', "", match.group())
        text = re.sub(r' id="([^"]+)"', rf' id="{prefix}-\1"', text)
        return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)

    body = re.sub(r"<[^>]+>", tag, drawn)
    return body.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)


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

    The key covers all that can change the bytes: what is drawn, the drawing code, and the versions of the
    renderer and of Pillow.
    """

    def __init__(self, root: Path = CACHE) -> None:
        super().__init__(root)

    def __call__(self, kind: str, given: str, make: Callable[[], bytes]) -> bytes:
        """make: draws; its bytes must depend only on `given` and the code."""
        name = hashlib.sha256("\0".join([kind, _revision(), given]).encode()).hexdigest()
        drawn = self.get(name)
        if drawn is None:
            drawn = make()
            self.put(name, drawn)
        return drawn
