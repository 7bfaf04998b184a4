"""What is asked of a model, and the answers that are known already."""
