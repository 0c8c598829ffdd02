"""Takes batches in: check, accumulate, store, acknowledge."""
