"""A served model that takes no images: whether a server says so, and what is asked of it."""

from pathlib import Path
from typing import Any

import pytest

from tests.models.loopback_server import NAME, Loopback, error
from tests.models.project import MODEL, Project, image, prompt
from tests.models.server.test_abilities import scoring
from tests.models.server.test_faults import EDITS, ERRORS
from tests.refusals import refused
from vouch.cli import main
from vouch.models.server.abilities import abilities
from vouch.models.server.client import ServerSettings
from vouch.models.server.engine import ENOUGH, UNSUPPORTED_AFTER
from vouch.models.server.problems import takes_no_images
from vouch.pipeline.yaml12 import load
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT

BLIND = [  # (status, message): vLLM, llama.cpp, Ollama, OpenAI, OpenRouter, and servers that know texts alone
    (400, "facebook/opt-125m is not a multimodal model None"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (500, "image input is not supported by this server"),
    (500, 'Failed to parse messages: Unsupported content part type: "image_url"; messages = ['),
    (500, "this model is missing data required for image input"),
    (400, "this model does not support image input (ref: b8bd630e)"),
    (400, "Invalid content type. image_url is only supported by certain models."),
    (404, "No endpoints found that support image input"),
    (400, "Model does not support images"),
    (422, "unknown variant `image_url`, expected `text`"),
    (400, "messages[0]: unknown variant `image_url`, expected `text` at line 1 column 164"),
    (400, "At most 0 image(s) may be provided in one prompt."),
    (400, "At most 0 image(s) may be provided in one prompt. Set `--limit-mm-per-prompt` to increase this limit."),
    (400, "At most 0 image(s) may be provided in one request."),
    (400, "content type 'image_url' is not supported by this model"),
    (500, "Failed to create new sequence: failed to process inputs: this model is missing data required for image input"),
    (400, "Model does not support images. Please use a model that does."),
    (400, "models/gemma-3-1b-it does not support image input"),
    (400, "The model `llama3:8b` doesn't support image inputs"),
    (400, "Image input is not supported for this model"),
    (400, "Image input is not enabled for this model"),
    (400, "Images are not supported by the selected model."),
    (400, "vision is not supported by this model"),
    (400, "The provided model is not a vision model. Please provide a vision model."),
    (400, 'model "gpt-5.4" not supported for vision'),
    (400, '{"error": "This model does not support images", "code": 400}'),
]  # fmt: skip
SEEING = [  # about one image, or about something else
    (400, "You uploaded an unsupported image. Please make sure your image has one of the following formats"),
    (400, "The model does not support image formats other than PNG"),
    (400, "image format is not supported"),
    (400, "At most 1 image(s) may be provided in one request."),
    (500, "Failed to load image or audio file"),
    (400, "At most 10 image(s) may be provided in one prompt."),
    (400, "Image size is not supported: 1 x 1"),
    (400, "This image is not supported: too small"),
    (400, "This image is not supported"),
    (400, "The image is not supported by this model."),
    (400, "image is not supported: format image/tiff"),
    (400, "Images are not supported: format image/tiff"),
    (400, "Images are not supported in the system message"),
    (400, "Images are not supported by this model in the system message"),
    (400, "Image input is not supported for role 'tool'"),
    (400, "image input is not supported at this resolution"),
    (400, "Animated images are not supported"),
    (400, "Remote image input is not supported by this server"),
    (400, "non-RGB images are not supported by this model"),
    (400, "The model does not support images (webp)"),
    (400, "This model does not support images for role 'system'"),
    (400, "The system role does not support images"),
    (400, "Role 'system' does not support images."),
    (400, "This model does not support images by URL"),
    (400, "This model does not support image.webp"),
    (400, "The server does not support images larger than 20 MB"),
    (400, "content type 'image_url' is not supported for role 'system'"),
    (400, "Unsupported content part type: image_url in the system message"),
    (400, "image_url is only supported by https"),
    (400, "unknown variant `image_url`, expected one of `text`, `image`"),
    (400, "a PNG is required for image input"),
    (404, "No endpoints found that support image resolution 64x64"),
    (503, "images are not supported while the model is loading"),
    (400, "this model does not support logprobs"),
    (422, "Unexpected fields in the request: {'continue_final_message'}"),
]


def test_which_messages_say_that_a_model_takes_no_images() -> None:
    assert [says for _, says in BLIND if not takes_no_images(says)] == []
    assert [says for _, says in SEEING if takes_no_images(says)] == []
    of_images = [says for kind, _, says in ERRORS if takes_no_images(says)]
    assert len(of_images) == 4 and all("image" in says for says in of_images)


def shows(request: dict[str, Any]) -> bool:
    return "image_url" in str(request["messages"])


def blind(server: Loopback, status: int = BLIND[1][0], says: str = BLIND[1][1]) -> None:
    """From now on the server takes no images."""
    server.instead = lambda request, _: error(status, says) if shows(request) else None


def test_a_server_is_asked_with_one_image_and_one_token(server: Loopback) -> None:
    def sees() -> bool | None:
        return abilities(server.url, NAME, ServerSettings(backoff=0.001)).sees

    assert sees(), "it may look at the image, or leave it out"
    (request,) = filter(shows, server.requests)
    assert request["max_tokens"] == 1
    for status, says in BLIND:
        blind(server, status, says)
        assert sees() is False, says
    for status, says in [*SEEING, (401, "no key"), (404, "model not found"), (503, "loading"), (500, "{")]:
        blind(server, status, says)
        assert sees() is None, says


@pytest.fixture
def project(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOUCH_SERVER_TRIES", "1")
    made = Project(tmp_path, tmp_path)
    made.entry = {"source": {"kind": "server", "url": server.url, "name": NAME}, "engine": "openai"}
    made.pin()
    return made


def rows(shown: int, bare: int = 2) -> list[dict[str, Any]]:
    data = image(1)
    asked = [prompt(f"b{n}/original", f"what is {n}", labels="ABC") for n in range(bare)]
    return [*asked, *(prompt(f"s{n}/original", f"what is it {n}", [data], "ABC") for n in range(shown))]


def test_it_is_asked_in_bare_texts_and_a_question_once(server: Loopback, project: Project) -> None:
    project.entry["sees"] = False
    project.pin()
    asking: dict[str, Any] = {"labels": "ABC", "outputs": (LETTERS, TEXT)}
    shown = [image(1), image(2)]
    names = ("original", "vs_e", "text_only")
    asked = [prompt(f"q1/{name}", "what is it", shown[n : n + 1], **asking) for n, name in enumerate(names)]
    project.ask(asked, shown)
    blind(server)
    project.extract()
    assert len(server.requests) == 2
    assert all(one["messages"] == [{"role": "user", "content": "what is it"}] for one in server.requests)
    for output in (LETTERS, TEXT):
        first, *others = ({**row, "prompt": ""} for row in project.rows(output))
        assert first["problem"] is None and others == [first] * 2


@pytest.mark.parametrize("shown", [UNSUPPORTED_AFTER, ENOUGH + 8])
def test_a_pin_that_does_not_say_it_stops_the_stage(server: Loopback, project: Project, shown: int) -> None:
    """What it has answered is kept, and holds once its entry says that it takes no images."""
    blind(server)
    asked = rows(shown)
    project.ask(asked, [image(1)])
    with refused(
        f"{NAME} takes no images: .*image input is not supported.*write `sees: false` into its entry of "
        f"models.lock .`vouch lock {MODEL}` does. and run it again"
    ):
        project.extract()
    before = len(server.requests)
    assert before <= 2 + ENOUGH + 16
    project.entry["sees"] = False
    project.pin()
    assert project.extract().measured["answers"] == {"known": 2, "asked": shown}
    assert len(server.requests) == before + shown
    assert [row["problem"] for row in project.letters()] == [None] * len(asked)


def test_a_few_such_refusals_are_those_of_their_questions(server: Loopback, project: Project) -> None:
    """Of a server that answers others with an image, or has had too few to tell."""
    says = BLIND[1][1]
    asking: dict[str, Any] = {"labels": "ABC", "outputs": (LETTERS, TEXT)}
    odd = [prompt(f"o{n}/original", f"odd {n}", [image(1)], **asking) for n in range(UNSUPPORTED_AFTER + 1)]
    project.params["extract"]["sampling"] = [{"temperature": 0.7, "samples": 4}]
    server.instead = lambda request, _: error(500, says) if "odd" in str(request["messages"]) else None
    for asked in ([*rows(2), *odd], [*rows(0), *odd[:1]]):
        project.ask(asked, [image(1)])
        project.extract()
        for row in project.letters():
            assert (says in (row["problem"] or "")) == row["prompt"].startswith("o")


def lock(*words: str) -> int:
    return main.main(["lock", *words])


def test_lock_asks_a_server_and_writes_it(
    server: Loopback, project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    def written() -> Any:
        return load(Path("models.lock"))["models"][MODEL]

    server.instead = scoring
    assert lock(MODEL) == 1 and "is on a server, which has no files to pin" in capfd.readouterr().err
    blind(server)
    assert lock(MODEL) == 0 and "takes no images; it gives letters, text" in capfd.readouterr().out
    assert written()["sees"] is False and written()["outputs"] == [LETTERS, TEXT]
    assert lock(MODEL) == 0 and "nothing to change" in capfd.readouterr().out
    server.edit = EDITS["no logprobs"]
    assert lock(MODEL) == 0 and written()["outputs"] == [TEXT], "it was started again without them"
    server.edit, server.instead = lambda answer: None, scoring
    assert lock(MODEL) == 0 and written()["outputs"] == [*OUTPUTS], "and with them"
    blind(server)
    project.entry["sees"] = True
    project.save()
    assert lock(MODEL) == 1 and "says sees: true, but the model takes no images" in capfd.readouterr().err
    server.instead = lambda *_: error(503, "loading")
    assert lock(MODEL) == 1
    assert f"start it and run `vouch lock {MODEL}` again" in capfd.readouterr().err
