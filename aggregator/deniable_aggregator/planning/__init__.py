"""What to expect of a collection: simulated fleets, audits, plans."""
