"""Logs of harnesses and tables of scores, as the library reads them: every array that a log may give."""

import json
from pathlib import Path

import vouch
from tests.library.test_inspect_logs import HEAD, answered, eval_log, scored, top
from tests.library.test_lm_eval_logs import CHOICES, FORMS, generated
from vouch.pipeline.errors import UserError

WORDS = b'"resps": | "choices": | "logprobs": | "scores": | "-inf" | NaN | null | [[[[ | "target": "2" | prompt'.split(
    b" | "
)


def CORPUS() -> list[bytes]:
    samples = [answered(*HEAD, top(" X"), id=n, epoch=e, **scored("B")) for n in range(2) for e in (1, 2)]
    texts = [generated(n, ["B", "a crane"], "B", exact_match=1.0) for n in range(3)]
    as_json = json.dumps({"version": 2, "status": "success", "eval": {"model": "m"}, "samples": samples})
    return [
        FORMS["lines"](CHOICES["words by index"][:4]).encode(),
        eval_log(samples),
        as_json.encode(),
        FORMS["an array"](CHOICES["numbers by text"][:3]).encode(),
        FORMS["lines"](texts).encode(),
        b"index\tA\tB\tanswer\tprediction\thit\n1\tx\ty\tA\tB\t0\n1000001\ty\tx\tB\tB\t1\n",
        b"item,model,prompt,run,score\n1,a,p,1,1\n1,a,q,1,0\n2,a,p,1,1\n1,b,p,1,0\n2,b,p,1,0.5\n",
    ]


def read(data: bytes, folder: Path) -> None:
    tail = ".eval" if data[:2] == b"PK" else ".json" if b'"samples"' in data[:9000] else ".jsonl"
    tail = ".tsv" if data[:5] == b"index" else ".csv" if data[:4] == b"item" else tail
    path = folder / f"log{tail}"
    path.write_bytes(data)
    try:
        if tail == ".csv":
            vouch.compare_scores(path, resamples=10)
            return
        log = vouch.from_log(path)
        repr(log), log.scores, log.filtered, log.options, log.targets
    except ValueError as error:
        raise UserError(str(error)) from None
    for name in ("logits", "answers", "correct", "texts", "samples"):  # each is there, or is refused
        try:
            getattr(log, name)
        except ValueError as error:
            assert "\n" not in str(error), error
