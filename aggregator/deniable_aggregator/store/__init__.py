"""The counters in Redis or Valkey."""
