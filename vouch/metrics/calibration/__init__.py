"""Whether probabilities are honest: calibration errors, temperature, accuracy beside confidence."""
