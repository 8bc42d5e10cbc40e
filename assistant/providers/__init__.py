"""The services outside: chat models and the tokenizer."""
