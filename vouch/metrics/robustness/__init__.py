"""What a change of the prompt does: consistency, perturbation, instability."""
