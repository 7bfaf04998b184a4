"""The log of samples of lmms-eval (--log_samples): a JSON object a line, or gzip of it.

As lm-evaluation-harness writes it, but: the prompt is `input`; `resps` is left out where it says the
same as `filtered_resps`; a single request loses its outer list (since 2026); most versions leave `doc`
out. A log can be the baseline of another run there (--baseline): of each line the first number whose name
holds `score` counts, or else whether the response is the target. Some of its models give a loss where a
log-likelihood belongs: those are refused, for it is positive.
"""

from collections.abc import Mapping
from typing import Any

from vouch.models.released.forms import Record

SUFFIXES = (".jsonl", ".gz")


def responses(sample: Mapping[str, Any]) -> Any:
    """The responses to every request."""
    return sample["resps"] if "resps" in sample else sample.get("filtered_resps")


def sample(record: Record) -> dict[str, Any]:
    """The object of one line."""
    return {
        "doc_id": record.doc_id,
        "doc": dict(record.doc),
        "target": record.target,
        "resps": [[response] for response in record.responses],
        "filtered_resps": record.responses,
        **record.hashes,
        **record.metrics,
        **({"score": record.metrics["acc"]} if "acc" in record.metrics else {}),
        "input": record.context,
    }
