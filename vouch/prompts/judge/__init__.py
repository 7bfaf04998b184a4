"""A model as judge of answers: what it is told and how its reply is read."""
