"""What each model reaches."""

PLACE = 10
TITLE = "Models"
DESCRIPTION = (
    "How often each model is right, how large its prediction sets are, and how its answers were read."
)
SECTIONS = ("results", "scores", "categories", "dimensions", "outputs", "generated")
