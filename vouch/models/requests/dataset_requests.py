"""One model and one dataset: every prompt as far as it can be asked by now, and what is known of it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vouch.models.requests.keys import Member, Wanted, groups
from vouch.models.requests.prompt_table import PromptTable
from vouch.models.requests.session import AskedModel
from vouch.tables.prompts import OUTPUTS, TEXT

WINDOW = 1024  # answers in memory at a time


class AskedDataset:
    """See above. said: of the prompts whose answers others repeat, what is known by now."""

    def __init__(self, model: AskedModel, name: str) -> None:
        self.model, self.name = model, name
        self.label = f"{model.name} {name}"
        self.caches = {output: model.cache(output, name) for output in OUTPUTS}
        self.prompts = PromptTable(name, model.config.max_tokens)
        self.said: dict[str, str | None] = {}

    def _groups(self) -> Iterator[list[Wanted]]:
        return groups(self.prompts, self.said, self.model.keys)

    def packs(self) -> Iterator[Wanted]:
        """Every pack whose holes can be filled by now."""
        return (pack for group in self._groups() for pack in group)

    def windows(self) -> Iterator[list[tuple[str, Member]]]:
        """All of `packs`, members apart with what they are asked for, in the order of the prompts."""
        window: list[tuple[str, Member]] = []
        size = 0
        for group in self._groups():
            found = [(pack.output, member) for pack in group for member in pack.members]
            window += sorted(found, key=lambda one: int(one[1].prompt["row"]))
            size += sum(max(1, len(member.keys)) for _, member in found)
            if size >= WINDOW:
                yield window
                window, size = [], 0
        yield window

    def look_up(self) -> tuple[int, int]:
        """Looks at the work cache anew: how many answers can be asked for by now, how many are unknown."""
        wanted: dict[str, set[bytes]] = {output: set() for output in OUTPUTS}
        for pack in self.packs():
            wanted[pack.output].update(key for member in pack.members for key in member.keys)
        for output, cache in self.caches.items():
            cache.look_up(wanted[output])
        unknown = sum(key not in self.caches[output] for output, keys in wanted.items() for key in keys)
        return sum(map(len, wanted.values())), unknown

    def learn(self) -> int:
        """Takes note of texts that other prompts repeat, as far as they are known; how many are new."""
        before = len(self.said)
        for pack in self.packs() if self.prompts.repeated else ():
            if pack.output == TEXT:
                self._learn(pack.members[0])
        return len(self.said) - before

    def _learn(self, member: Member) -> None:
        name = member.prompt["id"]
        if name not in self.prompts.repeated or name in self.said:
            return
        if member.problem is not None:
            self.said[name] = None
        elif member.keys[0] in self.caches[TEXT]:
            (answer,) = self.caches[TEXT].fetch(member.keys[:1])
            self.said[name] = answer["text"]

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Holds the work cache, so that two runs at once do not answer the same prompts."""
        with ExitStack() as claims:
            for cache in self.caches.values():
                claims.enter_context(cache.claim())
            yield
