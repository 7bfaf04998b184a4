"""No encoder: the table has no rows, and the rankers that need one are left out."""
