"""What a turn remembers and how much of it fits: the log, the sessions, the budget."""
