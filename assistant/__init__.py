"""A personal assistant that lives in the terminal and does not forget."""

__version__ = "0.1.0"
