"""Whether probabilities are calibrated: calibration errors, temperature, accuracy beside confidence."""
