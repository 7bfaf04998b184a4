"""Published numbers beside ours."""

PLACE = 60
TITLE = "Papers"
DESCRIPTION = "What the papers printed, beside what comes out here."
SECTIONS = ("papers", "published")
