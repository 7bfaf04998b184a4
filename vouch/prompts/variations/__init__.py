"""The variations of a prompt. Each is declared once, beside the function that makes it:

    @variation("fog", "images in fog", changes=IMAGES, levels=5, default_level=3)
    def fog(draft: Draft, level: int) -> Draft | None: ...

Every file of this folder is read; `basic.py` has those that take a line. Nothing else lists them:
params.yaml may name it, `vouch plan` counts its prompts, the report calls it by its label and draws its
levels, and `vouch schema` writes its row in docs/variations.md.

The function gets a prompt before it is rendered and returns it changed (`draft._replace`): other words are an
`item` with other texts, another instruction is another `template`, another order of the options is another
`order`, a disturbed image has another step in `images`. So variations can be done one after the other, and
`ls_n+vs_s` needs no function of its own. It changes only what its declaration names and leaves the rendering
to vouch/prompts/build.py.

It never touches `item.answers` or `item.options`; `effect` says which options are correct afterwards: KEPT
the same ones, COMPLEMENT all others, SWAPPED the other one of two, OWN none, since the prompt asks about the
model's own answer. An item whose answers cannot be flipped (an open question, no correct option or no other
one, more than two options with SWAPPED) gets no prompt.

None means that the variation does not apply to the item: there is no row, which is not the same as a zero.
Several prompts of an item are a sequence, numbered 1, 2, ... in its order. The function is pure: randomness
comes from the item's id.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.prompts.draft import FAMILIES, PARTS, Draft
from vouch.tables.asked import EFFECTS, KEPT

Vary = Callable[..., Draft | Sequence[Draft] | None]
"""Gets a draft, and a level if the variation has levels."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LEVEL = re.compile(r"(.+)_([0-9]+)")


@dataclass(frozen=True)
class Declaration:
    """A variation.

    label: what it does, in the report; empty where the name says it. does: the same in docs/variations.md,
    where that needs more words. skips: the items that it does not apply to. changes: names of PARTS; two
    variations of a combination may share none. effect: one of EFFECTS. family: of PARC (Schmalfuss et al.
    2025), empty outside of it. levels: the highest one, 0 without; `NAME_5` in params.yaml is level 5, `NAME`
    the default level. counts_prompts: its levels are numbers of prompts, not strengths. control: it takes
    away or hides what an answer rests on, which no user would do."""

    name: str
    vary: Vary
    changes: tuple[str, ...]
    label: str = ""
    does: str = ""
    skips: str = ""
    effect: str = KEPT
    family: str = ""
    levels: int = 0
    default_level: int = 0
    counts_prompts: bool = False
    control: bool = False

    @property
    def has_strengths(self) -> bool:
        """Whether it comes in several strengths, which the report draws as a curve."""
        return self.levels > 0 and not self.counts_prompts


_DECLARED: dict[str, Declaration] = {}


def variation(
    name: str,
    label: str,
    *,
    changes: str | Sequence[str],
    does: str = "",
    skips: str = "",
    effect: str = KEPT,
    family: str = "",
    levels: int = 0,
    default_level: int = 0,
    counts_prompts: bool = False,
    control: bool = False,
) -> Callable[[Vary], Vary]:
    """Declares the function below it; Declaration explains the arguments. Raises UserError."""
    parts = (changes,) if isinstance(changes, str) else tuple(changes)
    checks = (
        *(("changes", part, PARTS) for part in parts),
        ("effect", effect, EFFECTS),
        ("family", family, FAMILIES),
    )
    for argument, value, known in checks:
        if value not in known:
            raise UserError(
                f"variation {name}: unknown {argument} {value:.60}; {did_you_mean(value, list(known))}"
            )
    if not _NAME.fullmatch(name):
        raise UserError(f"variation {name}: a name has small letters, digits and underscores")
    if not min(levels, 1) <= default_level <= levels:
        raise UserError(f"variation {name}: default_level must be one of its levels, 1 to {levels}")

    def declare(vary: Vary) -> Vary:
        if name in _DECLARED:
            raise UserError(f"variation {name}: is declared twice in vouch/prompts/variations; rename one")
        _DECLARED[name] = Declaration(
            name,
            vary,
            parts,
            label=label,
            does=does,
            skips=skips,
            effect=effect,
            family=family,
            levels=levels,
            default_level=default_level,
            counts_prompts=counts_prompts,
            control=control,
        )
        return vary

    return declare


def declared() -> Mapping[str, Declaration]:
    """All variations by name: files in alphabetical order, those of a file in its own."""
    return _DECLARED


def read_files() -> None:
    """Imports every file of this folder. Raises UserError where one declares a variation wrongly."""
    for file in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{file.name}")
        if hasattr(module, "CHANGES"):
            raise UserError(
                f"vouch/prompts/variations/{file.name}.py: CHANGES, EFFECT and FAMILY are now arguments of "
                "@variation above `vary`; see docs/variations.md"
            )


def at_level(name: str) -> tuple[Declaration, int | None] | None:
    """The variation that `vr_b` or `vr_b_5` names, and the level where there is one; None where none has that
    name. The level is not checked."""
    known = declared()
    match = None if name in known else _LEVEL.fullmatch(name)
    base = match[1] if match else name
    return (known[base], int(match[2]) if match else None) if base in known else None


def documentation() -> str:
    """The rows of the table in docs/variations.md."""
    head = "| name | what changes | answers | family | not applicable to |\n|---|---|---|---|---|\n"
    return head + "".join(map(_row, declared().values()))


def _row(one: Declaration) -> str:
    name = f"`{one.name}`"
    if one.levels:
        name += f", `{one.name}_1` to `{one.name}_{one.levels}`"
    does = one.does or one.label
    control = "a control: " if one.control else ""
    return f"| {name} | {control}{does} | {one.effect} | {one.family} | {one.skips} |\n"


read_files()  # whichever file is imported first: the order of the variations is always the same
