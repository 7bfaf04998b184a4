"""`vouch plan --probe NAME`: what a model would be given, before it is asked anything."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vouch.cli.printing import WIDTH, as_json, cut, plain, wrapped
from vouch.models import probe as probing
from vouch.models.config import ExtractConfig
from vouch.models.pins import pinned
from vouch.params.project import MODELS, Project
from vouch.pipeline.errors import UserError, reason
from vouch.pipeline.yaml12 import load
from vouch.report.formatting import plural
from vouch.tables.answered import Pin
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT, prompts_path

Row = Mapping[str, Any]
BEGIN, END = 24, 72  # runs of tokens that are shown of a prompt
OPTIONS = 12  # and labels, or options
LONGEST = 400  # characters of a text in a request
IDS = 4  # of an option's tokens
_DATA = 30  # characters of an image in a request
_PIECES = 28  # characters of an option's tokens
_RUN = 4  # equal tokens in a row that are written as one


def show(project: Project, name: str, as_data: bool) -> int:
    """Prints what `probe` finds; returns the exit status, 1 if a prompt would not be answered.

    as_data: as JSON. Raises UserError.
    """
    facts = probe(project, name)
    print(as_json(facts) if as_data else "".join(_screen(facts)), end="")
    return int(any(one["problem"] for dataset in facts["datasets"] for one in dataset["prompts"]))


def probe(project: Project, name: str) -> dict[str, Any]:
    """What a model would be given for one prompt of each dataset and request type. Raises UserError."""
    source = project.models[name]
    pin = pinned(name, source, load(MODELS)["models"], whole=False)
    if pin.source.kind == "released":
        return {"model": name, "kind": "released", "source": source, "datasets": []}
    if pin.program:
        source = pin.source.repo or pin.source.path or ""
        own = {"kind": "program", "source": source, "driver": pin.program.driver, "probe": pin.program.probe}
        return {"model": name, **own, "sees": pin.sees, "datasets": []}
    try:
        facts, read = _server(pin) if pin.source.kind == "server" else _local(pin, project.extract)
        facts["datasets"] = [
            {"dataset": dataset, **_of_dataset(project, pin, dataset, read)} for dataset in project.datasets
        ]
    except OSError as error:  # of this machine, or a template without end: other prompts would fail as well
        raise UserError(f"{name}: {reason(error)}") from None
    except MemoryError as error:
        raise UserError(
            f"{name}: no memory left ({reason(error)}); give it more, or correct the model"
        ) from None
    return facts


Read = Callable[[probing.Probe], dict[str, Any]]
"""What a model would be given for a prompt."""


def _server(pin: Pin) -> tuple[dict[str, Any], Read]:
    facts = {"model": pin.model, "kind": "server", "source": pin.source.url, "name": pin.source.name}

    def read(one: probing.Probe) -> dict[str, Any]:
        return probing.requests(pin, one.pack) if one.pack else {}

    return {**facts, "sees": pin.sees}, read


def _local(pin: Pin, config: ExtractConfig) -> tuple[dict[str, Any], Read]:
    from vouch.models.decoder.engine import preparer
    from vouch.models.loading import ADVICE, model_folder, opening

    folder = model_folder(pin)
    ready = preparer(pin, folder)

    def read(one: probing.Probe) -> dict[str, Any]:
        with opening(folder, "fails at a prompt", ADVICE):
            return probing.tokens(ready, pin, one.pack, config) if one.pack else {}

    facts = {"model": pin.model, "kind": pin.source.kind, "source": str(folder), "sees": pin.sees}
    own = "none, it gets texts alone" if ready.texts_alone else "its own"
    template = "another, which models.lock names" if pin.template else own
    return {
        **facts,
        "template": template,
        "context": ready.needs.context,
        "thinks": bool(pin.reasoning),
    }, read


def _of_dataset(project: Project, pin: Pin, dataset: str, read: Read) -> dict[str, Any]:
    if not project.extract.asks(pin.model, dataset):
        return {"note": "not asked of this model (extract.datasets_of)", "prompts": []}
    if not prompts_path(dataset).exists():
        return {"note": f"no prompts here yet; `dvc repro vary@{dataset}` makes them", "prompts": []}
    prompts = [
        {"output": one.output, "prompt": one.prompt, "problem": one.problem or None, **read(one)}
        for one in probing.asked(pin, project.extract, dataset)
    ]
    return {"note": None if prompts else "its prompts ask for nothing", "prompts": prompts}


def _screen(facts: Row) -> Iterator[str]:
    if facts["kind"] == "released":
        what = f"answers that others released ({facts['source']})"
        yield plain(f"{facts['model']}: {what}; no prompt is rendered, nothing is asked") + "\n"
        return
    if facts["kind"] == "program":
        yield from _program(facts)
        return
    where = f"{facts['model']}: {facts['kind']} {facts['source']}"
    words = [f"asked as {facts['name']}"] if "name" in facts else []
    words += [f"chat template: {facts['template']}"] if "template" in facts else []
    words += [f"reads {facts['context']} tokens at most"] if facts.get("context") else []
    words += ["takes no images"] if not facts["sees"] else []
    words += ["thinks: prompts are shown after the end of a thought"] if facts.get("thinks") else []
    yield wrapped(", ".join([where, *words]))
    for dataset in facts["datasets"]:
        if dataset["note"]:
            yield "\n" + wrapped(f"{dataset['dataset']}: {dataset['note']}")
        shown: dict[str, Row] = {}
        for one in dataset["prompts"]:
            yield "\n" + wrapped(f"{dataset['dataset']}, {one['output']}, prompt {one['prompt']}")
            if "requests" in one:
                yield from (f"  {plain(line)}\n" for line in _requests(one))
            else:
                yield from _tokens(one, shown)


def _program(facts: Row) -> Iterator[str]:
    """What a driver said of a question of two options, when `vouch lock` asked it."""
    name, probe = facts["model"], facts["probe"]
    yield wrapped(f"{name}: {facts['source']}, asked by {facts['driver']}, which writes its prompts itself")
    if probe is None:
        yield wrapped("it does not say what its model reads")
        return
    yield "\n" + wrapped(f"what it reads for a question, as `vouch lock {name}` found it:")
    yield from (_line(visible(line)) for line in probe["prompt"].split("\n"))
    if probe["letters"]:
        listed = ", ".join(f"{cut(label, 20)}: {_ids(ids)}" for label, ids in probe["letters"].items())
        yield wrapped(f"after it one of these tokens is read: {listed}", "  ")


def _requests(one: Row) -> Iterator[str]:
    """The first request; of the others their number."""
    first, *others = one["requests"]
    yield from json.dumps(_short(first), indent=1, ensure_ascii=False).splitlines()
    if others:
        yield f"and {len(others)} more, each with an option as the answer's text"


def _short(value: Any) -> Any:
    """A request without most of its long texts, such as images."""
    if isinstance(value, str) and len(value) > LONGEST:
        begin = value[:_DATA] if value.startswith("data:") else value[: LONGEST // 2]
        return f"{begin} ... {len(value):,} characters"
    if isinstance(value, Mapping):
        return {key: _short(each) for key, each in value.items()}
    return [_short(each) for each in value] if isinstance(value, list) else value


def _tokens(one: Row, shown: dict[str, Row]) -> Iterator[str]:
    """The tokens of a prompt, where its answer is read, and what is easily overlooked.

    shown: by request type those of this dataset that were shown, filled here.
    """
    if "tokens" not in one:
        yield wrapped(f"! {one['problem']}", "  ")
        return
    images = f", {one['prefix']} of them up to the end of the last image" if one["prefix"] else ""
    yield f"  {one['length']} tokens{images}\n"
    if one["padded"]:
        after = " after the image" if one["prefix"] else ""
        yield f"  a pass reads {one['rest']}{after}, padded to {one['padded']}\n"
    same = next((output for output, other in shown.items() if other["tokens"] == one["tokens"]), None)
    shown[one["output"]] = one
    yield from [f"  | those of {same}\n"] if same else _joined(_texts(one["tokens"]))
    yield from (wrapped(line, "  ") for line in _surprises(one))
    if one["problem"]:
        yield from _listed([(each["option"], each) for each in one.get("pieces", ())])
    elif one["output"] == LETTERS:
        also = "; `also` counts in the letter mass" if one["letters"][0]["other_id"] is not None else ""
        yield wrapped(f"after the last token one of these is read, {_after(one['spelling'])}{also}:", "  ")
        yield from _labels(one["letters"])
    elif one["output"] == LIKELIHOOD:
        yield "  after the last token each option is scored:\n"
        yield from _listed([(each["option"], each) for each in one["options"]])
    elif one["output"] == TEXT:
        yield "  after the last token a text is generated\n"


def _surprises(one: Row) -> Iterator[str]:
    """What is easily overlooked, a line each."""
    if one["decoder"] is not None:
        yield f"the decoder has read {_spelled(one['decoder'])} then"
    if one["unknown"]:
        yield f"! {one['unknown']} of these tokens stand for text that the vocabulary lacks"
    if "control_tokens" in one["flags"]:
        yield "! the question's own text holds a special token (control_tokens)"
    changed = one.get("replaced") or {"tokens": [], "by": []}
    if changed["tokens"] or changed["by"]:
        why = "each letter is one token" if one["output"] == LETTERS else "options begin after it"
        before, now = _spelled(changed["tokens"]), _spelled(changed["by"])
        yield f"! the prompt's end changes, so that {why}: {before} becomes {now}"
    other = [each for each in one.get("letters", ()) if each["text"].strip() != each["label"].strip()]
    if other:
        count = "1 label is" if len(other) == 1 else f"{len(other)} labels are"
        first = f"{cut(other[0]['label'], 20)} is {_quoted(other[0]['text'])}"
        yield f"! {count} not spelled as the token that is read: {first}"
    if one["problem"]:
        yield f"! {one['problem']}"


def _after(spelling: str) -> str:
    return f"spelled `{visible(spelling)}` + label" if spelling else "spelled as the bare label"


def _labels(letters: Sequence[Row]) -> Iterator[str]:
    for one in letters[:OPTIONS]:
        other = (
            f"; also {one['other_id']} {_quoted(one['other_text'])}" if one["other_id"] is not None else ""
        )
        yield f"    {cut(one['label'], 20)}: {one['id']} {_quoted(one['text'])}{other}\n"
    if len(letters) > OPTIONS:
        yield f"    and {len(letters) - OPTIONS} more labels\n"


def _listed(options: Sequence[tuple[str, Row]]) -> Iterator[str]:
    """Texts with their tokens, a line each."""
    for text, one in options[:OPTIONS]:
        pieces = "·".join(map(visible, one["texts"]))
        counted = plural(len(one["ids"]), "token")
        yield f"    {cut(text, 20)}: {counted} {_quoted(_short_pieces(pieces))} {_ids(one['ids'])}\n"
    if len(options) > OPTIONS:
        yield f"    and {len(options) - OPTIONS} more\n"


def _short_pieces(pieces: str) -> str:
    """At most _PIECES characters; spaces stay, as they belong to tokens."""
    return pieces if len(pieces) <= _PIECES else f"{pieces[: _PIECES - 1]}…"


def _ids(ids: Sequence[int]) -> str:
    more = f" and {len(ids) - IDS} more" if len(ids) > IDS else ""
    return f"({', '.join(map(str, ids[:IDS]))}{more})"


def _texts(runs: Sequence[Row]) -> list[str]:
    """The tokens in words, of long prompts without their middle; image tokens and others in a row as one."""
    texts = [text for run in runs for text in _run(run)]
    left_out = len(texts) - BEGIN - END
    return texts if left_out <= 0 else [*texts[:BEGIN], f"… {left_out} more …", *texts[-END:]]


def _run(run: Row) -> list[str]:
    text = visible(run["text"])
    return [text] * run["count"] if run["count"] < _RUN else [f"{text} x {run['count']}"]


def _spelled(runs: Sequence[Row]) -> str:
    return f"`{'·'.join(_texts(runs))}`" if runs else "nothing"


def _quoted(text: str) -> str:
    return f"`{visible(text)}`"


def visible(text: str) -> str:
    """A token's text in one line: line ends, tabs and other unprintable characters as Python writes them."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def _joined(texts: Sequence[str]) -> Iterator[str]:
    """Texts with `·` between them, in lines that break at these alone: spaces belong to tokens."""
    line = ""
    for number, text in enumerate(texts):
        part = text + "·" * (number < len(texts) - 1)
        if line and len(line) + len(part) > WIDTH - 4:
            yield _line(line)
            line = ""
        line += part
    yield _line(line)


def _line(text: str) -> str:
    """A line of a prompt; spaces at its end as `␣`."""
    bare = text.rstrip(" ")
    return f"  | {bare}{'␣' * (len(text) - len(bare))}\n"
