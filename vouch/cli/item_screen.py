"""The screen of `vouch item`: the question, a table of all answers, and a block for each that shows why.

Lines fit the terminal. The table has a line for each prompt; a block shows, of the original prompt
or of all, the numbers behind the answer: logits and letter mass, or the text and how it was read.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from vouch.cli.item_answers import FLIPPED, NOT_FLIPPED
from vouch.cli.leaderboard import Row, long_name
from vouch.cli.printing import Column, broken, cut, number, plain, plain_lines, table, terminal, wrapped
from vouch.metrics.metric import metrics
from vouch.report.formatting import listed
from vouch.tables.answered import LOW_MASS
from vouch.tables.asked import KEPT, MODEL_PROMPTS, ORIGINAL, TEXT, images_path
from vouch.tables.results import JUDGE, REFUSAL, SEVERAL, UNPARSED

LINES = 8  # of a text; --detail shows all
SAMPLES = 3  # of a text; --detail shows all
_ANSWERS = (
    Column("variation", cut=True),
    Column("answer", cut=True),
    Column(""),
    Column("confidence", right=True),
    Column("LAC", cut=True),
    Column("APS", cut=True),
    Column("original"),
)


def question(dataset: str, item: Row) -> str:
    """What is known about the item, one line each."""
    lines = [f"{item['id']} of {dataset}"]
    for name in ("question", "hint") if item["hint"] else ("question",):
        first, *rest = item[name].splitlines() or [""]
        lines += [f"{name}: {first}", *(f"  {line}" for line in rest)]
    for index, text in enumerate(item["options"]):
        lines.append(f"option {index + 1}: {text}" + (" (correct)" if index in item["answers"] else ""))
    lines += [f"answer: {text}" for text in item["references"] or ()]
    for position, digest in enumerate(item["images"] or (), start=1):
        lines.append(f"image {position}: {digest[:12]}… in {images_path(dataset)} (--images shows it)")
    lines += [f"{key}: {item[key]}" for key in ("category", "group", "source_id") if item[key]]
    lines += [f"conversation: {', '.join(item['turns'])}"] if item["turns"] else []
    lines += [f"flags: {', '.join(item['flags'])}"] if item["flags"] else []
    return "".join(map(wrapped, lines))


def screen(entries: Sequence[Row], prompts: Sequence[Row] = (), detail: bool = False) -> str:
    """The table of answers, which variations flipped them, and the blocks.

    prompts: of the item. detail: every prompt as asked, and the blocks of all of them, whole.
    """
    words = {one["id"]: _words(one, {entry["model"] for entry in entries}) for one in prompts}
    original = next((words[one["id"]] for one in prompts if one["variation"] == ORIGINAL), "")
    shown = "".join(_prompt(one, words[one["id"]], original) for one in prompts)
    asked = shown + "\n" if detail and prompts else ""
    if not entries:
        return asked + "no model was asked this question\n"
    notes = [*flips_by_model(entries), *_unchanged(prompts), *_uncalibrated(entries), *_meanings(entries)]
    parts = [asked, _answers(entries), *map(wrapped, notes)]
    chosen = [entry for entry in entries if detail or entry["variation"] == ORIGINAL] or entries
    blocks = ["".join(_block(entry, detail)) for entry in chosen]
    return "".join(parts) + "\n" + "\n".join(blocks)


def _prompt(prompt: Row, words: str, original: str) -> str:
    """A prompt as it was asked, in its words, or what it shares with the original, whose are `original`."""
    heading = f"prompt {_code({**prompt, 'prompt': prompt['id']})}"
    if prompt["same_as_original"]:
        return wrapped(f"{heading}: the same as the original")
    steps = {
        step["operation"]: step["severity"] for image in prompt["images"] or () for step in image["steps"]
    }
    changed = ", ".join(f"{name} {severity}" if severity else name for name, severity in steps.items())
    heading += f" (images: {changed})" if changed else ""
    if prompt["variation"] != ORIGINAL and words == original:
        return wrapped(f"{heading}: the words of the original")
    return wrapped(f"{heading}, as asked:") + words


def _words(prompt: Row, models: Collection[str]) -> str:
    """The words of a prompt as the models are asked it: in common, then those of models with their own."""
    left, text = set(models), ""
    for one in prompt.get(MODEL_PROMPTS.name) or ():
        if names := sorted(left.intersection(one["models"])):
            whose = "its" if len(names) == 1 else "their"
            asked = f"{listed(names)}: asked with {whose} own prompt (template {one['template']})"
            text += wrapped(asked, "  ") + _wording(one)
            left.difference_update(names)
    return _wording(prompt) + text if left or not text else text


def _wording(prompt: Row) -> str:
    """The words in lines; who says them, if it is more than a question."""
    parts = [("system", prompt["system"])]
    for turn in prompt["turns"] or ():
        parts += [("user", turn["question"]), ("model", turn["answer"])]
    parts += [("user", prompt["text"]), ("answer begins", prompt["response"])]
    given = [(who, text) for who, text in parts if text]
    return "".join(f"  {who}:\n" * (len(given) > 1) + _lines(text) for who, text in given)


def _unchanged(prompts: Sequence[Row]) -> Iterator[str]:
    """The variations that changed nothing."""
    if same := [_code({**one, "prompt": one["id"]}) for one in prompts if one["same_as_original"]]:
        yield f"the same prompt as the original, so the same answer: {', '.join(same)}"


def _uncalibrated(entries: Sequence[Row]) -> Iterator[str]:
    """The models without prediction sets, and why."""
    for model, output in dict.fromkeys(
        (one["model"], one["output"]) for one in entries if not one["calibrated"]
    ):
        yield (
            f"{model}, {output}: no prediction sets; too few questions calibrate, so a set would hold every "
            "option"
        )


def _answers(entries: Sequence[Row]) -> str:
    """A line for each prompt, below one that names model and request type."""
    rows = [
        [
            f" {_code(entry)}",
            *(_answer(entry), _verdict(entry), number(entry["confidence"])),
            *(_set(entry, "lac"), _set(entry, "aps"), entry["against_original"]),
        ]
        for entry in entries
    ]
    blind = {True: "", False: " (a language model, asked without images)"}
    titles = [f"{entry['model']}, {entry['output']}{blind[entry['sees']]}" for entry in entries]
    return table(_ANSWERS, rows, titles) + "\n"


def _code(entry: Row) -> str:
    """The variation's code, with a number if it makes several prompts of an item."""
    _, _, last = entry["prompt"].rpartition(f"/{entry['variation']}/")
    return f"{entry['variation']} {last}" if last != entry["prompt"] else str(entry["variation"])


