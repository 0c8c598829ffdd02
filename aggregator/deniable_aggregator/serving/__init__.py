"""What runs: a supervisor with its workers and desk, how callers come in, and what no caller can take."""
