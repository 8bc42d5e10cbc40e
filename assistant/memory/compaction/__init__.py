"""Older turns become a summary, and what it may not lose."""
