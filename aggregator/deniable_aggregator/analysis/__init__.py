"""Questions: which counters an answer is made of, what a question costs, and whose turn it is."""
