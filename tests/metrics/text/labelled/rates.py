"""`make reader`: how often the reader is wrong, on the held half of the labels, into docs/answers.md."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from scipy.stats import kendalltau

from tests.metrics.text.labelled import prose
from tests.metrics.text.labelled.sample import FALSE, MISS, SETS, Labelled, labelled, of_set, wilson
from vouch.metrics.text.parsers import DEFAULT_PARSERS, read
from vouch.metrics.text.reader.options import OPTION

PAGE = Path("docs/answers.md")
MARK = "<!-- Below: `make reader` -->"
LANGUAGES = {"WorldMedQA in English": "_english", "Hebrew": "israel_local", "Japanese": "japan_local"} | {
    "Portuguese": "brazil_local",
    "Spanish": "spain_local",
}
Read = tuple[Labelled, str, str]
"""A labelled answer, its outcome and the rule that read it."""


def shown(rows: list[Read], outcomes: Iterable[str], weighted: bool = True) -> str:
    """Per cent of the rows with one of these outcomes, and the interval."""
    wanted = set(outcomes)
    values = wilson((one.weight if weighted else 1.0, outcome in wanted) for one, outcome, _ in rows)
    share, low, high = (f"{100 * value:.1f}" for value in values)
    return f"{share} [{low}, {high}]"


def rates(half: str = "held") -> list[Read]:
    """All labelled answers of a half as they are read."""
    return [(one, *one.outcome()) for one in labelled(half)]


def tables(rows: list[Read]) -> str:
    """The page's tables."""
    parts = ["| answers | n | false reads, % | misses, % | wrong, % | wrong as drawn, % |", f"|{'---|' * 6}"]
    groups: list[tuple[str, Callable[[Labelled], bool]]] = [("all", lambda _: True)]
    groups += [(name, lambda one, name=name: one.set == name) for name in (*SETS, "mmmu_pro")]
    groups += [("with options", lambda one: one.kind == "choice"), ("open", lambda one: one.kind == "open")]
    groups += [(name, lambda one, ends=ends: one.language.endswith(ends)) for name, ends in LANGUAGES.items()]
    for name, kept in groups:
        of = [row for row in rows if kept(row[0])]
        cells = [shown(of, kinds) for kinds in ([FALSE], [MISS], [FALSE, MISS])]
        cells.append(shown(of, [FALSE, MISS], weighted=False))
        parts.append(f"| {name} | {len(of)} | {' | '.join(cells)} |")
    by_rule = defaultdict(list)
    for row in rows:
        by_rule[row[2]].append(row)
    parts += ["", "| rule | n | false reads, % | misses, % |", "|---|---|---|---|"]
    for rule, of in sorted(by_rule.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        parts.append(f"| {rule} | {len(of)} | {shown(of, [FALSE], False)} | {shown(of, [MISS], False)} |")
    parts += [
        "",
        "| set | models | Kendall's tau | largest difference of an accuracy, points |",
        "|---|---|---|---|",
    ]
    for name in ("blink", "worldmedqa"):
        ours, theirs = accuracies(name)
        tau = kendalltau([ours[model] for model in theirs], list(theirs.values())).statistic
        far = max(theirs, key=lambda model: abs(ours[model] - theirs[model]))
        parts.append(
            f"| {name} | {len(theirs)} | {tau:.2f} | {100 * (ours[far] - theirs[far]):+.1f} ({far.replace('|', ', ')}) |"
        )
    return "\n".join(parts) + "\n"


@cache
def accuracies(name: str) -> tuple[dict[str, float], dict[str, float]]:
    """By model, of the questions with options: as read here, and by the set's own reader where it has read."""
    ours, theirs, unread = defaultdict(list), defaultdict(list), defaultdict(list)
    for row in of_set(name):
        if row["choices"]:
            _, found = read(row["text"], row["choices"], DEFAULT_PARSERS)
            right = {str(place) for place in found.places} <= set(row["gold"].strip("[]").split(", "))
            ours[row["model"]].append(found.verdict == OPTION and right)
            theirs[row["model"]].append(bool(row["peer_ok"]))
            unread[row["model"]].append(row["peer"] in (None, "null"))
    models = [model for model, none in unread.items() if not all(none)]
    mean = {model: sum(values) / len(values) for model, values in ours.items()}
    return mean, {model: sum(theirs[model]) / len(theirs[model]) for model in models}


def main() -> None:
    written, _, _ = PAGE.read_text("utf-8").partition(MARK)
    PAGE.write_text(f"{written}{MARK}\n\n{tables(rates())}\n{prose.table()}", "utf-8")


if __name__ == "__main__":
    main()
