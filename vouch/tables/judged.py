"""judged: what a model as judge made of answers, a row for each distinct one: those to questions with options
that no rule could decide, and, where `score.judge.open` says so, those to open questions."""

from vouch.tables.table import Table, columns, per_dataset

CORRECT, INCORRECT, NONE = "correct", "incorrect", "none"

JUDGED = Table(
    "judged",
    1,
    columns("""
key      string   SHA-256 of what was judged: the question, its options as shown or its references,
                  and the answer
verdict  string   option | several | none, of an open question correct | incorrect | none
place    int32    0-based place of the option as shown; null for the other verdicts
reply    string   the judge's own words, or why there are none, at most 120 characters
judge    string   `ENGINE/REVISION MODEL PIN` with the first digits of the pin's digest, and `prompt VERSION`
"""),
)
judged_path = per_dataset("data/judged/{}.parquet")
