"""Erasing for real: what is meant, every copy of it, every store, and the receipt."""