def _answer(entry: Row) -> str:
    return entry["problem"] or ("n.a." if entry["answer"] is None else entry["answer"])


def _verdict(entry: Row) -> str:
    if entry["correct"] is None:
        return "n.a."
    return ("correct" if entry["correct"] else "wrong") + ("" if entry["kept"] else ", left out")


def _set(entry: Row, score: str) -> str:
    """The members if the item was tested in the faithful split, else the mean size over the clean splits."""
    members = entry[score]
    if members is not None:
        return " ".join(each.split(". ")[0] for each in members) or "none"
    size = entry["clean_size"][score]
    return "n.a." if size is None else f"~{size:.1f}"


def flips_by_model(entries: Sequence[Row]) -> list[str]:
    """A line for each model and request type: the variations that wrongly changed or kept the answer."""
    lines = []
    for model, output in dict.fromkeys((entry["model"], entry["output"]) for entry in entries):
        own = [entry for entry in entries if (entry["model"], entry["output"]) == (model, output)]
        variations = {entry["variation"] for entry in own}
        if ORIGINAL not in variations or len(variations) == 1:  # nothing to compare, or to compare with
            continue
        words = []
        wrong = [one for one in own if one["effect"] in (None, KEPT) or one["against_original"] != FLIPPED]
        for word, meaning in ((FLIPPED, "flipped by"), (NOT_FLIPPED, "wrongly unchanged by")):
            names = [_code(entry) for entry in wrong if entry["against_original"] == word]
            words += [f"{meaning} {', '.join(names)}"] if names else []
        lines.append(f"{model}, {output}: {'; '.join(words) or 'the answer held in every variation'}")
    return lines


def _meanings(entries: Sequence[Row]) -> Iterator[str]:
    """What the codes of the variations mean."""
    named = {name: long_name(name).removesuffix(f" ({name})") for name in
             dict.fromkeys(entry["variation"] for entry in entries)}  # fmt: skip
    if known := [f"{name} = {text}" for name, text in named.items() if text != name]:
        yield "; ".join(known)


def _block(entry: Row, detail: bool) -> Iterator[str]:
    """What is behind one answer, in lines."""
    title = f"{entry['model']}, {entry['output']}, {_code(entry)}: {_verdict(entry)}"
    if entry["output"] == TEXT and entry["problem"] is None:
        title += f", {_reading(entry)}"
    yield wrapped(title)
    for fact in _facts(entry):
        yield wrapped(fact, "  ")
    if entry["options"]:
        yield _options(entry)
    if entry["text"] is not None:
        yield _text(entry["text"], detail)
    samples = entry["samples"] if detail else entry["samples"][:SAMPLES]
    yield from (
        wrapped(cut(f"at {one['temperature']:g}: {one['text']}", terminal() - 2), "  ") for one in samples
    )
    if more := len(entry["samples"]) - len(samples):
        yield f"  and {more} more samples\n"


