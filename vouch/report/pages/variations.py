"""What another way of asking does."""

PLACE = 30
TITLE = "Variations"
DESCRIPTION = (
    "What other words, other pictures and other orders of the options do to accuracy, certainty and coverage."
)
SECTIONS = ("variations", "shift", "robustness", "instability", "letters")
