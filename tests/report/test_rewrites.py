"""The section on rewritten questions."""

from types import SimpleNamespace

import pandas as pd

from vouch.prompts.rewrites.engines import rules
from vouch.prompts.rewrites.table import variation_rows
from vouch.report.page import Text
from vouch.report.pages.datasets import REWRITES_SECTION


def test_the_page_says_that_rules_are_english() -> None:
    questions = {
        "Determine a area do triangulo": True,
        "Describe la imagen": True,
        "Where is the bike?": True,
    }
    engine = rules.Rules()
    rows = variation_rows(questions, ["lr_i", "lr_c"], {}, lambda tasks: dict(engine.ask(tasks)), "rules/3")
    assert {row["reason"] for row in rows[:4]} == {rules.NOT_ENGLISH} and rows[4]["status"] == "accepted"
    frame = pd.DataFrame([{**row, "dataset": "kites"} for row in rows])
    section = REWRITES_SECTION.build(SimpleNamespace(rewrites=frame))  # type: ignore[arg-type]
    assert section is not None
    (text,) = [str(block.text) for part in section.parts for block in part.blocks if isinstance(block, Text)]
    assert "rules are English" in text and "2 of kites" in text
