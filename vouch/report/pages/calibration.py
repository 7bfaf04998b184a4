"""Whether confidence is honest, and what the published procedure does to the numbers."""

PLACE = 40
TITLE = "Calibration"
DESCRIPTION = "Whether models are as sure as they should be, and what of a number is the procedure's doing."
SECTIONS = ("calibration", "sweep", "protocols")
