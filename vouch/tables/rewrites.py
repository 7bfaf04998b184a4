"""rewrites: questions of a dataset in other words, one row for each distinct question and kind.

original  the question; for every kind but `clean` as cleaning left it
kind      one of KINDS
rewrite   the other words, rejected ones included; null where there are none
status    accepted: passed every check. rejected: no prompt is made of it. by_hand: a person decided;
          with a null in `rewrite` the person drops the question and every prompt of it
failed    names of the checks that it failed (vouch/prompts/rewrites/checks.py)
reason    why it was rejected, or why the person decided so; else empty
rewriter  `rules/REVISION`, or `ENGINE/REVISION MODEL PIN` with the first digits of the pin's digest; `hand`
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

CLEAN = "clean"
REFORMULATIONS = ("lr_i", "lr_c", "lr_v")
NEGATIONS = ("ls_n", "ls_a", "ls_m")
KINDS = (CLEAN, *REFORMULATIONS, *NEGATIONS)

ACCEPTED = "accepted"
REJECTED = "rejected"
BY_HAND = "by_hand"

REWRITES = Table(
    "rewrites",
    1,
    pa.schema(
        [
            ("original", pa.string()),
            ("kind", pa.string()),
            ("rewrite", pa.string()),
            ("status", pa.string()),
            ("failed", pa.list_(pa.string())),
            ("reason", pa.string()),
            ("rewriter", pa.string()),
        ]
    ),
)


def rewrites_path(dataset: str) -> Path:
    """Where the rewrites of a dataset lie."""
    return Path("data/rewrites") / f"{dataset}.parquet"
