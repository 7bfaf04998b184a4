"""The stage on model folders: what it writes, and what it refuses in one line."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stages.pin import main as pin_main
from tests.models.pins.loopback_hub import Repo, serving
from tests.models.project import MODEL, ROOT, Project
from tests.refusals import refused
from vouch.models.loading import pinned_folder
from vouch.models.model_folder import count_parameters, weight_files
from vouch.pipeline.dag import read_dag
from vouch.pipeline.files import file_digest
from vouch.pipeline.run import Run
from vouch.tables.answered import Reasoning, pin_path, read_pin


@pytest.fixture
def project(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose model is a copy that a test may damage."""
    (tmp_path / "root").mkdir()
    monkeypatch.chdir(tmp_path / "root")
    project = Project(tmp_path / "root", Path(shutil.copytree(tiny, tmp_path / "model")))
    return project


def test_pin_of_a_folder(project: Project) -> None:
    from transformers import AutoModelForImageTextToText

    project.entry.update(dtype="bfloat16", facts={"family": "LLaVA", "base_or_chat": "chat"})
    project.pin()
    pin = read_pin(pin_path(MODEL))
    assert (pin.model, pin.engine, pin.dtype, pin.facts) == (
        MODEL,
        "transformers",
        "bfloat16",
        project.entry["facts"],
    )
    assert pin.source.path == str(project.model)
    assert pin.files["model.safetensors"] == file_digest(project.model / "model.safetensors")
    assert {"config.json", "tokenizer.json", "chat_template.jinja"} <= pin.files.keys()
    model = AutoModelForImageTextToText.from_pretrained(project.model)
    assert pin.parameters == sum(weight.numel() for weight in model.parameters())


def test_same_folder_same_bytes_and_notes_do_not_count(project: Project) -> None:
    project.pin()
    first = pin_path(MODEL).read_bytes()
    (project.model / "README.md").write_text("about the model", "utf-8")
    (project.model / "pytorch_model.bin").write_bytes(b"a pickle")
    for name in ("LICENSE.txt", "README.txt", "requirements.txt"):
        (project.model / name).write_text("about the model", "utf-8")
    project.pin()
    assert pin_path(MODEL).read_bytes() == first
    (project.model / "merges.txt").write_text("#version: 0.2", "utf-8")
    project.pin()
    assert "merges.txt" in read_pin(pin_path(MODEL)).files


