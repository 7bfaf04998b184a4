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
from vouch.report.claims import preferred
from vouch.report.evidence import Evidence
from vouch.report.pages.verdict import VERDICT_SECTION, Verdict
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
    "unseeing": rf"[Nn]o model is shown to use the image on {NAMES}",
    "doubts": r"(?:On \w+, )?\w+ is not shown to (?:beat dog, a language model(?:, on the .*)?|lose accuracy without the image) \(.*",
    "looks": r"Yes: \d+\s% correct with it, \d+\s% without|Without the image it loses .* of accuracy on (\w+); .*",
    "misleads": r"It misleads: .*|Without the image it gains .*",
    "beside": r"Beats the language model: \d+\s% correct, the other \d+\s%",
    "text": r"dog, a language model, answers .* of the (?:\d+ )?questions (?:with an image )?on (\w+) correctly with the text alone; guessing .*",
    "beyond": r"That is .* beyond a guess|It is shown to beat guessing with the text alone",
    "beats": r"(\w+) beats it by .*",
    "silent": r"A model is recommended only if .*|Not shown|It is not shown to beat guessing|"
    r"\w+ can answer these alone with at most 5\s% errors|The statement holds with 90\s% confidence for all models .*|"
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
            wrong |= match[1] in {*world.unseeing, LANGUAGE_MODEL}
        elif kind in ("tied", "others"):
            wrong = any(re.search(rf"\b{each}\b", sentence) for each in {*world.unseeing, LANGUAGE_MODEL})
        elif kind == "looks":
            wrong = model in world.unseeing
        elif kind == "text":
            where = match[1]
        elif kind == "misleads":
            wrong = True
        elif kind == "beats":
            wrong = world.pictured(match[1], where) <= world.pictured(LANGUAGE_MODEL, where)
        elif kind == "beside":
            wrong = model in world.unseeing
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


EACH = int(os.environ.get("WORLDS", "60")) // len(KINDS)
NAMED: dict[str, Callable[[Verdict], bool]] = {
    "better": lambda view: bool(re.match(r"ant is best on [\w, ]*\bset0\b", view.headline)),
    "fragile": lambda view: any(
        "(vr_b_5): " in c.answer and " on set0 correctly" in c.why for c in view.cards
    ),
    "unseeing": lambda view: bool(
        re.match(r"No model is shown to use the image on [\w, ]*set0", view.headline)
    ),
    "one_sees": lambda view: bool(re.match(r"ant is best on [\w, ]*\bset0\b", view.headline)),
    "other_lead": lambda view: view.headline == "No model is shown to use the image on set0.",
    "sees_less": lambda view: bool(re.match(r"ant is (?:tied for )?best on set0", view.headline)),
    "overconfident": lambda view: bool(re.fullmatch(r"Overconfident: .* \(set0\)", view.cards[0].answer)),
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
