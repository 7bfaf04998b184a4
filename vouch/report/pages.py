"""Pages of the site, in the order of the navigation: `index` is reports/index.html, NAME pages/NAME.html.

A page none of whose sections has anything to say is left out, links to it included. Its frame is
templates/pages/NAME.html.j2 where that exists, else templates/page.html.j2.
"""

from typing import NamedTuple


class Page(NamedTuple):
    """title: the link in the navigation, and the heading. description: one sentence, what the page answers.

    sections: names of files in sections/, in the order of the page. scripts: files in static/ that it loads.
    """

    name: str
    title: str
    description: str
    sections: tuple[str, ...]
    scripts: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """Path under reports/."""
        return "index.html" if self.name == "index" else f"pages/{self.name}.html"


PAGES = (
    Page(
        "index",
        "Verdict",
        "Which model is best, where that holds and where nobody can tell, and what to know of it first.",
        ("verdict",),
    ),
    Page(
        "models",
        "Models",
        "How accurate each model is, how large its prediction sets are, and how its answers were read.",
        ("results", "scores", "categories", "dimensions", "outputs", "generated"),
    ),
    Page(
        "datasets",
        "Datasets",
        "What the models were asked, what cleaning found, and what was left out.",
        ("data", "rewrites"),
    ),
    Page(
        "variations",
        "Variations",
        "What rewording, image changes and option order do to accuracy, certainty and coverage.",
        ("variations", "looks", "typographic", "severity", "shift", "robustness", "instability", "letters"),
    ),
    Page(
        "calibration",
        "Calibration",
        "Whether confidence matches accuracy, and how much of a number is due to the protocol.",
        ("calibration", "uncertainty", "answering", "transfer", "sweep", "protocols"),
    ),
    Page(
        "ranking",
        "Ranking",
        "Which differences between models are significant, and how well models can be ranked without labels.",
        ("differences", "ranking", "distances"),
    ),
    Page("papers", "Papers", "Published numbers beside ours.", ("papers", "published")),
    Page(
        "items",
        "Items",
        "Every question, every variation of its prompt, and every model's answer.",
        ("items",),
        ("items_data.js", "items_maths.js", "items_dom.js", "items_query.js", "items_view.js", "items.js"),
    ),
    Page("method", "Method", "Every formula and its source.", ("method",)),
    Page(
        "provenance",
        "Provenance",
        "What every number was made from, and where to find it unrounded.",
        ("provenance",),
    ),
)
