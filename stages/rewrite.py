"""rewrite: `python -m stages.rewrite NAME` puts the questions of a dataset into other words.

Inputs   data/items/NAME.parquet, the rewriter (rules, or the pin of a model), decisions/rewrites/NAME.csv
Output   data/rewrites/NAME.parquet: for every distinct question the kinds that the dataset's variations need,
         cleaned questions first; without rows if they need none
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.prompts.asking import CachedModel, Reply, Responder
from vouch.prompts.rewrites.config import RewriteConfig
from vouch.prompts.rewrites.engines import rules
from vouch.prompts.rewrites.table import (
    RewriteTask,
    check_known,
    clean_tasks,
    cleaned,
    decisions_path,
    kinds_of,
    read_decisions,
    read_questions,
    rows_of,
    variation_tasks,
)
from vouch.tables.answered import read_pin
from vouch.tables.asked import BY_HAND, CLEAN, KINDS, REJECTED, REWRITES, items_path, rewrites_path


def rewriter_of(config: RewriteConfig, dataset: str) -> tuple[Responder[RewriteTask], str]:
    """The rewriter, and its name in the table. Raises UserError."""
    if config.model is None:
        return rules.Rules(), f"rules/{rules.REVISION}"
    model: CachedModel[RewriteTask] = CachedModel(read_pin(Path(config.rewriter)), config, dataset)
    return model, model.name + (" in turns" if config.in_turns else "")


def main(run: Run) -> None:
    """Writes the table."""
    (name,) = run.keys
    config = RewriteConfig.model_validate(run.params["rewrite"])
    variations = run.params["datasets"][name].get("variations") or run.params["variations"]
    questions = read_questions(items_path(name))
    decisions = read_decisions(decisions_path(name))
    check_known(decisions, questions, [CLEAN])
    decided = {one.task: one for one in decisions}
    engine, rewriter = rewriter_of(config, name)

    def propose(tasks: Sequence[RewriteTask]) -> Mapping[RewriteTask, Reply]:
        if not tasks:
            return {}
        asked = [replace(task, in_turns=config.in_turns) for task in tasks]
        return dict(run.progress(engine.ask(asked), total=len(asked), label=f"rewrite {name}"))

    rows = rows_of(clean_tasks(questions, name in config.clean, decided), decided, propose, rewriter)
    left = cleaned(questions, rows)
    check_known(decisions, left, [kind for kind in KINDS if kind != CLEAN])
    rows += rows_of(variation_tasks(left, kinds_of(variations)), decided, propose, rewriter)
    REWRITES.write(rewrites_path(name), rows)

    counts = Counter((row["kind"], row["status"]) for row in rows)
    run.note("rewrites", {f"{kind} {status}": count for (kind, status), count in sorted(counts.items())})
    reasons = Counter(f"{row['kind']}: {row['reason']}" for row in rows if row["status"] == REJECTED)
    run.note("rejected", dict(sorted(reasons.items())))
    same = Counter(row["kind"] for row in rows if row["rewrite"] == row["original"] and row["kind"] != CLEAN)
    run.note("unchanged", dict(sorted(same.items())))
    run.note("dropped", sum(row["status"] == BY_HAND and row["rewrite"] is None for row in rows))
    run.note("rewriter", rewriter)
    run.measure("rewriter", engine.notes)


if __name__ == "__main__":
    run_stage("rewrite", main)
