"""compare: everything that needs several models: leaderboard, paired differences, published numbers."""
