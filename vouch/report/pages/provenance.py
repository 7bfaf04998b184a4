"""Where the numbers come from."""

PLACE = 90
TITLE = "Provenance"
DESCRIPTION = "What every number was made from, and where to find it unrounded."
SECTIONS = ("provenance",)
