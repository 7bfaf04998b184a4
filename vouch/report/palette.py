"""Colours: those of Okabe and Ito, which people with any kind of colour vision can tell apart.

Figures are drawn in the light colours; the page swaps each for its dark one by the value of the
attribute, so that one drawing serves both.
"""

INK = "#16202a"
MUTED = "#5c6873"
RULE = "#dfe4e8"
FAINT = "#9aa5af"
BLUE = "#0072b2"
ORANGE = "#d55e00"
GREEN = "#00805d"
PAPER = "#ffffff"

# light -> dark
DARK = {
    INK: "#e8edf1",
    MUTED: "#a3afba",
    RULE: "#2d3842",
    FAINT: "#6f7c88",
    BLUE: "#56b4e9",
    ORANGE: "#f0a04b",
    GREEN: "#3fc79a",
    PAPER: "#12181e",
}
