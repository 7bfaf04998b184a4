"""vary: every prompt that will be asked about a dataset. One variation per file of variations/."""
