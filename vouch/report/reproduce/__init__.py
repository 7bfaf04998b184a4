"""What the papers' tables and figures are built from: look-ups, pivots, ranks as printed, charts."""
