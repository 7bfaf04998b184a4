"""The verdict on one screen."""

PLACE = 0
TITLE = "Verdict"
DESCRIPTION = (
    "Which model to trust, where it is unsure, which change of the prompt breaks it, and which differences "
    "are real."
)
SECTIONS = ("verdict",)
