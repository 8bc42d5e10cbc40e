"""Expressions of time, read by code: days that were, and times to come."""
