"""How the reader reads answers in prose: `python -m tests.metrics.text.labelled.prose` prints the page's table.

prose.csv has a row an answer: `set` and `id` of the question, the `model`, the `style` in which it was asked
(`released`: published answers of other models, from ../shared/reference/answers), the `label` and the `half`: `rules`
were made by one, `held` was not looked at. A label is a letter, U (none, several, or contradictory), or several of
these with a slash if each would do. prose.jsonl has the texts of SmolLM2; what they repeat of a question and its options
is ⟦start:length⟧ there. The questions are those of ../shared/reference/realdata, which is never part of the project.
"""

import csv
import json
import re
import string
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.metrics.text.labelled.sample import FALSE, MISS, REFERENCE, RIGHT, choices, of_set, wilson
from vouch.metrics.text.parsers import DEFAULT_PARSERS, read
from vouch.metrics.text.reader.options import OPTION, Choices

HERE = Path(__file__).parent
REALDATA, FIFTY = REFERENCE / "realdata", REFERENCE / "answers/smollm2.jsonl"
QUESTIONS = ("scienceqa_test", "ai2d_mini", "mmbench_samples", "puzzlevqa")
ANSWERS = ("blink", "worldmedqa", "mathvista", "mathvision")
RELEASED, UNDECIDED = "released", "U"
_REPEATED = re.compile(r"⟦(\d+):(\d+)⟧")


def outcome(text: str, options: Choices, label: str) -> str:
    """RIGHT; FALSE, if an option is read that the label does not have; MISS, if none is read and one should be."""
    _, reading = read(text, options, DEFAULT_PARSERS)
    letter = string.ascii_uppercase[reading.places[0]] if reading.verdict == OPTION else UNDECIDED
    return RIGHT if letter in label.split("/") else MISS if letter == UNDECIDED else FALSE


def outcomes() -> Iterator[tuple[str, str, str]]:
    """Half, style and outcome of every labelled answer; `fifty` is the half of ../shared's labelled texts."""
    texts = {
        (name, row["model"], row["id"]): row for name in ANSWERS for row in of_set(name) if row["choices"]
    }
    generated = _generated()
    with (HERE / "prose.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["style"] == RELEASED:
                answer = texts[row["set"], row["model"], row["id"]]
                text, options = answer["text"], answer["choices"]
            else:
                text, options = generated[row["id"], row["style"]]
            yield row["half"], row["style"], outcome(text, options, row["label"])
    for line in FIFTY.read_text("utf-8").splitlines():
        row = json.loads(line)
        options = choices(row["options"], row["question"])
        yield "fifty", "fifty", outcome(row["text"], options, row["label"])


def _generated() -> dict[tuple[str, str], tuple[str, Choices]]:
    """Texts and options by the id of the question and the style."""
    lines = (line for name in QUESTIONS for line in (REALDATA / name / "items.jsonl").open(encoding="utf-8"))
    items = {item["id"]: item for item in map(json.loads, lines)}
    found = {}
    for line in (HERE / "prose.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        item = items[row["id"]]
        source = "\n".join((item["question"], *item["options"]))
        text = _REPEATED.sub(partial(_slice, source), row["text"])
        found[row["id"], row["style"]] = text, choices(item["options"], item["question"])
    return found


def _slice(source: str, at: re.Match[str]) -> str:
    return source[int(at[1]) :][: int(at[2])]


def table() -> str:
    """Counts and rates, with Wilson's 95 % interval, by half and by where the answers come from."""
    rows = list(outcomes())
    groups = [(half, released) for half in ("rules", "held") for released in (False, True)]
    lines = ["| answers in prose | n | false reads, % | misses, % |", "|---|---|---|---|"]
    named = [
        (
            f"{'of other models' if released else 'of SmolLM2'}, {half}",
            [row for row in rows if row[0] == half and (row[1] == RELEASED) == released],
        )
        for half, released in groups
    ]
    both = [(half, [row for row in rows if row[0] == half]) for half in ("rules", "held")]
    everything = [("rules and held", [row for row in rows if row[0] != "fifty"])]
    fifty = [("50 of SmolLM2, labelled elsewhere", [row for row in rows if row[0] == "fifty"])]
    for name, of in (*everything, *both, *named, *fifty):
        cells = []
        for kind in (FALSE, MISS):
            share, low, high = (100 * one for one in wilson((1.0, row[2] == kind) for row in of))
            cells.append(f"{share:.1f} [{low:.1f}, {high:.1f}]")
        lines.append(f"| {name} | {len(of)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
