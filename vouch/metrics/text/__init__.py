"""Generated answers: which option a text names, and metrics of open answers."""
