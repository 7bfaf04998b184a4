"""Which sentences of the front page are false of a world whose truth is known.

Of random worlds whose truth is known the front page says what is so: no more, and what is large.

60 worlds, 15 with models that do not look, and 10 in which only some questions have an image;
WORLDS=204 in the environment, as `make worlds` sets it, makes more of each kind.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import beta

from tests.report.worlds import (
    BOAST,
    CHANCE,
    KINDS,
    LANGUAGE_MODEL,
    LOOKING,
    MIXED,
    MODELS,
    World,
    evidence,
    looking_world,
    mixed_world,
    world,
)
from vouch.metrics.conformal.selective import TOLERATED
from vouch.report.evidence import Evidence
from vouch.report.leaders import preferred
from vouch.report.pages.verdict import VERDICT_SECTION, Verdict
from vouch.report.table import Cell

NAMES = r"[\w, ]+?"
ONLY = r"[Ww]ith [\w ]+ (?:only a lead of \d+ points over guessing would show|not even a perfect model .*)"
PATTERNS = {
    "best": rf"(\w+) is best on ({NAMES})(?:, tied for best on {NAMES})?",
    "tied": rf"\w+ is tied for best on {NAMES}|{NAMES} are tied for best on \w+|[Nn]o model stands out on {NAMES}: {NAMES} are tied",
    "none": rf"[Nn]o model is shown to beat guessing on {NAMES}",
    "small": rf"{NAMES} (?:is|are) too small to tell(?:: \d+ independent questions?(?: \([\d,]+ questions in all\))?, "
    r"and no lead over guessing is claimed with fewer than 30)?",
    "behind": r"(\w+) answers .*; (\w+) is [\d.]+ points behind .*",
    "change": r"(?:On \w+: )?\w+ then answers .* of [\d,]+ questions? correctly, on the original prompts .*",
    "estimate": r"[\w ]+ answers? .* of [\d,]+ questions? (?:\([\d,]+ without an image\) )?correctly.*",
    "worth": r"No lead is claimed with fewer than 30 independent questions|"
    rf"{ONLY}(?:; a smaller lead is often missed)?|"
    r"(About [\d,]+ would|These) show a lead of 10 points over guessing",
    "boasts": r"Overconfident: \d+\s% confident, \d+\s% correct(?: \((\w+)\))?",
    "loses": r".*\((\w+)\): [\d.]+ points lost(?: \((\w+)\))?",
    "several": r"(\d+) of \d+ variations are shown to cost accuracy",
    "shift": r"Sets calibrated on the original prompts then cover only \d+\s%",
    "pairs": r"(?:All )?(\d+)(?: of \d+)? comparisons?",
    "coverage": r"Its coverage is (consistent with|above|below) the target .*|"
    r"Over the \d+ combinations .*, coverage is consistent with .* and below it in (\d+)",
    "alone": r"\w+ can answer these alone .*: those with a confidence of at least ([\d.]+)\s%",
    "unseeing": rf"[Nn]o model is shown to use the image on {NAMES}",
    "doubts": r"(?:On \w+, )?\w+ is not shown to (?:beat dog, a language model(?:, on the .*)?|lose accuracy without the image) \(.*",
    "looks": r"Yes: \d+\s% correct with it, \d+\s% without|Without the image it loses .* of accuracy.*; .*",
    "misleads": r"It misleads: .*|Without the image it gains .*",
    "beside": r"Beats the language model: \d+\s% correct, the other \d+\s%",
    "text": r"dog, a language model, answers .* of the (?:\d+ )?questions (?:with an image )?correctly with the text alone; guessing .*",
    "beyond": r"That is .* beyond a guess|It is shown to beat guessing with the text alone",
    "beats": r"(\w+) beats it by .*",
    "silent": r"A model is recommended only if .*|Not shown|It is not shown to beat guessing|"
    r"\d+\s% of the questions|All others go to a person|This holds with 90\s% confidence for all models .*|"
    r"None(?: here)?|With a threshold of its own, it is .*|On .* it is shown for no question: .*|"
    r"Elsewhere the same threshold lets more errors through: .*|.*: every question goes to a person|"
    r"No bad news(?: here)?|None shown|Too small to tell|[\d.]+ options in a set, .* coverage|Here there are .*|"
    r"Tested and not shown: .*|Not measured: .*|None of \d+ variations .*|The only variation .*|"
    r"(?:On \w+, i|I)n .* the mean confidence of .*|There is bad news on .* as well|"
    r"A set contains .*|For \d+\s% of .*|There are too few questions .*|Pairs of models that differ .*|"
    r"No model is recommended.*|Models that are not shown .*|\w+ is tied with .*|"
    r"The cards are about .*|(?:This is (?:the only one|the largest) of|None of the) .*",
}
"""Every sentence of the front page, by what it claims."""


def false_sentences(world: World, evidence: Evidence) -> list[str]:
    """The sentences of the front page that are false. Raises ValueError for a sentence that no pattern knows."""
    view, model = VERDICT_SECTION.build(evidence), preferred(evidence) or ""
    why, _, others = view.others.partition(" Elsewhere: ")
    clauses = [text.removesuffix(".").replace("; ", ". ") for text in (view.headline, others) if text]
    texts = [*clauses, view.because, *view.warnings, *([why] if why else [])]
    texts += [f"{card.answer}. {card.why}" for card in view.cards]
    return [row[1].text for row in view.grid.rows if _wrong_row(world, row)] + [
        sentence for text in texts for sentence in _false_in(world, model, view.dataset, text)
    ]


def _wrong_above(world: World, model: str, dataset: str, threshold: float) -> float:
    """The share of wrong answers among those of a confidence of the threshold or more."""
    halves = (
        world.pictured(model, dataset),
        world.unpictured.get((model, dataset), world.accuracy[model, dataset]),
    )
    means = [(min(accuracy, 0.97) - CHANCE) / (1 - CHANCE) for accuracy in halves]
    if min(means) <= 0:
        return 1 - CHANCE
    at = (np.arange(100_000) + 0.5) / 100_000
    correct = np.concatenate(
        [CHANCE + (1 - CHANCE) * beta.ppf(at, 2 * mean, 2 * (1 - mean)) for mean in means]
    )
    stated = 1 - BOAST * (1 - correct) if (model, dataset) in world.boasts else correct
    return float((1 - correct[stated >= threshold]).mean())


def _wrong_row(world: World, row: Sequence[Cell]) -> bool:
    """Whether a row names a guesser as a leader, or lacks the model that is truly the best of those that see."""
    models = (*MODELS, LANGUAGE_MODEL) if world.language_model else MODELS
    of = {model: world.accuracy[model, row[0].text] for model in models}
    named = [model for model in models if re.search(rf"\b{model}\b", row[1].text)]
    if {*named} & {*world.unseeing, LANGUAGE_MODEL}:
        return True
    best = max(of[model] for model in MODELS)
    return bool(named) and (
        any(of[model] <= CHANCE for model in named)
        or (not row[1].note and best > max(of[model] for model in named))
    )


def _false_in(world: World, model: str, lead: str, text: str) -> Iterator[str]:
    """Sentences of one block, which may speak of the same dataset and variation. lead: the dataset that is
    meant if none is named."""
    truth, where, change = world.accuracy, lead, ""
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
            wrong |= match[1] in {*world.unseeing, LANGUAGE_MODEL}
        elif kind == "tied":
            wrong = any(re.search(rf"\b{each}\b", sentence) for each in {*world.unseeing, LANGUAGE_MODEL})
        elif kind == "looks":
            wrong = model in world.unseeing
        elif kind == "misleads":
            wrong = True
        elif kind == "beats":
            wrong = world.pictured(match[1], where) <= world.pictured(LANGUAGE_MODEL, where)
        elif kind == "beside":
            wrong = model in world.unseeing
        elif kind == "behind":
            wrong = truth[match[2], lead] >= truth[match[1], lead]
        elif kind == "boasts":
            wrong = (model, match[1] or lead) not in world.boasts
        elif kind == "loses":
            change, where = match[1], match[2] or lead
        elif kind == "alone":
            wrong = _wrong_above(world, model, lead, float(match[1]) / 100) > TOLERATED
        elif kind in ("change", "shift"):
            wrong = world.losses.get((model, where, change), 0) <= 0
        elif kind == "several":
            wrong = int(match[1]) > len({key[2] for key in world.losses if key[0] == model})
        elif kind == "pairs":
            apart = [truth[a, d] != truth[b, d] for d in world.groups for a, b in combinations(MODELS, 2)]
            wrong = int(match[1]) > sum(apart)
        elif kind == "coverage":
            wrong = match[1] == "below" or int(match[2] or 0) > 0
        if wrong:
            yield sentence


def _told(view: Verdict, pattern: str) -> bool:
    """Whether a card says this of set0."""
    where = "" if view.dataset == "set0" else r" \(set0\)"
    return any(re.fullmatch(pattern + where, card.answer) for card in view.cards)


EACH = int(os.environ.get("WORLDS", "60")) // len(KINDS)
NAMED: dict[str, Callable[[Verdict], bool]] = {
    "better": lambda view: bool(re.search(r"ant is best on [\w, ]*\bset0\b", view.headline + view.others)),
    "fragile": lambda view: _told(view, r".*\(vr_b_5\): .*"),
    "unseeing": lambda view: view.headline == f"No model is shown to use the image on {view.dataset}.",
    "one_sees": lambda view: bool(re.search(r"ant is best on [\w, ]*\bset0\b", view.headline + view.others)),
    "other_lead": lambda view: view.headline == "No model is shown to use the image on set0.",
    "sees_less": lambda view: bool(re.match(r"ant is (?:tied for )?best on set0", view.headline)),
    "overconfident": lambda view: _told(view, r"Overconfident: .*"),
}
"""Whether the front page tells the one effect of a world of that kind."""


@pytest.fixture(scope="module")
def told() -> list[tuple[World, str, list[str], bool]]:
    """Of every world its kind, what is false on its front page, and whether its effect is named."""
    found = []
    kinds = [(kind, world, EACH) for kind in KINDS] + [(kind, looking_world, EACH // 2) for kind in LOOKING]
    kinds += [(kind, mixed_world, EACH // 2) for kind in MIXED]
    for kind, make, count in kinds:
        for seed in range(count):
            made = make(seed, kind)
            known = evidence(made)
            named = kind in NAMED and NAMED[kind](VERDICT_SECTION.build(known))
            found.append((made, kind, false_sentences(made, known), named))
    return found


def test_at_most_one_world_in_twenty_has_a_false_sentence(
    told: list[tuple[World, str, list[str], bool]],
) -> None:
    wrong = [(kind, made.seed, said) for made, kind, said, _ in told if said]
    assert len(wrong) <= 0.05 * len(told), wrong


@pytest.mark.parametrize("kind", NAMED)
def test_a_large_effect_is_named(kind: str, told: list[tuple[World, str, list[str], bool]]) -> None:
    named = [named for _, which, _, named in told if which == kind]
    assert sum(named) >= 0.8 * len(named)


def test_what_is_false_is_found() -> None:
    """The same front pages are false of other worlds."""
    made = world(0, "better")
    swapped = {place: accuracy if place[0] == "ant" else 0.9 for place, accuracy in made.accuracy.items()}
    said = false_sentences(replace(made, accuracy=swapped), evidence(made))
    for words in ("ant is best on", " points behind "):
        assert any(words in one for one in said), words
    for kind, words in (("fragile", "a loss of "), ("overconfident", "Overconfident: ")):
        made = world(0, kind)
        innocent = replace(made, losses={}, boasts=frozenset())
        assert any(words in one for one in false_sentences(innocent, evidence(made))), kind
    guessing = world(0, "guess")
    assert false_sentences(replace(made, accuracy=guessing.accuracy), evidence(made))
    made = looking_world(0, "blind")
    closed = replace(made, unseeing=frozenset(MODELS))
    said = false_sentences(closed, evidence(made))
    assert any("correct with it" in one for one in said) and any(
        " best on" in one or "tied" in one for one in said
    )
