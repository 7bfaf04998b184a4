"""The log of samples of lm-evaluation-harness (--log_samples): a JSON object a line, or gzip of it.

`resps` has an entry for each request, a list of its responses: [log-likelihood, is greedy] for every
choice of a multiple_choice task, the text of a generate_until task. Numbers stand there as texts. A
task with several filters writes each sample once for each.
"""

from collections.abc import Mapping
from typing import Any

from vouch.models.released.forms import Record

SUFFIXES = (".jsonl", ".gz")


def responses(sample: Mapping[str, Any]) -> Any:
    """The responses to every request, before any filter."""
    return sample.get("resps")


def sample(record: Record) -> dict[str, Any]:
    """The object of one line."""
    arguments = {
        f"gen_args_{number}": {f"arg_{place}": value for place, value in enumerate(request)}
        for number, request in enumerate(record.requests)
    }
    return {
        "doc_id": record.doc_id,
        "doc": dict(record.doc),
        "target": record.target,
        "arguments": arguments,
        "resps": [[response] for response in record.responses],
        "filtered_resps": record.responses,
        "filter": "none",
        "metrics": list(record.metrics),
        **record.hashes,
        **record.metrics,
    }
