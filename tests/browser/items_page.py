"""What tests do on the page of all items, and the tables behind it."""

from tests.browse.project import CHOICE
from vouch.tables.asked import ITEMS
from vouch.tables.results import OUTCOMES

ITEMS_PAGE = "pages/items.html"
FIRST = f"{CHOICE}-0000"


def table(reports, name):
    """Rows of a table of the project behind the site."""
    kind = {"items": ITEMS, "scores": OUTCOMES}[name.split("/")[0]]
    return kind.read(reports.parent / "data" / name).to_pylist()


def shown(page):
    """Ids in the list, top to bottom."""
    return page.locator("#list .about .said").all_text_contents()


def listed(page, text):
    """Waits until the line above the list says so."""
    page.wait_for_function("text => document.getElementById('status').textContent === text", arg=text)
    return page


def ask(page, name, value):
    """Sets a field of the form and waits until the address holds it: of two at once the first would be lost."""
    field = page.locator(f"#filters [name={name}]")
    field.select_option(value) if field.evaluate("one => one.tagName") == "SELECT" else field.fill(value)
    page.wait_for_function(
        "([name, value]) => (new URLSearchParams(location.hash.split('?')[1]).get(name) ?? '') === value",
        arg=[name, value],
    )


def opened(page, item):
    """Waits for an item's view."""
    page.wait_for_function("id => document.querySelector('#item h2')?.textContent === id", arg=item)
    return page


def holds(item, *words):
    """Whether a search for the words finds an item."""
    text = "\n".join([item["id"], item["question"], *item["options"], *item["references"]]).lower()
    return all(word in text for word in words)


def originals(reports, model):
    """Item -> outcome of the original prompt."""
    rows = [row for row in table(reports, f"scores/{CHOICE}.outcomes.parquet") if row["model"] == model]
    return {r["item"]: r for r in rows if r["dataset"] == CHOICE and r["variation"] == "original"}
