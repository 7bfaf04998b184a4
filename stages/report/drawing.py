"""Charts to SVG and PNG, without a network and with the same bytes each time."""

import io
import re
from typing import Any

import vl_convert
from PIL import Image

from stages.report import palette

# The font that vl-convert carries, so that no machine's own fonts move a label.
FONT = "Liberation Sans, Arial, Helvetica, Arimo, Nimbus Sans, sans-serif"
PNG_SCALE = 2.0
VEGA_LITE = "6.4"

_AXIS = {
    "labelColor": palette.MUTED,
    "titleColor": palette.MUTED,
    "titleFontWeight": "normal",
    "titleFontSize": 12,
    "labelFontSize": 11,
    "titlePadding": 8,
    "labelFlush": False,
    "labelOverlap": "greedy",
    "gridColor": palette.RULE,
    "domainColor": palette.RULE,
    "tickColor": palette.RULE,
}
_TEXT = {
    "labelColor": palette.INK,
    "titleColor": palette.MUTED,
    "labelFontSize": 12,
    "titleFontWeight": "normal",
}
CONFIG: dict[str, Any] = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": _AXIS,
    "legend": {**_TEXT, "orient": "top", "title": None, "symbolSize": 70, "columnPadding": 28},
    "header": {**_TEXT, "titleColor": palette.INK},
    "title": {"color": palette.INK, "fontSize": 12, "fontWeight": "bold", "anchor": "start"},
}


def svg(chart: Any) -> str:
    """An altair chart as a stand-alone SVG document with a transparent background."""
    specification = chart.to_dict() | {"config": CONFIG}
    return str(vl_convert.vegalite_to_svg(specification, vl_version=VEGA_LITE))


def png(document: str) -> bytes:
    """The same picture in pixels, on white."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', document)
    width, height = size.groups() if size else ("100%", "100%")
    paper = f'<rect width="{width}" height="{height}" fill="{palette.PAPER}"/>'
    head, tail = document.split(">", 1)
    return _small(bytes(vl_convert.svg_to_png(f"{head}>{paper}{tail}", scale=PNG_SCALE)))


def _small(picture: bytes) -> bytes:
    """The same picture in at most 256 colours, which a chart seldom passes: a quarter of the bytes."""
    with Image.open(io.BytesIO(picture)) as image:
        drawn = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    drawn.save(packed, "PNG", optimize=True)
    return packed.getvalue()


def inline(document: str, prefix: str) -> str:
    """The SVG for use inside a page: no namespaces, hidden from screen readers (the figure has a
    description of its own), ids that cannot meet those of another figure."""

    def tag(match: re.Match[str]) -> str:
        text = re.sub(r' (?:xmlns(?::\w+)?|aria-\w+|role)="[^"]*"', "", match.group())
        text = re.sub(r' id="([^"]+)"', rf' id="{prefix}-\1"', text)
        return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)

    body = re.sub(r"<[^>]+>", tag, document.strip())
    return body.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)
