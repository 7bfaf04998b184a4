"""Of random worlds whose truth is known the front page says what is so: no more, and what is large.

60 worlds; WORLDS=204 in the environment, as `make worlds` sets it, makes more of each kind.
"""

import os
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.report.sentences import false_sentences
from tests.report.worlds import KINDS, World, evidence, world
from vouch.report.pages.verdict import VERDICT_SECTION, Verdict

EACH = int(os.environ.get("WORLDS", "60")) // len(KINDS)
NAMED: dict[str, Callable[[Verdict], bool]] = {
    "better": lambda view: bool(re.match(r"ant is best on [\w, ]*\bset0\b", view.headline)),
    "fragile": lambda view: any(
        "(vr_b_5): " in c.answer and " on set0 correctly" in c.why for c in view.cards
    ),
    "overconfident": lambda view: bool(re.fullmatch(r"Overconfident: .* \(set0\)", view.cards[0].answer)),
}
"""Whether the front page tells the one effect of a world of that kind."""


@pytest.fixture(scope="module")
def told() -> list[tuple[World, str, list[str], bool]]:
    """Of every world its kind, what is false on its front page, and whether its effect is named."""
    found = []
    for kind in KINDS:
        for seed in range(EACH):
            made = world(seed, kind)
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
