"""Pictures that can be made from a seed, and questions whose answers are known: the demo's world."""
