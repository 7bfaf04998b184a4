"""compare: what needs several models: standings, paired differences, published numbers beside ours."""
