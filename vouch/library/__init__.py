"""The functions of `import vouch`, for arrays of your own. The stages use the same formulas."""
