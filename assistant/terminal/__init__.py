"""The terminal: the only layer that draws on the screen or reads keys."""
