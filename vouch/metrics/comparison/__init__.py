"""compare: what needs several models: leaderboard, paired differences, published numbers beside ours."""
