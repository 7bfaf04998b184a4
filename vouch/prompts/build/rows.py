"""Drafts become rows of the prompts table: those that items of one form share together, others one by one."""

from collections.abc import Hashable, Mapping, Sequence

import pyarrow as pa

from vouch.pipeline.errors import UserError
from vouch.prompts.build.columns import Ask, Gathered, Head
from vouch.prompts.build.combination import Variation
from vouch.prompts.build.item_template import key_of
from vouch.prompts.build.plan import Asked, Key, Plan, Run, asked, words_key
from vouch.prompts.build.prompt import Frames, words
from vouch.prompts.build.recipes import recipes
from vouch.prompts.build.template import TEMPLATES, Template
from vouch.prompts.build.variation import TURNS, Draft, Item, Picture, changed, prompt_id, start
from vouch.tables.prompts import TEXT

MOST_PLANS = 1000
Before = dict[str, Sequence[str]]
"""What each prompt of a group so far asks for, by its id."""


class Prompts:
    """Every prompt of the items that it is given, in the order of the variations.

    name: of the template's file. cap: most tokens of a generated text, or None; 0 where a template caps texts by
    references and there are none.
    """

    def __init__(
        self, variations: Sequence[Variation], template: Template, name: str, cap: int | None
    ) -> None:
        self.variations, self.template, self.name, self._cap = variations, template, name, cap
        self.talk = any(TURNS in part.changes for variation in variations for part in variation.parts)
        self.gathered = Gathered(name)
        self._plans: dict[Hashable, Plan] = {}
        self._heads: dict[tuple[str, int | None], int] = {}
        self._asks: dict[tuple[Template, str, bool], int] = {}

    def __len__(self) -> int:
        return len(self.gathered.rows.items)

    def table(self) -> pa.Table:
        """The prompts since the last table."""
        return self.gathered.table()

    def add(self, item: Item, before: Before) -> None:
        """Adds the prompts of an item. Raises UserError.

        before: of its group; grows where a variation makes conversations. `earlier` may name only these.
        """
        key = key_of(item)
        if key not in self._plans:
            if len(self._plans) == MOST_PLANS:
                self._plans.clear()
            self._plans[key] = self._planned(item)
        _OfItem(self, item, self._plans[key], before).add()

    def _planned(self, item: Item) -> Plan:
        plan, made = Plan(), self.gathered
        for one in asked(item, self.variations, self.template):
            if one.drafts is None:
                plan.parts.append(one)
                continue
            run = plan.run()
            for number, draft in enumerate(one.drafts, start=1):
                run.heads.append(self.head(one.variation, number if one.numbered else None))
                run.outputs.append(self.ask(draft, item, run.heads[-1], {}))
                run.words.append(plan.words(draft, one.answers))
                run.pictures.append(plan.pictures(draft, item.id, made.steps))
        return plan

    def head(self, variation: Variation, number: int | None) -> int:
        """The number of a head."""
        key = variation.name, number
        if key not in self._heads:
            ending = prompt_id("", variation.name, number)
            self._heads[key] = len(self.gathered.heads)
            self.gathered.heads.append(Head(ending, variation.name, variation.family, variation.effect))
        return self._heads[key]

    def ask(self, draft: Draft, item: Item, head: int, before: Before) -> int:
        """The number of what is asked in a draft with that head. Raises UserError where it must not stand."""
        key = draft.template, draft.item.kind, draft.asked
        if not draft.earlier and key in self._asks:
            return self._asks[key]
        outputs = draft.template.outputs if draft.item.kind == "choice" else draft.template.open_asks
        found = Ask(outputs, self._cap if TEXT in outputs else None) if draft.asked else Ask((), None)
        if draft.earlier or found.cap == 0:
            problem = self._problem(draft, found, before)
            if problem:
                raise UserError(f"prompt {item.id}{self.gathered.heads[head].ending}: {problem}")
        self._asks[key] = self.gathered.outputs[found]
        return self._asks[key]

    def _problem(self, draft: Draft, output: Ask, before: Mapping[str, Sequence[str]]) -> str:
        """What keeps a prompt out of the table, or nothing."""
        file = TEMPLATES / f"{self.name}.yaml"
        for source in (source for sources in draft.earlier for source in sources or [""]):
            if source not in before:
                return (
                    f"an answer comes from {source!r}, no earlier prompt of this group; correct variation "
                    f"{draft.variation} in vouch/prompts/variations, which must have {TURNS} in CHANGES"
                )
            if TEXT not in before[source]:
                return f"repeats the answer to {source}, which asks for no {TEXT}; add it to `asks` of {file}"
        if output.cap == 0:
            return f"no item has a reference to cap its text by; give {file} a number for max_tokens"
        return ""


class _OfItem:
    """Prompts of one item on their way into the rows."""

    def __init__(self, prompts: Prompts, item: Item, plan: Plan, before: Before) -> None:
        self._prompts, self._made = prompts, prompts.gathered
        self._item, self._plan, self._before = item, plan, before
        self._first_words, self._first_shown = len(self._made.texts), len(self._made.shown.recipes)
        self._frames: Frames = {}
        self._known: dict[Key, int] = {}
        self._seen: dict[tuple[tuple[Picture, ...], str], int] = {}

    def add(self) -> None:
        item, made, plan = self._item, self._made, self._plan
        for draft, answers in plan.drafts:
            self._said(changed(draft, item=item), answers)
        made.shown.extend(plan.shown, item.images)
        self._known.update({key: self._first_words + number for key, number in plan.known.items()})
        first = start(item, self._prompts.template, "")
        for part in plan.parts:
            if isinstance(part, Run):
                self._run(part)
            else:
                self._own(part, first)
        made.rows.items += [len(made.items)] * (len(made.rows.heads) - len(made.rows.items))
        made.items.append(item.id)

    def _run(self, run: Run) -> None:
        rows = self._made.rows
        rows.heads += run.heads
        rows.outputs += run.outputs
        rows.words += [self._first_words + number for number in run.words]
        rows.pictures += [self._first_shown + number for number in run.pictures]
        if self._prompts.talk:
            for head, output in zip(run.heads, run.outputs, strict=True):
                self._remember(head, output)

    def _own(self, one: Asked, first: Draft) -> None:
        prompts, rows = self._prompts, self._made.rows
        drafts, numbered = one.variation.of(first)
        for number, draft in enumerate(drafts, start=1):
            head = prompts.head(one.variation, number if numbered else None)
            output = prompts.ask(draft, self._item, head, self._before)
            rows.heads.append(head)
            rows.outputs.append(output)
            rows.words.append(self._words(draft, one.answers))
            rows.pictures.append(self._pictures(draft))
            if prompts.talk:
                self._remember(head, output)

    def _remember(self, head: int, output: int) -> None:
        ending = self._made.heads[head].ending
        self._before[self._item.id + ending] = list(self._made.outputs)[output].outputs

    def _words(self, draft: Draft, answers: tuple[int, ...]) -> int:
        if draft.item is not self._item or draft.turns or draft.earlier:
            return self._said(draft, answers)
        key = words_key(draft, answers)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = self._said(draft, answers)
        return number

    def _said(self, draft: Draft, answers: tuple[int, ...]) -> int:
        return self._made.say(words(draft, answers, self._prompts.name, self._frames))

    def _pictures(self, draft: Draft) -> int:
        key = draft.pictures, draft.template.pictures
        number = self._seen.get(key)
        if number is None:
            number = self._seen[key] = len(self._made.shown.recipes)
            self._made.shown.add(recipes(draft, draft.item.id), self._made.steps)
        return number
