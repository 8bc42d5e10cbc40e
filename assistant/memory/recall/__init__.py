"""What was said long ago, found again: the index, the search, and its ranking."""
