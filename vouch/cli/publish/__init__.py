"""Commands that write results in the formats of others."""
