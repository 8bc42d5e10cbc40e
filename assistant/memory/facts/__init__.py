"""What is known about the user, since when, and from where."""
