"""How answers travel: rows of a batch, the aggregator that takes them, and what forks mean for a call."""
