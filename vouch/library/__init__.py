"""Functions for arrays of your own, `import vouch`. The stages rest on the same formulas, in
vouch/metrics."""
