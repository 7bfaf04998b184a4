"""Which differences are real, and what could have been told without labels."""

PLACE = 50
TITLE = "Ranking"
DESCRIPTION = (
    "Which differences between models are real, and how far a ranking without labels could have told."
)
SECTIONS = ("differences", "ranking", "distances")
