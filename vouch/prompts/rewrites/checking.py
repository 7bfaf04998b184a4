"""Whether a rewrite may be asked. A check is a file vouch/prompts/rewrites/checks/NAME.py that defines

KINDS: Collection[str]
    the kinds that it looks at
def problem(original: str, rewrite: str) -> str
    what is wrong, in words that fit behind `the rewrite`, or nothing

Checks cannot tell good words from bad ones; they catch what programs can: answers in place of questions,
two sentences, a lost negation or number. Whoever wants more reviews the table (`vouch review rewrites`).
"""

import importlib
import re
from collections.abc import Mapping
from pathlib import Path

CHECKS = Path(__file__).parent / "checks"
ENDLESS = "not_endless"
NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|nothing|without|cannot)\b|n['’]t\b", re.IGNORECASE)


def failures(kind: str, original: str, rewrite: str) -> Mapping[str, str]:
    """Name of each check that the rewrite fails -> what is wrong; checks by name.

    An endless rewrite is looked at no further: the patterns of other checks would take hours over it.
    """
    found = {}
    names = sorted((path.stem for path in CHECKS.glob("[!_]*.py")), key=lambda name: (name != ENDLESS, name))
    for name in names:
        check = importlib.import_module(f"vouch.prompts.rewrites.checks.{name}")
        problem = check.problem(original, rewrite) if kind in check.KINDS else ""
        if problem:
            found[name] = problem
        if name == ENDLESS in found:
            break
    return found


def outputs(text: str) -> bool:
    """Whether a text ends like a question."""
    return text.rstrip("\"'”’ ").endswith("?")


def words(text: str) -> list[str]:
    """The words of a text, small letters."""
    return re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower())