def test_hub_and_folder_of_the_same_files_are_one_model(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.pin()
    folder = read_pin(pin_path(MODEL))
    shutil.copytree(project.model, tmp_path / "cache" / "models--owner--tiny" / "snapshots" / ("1" * 40))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    project.entry = {"source": {"kind": "hub", "repo": "owner/tiny", "revision": "1" * 40}}
    project.pin()
    hub = read_pin(pin_path(MODEL))
    assert hub.digest == folder.digest and hub.source.repo == "owner/tiny" and hub.source.path is None


def test_a_hub_model_without_revision_is_pinned_to_what_main_is_now(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {path.name: path.read_bytes() for path in project.model.iterdir()}
    project.entry = {"source": {"kind": "hub", "repo": "owner/tiny", "revision": None}, "unpinned": True}
    with serving({"owner/tiny": Repo({"1" * 40: files}, {"main": "1" * 40})}, tmp_path / "hub", monkeypatch):
        project.pin()
    assert read_pin(pin_path(MODEL)).source.revision == "1" * 40


def test_a_server_is_pinned_by_its_name_for_the_model(project: Project) -> None:
    source = {"kind": "server", "url": "http://127.0.0.1:8000/v1", "name": "tiny-1"}
    project.entry = {"source": source, "engine": "openai", "facts": {"papers": ["azad"]}}
    project.pin()
    pin = read_pin(pin_path(MODEL))
    assert pin.source.model_dump(exclude_none=True) == source
    assert (pin.engine, pin.files, pin.parameters, pin.facts) == ("openai", {}, None, {"papers": ["azad"]})
    project.entry["source"] = {**source, "url": "http://127.0.0.1:9000/v1"}
    project.pin()
    assert read_pin(pin_path(MODEL)).digest == pin.digest
    project.entry["source"] = {**source, "name": "tiny-2"}
    project.pin()
    assert read_pin(pin_path(MODEL)).digest != pin.digest


def test_a_template_of_ours_is_part_of_the_pin(project: Project) -> None:
    project.pin()
    own = read_pin(pin_path(MODEL))
    assert own.template is None
    project.entry["template"] = "vicuna_v1"
    project.pin()
    pin = read_pin(pin_path(MODEL))
    assert pin.template == (ROOT / "vouch/models/chat/templates/vicuna_v1.jinja").read_text("utf-8")
    assert pin.digest != own.digest
    project.entry["template"] = "vicuna"
    not_pinned(
        project,
        r"no template vicuna in vouch/models/chat/templates; did you mean vicuna_v1\? valid: .*paligemma",
    )


def test_settings_of_the_processor_are_part_of_the_pin(project: Project) -> None:
    project.pin()
    plain, own = pin_path(MODEL).read_bytes(), read_pin(pin_path(MODEL))
    assert b'"processor"' not in plain  # as before there were settings, so that answers keep their keys
    project.entry["processor"] = {"do_pad": True}
    project.pin()
    pin = read_pin(pin_path(MODEL))
    assert pin.processor == {"do_pad": True} and pin.digest != own.digest
    project.entry["processor"] = {}
    project.pin()
    assert pin_path(MODEL).read_bytes() == plain and read_pin(pin_path(MODEL)).digest == own.digest
    project.entry["answer_prefix"] = "Answer:"
    project.pin()
    pin = read_pin(pin_path(MODEL))
    assert b'"answer_prefix"' not in plain and pin.answer_prefix == "Answer:" and pin.digest == own.digest


def test_thinking_is_part_of_the_pin(project: Project) -> None:
    project.pin()
    plain, own = pin_path(MODEL).read_bytes(), read_pin(pin_path(MODEL))
    assert b"reasoning" not in plain and b"template_kwargs" not in plain
    digests = {own.digest}
    for entry, kwargs in (
        ({"reasoning": {"tokens": 9}}, {}),
        ({"reasoning": {"tokens": 9, "closes": "</think>\n\n"}}, {}),
        ({"reasoning": "off"}, {"enable_thinking": False}),
        (
            {"reasoning": "off", "template_kwargs": {"thinking": False}},
            {"enable_thinking": False, "thinking": False},
        ),
        ({"template_kwargs": {"enable_thinking": True}}, {"enable_thinking": True}),
    ):
        project.entry = {"source": project.entry["source"], **entry}
        project.pin()
        pin = read_pin(pin_path(MODEL))
        assert pin.template_kwargs == kwargs
        assert pin.digest not in digests
        digests.add(pin.digest)


@pytest.mark.parametrize(
    ("closes", "opens"),
    [
        ("</think>", "<think>"), ("[/THINK]", "[THINK]"), ("◁/think▷\n", "◁think▷"), ("</rumination>", "<rumination>"),
        ("</seed:think>", "<seed:think>"), ("<channel|>", "<|channel>thought"), ("<unused95>", "<unused94>thought"),
    ],
)  # fmt: skip
def test_a_thought_is_kept_without_its_opening_mark(closes: str, opens: str) -> None:
    assert Reasoning(tokens=9, closes=closes).bare(f"\n{opens}\ntwo cats ") == "two cats"


def test_a_commit_pins_all_of_a_repository(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.entry = {"source": {"kind": "hub", "repo": "owner/tiny", "revision": None}}
    not_pinned(project, rf"{MODEL} is not pinned, its commit is missing; run `vouch lock {MODEL}`, or")
    project.entry["source"]["revision"] = "1" * 40
    files = {path.name: path.read_bytes() for path in project.model.iterdir()}
    weights = "model.safetensors"
    repo = Repo({"1" * 40: files}, {"main": "1" * 40}, altered={weights: flipped(files[weights])})
    with serving({"owner/tiny": repo}, tmp_path / "hub", monkeypatch):
        not_pinned(
            project, rf"{weights}: SHA-256 is .*, its commit says .*; it was damaged on its way, remove it"
        )
    with serving({"owner/tiny": replace(repo, altered={})}, tmp_path / "other", monkeypatch):
        project.pin()
    found = read_pin(pin_path(MODEL)).files
    assert found == {name: file_digest(project.model / name) for name in found} and weights in found


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def test_a_folder_needs_no_entry_in_the_lock(project: Project) -> None:
    project.pin()
    with_entry = pin_path(MODEL).read_bytes()
    (project.path / "models.lock").write_text("models: {}\n", "utf-8")
    dag = read_dag()
    run = Run(dag, dag[f"pin@{MODEL}"], [MODEL])
    pin_main(run)
    assert pin_path(MODEL).read_bytes() == with_entry


def test_parameters_given_in_the_lock_win(project: Project) -> None:
    project.entry["parameters"] = 7_000_000_000
    project.pin()
    assert read_pin(pin_path(MODEL)).parameters == 7_000_000_000


def test_digests_of_the_lock_are_checked(project: Project) -> None:
    file = project.model / "config.json"
    project.entry["files"] = {"config.json": file_digest(file)}
    project.pin()
    weights = project.model / "model.safetensors"
    project.entry["files"] = {"config.json": file_digest(file), "model.safetensors": "0" * 64}
    not_pinned(project, r"model/model\.safetensors: SHA-256 is .*, models\.lock says 0000")
    project.entry["files"] = {"config.json": file_digest(file), "model.safetensors": file_digest(weights)}
    file.write_text(file.read_text("utf-8") + " ", "utf-8")
    not_pinned(project, r"model/config\.json: SHA-256 is .*, models\.lock says")
    project.entry["files"] = {"weights.safetensors": "0" * 64}
    not_pinned(project, r"has no weights\.safetensors, for which models\.lock gives a digest")


def not_pinned(project: Project, message: str) -> None:
    pin_path(MODEL).unlink(missing_ok=True)
    with refused(message):
        project.pin()
    assert not pin_path(MODEL).exists()


Change = Callable[[Path], object]


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def text(name: str, content: str) -> Change:
    return lambda folder: (folder / name).write_text(content, "utf-8")


def values(name: str, **more: object) -> Change:
    """Further keys of a configuration, which may be new."""

    def change(folder: Path) -> None:
        before = json.loads((folder / name).read_text("utf-8")) if (folder / name).exists() else {}
        (folder / name).write_text(json.dumps(before | more), "utf-8")

    return change


def weights(edit: Callable[[bytes], bytes]) -> Change:
    file = "model.safetensors"
    return lambda folder: (folder / file).write_bytes(edit((folder / file).read_bytes()))


def shaped(shape: object) -> Change:
    """One tensor has another shape, or none."""

    def edit(data: bytes) -> bytes:
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        tensor = next(entry for name, entry in header.items() if name != "__metadata__")
        tensor["shape"] = shape
        if shape == "missing":
            del tensor["shape"]
        written = json.dumps(header).encode()
        return len(written).to_bytes(8, "little") + written + data[start:]

    return weights(edit)


def indexed(names: object) -> Change:
    return values("model.safetensors.index.json", weight_map={"a": names})


AUDIO, AWAY = "audio_tokenizer_name_or_path", "../away"
DAMAGED = r"model\.safetensors: damaged or cut short"
NO_MAP = r"index\.json: has no weight_map from tensors to file names"
ELSEWHERE = "leads to a further model .*remove it"
REFUSED: list[tuple[Change, str]] = [
    (shutil.rmtree, r"model: no such model folder; correct it under models in params\.yaml"),
    (text(os.fsdecode(b"\xff.json"), "{}"), r"unprintable name '\\udcff\.json'"),
    (gone("model.safetensors"), "model: no weights"),
    (gone("config.json"), r"model: no config\.json"),
    (text("config.json", "{"), r"config\.json: not readable as JSON"),
    (text("config.json", "[" * 100_000), r"config\.json: not readable as JSON"),
    (values("processor_config.json", audio_tokenizer={AUDIO: AWAY}), rf"processor_config\.json: {ELSEWHERE}"),
    (values("audio_tokenizer_config.json", **{AUDIO: AWAY}), rf"audio_tokenizer_config\.json: {ELSEWHERE}"),
    (values("adapter_config.json", base_model_name_or_path=AWAY), "an adapter, whose base .*remove this file"),
    (values("config.json", attn_implementation="owner/kernel"), "code of the hub .*owner/kernel.*remove it"),
    (values("config.json", text_config={"_attn_implementation": "flash|owner/kernel"}), "code of the hub"),
    (weights(lambda data: data[:-50]), DAMAGED),
    (weights(lambda data: data + b"x"), DAMAGED),
    (weights(lambda data: b"\xff" * 8 + data[8:]), DAMAGED),
    (weights(lambda data: b""), DAMAGED),
    *((shaped(shape), DAMAGED) for shape in (None, "ab", [-1, 2], [1.5], [[1]], "missing")),
    *((indexed(names), NO_MAP) for names in (["x"], 3, None)),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_a_folder_that_cannot_be_pinned(project: Project, change: Change, message: str) -> None:
    change(project.model)
    not_pinned(project, message)


def test_an_attention_of_transformers_itself_is_no_code(project: Project) -> None:
    values("config.json", _attn_implementation="sdpa")(project.model)
    project.pin()


@pytest.mark.parametrize(
    "name", ["sub/model.safetensors", "../x.safetensors", "/x.safetensors", "model.bin", ".."]
)
def test_an_index_that_names_weights_no_digest_covers(project: Project, name: str) -> None:
    project.pin()
    pin = read_pin(pin_path(MODEL))
    index = project.model / "model.safetensors.index.json"
    values(index.name, weight_map={"a": "model.safetensors", "b": name})(project.model)
    (project.model / "sub").mkdir()
    for place in (project.model / "sub" / "model.safetensors", project.model.parent / "x.safetensors"):
        shutil.copy(project.model / "model.safetensors", place)
    not_pinned(project, rf"index\.json: names the weights '{name}', which no digest would cover")
    pin.files[index.name] = file_digest(index)
    with refused("which no digest would cover"):
        pinned_folder(pin)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda folder: (folder / "additional_chat_templates").mkdir(),
            "additional_chat_templates: chat templates that no digest covers",
        ),
        (
            values("config.json", transformers_weights="sub/model.safetensors"),
            r"config\.json: names weights of its own \(transformers_weights\)",
        ),
    ],
)
def test_what_transformers_would_load_beside_the_digests(
    project: Project, change: Change, message: str
) -> None:
    project.pin()
    pin = read_pin(pin_path(MODEL))
    change(project.model)
    not_pinned(project, message)
    pin.files["config.json"] = file_digest(project.model / "config.json")
    with refused(message):
        pinned_folder(pin)


def test_damaged_pin(tmp_path: Path) -> None:
    for text in ("{", "[" * 100_000, "[]", '{"version": 1}', '"\\ud800"'):
        (tmp_path / "m.json").write_text(text, "utf-8")
        with refused(r"m\.json: not a pin of version 2"):
            read_pin(tmp_path / "m.json")


def test_weights_in_several_files(project: Project) -> None:
    from transformers import AutoModelForImageTextToText

    before = count_parameters(project.model)
    model = AutoModelForImageTextToText.from_pretrained(project.model)
    (project.model / "model.safetensors").unlink()
    model.save_pretrained(project.model, max_shard_size="40KB")
    files = weight_files(project.model)
    assert len(files) > 1 and count_parameters(project.model) == before
    (project.model / "consolidated.safetensors").write_bytes(files[0].read_bytes())
    assert count_parameters(project.model) == before  # not named by the index, so not loaded
    (project.model / "consolidated.safetensors").unlink()
    files[0].unlink()
    not_pinned(project, rf"lacks {files[0].name}, which model\.safetensors\.index\.json names")
