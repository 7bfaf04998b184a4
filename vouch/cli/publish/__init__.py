"""Write results in the formats of others."""
