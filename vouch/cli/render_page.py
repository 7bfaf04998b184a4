"""The page of `vouch render`: of each item its original prompt and those of a variation, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

MARK = "render.txt"  # says that a folder was made here and may be written anew
_HEAD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>'
    "body{{font:16px sans-serif;margin:2em}}img{{max-width:320px;border:1px solid #ccc}}"
    "td{{vertical-align:top;padding:.5em;max-width:45em}}pre{{white-space:pre-wrap;margin:.3em 0}}"
    "</style><h1>{title}</h1>\n"
)


@dataclass(frozen=True)
class Shown:
    """An item's prompts, and the file of each picture by its recipe (`repr`)."""

    rows: Sequence[Mapping[str, Any]]
    files: Mapping[str, str]


def page(dataset: str, variation: str, shown: Sequence[Shown]) -> str:
    """HTML without a script; all words of the dataset escaped."""
    title = escape(f"{dataset}: {variation}")
    return _HEAD.format(title=title) + "".join(_item(one) for one in shown)


def _item(shown: Shown) -> str:
    cells = "".join(f"<td>{_prompt(row, shown.files)}" for row in shown.rows)
    return f"<h2>{escape(shown.rows[0]['item'])}</h2>\n<table><tr>{cells}</table>\n"


def _prompt(row: Mapping[str, Any], files: Mapping[str, str]) -> str:
    pictures = "".join(_picture(files[repr(recipe)], steps(recipe)) for recipe in row["pictures"])
    said = [row["system"], *(text for turn in row["turns"] for text in (turn["question"], turn["answer"]))]
    words = "".join(f"<pre>{escape(text)}</pre>" for text in [*said, row["text"], row["response"]] if text)
    correct = "; ".join(row["options"][place] for place in row["answers"]) or "none of its options"
    return f"<p><b>{escape(row['id'])}</b>{pictures}{words}<p>Correct ({row['effect']}): {escape(correct)}\n"


def _picture(file: str, done: str) -> str:
    return f'<p><img src="{escape(file)}" alt="{escape(done)}"><br>{escape(done)}'


def steps(recipe: Mapping[str, Any]) -> str:
    """What was done to a picture, in words: `blur 5, side_by_side`."""
    done = [f"{step['operation']} {step['severity'] or ''}".strip() for step in recipe["steps"]]
    return ", ".join(done) or "as it is"
