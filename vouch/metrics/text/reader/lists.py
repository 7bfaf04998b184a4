"""Lists of options: runs of mentions that enumerate options and choose none."""

from itertools import pairwise

from vouch.metrics.text.reader.context import Context
from vouch.metrics.text.reader.spans import BRACKETED


def listed(mentions: list[Context], options: int) -> list[bool]:
    """Whether each mention belongs to a list: lines that begin with one option after another, or labels in
    brackets from the first on in one line. At least three, or two with their texts and nothing between."""
    in_list = [False] * len(mentions)
    for follows, least in ((_next_line, 2), (_next_in_line, min(3, options))):
        runs: list[list[int]] = [[]]
        for index, it in enumerate(mentions):
            if (not it.group.places and not (it.head and it.group.marked)) or (
                it.head != (follows is _next_line) and not (it.head and not runs[-1])
            ):
                continue
            if runs[-1] and not follows(mentions[runs[-1][-1]], it):
                runs.append([])
            if runs[-1] or follows is _next_line or (_rank(it) == 0 and it.group.form == BRACKETED):
                runs[-1].append(index)
        for run in runs:
            pieces = [mentions[index] for index in run]
            if len(set(map(_rank, pieces))) >= least or (len(pieces) > 1 and _bare(pieces)):
                for index in run:
                    in_list[index] = True
    return in_list


def _bare(run: list[Context]) -> bool:
    """Whether the pieces are marks with their texts, and only blanks are between them."""
    gaps = [it.text.said[last.group.end : it.group.start] for last, it in pairwise(run)]
    return all(it.group.span.own for it in run) and not "".join(gaps).strip(" \t([*")


def _next_line(last: Context, it: Context) -> bool:
    between = it.text.said[last.group.end : it.group.start].split("\n")[1:-1]
    lines = sum(1 for line in between if line.strip())
    if lines > 2 or (lines and it.lead.endswith(":")):
        return False
    step = _rank(it) - _rank(last)
    return step == 1 or (step >= 0 and not lines)


def _next_in_line(last: Context, it: Context) -> bool:
    near = "\n" not in it.text.said[last.group.end : it.group.start]
    return near and it.group.form == BRACKETED and _rank(it) == _rank(last) + 1


def _rank(it: Context) -> int:
    """The index of a piece's option; of a letter beyond the options, the index that it would have."""
    return it.group.places[0] if it.group.places else ord(it.text.low[it.group.start]) - ord("a")
