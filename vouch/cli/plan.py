"""`vouch plan`: what a run would do (planned.py), in words."""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vouch.cli import rewriting
from vouch.cli.command import argument, command, json_argument, number, one_of, wide_argument
from vouch.cli.counts import Count, Items, prompt_sets, unsupported_by_model, variations_of
from vouch.cli.planned import Plan, Row, for_programs, planned, rewritings
from vouch.cli.power import DISCORDANT, claims_of, power_table, sought
from vouch.cli.prices import hours_table, prices_table
from vouch.cli.printing import Column, and_more, as_json, paragraphs, table, wrapped
from vouch.cli.use import PROFILES, absent_models, profile_text
from vouch.cli.ways import PaperModel, screen, sizes
from vouch.datasets.config import DatasetEntry
from vouch.datasets.fetch.origin import REMOTE
from vouch.models.lock_entry import FolderSource
from vouch.models.program.identity import short
from vouch.params.check import check_params
from vouch.params.project import MODELS, Project, locked_models
from vouch.pipeline.dag import PARAMS
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.files import UNUSED
from vouch.pipeline.state import by_reason
from vouch.pipeline.yaml12 import load, loads
from vouch.prompts.config import config_of, template_name
from vouch.report.formatting import plural
from vouch.tables.asked import ORIGINAL, OUTPUTS, TEXT


@command(
    "plan",
    "what would run, and how much it would ask of the models",
    argument("profile", nargs="?", names="profiles", help="a file in profiles/; default: params.yaml"),
    one_of(
        argument(
            "--power",
            metavar="POINTS",
            nargs="?",
            type=float,
            const=5.0,
            help="show which differences of accuracy the questions can detect, and how many questions would "
            "detect this one; default: 5",
        ),
        argument(
            "--probe",
            metavar="NAME",
            names="models",
            help="show instead what this model would be given for a prompt of each dataset",
        ),
    ),
    argument(
        "--discordant",
        type=number(float, 0, 1),
        help="for datasets without results: share of questions that just one of two models answers "
        f"correctly; default: {DISCORDANT:g}",
    ),
    argument(
        "--design",
        type=number(float, 1),
        help="for datasets without results: 1 + (questions in a group - 1) x their correlation; default: "
        "each group counts as one question",
    ),
    json_argument(),
    wide_argument(),
)
def run(options: argparse.Namespace) -> int:
    """Show what would run before anything runs: datasets, models, prompts, forward passes, GPU hours and
    stages.

    The plan is that of the present params.yaml, or of another profile; it changes nothing and needs neither a
    network nor data. If a dataset has no prompts yet, those of its items.jsonl are made in memory and
    counted. For other sources the number is `at most`: every item that the loader counts before cleaning,
    with every variation that can apply to it. `about` means that the number of items or of option rotations
    is a guess.

    Forward passes are counted as they come, for lengths that are estimated from the prompts' characters:
    passes of each length are filled up with copies. Generated text needs one more pass per token, models that
    keep the size of images need one pass per row, and passes over shared image prefixes are not counted.
    Answers in the work cache are not asked for again.

    With --probe a prompt of each dataset is rendered as it would be asked: its tokens, where letters are
    read, and which tokens are letters. No weights are loaded, no request is sent. Mind lines with `!`; if
    such a prompt would not be answered, the exit status is 1.

    Examples:
      vouch plan
      vouch plan --json                      for programs
      vouch plan kostumov                    the size of a study, before `vouch use kostumov`
      vouch plan --probe my_model            the tokens of a prompt, and which of them are option letters
      vouch plan --power 3                   can it detect a difference of 3 points, and if not, what would?
    """
    wanted = sought(options)
    where, values = _profile(options.profile)
    project = check_params(values, where)
    if options.probe is not None:
        _check_asked(options.probe, project, where)
        from vouch.cli.probe import show

        return show(project, options.probe, options.json)
    plan = planned(project, values, wanted, here=options.profile is None)
    print(as_json(for_programs(plan)) if options.json else _screen(plan, where), end="")
    return 0


def _check_asked(name: str, project: Project, where: str) -> None:
    """Raises UserError if a model is not among those of a profile."""
    entry = locked_models().get(name)
    if entry and name not in project.models:
        source = entry.source.path if isinstance(entry.source, FolderSource) else MODELS
        raise UserError(
            f"{name} has an entry in {MODELS} but {where} does not ask it; add `{name}: {source}` under "
            "models, or make a profile for it with `vouch new`"
        )
    check_name("model", name, list(project.models), where)


