"""The wire: generated from proto/deniable/v1 by `make proto`, checked in."""
