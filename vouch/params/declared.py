"""Tables of the documentation that follow from declarations: conformal scores, metrics, rankers, estimates.

A table stands behind its marker, `<!-- NAME ... -->`, in a page; `vouch schema` writes it again.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from vouch.metrics.comparison.rankers import PROBABILITIES, RANKERS
from vouch.metrics.conformal.scores import SCORES
from vouch.metrics.metric import metrics
from vouch.metrics.uncertainty import ESTIMATES


def pages() -> dict[Path, str]:
    """The pages that have such tables, with these as they should be; only pages that exist."""
    made = {}
    for page, tables in _TABLES.items():
        path = Path(page)
        if path.is_file():
            text = path.read_text("utf-8")
            for name, table in tables.items():
                text = _replaced(text, name, table())
            made[path] = text
    return made


def _replaced(text: str, name: str, table: str) -> str:
    return re.sub(rf"(<!-- {name}\b[^>]*-->\n\n)(?:\|.*\n)*", lambda marker: marker[1] + table, text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in cells] for cells in lines)
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|\n" for cells in escaped)


def _scores() -> str:
    rows = ((name, each.formula, each.source) for name, each in SCORES.items())
    return _table(("score", "S(x, y)", "source"), rows)


def _parameters() -> str:
    rows = [
        (f"`{name}: {{{key}}}`", f"{each.default:g}", f"{each.least:g} to {each.most:,.0f}", each.meaning)
        for name, score in SCORES.items()
        for key, each in score.parameters.items()
    ]
    return _table(("`score.settings`", "default", "bounds", "meaning"), rows)


def _metrics() -> str:
    rows = (
        (
            name,
            each.label,
            "; ".join(filter(None, (each.help, each.detail))),
            each.better,
            each.unit,
            each.source,
        )
        for name, each in sorted(metrics().items())
    )
    return _table(("metric", "label", "meaning", "better", "unit", "source"), rows)


def _rankers() -> str:
    def needs(name: str) -> str:
        each = RANKERS[name]
        outputs = "letters, likelihood" if each.needs == (PROBABILITIES,) else "text" if each.needs else "any"
        outputs = "any" if len(each.needs) > 1 else outputs
        return f"{outputs}; a proxy" if each.by_proxy else outputs

    rows = ((name, each.label, each.note, needs(name)) for name, each in RANKERS.items())
    return _table(("ranker", "label", "what it is", "needs"), rows)


def _estimates() -> str:
    rows = ((name, each.label, each.help) for name, each in ESTIMATES.items())
    return _table(("estimate", "label", "what it is"), rows)


_TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "docs/statistics.md": {"scores": _scores, "parameters": _parameters, "metrics": _metrics},
    "docs/ranking.md": {"rankers": _rankers},
    "docs/beyond.md": {"estimates": _estimates},
}
