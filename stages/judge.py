"""judge: `python -m stages.judge DATASET` lets a model read the answers that the rules leave undecided.

Inputs   data/responses/DATASET; prompts and items, without the columns that say which option is correct; the
         judge's pin; with `score.judge.open` also the references of open questions
Output   data/judged/DATASET.parquet: a row for each distinct answer, in the order of their digests;
         without rows if no judge is named

Replies are remembered by their prompts, so nothing is asked twice.
"""

from collections import Counter, defaultdict

from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.tables.answered import JUDGED, judged_path, pin_path, read_pin

_LONGEST_REPLY = 120


def main(run: Run) -> None:
    """Asks the judge and writes its verdicts; loads no model if no judge is named."""
    (dataset,) = run.keys
    if run.params["score"].get("judge", {}).get("model") is None:
        JUDGED.write(judged_path(dataset), [])
    else:
        _judge(run, dataset)


def _judge(run: Run, dataset: str) -> None:
    from vouch.judge.answers import answers_to_judge, prompt_version
    from vouch.judge.prompts import CHOICE, OPEN_ANSWER
    from vouch.metrics.config import ScoreConfig
    from vouch.prompts.asking import CachedModel, PlainText, Reply

    config = ScoreConfig.model_validate(run.params["score"])
    assert config.judge.model is not None
    texts = [path for path in run.inputs if path.name.endswith(".text.parquet")]
    answers = answers_to_judge(dataset, texts, config)
    asked = defaultdict[PlainText, list[str]](list)
    for key, answer in answers.items():
        asked[PlainText(answer.prompt, start_is_enough=True)].append(key)
    judge: CachedModel[PlainText] = CachedModel(read_pin(pin_path(config.judge.model)), config.judge, dataset)
    replies: dict[str, Reply] = {}
    for prompt, reply in run.progress(judge.ask(list(asked)), len(asked), f"judge {dataset}"):
        replies |= dict.fromkeys(asked[prompt], reply)
    rows = [
        {
            "key": key,
            **answer.columns(replies[key].text),
            "reply": " ".join((replies[key].text or replies[key].reason).split())[:_LONGEST_REPLY],
            "judge": f"{judge.name} prompt {prompt_version(answer.kind)}",
        }
        for key, answer in answers.items()
    ]
    JUDGED.write(judged_path(dataset), rows)
    versions = f"prompt {prompt_version(CHOICE)}, open {prompt_version(OPEN_ANSWER)}"
    run.note("judge", f"{judge.name} {versions}")
    run.note("verdicts", dict(sorted(Counter(row["verdict"] for row in rows).items())))
    run.measure("judge", judge.notes)


if __name__ == "__main__":
    run_stage("judge", main)
