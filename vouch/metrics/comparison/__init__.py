"""compare: all that needs several models: leaderboard, paired differences, published numbers beside ours."""