def _profile(name: str | None) -> tuple[str, Any]:
    """The file of a profile, and its values; params.yaml without a name."""
    if name is None:
        return PARAMS, load(Path(PARAMS))
    where = str(PROFILES / f"{name}.yaml")
    return where, loads(profile_text(name, []), where)


def _screen(plan: Plan, where: str) -> str:
    """The plan for a person. where: the file of the profile."""
    project, items, counts = plan.project, plan.items, plan.counts
    notes = [
        *_unsupported(project, counts, where),
        *_judge(plan.judged),
        *_away(project, items),
        *_refused(counts, plan.stale),
        *absent_models(project),
        *_programs(project),
    ]
    parts = (
        _head(project, plan.paper),
        _datasets(project, items, counts),
        rewriting.in_words(project, rewritings(counts)),
        _asked(project, plan.asked),
        hours_table(plan.models),
        power_table(plan.power, claims_of(project, items), plan.sought) if plan.sought else "",
        prices_table(plan.models),
        paragraphs(notes),
        screen(plan.paper, project),
        paragraphs(_strays(plan.strays)),
        _stages(plan),
        paragraphs(_also(plan.only_dvc)),
    )
    return "".join(parts)


def _head(project: Project, paper: Sequence[PaperModel]) -> str:
    what = ((project.datasets, "dataset"), (project.models, "model"))
    counts = ", ".join(plural(len(names), word) for names, word in what)
    text = wrapped(f"profile {project.profile}: {counts}")
    if project.paper:
        matrix = " and ".join(f"{models} models x {datasets} datasets" for models, datasets in sizes(paper))
        text += wrapped(f"{project.paper.title}: {matrix}")
    single, combined = prompt_sets(project)
    more = f", and {combined} of two variations at once" if combined else ""
    return text + wrapped(f"prompt sets of a model (dataset x variation): {single}{more}")


_DATASETS = (
    Column("dataset", cut=True),
    Column("loader", rank=2),
    Column("items", right=True),
    Column("prompts", right=True),
    Column("outputs"),
    Column("template", rank=1, cut=True),
    Column("variations", right=True),
)


def _datasets(project: Project, items: Mapping[str, Items], counts: Mapping[str, Count]) -> str:
    rows = [
        [
            *(name, entry.loader, items[name].text),
            *(counts[name].text if items[name].count is not None else "?", _outputs(counts[name])),
            *(template_name(entry.template, entry.variant), str(len(variations_of(project, name)))),
        ]
        for name, entry in project.datasets.items()
    ]
    mixed = [name for name in project.datasets if counts[name].mixed]
    by_image = [
        name
        for name, entry in project.datasets.items()
        if entry.loader == "jsonl" and not entry.settings.get("group")
    ]
    note = (
        "questions about one image form one group, which no split separates, and one without an image is a "
        f"group of its own: {', '.join(by_image)}"
    )
    unread = "may hold questions with options and open ones; until `prepare` has read them"
    more = [f"{', '.join(mixed)}: {unread}, each counts as both, so all numbers are at most"] if mixed else []
    if any(count.bound == "at most" for count in counts.values()):
        asks = "" if project.rewrite.model else ", and asks no model"
        more += [
            f"at most: as if no question were refused or rewritten in vain; `dvc repro vary` tells{asks}"
        ]
    more += [f"{note} (to group otherwise: `group` on a line)"] if by_image else []
    empty = "no datasets: name one in params.yaml (docs/add-a-dataset.md)"
    return table(_DATASETS, rows, empty=empty) + paragraphs(more)


def _outputs(count: Count) -> str:
    return ("at most " if count.mixed else "") + ", ".join(count.outputs)


def _asked(project: Project, asked: Row) -> str:
    """The line about requests; empty if no model is asked anything."""
    if not asked["cells"]:
        return ""
    where = f", {asked['later']} of them only if their inputs change" if asked["later"] else ""
    most = "" if asked["bound"] == "exact" else "at most "
    share = asked["filling_rows"] / max(1, asked["rows_of_passes"])
    return wrapped(
        f"{plural(asked['cells'], 'cell')} (model x dataset) to extract{where}: "
        f"{most}{plural(asked['prompts'], 'prompt')}, {most}{plural(asked['answers'], 'answer')}, about "
        f"{plural(asked['forward_passes'], 'forward pass', 'forward passes')} of up to "
        f"{plural(project.extract.batch, 'row')}, {100 * share:.0f} % of the rows filling (lengths "
        "estimated)"
    )