_UNREAD = {
    UNPARSED: "nothing could be read of it",
    REFUSAL: "the model declined",
    SEVERAL: "it names several options and chooses none",
    JUDGE: "read by the judge",
}


def _reading(entry: Row) -> str:
    """Which parser read a text, and why so."""
    parser, reason = entry["parser"], entry["reason"]
    if entry["graded"]:
        return f"graded by {parser}"
    by = _UNREAD.get(parser, f"read by {parser}")
    answer = f" as {entry['answer']}" if entry["answer"] and parser not in (UNPARSED, REFUSAL) else ""
    return f"{by}{f' ({reason})' if reason else ''}{answer}"


def _facts(entry: Row) -> Iterator[str]:
    """What else is known about an answer, a line each."""
    if entry["problem"] is not None:
        yield f"no answer: {entry['problem']}"
    if entry["graded"]:
        yield _comparison(entry["graded"])
    elif entry["output"] == TEXT and entry["problem"] is None and entry["expected"]:
        yield f"correct: {'; '.join(entry['expected'])}"
    if entry["reasoning"]:
        yield cut(f"thought: {entry['reasoning']}", 3 * terminal())
    mass, spelling = entry["letter_mass"], entry["spelling"]
    words = [] if mass is None else [f"letter mass {mass:.3f}"]
    if entry["bracket_mass"] and entry["bracket_mass"] >= LOW_MASS / 10:
        words.append(f"mass on `(` {entry['bracket_mass']:.3f}")
    if spelling is not None:
        words.append(f"letters read after {repr(spelling) if spelling else 'nothing'}")
    if entry["other_scored"]:
        words.append("scored in the other spelling, which is shown as logit")
    if words:
        yield ", ".join(words)
    if mass is not None and mass < LOW_MASS:
        yield "it would probably answer in another form, so these options and sets mean little"
    if entry["flags"]:
        yield f"flags: {', '.join(entry['flags'])}"


def _comparison(graded: Row) -> str:
    """What an answer to an open question was compared with, by which rule, and the grade."""
    metric, grade = graded["metric"], graded["grade"]
    known = listed([repr(one) for one in graded["references"]])
    text = f"{metric} compared {graded['read']!r} with {known}"
    if grade is not None:
        text += f" and gave {grade:.3g}{', 0.5 or more is correct' if 0 < grade < 1 else ''}"
    return f"{text}: {metrics()[metric].help}"


_COLUMNS: Mapping[str, tuple[str, int]] = {
    "logit": ("logit", 3),
    "upper": ("at most", 3),
    "other_logits": ("other spelling", 3),
    "nll": ("nll", 3),
    "tokens": ("tokens", 0),
    "probability": ("probability", 3),
}
"""Number of an option -> its head, and the digits behind its point."""
_SCORES = {"logit": "-inf", "nll": "inf"}
"""The numbers that every option has -> what a null means."""


def _options(entry: Row) -> str:
    """A line for each option with its numbers, and whether it is the answer, correct, and in the sets."""
    options: Sequence[dict[str, Any]] = entry["options"]
    known = [
        key
        for key in _COLUMNS
        if key in options[0] and (key in _SCORES or any(one[key] is not None for one in options))
    ]
    rows = []
    for one in options:
        words = [name for name in ("answer", "correct") if one[name]]
        words += [score.upper() for score in ("lac", "aps") if one["option"] in (entry[score] or ())]
        numbers = [_number(one, key) for key in known]
        rows.append([f"  {one['option']}", *numbers, ", ".join(words)])
    numbers_of = (Column(_COLUMNS[key][0], right=True) for key in known)
    top, _, *body = table([Column("  option", cut=True), *numbers_of, Column("")], rows).splitlines()
    return "".join(f"{line}\n" for line in (top, *body))


def _number(option: Row, key: str) -> str:
    """-inf is what a server left out; the column `at most` then has its bound."""
    value = option[key]
    return _SCORES[key] if value is None and key in _SCORES else number(value, _COLUMNS[key][1])


def _text(text: str, detail: bool) -> str:
    """A generated text with its line ends, indented; without detail the first LINES of it."""
    lines = _lines(text).splitlines(keepends=True)
    shown = lines if detail else lines[:LINES]
    more = f"  … {len(lines) - len(shown)} more lines (--detail)\n" if len(shown) < len(lines) else ""
    return "".join(shown) + more


def _lines(text: str) -> str:
    """A text with its line ends, each line indented and as wide as the terminal allows."""
    lines = [
        part
        for line in text.splitlines() or [""]
        for part in broken(plain(line), terminal() - 4, drop_whitespace=False) or [""]
    ]
    return plain_lines(f"  | {line}".rstrip() for line in lines)
