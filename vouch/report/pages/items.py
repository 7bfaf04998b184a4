"""Every item with every prompt and answer, to search and to filter."""

PLACE = 70
TITLE = "Items"
DESCRIPTION = "Every question, every change of its prompt, and what each model made of it."
SECTIONS = ("items",)
SCRIPTS = ("items_data.js", "items_dom.js", "items_query.js", "items_view.js", "items.js")