def _unsupported(project: Project, counts: Mapping[str, Count], where: str) -> Iterable[str]:
    """What models do not support, and how to ask them for more if they would be asked nothing.

    where: the file to write that into.
    """
    for model, reasons in unsupported_by_model(project).items():
        asked = {name: counts[name].outputs for name in project.datasets if project.extract.asks(model, name)}
        wanted = {output for outputs in asked.values() for output in outputs}
        yield from (
            f"{model} gives no {output}: {why}" for output, why in reasons.items() if output in wanted
        )
        unasked = [name for name, outputs in asked.items() if outputs and not set(outputs) - set(reasons)]
        if unasked and TEXT not in reasons:
            wanted = {TEXT}.union(*(asked[name] for name in unasked))
            listed = ", ".join(output for output in OUTPUTS if output in wanted)
            own = [name for name in unasked if _names_outputs(project.datasets[name])]
            key = f"datasets.{own[0]}.outputs" if own else "outputs"
            yield (
                f"{model} is asked nothing of {', '.join(unasked)}; set {key} to [{listed}] in {where} to "
                "ask every model for texts as well"
            )


def _names_outputs(entry: DatasetEntry) -> bool:
    """Whether a dataset's own entry says what its questions are asked for."""
    return config_of(entry.model_dump(), entry.variations or (ORIGINAL,)).outputs is not None


def _judge(most: Mapping[str, int]) -> Iterable[str]:
    if most:
        yield (
            f"the judge: at most {most['open']} prompts for open answers, and of {most['options']} texts for "
            "questions with options those that no rule decides"
        )


def _away(project: Project, items: Mapping[str, Items]) -> Iterable[str]:
    """Lines about sources that must still be brought here, and pinned."""
    away = [name for name, each in items.items() if not each.here]
    fetched = [name for name in away if project.datasets[name].source == REMOTE]
    own = [f"{name} ({project.datasets[name].source})" for name in away if name not in fetched]
    unknown = [name for name in away if items[name].count is None]
    models = locked_models()
    bare = [name for name, path in project.sources.items() if path == str(MODELS) and not models[name].pinned]
    notes = {
        "not here yet, `vouch fetch` downloads them": fetched,
        "not here yet, to be put there by hand (docs/datasets.md)": own,
        "number of items unknown, counted as none above": unknown,
        f"not pinned in {MODELS}, `vouch lock NAME` pins them": bare,
    }
    return (f"{what}: {', '.join(names)}" for what, names in notes.items() if names)


def _programs(project: Project) -> Iterable[str]:
    """A line for each model whose own code would run."""
    entries = locked_models()
    for name in project.sources:
        entry = entries.get(name)
        if entry and entry.program:
            program = entry.program
            at = program.locked.commit if program.locked else None
            folders = [entry.source, *program.parts.values()]
            whose = [
                program.driver,
                *(one.repo if one.kind == "hub" else one.path for one in folders),  # type: ignore[union-attr]
            ]
            whose += [program.code + (f" at {short(at)}" if at else "")] if program.code else []
            yield (
                f"{name} runs code that is not Vouch's, with all your rights: {', '.join(whose)}, in the "
                f"environment {program.environment} (trust_code: true)"
            )


def _refused(counts: Mapping[str, Count], stale: set[str]) -> Iterable[str]:
    """Lines about datasets at which `prepare` will stop, as far as their words tell."""
    for name, count in counts.items():
        if f"prepare@{name}" in stale and count.refused:
            yield f"prepare@{name} will stop: {count.refused}"


def _strays(strays: Sequence[str]) -> Iterable[str]:
    if strays:
        what = f"{strays[0]}{and_more(strays)}"
        yield f"made by no stage of this profile, so the run will move it to {UNUSED}: {what}"


def _stages(plan: Plan) -> str:
    waiting, following = plan.waiting, plan.following
    if not waiting:
        return f"all {plural(plan.stages, 'stage')} are up to date; no model is asked anything\n"
    are = "stage is" if len(waiting) == 1 else "stages are"
    text = wrapped(f"{len(waiting)} {are} not up to date: {_kinds_of([one.stage.name for one in waiting])}")
    if following:
        text += wrapped(f"{len(following)} more run if their inputs change: {_kinds_of(following)}")
    missing = [  # stages that never ran share one reason instead of each naming its own file
        replace(state, causes=tuple(dict.fromkeys(map(_cause, state.causes)))) for state in waiting
    ]
    return text + paragraphs(f" {stages}: {why}" for stages, why in by_reason(missing))


def _also(names: Sequence[str]) -> Iterable[str]:
    if names:
        yield f"`dvc repro` also runs {_kinds_of(names)}: what they read of their inputs is unchanged"


def _cause(cause: str) -> str:
    return "outputs are missing" if cause.endswith(" is missing") else cause


def _kinds_of(names: Sequence[str]) -> str:
    kinds = Counter(name.partition("@")[0] for name in names)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())
