"""What a device keeps and does: its file, what it answers and what that costs, and the thread behind a client."""
