"""Negative log-likelihood on the test half after temperature scaling, in nats (Guo et al. 2017)."""

from typing import Any

from vouch.metrics.calibration.temperature import Scaled


def of_scaled(scaled: Scaled) -> Any:
    """[splits] mean over the test rows."""
    return scaled.nll
