"""What was asked, and what is wrong with it."""

PLACE = 20
TITLE = "Datasets"
DESCRIPTION = "What the models were asked, what cleaning found in it, and what was left out."
SECTIONS = ("data", "rewrites")
