"""How the numbers are made."""

PLACE = 80
TITLE = "Method"
DESCRIPTION = "Every formula, and where it comes from."
SECTIONS = ("method",)
