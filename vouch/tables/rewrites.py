"""rewrites: questions of a dataset in other words, one row for each distinct question and kind."""

from vouch.tables.table import Table, columns, per_dataset

CLEAN = "clean"
REFORMULATIONS = ("lr_i", "lr_c", "lr_v")
NEGATIONS = ("ls_n", "ls_a", "ls_m")
KINDS = (CLEAN, *REFORMULATIONS, *NEGATIONS)

ACCEPTED = "accepted"
REJECTED = "rejected"
BY_HAND = "by_hand"
RULES_ARE_ENGLISH = "rules are English"  # in the reason of a question that the rules do not take for it

REWRITES = Table(
    "rewrites",
    1,
    columns("""
original  string    the question; for every kind but `clean` as cleaning left it
kind      string    one of KINDS
rewrite   string    the other words, rejected ones included; null where there are none
status    string    accepted: passed every check. rejected: no prompt is made of it. by_hand: a person
                    decided; with a null in `rewrite` the person drops the question and every prompt of it
failed    string[]  names of the checks that it failed (vouch/prompts/rewrites/checks.py)
reason    string    why it was rejected, or why the person decided so; else empty
rewriter  string    `rules/REVISION`, or `ENGINE/REVISION MODEL PIN` with the first digits of the pin's
                    digest; `hand`
"""),
)
rewrites_path = per_dataset("data/rewrites/{}.parquet")
