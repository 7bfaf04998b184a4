"""Which sentences of the front page are false of a world whose truth is known."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from scipy.stats import beta

from tests.report.worlds import BOAST, CHANCE, MODELS, World
from vouch.metrics.conformal.selective import TOLERATED
from vouch.report.claims import preferred
from vouch.report.evidence import Evidence
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.table import Cell

NAMES = r"[\w, ]+?"
PATTERNS = {
    "best": rf"(\w+) is best on ({NAMES})(?:, tied for best on {NAMES})?",
    "tied": rf"\w+ is tied for best on {NAMES}|No model stands out on {NAMES}: {NAMES} are tied",
    "others": rf"others lead on {NAMES}",
    "none": rf"[Nn]o model is shown to beat guessing on {NAMES}",
    "small": rf"{NAMES} (?:is|are) too small to tell(?:: [\w ]+ (?:can show \d+ points|cannot even show .*))?",
    "behind": r"On (\w+), (\w+) answers .*; (\w+) is [\d.]+ points behind .*",
    "estimate": r"On \w+, [\w ]+ answers? .*",
    "worth": r"On \w+, [\w ]+ (can show \d+ points over guessing; a smaller lead is often missed|cannot even show .*)|"
    r"(About [\d,]+ would|These) show a lead of 10 points over guessing",
    "boasts": r"Overconfident: \d+\s% confident, \d+\s% correct \((\w+)\)",
    "loses": r".*\((\w+)\): [\d.]+ points lost",
    "where": r"With this variation \w+ answers .* of [\d,]+ questions? on (\w+) correctly, on the original prompts .*",
    "several": r"(\d+) of \d+ variations are shown to cost accuracy",
    "shift": r"Sets calibrated on the original prompts then cover only \d+\s%",
    "pairs": r"(?:All )?(\d+)(?: of \d+)? comparisons?",
    "coverage": r"Is the coverage target .*\? (Yes|No|Unclear).*?\)(?:; over .*, it is shown to be kept in \d+ and broken in (\d+))?",
    "alone": r"\d+\s% of the questions \((\w+)\)",
    "handed over": r"Questions with a confidence below ([\d.]+)\s% go to a person",
    "silent": r"\w+ can answer these alone with at most 5\s% errors|The statement holds with 90\s% confidence for all models .*|"
    r"No bad news|None shown|Too small to tell|[\d.]+ options in a set, .* coverage \(\w+\)|"
    r"Tested but not significant: .*|Not measured: .*|None of \d+ variations? .*|In .* the mean confidence of .*|"
    r"A set contains .*|For \d+\s% of .*|\w+ has too few questions .*|Significant by accuracy on .*|"
    r"No model is recommended.*|Models that are not shown .*|\w+ is tied with .*",
}
"""Every sentence of the front page, by what it claims."""


def false_sentences(world: World, evidence: Evidence) -> list[str]:
    """The sentences of the front page that are false. Raises ValueError for a sentence that no pattern knows."""
    view, model = VERDICT_SECTION.build(evidence), preferred(evidence) or ""
    texts = [view.headline.removesuffix(".").replace("; ", ". "), view.because, *view.warnings]
    texts += [f"{card.answer}. {card.why}" for card in view.cards]
    return [row[1].text for row in view.grid.rows if _wrong_row(world, row)] + [
        sentence for text in texts for sentence in _false_in(world, model, text)
    ]


def _wrong_above(world: World, model: str, dataset: str, threshold: float) -> float:
    """The share of wrong answers among those of a confidence of the threshold or more."""
    mean = (min(world.accuracy[model, dataset], 0.97) - CHANCE) / (1 - CHANCE)
    if mean <= 0:
        return 1 - CHANCE
    correct = CHANCE + (1 - CHANCE) * beta.ppf((np.arange(100_000) + 0.5) / 100_000, 2 * mean, 2 * (1 - mean))
    stated = 1 - BOAST * (1 - correct) if (model, dataset) in world.boasts else correct
    return float((1 - correct[stated >= threshold]).mean())


def _wrong_row(world: World, row: Sequence[Cell]) -> bool:
    """Whether a row names a guesser as a leader, or lacks the model that is truly the best."""
    of = {model: world.accuracy[model, row[0].text] for model in MODELS}
    named = [model for model in MODELS if re.search(rf"\b{model}\b", row[1].text)]
    best = max(of.values())
    return bool(named) and (
        any(of[model] <= CHANCE for model in named)
        or (not row[1].note and best > max(of[model] for model in named))
    )


def _false_in(world: World, model: str, text: str) -> Iterator[str]:
    """Sentences of one block, which may speak of the same dataset and variation."""
    truth, where, change = world.accuracy, "", ""
    for sentence in text.removesuffix(".").split(". "):
        known = (
            (kind, match) for kind, pattern in PATTERNS.items() if (match := re.fullmatch(pattern, sentence))
        )
        kind, match = next(known, ("", None))
        if match is None:
            raise ValueError(f"{sentence!r}: no pattern knows it")
        wrong = False
        if kind == "best":
            others = [each for each in MODELS if each != match[1]]
            datasets = re.split(", | and ", match[2])
            wrong = any(truth[match[1], d] <= max(truth[each, d] for each in others) for d in datasets)
        elif kind == "behind":
            wrong = truth[match[3], match[1]] >= truth[match[2], match[1]]
        elif kind == "boasts":
            wrong = (model, match[1]) not in world.boasts
        elif kind == "loses":
            change = match[1]
        elif kind == "alone":
            where = match[1]
        elif kind == "handed over":
            wrong = _wrong_above(world, model, where, float(match[1]) / 100) > TOLERATED
        elif kind == "where":
            where = match[1]
            wrong = world.losses.get((model, where, change), 0) <= 0
        elif kind == "shift":
            wrong = world.losses.get((model, where, change), 0) <= 0
        elif kind == "several":
            wrong = int(match[1]) > len({key[2] for key in world.losses if key[0] == model})
        elif kind == "pairs":
            apart = [truth[a, d] != truth[b, d] for d in world.groups for a, b in combinations(MODELS, 2)]
            wrong = int(match[1]) > sum(apart)
        elif kind == "coverage":
            wrong = match[1] == "No" or int(match[2] or 0) > 0
        if wrong:
            yield sentence
