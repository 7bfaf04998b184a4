"""BLIP-2 and InstructBLIP on T5: against the plain forward pass and `generate`, and what may not move bits."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image

from tests.models.engines import (
    CONFIG,
    OPTIONS,
    SEARCHES,
    alone,
    answered,
    apart,
    check_generated,
    check_searched,
    letters_of,
    loaded,
    question,
    refusal,
    text_of,
)
from tests.models.tiny import pieces, save_blip
from vouch.models.config import BeamSearch
from vouch.models.engine import Decoding, LikelihoodAnswer, Question
from vouch.tables.answered import Pin, Source

TEMPLATE = Path("vouch/models/chat/templates/question_answer.jinja").read_text()
START, END = 0, 1


@pytest.fixture(scope="module", params=[False, True], ids=["blip_2", "instructblip"])
def blip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_blip(tmp_path_factory.mktemp("blip") / "model", instruct=request.param)


def inputs_of(folder: Path, asked: Question) -> dict[str, torch.Tensor]:
    """What the real processor makes of a question."""
    said = "".join(f"Question: {text} Answer: {answer}\n" for text, answer in asked.turns)
    written = f"{said}Question: {asked.text} Answer:"
    (shown,) = asked.images
    return dict(loaded(folder)[1](images=shown, text=written, return_tensors="pt"))


@torch.no_grad()
def plain_log_probs(folder: Path, asked: Question, said: Sequence[int]) -> torch.Tensor:
    """[n + 1, tokens of the tokenizer] after each token of an answer's beginning."""
    model, processor = loaded(folder)
    decoder = torch.tensor([[START, *said]])
    logits = model(**inputs_of(folder, asked), decoder_input_ids=decoder).logits[0]
    log_probs: torch.Tensor = logits[:, : len(processor.tokenizer)].log_softmax(-1)
    return log_probs


def ids(text: str) -> list[int]:
    return list(pieces()(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize("response", [None, "the house is"])
def test_letters_equal_the_whole_forward(blip: Path, response: str | None) -> None:
    turns = (("is the cat red", "a dog"),)
    asked = [question(n, 2 + n, [n], turns=turns * (n % 2), response=response) for n in range(6)]
    answers = answered(apart(blip, TEMPLATE), "letters", [asked[:4], asked[4:]])
    for one in asked:
        log_probs = plain_log_probs(blip, one, ids(response or ""))[-1]
        answer, expected = letters_of(answers[one.id]), log_probs[[ids(label)[0] for label in "ABCD"]]
        assert torch.tensor(answer.logits).log_softmax(-1) == pytest.approx(
            expected.log_softmax(-1), abs=1e-4
        )
        # After words a letter can also follow without a space; where an answer begins a space comes by itself.
        bare = pieces().convert_tokens_to_ids([*"ABCD"]) if response else []
        mass = expected.exp().sum() + log_probs[bare].exp().sum()
        assert answer.letter_mass == pytest.approx(float(mass), abs=1e-5)
        assert answer.entropy == pytest.approx(float(-(log_probs.exp() * log_probs).sum()), abs=1e-4)
        assert answers[one.id].mode == "encoder_decoder" and answers[one.id].rows == 4


def test_likelihood_counts_the_token_that_ends_an_option(blip: Path) -> None:
    asked = [question(n, 2 + n, [n], labels=(), options=OPTIONS[: 2 + n % 3]) for n in range(6)]
    engine = apart(blip, TEMPLATE)
    answers = answered(engine, "likelihood", [asked])
    for one in asked:
        answer = answers[one.id].answer
        assert isinstance(answer, LikelihoodAnswer)
        for option, nll, tokens in zip(one.options, answer.nll, answer.tokens, strict=True):
            targets = [*ids(option), END]
            log_probs = plain_log_probs(blip, one, targets[:-1])
            assert nll == pytest.approx(-float(log_probs[range(len(targets)), targets].sum()), abs=1e-4)
            assert tokens == len(targets)
    assert engine.notes["passes"] == {"encoder": 3, "option": 2 + 3 + 4}  # two prompts a pass


def test_greedy_text_equals_generate(blip: Path) -> None:
    asked = [question(n, 2 + n, [n], labels=(), max_tokens=9, decodings=(Decoding(),)) for n in range(5)]
    found = alone(apart(blip, TEMPLATE), "text", asked)
    for one in asked:
        check_generated(blip, one, inputs_of(blip, one), text_of(found[one.id, 0.0, 0]), END)


@pytest.mark.parametrize("search", SEARCHES)
def test_the_best_of_several_beams_equals_generate(blip: Path, search: BeamSearch) -> None:
    decodings = (Decoding(search=search),)
    asked = [question(n, 2 + n, [n], labels=(), max_tokens=9, decodings=decodings) for n in range(5)]
    found = alone(apart(blip, TEMPLATE), "text", asked)
    for one in asked:
        check_searched(blip, one, inputs_of(blip, one), text_of(found[one.id, 0.0, 0]), END)


def test_what_cannot_be_asked_is_refused_and_the_rest_answered(blip: Path) -> None:
    two = question(1, 5, [1, 2])
    asked = [replace(two, id="two"), question(2, 5, text="the </s> cat"), question(3, 60), question(4, 4)]
    answers = answered(apart(blip, TEMPLATE), "letters", [asked])
    assert "2 images, of which this model sees one" in refusal(answers["two"])
    assert "control_tokens" in answers["q2"].flags
    if len(loaded(blip)[1].get_attributes()) == 3:  # InstructBLIP: the Q-Former reads the text as well
        assert "exceed the 39 that the model's Q-Former reads" in refusal(answers["q3"])
    else:
        assert letters_of(answers["q3"])
    assert letters_of(answers["q4"])


def test_the_qformer_of_instructblip_reads_the_text(tmp_path: Path) -> None:
    """With nothing of the image left in the prompt's own tokens, other words change what it brings."""
    engine = apart(save_blip(tmp_path / "model", instruct=True), TEMPLATE, own=True)
    white = (Image.new("RGB", (32, 32), "white"),)
    seen: list[torch.Tensor] = []
    engine._model.language_projection.register_forward_hook(lambda _m, _i, result: seen.append(result))
    alone(engine, "letters", [question(1, 5, images=white), question(2, 5, images=white)])
    assert not torch.equal(seen[0][0], seen[0][1])


def test_the_engine_suits_the_model(
    blip: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vouch.models.decoder import engine
    from vouch.models.decoder.answering import SharedPrefix
    from vouch.models.decoder.encoder_decoder import EncoderDecoder

    monkeypatch.chdir(tmp_path)  # a mode that was found is kept there
    for folder, template, kind in ((blip, TEMPLATE, EncoderDecoder), (tiny, None, SharedPrefix)):
        monkeypatch.setattr(engine, "pinned_folder", lambda pin, folder=folder: folder)
        source = Source(kind="folder", path=str(folder))
        pin = Pin(model="m", engine="transformers", source=source, files={}, template=template)
        assert isinstance(engine.load(pin, CONFIG), kind)
        kept = list(tmp_path.glob(".vouch/work/modes/*.json"))
        assert len(kept) == (kind is SharedPrefix)
