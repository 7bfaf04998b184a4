"""Temperature that fits the calibration half best: above 1 the model is too sure (Guo et al. 2017)."""

from typing import Any

from vouch.metrics.calibration.temperature import Scaled


def of_scaled(scaled: Scaled) -> Any:
    """[splits] the fitted temperature."""
    return scaled.temperature
