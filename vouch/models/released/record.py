"""One answered prompt on its way into a log of samples."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Record:
    """doc: what is known of the question. context: the prompt's text.

    Either `continuations` holds what was scored and `answers` a log-likelihood in nats for each, or
    `continuations` is empty and `answers` holds the one generated text.
    """

    doc_id: int
    doc: Mapping[str, Any]
    target: str
    context: str
    continuations: tuple[str, ...]
    answers: tuple[float | str, ...]
    metrics: Mapping[str, float]

    @property
    def requests(self) -> list[tuple[Any, ...]]:
        """The arguments of each request: context and continuation, or context and how to generate."""
        if not self.continuations:
            return [(self.context, {"do_sample": False, "temperature": 0, "until": []})]
        return [(self.context, continuation) for continuation in self.continuations]

    @property
    def responses(self) -> list[Any]:
        """Each request's first response: [log-likelihood, is greedy] in texts, or the text itself.

        Greedy is unknown and reads False.
        """
        return [answer if isinstance(answer, str) else [repr(answer), "False"] for answer in self.answers]

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of the doc as JSON, of the context and of the target, as both harnesses write them."""
        doc = json.dumps(self.doc, indent=2, ensure_ascii=False)
        texts = {"doc_hash": doc, "prompt_hash": self.context, "target_hash": self.target}
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
