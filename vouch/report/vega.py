"""vega, vega-lite and vega-embed in one script, for charts that answer to the pointer without a network."""

import json
from functools import cache

import vl_convert

from vouch.report.drawing import CONFIG

# The function keeps the names of the libraries to itself.
_SCRIPT = "(function () {{\n{libraries}\n}})();\nwindow.chartConfig = {config};\n"
_EXPORT = "window.vegaEmbed = vegaEmbed;"


@cache
def script() -> str:
    """A script that defines `window.vegaEmbed`, and `window.chartConfig`, which figures are drawn with."""
    libraries = vl_convert.javascript_bundle(_EXPORT)
    return _SCRIPT.format(libraries=libraries, config=json.dumps(CONFIG, sort_keys=True))
