"""Whether numbers that are shown are those of the present parameters, code and data."""

import sys

from vouch.pipeline.dag import read_dag
from vouch.pipeline.freshness import states


def tell_outdated() -> None:
    """One line on stderr where something changed since; what was never made, or pulled in part, did not."""
    changed = [
        state for state in states(read_dag()) if not state.fresh and None not in state.now.outs.values()
    ]
    if changed:
        first = changed[0]
        more = f" and {len(changed) - 1} more stages" if len(changed) > 1 else ""
        print(
            f"vouch: these numbers were made before {first.stage.name}{more} went out of date ({first.why}); "
            "`vouch plan` says what would run, `dvc repro` runs it",
            file=sys.stderr,
        )
