"""What is measured, and against whom: each module is one command that prints a table."""
