"""People's decisions about rewrites and exchanged pictures: CSV files that spreadsheets write."""

from pathlib import Path

from vouch.pipeline.errors import UserError
from vouch.prompts.exchange import read_decisions as exchange
from vouch.prompts.rewrites.table import read_decisions as rewrites

WORDS = b", | \" | \n | \r | \r\n | ; | \t | '= | =HYPERLINK( | accept | winner | \xef\xbb\xbf | \x00".split(
    b" | "
)


def CORPUS() -> list[bytes]:
    rewrites = 'question,kind,decision,text,by,why\n"What, this?",lr_i,accept,,me,ok\nWhy?,ls_a,use,How so?,me,\nB?,lr_v,reject,,,\n'
    exchange = (
        "question,replaced,first,second,winner\nWhich?,winner,{},{},first\nWho?,loser,{},{},neither\n".format(
            *(c * 64 for c in "abcd")
        )
    )
    return [
        text.encode() for text in (rewrites, exchange, rewrites.replace("\n", "\r\n"), "\ufeff" + exchange)
    ]


def read(data: bytes, folder: Path) -> None:
    path = folder / "d.csv"
    path.write_bytes(data)
    problems = []
    for reader in (rewrites, exchange):
        try:
            reader(path)
        except UserError as error:
            problems.append(error)
    if len(problems) == 2:
        raise problems[0]
