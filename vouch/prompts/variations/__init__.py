"""The variations of a prompt. Each is declared once, beside the function that makes it:

    @variation("fog", "images in fog", changes=IMAGES, levels=5, default_level=3)
    def fog(draft: Draft, level: int) -> Draft | None: ...

Every file in this folder is read; `basic.py` has the variations that take one line. Nothing else lists them:
params.yaml may name it, `vouch plan` counts its prompts, the report calls it by its label and draws its
levels, and `vouch schema` writes its row in docs/variations.md.

The function gets a prompt before it is rendered and returns it changed (`draft._replace`): other words are an
`item` with other texts, another instruction is another `template`, another order of the options is another
`order`, a disturbed image has another step in `images`. So variations can be done one after the other, and
`ls_n+vs_s` needs no function of its own. It changes only the declared parts and leaves the rendering
to vouch/prompts/build.py.

It never touches `item.answers` or `item.options`; `effect` says which options are correct afterwards: KEPT
the same ones, COMPLEMENT all others, SWAPPED the other one of two, OWN none, because the prompt asks about
the model's own answer. An item whose answers cannot be flipped (an open question, no correct option or no
other one, more than two options with SWAPPED) gets no prompt.

None means that the variation does not apply to the item: there is no row, which is not the same as a zero.
Several prompts of an item are a sequence, numbered 1, 2, ... in its order. The function is pure: randomness
comes from the item's id.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.prompts.draft import PARTS, Draft
from vouch.tables.asked import EFFECTS, FAMILIES, KEPT

Vary = Callable[..., Draft | Sequence[Draft] | None]
"""Gets a draft, and a level if the variation has levels."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LEVEL = re.compile(r"(.+)_([0-9]+)")


def _undeclared(draft: Draft) -> None:
    """Stands in for the function until it is declared."""


@dataclass(frozen=True)
class Declaration:
    """A variation, and the decorator of the function that makes it. Raises UserError for a wrong argument.

    label: what it does, in the report; empty if the name says it. changes: names of PARTS; two variations
    of a combination may share none. does: the label in docs/variations.md, if more words are needed there.
    skips: the items that it does not apply to. effect: one of EFFECTS. family: of PARC (Schmalfuss et al.
    2025), else empty. levels: the highest, 0 if it has none; `NAME_5` in params.yaml is level 5, `NAME`
    the default level. counts_prompts: its levels are numbers of prompts, not strengths. control: it takes
    away or hides what an answer depends on, which no user would do. repeats_options: its prompts repeat which
    options the model chose before. operation: the one that is applied to
    every image, if it does nothing else (vouch/images/operations.py)."""

    name: str
    label: str = ""
    _: KW_ONLY
    changes: str | tuple[str, ...]
    does: str = ""
    skips: str = ""
    effect: str = KEPT
    family: str = ""
    levels: int = 0
    default_level: int = 0
    counts_prompts: bool = False
    control: bool = False
    repeats_options: bool = False
    operation: str = ""
    vary: Vary = _undeclared

    def __post_init__(self) -> None:
        checks = (
            *(("changes", part, PARTS) for part in self.parts),
            ("effect", self.effect, EFFECTS),
            ("family", self.family, (*FAMILIES, "")),
        )
        for argument, value, known in checks:
            if value not in known:
                raise UserError(
                    f"variation {self.name}: unknown {argument} {value:.60}; "
                    f"{did_you_mean(value, list(known))}"
                )
        if not _NAME.fullmatch(self.name):
            raise UserError(f"variation {self.name}: a name has small letters, digits and underscores")
        if not min(self.levels, 1) <= self.default_level <= self.levels:
            raise UserError(
                f"variation {self.name}: default_level must be one of its levels, 1 to {self.levels}"
            )

    def __call__(self, vary: Vary) -> Vary:
        """Declares the function. Raises UserError if the name is taken."""
        if self.name in _DECLARED:
            raise UserError(
                f"variation {self.name}: is declared twice in vouch/prompts/variations; rename one"
            )
        _DECLARED[self.name] = replace(self, vary=vary)
        return vary

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that it changes."""
        return (self.changes,) if isinstance(self.changes, str) else self.changes

    @property
    def has_strengths(self) -> bool:
        """Whether it comes in several strengths, which the report draws as a curve."""
        return self.levels > 0 and not self.counts_prompts


_DECLARED: dict[str, Declaration] = {}
variation = Declaration


def declared() -> Mapping[str, Declaration]:
    """All variations by name: file by file in alphabetical order, those of a file in their order there."""
    return _DECLARED


def read_files() -> None:
    """Imports every file of this folder. Raises UserError if one declares a variation wrongly."""
    for file in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{file.name}")
        if hasattr(module, "CHANGES"):
            raise UserError(
                f"vouch/prompts/variations/{file.name}.py: CHANGES, EFFECT and FAMILY are now arguments of "
                "@variation above `vary`; see docs/variations.md"
            )


def at_level(name: str) -> tuple[Declaration, int | None] | None:
    """The variation that `vr_b` or `vr_b_5` names, and its level if it has one; None if none has that
    name. The level is not checked."""
    known = declared()
    match = None if name in known else _LEVEL.fullmatch(name)
    base = match[1] if match else name
    return (known[base], int(match[2]) if match else None) if base in known else None


def in_words(variation: str) -> str | None:
    """`images blurred, level 5`; for a combination, all of its parts. None if a part has no long name."""
    parts = []
    for part in variation.split("+"):
        declaration, level = at_level(part) or (None, None)
        if declaration is None or not declaration.label:
            return None
        strength = f"{level} prompts" if declaration.counts_prompts else f"level {level}"
        parts.append(declaration.label if level is None else f"{declaration.label}, {strength}")
    return " + ".join(parts)


def meaning(variation: str) -> str:
    """The long name of a variation, or its code if it has none."""
    return in_words(variation) or variation


def named(variation: str) -> str:
    """The long name and the code of a variation: `negated question (ls_n)`."""
    name = in_words(variation)
    return f"{name} ({variation})" if name else variation


def documentation() -> str:
    """The rows of the table in docs/variations.md."""
    rows = ["| name | what changes | answers | family | not applicable to |", "|---|---|---|---|---|"]
    for one in declared().values():
        levels = f", `{one.name}_1` to `{one.name}_{one.levels}`" if one.levels else ""
        does = f"{'a control: ' if one.control else ''}{one.does or one.label}"
        rows.append(f"| `{one.name}`{levels} | {does} | {one.effect} | {one.family} | {one.skips} |")
    return "".join(f"{row}\n" for row in rows)


read_files()  # whichever file is imported first: the order of the variations is always the same
