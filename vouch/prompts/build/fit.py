"""Whether a question fits the prompt template of its dataset: what `prepare` refuses, and what it flags."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vouch.prompts.build.image_placeholders import Placing, lost, marked
from vouch.prompts.build.template import Template

# `None of these numbers is possible` and `none of them` as well as `None of the above`
_NONE = re.compile(
    r"none(?: of (?:them|these|those|(?:the|these|those) (?:above|others?|options|answers|choices|numbers))"
    r"(?: (?:is|are|was|were) .*)?)?",
    re.IGNORECASE,
)
_DONT_KNOW = re.compile(r"i (?:don['’]t|do not) know", re.IGNORECASE)
_SAYS = {"none_of_above": _NONE, "dont_know": _DONT_KNOW}
_LATEX = re.compile(r"\$\s*\\text\s*\{(.*)\}\s*\$")


@dataclass(frozen=True)
class Fit:
    """template, name: of the dataset. counted: whether items have as many options as in their source."""

    template: Template
    name: str
    counted: bool = True

    def problem(self, options: int, images: int, heights: Sequence[int]) -> str:
        """Why no prompt can be made of a question, or nothing.

        options: how many of its own, 0 of an open question. images: how many. heights: of these as shown, and
        of those that can take their places, in pixels.
        """
        if self.counted and (crowded := self.template.crowded(options, self.name)):
            return crowded
        if self.template.pictures == "joined" and images == 2 and len(set(heights)) > 1:
            found = " and ".join(map(str, sorted(set(heights))))
            return (
                f"its pictures have heights of {found} pixels, and template {self.name} joins them side by "
                "side, which needs one height; use a template with `pictures: merged`, or leave the item out"
            )
        return ""

    def flags(self, row: Mapping[str, Any]) -> set[str]:
        """Flags of a row of the items table, whose prompts do not show it as it is."""
        template, options, found = self.template, row["options"], set()
        body = template.body if options else template.open_body
        passages = [text for text in (row["hint"] if "{hint}" in body else None, row["question"]) if text]
        if any(map(marked, (*passages, *options))):
            placing = Placing(len(row["images"]), template.pictures)
            placed = [*map(placing.passage, passages), *map(placing.option, options)]
            pairs = zip((*passages, *options), placed, strict=True)
            dropped, worded = zip(*(lost(*pair) for pair in pairs), strict=True)
            found |= {flag for flag, of in (("mark_dropped", dropped), ("mark_in_words", worded)) if any(of)}
        says = [_SAYS[key] for key in template.added_to(len(options))] if options else []
        own = [_LATEX.sub(r"\1", text).strip().rstrip(".") for text in options]
        if any(pattern.fullmatch(text) for pattern in says for text in own):
            found.add("added_option_twice")
        return found
