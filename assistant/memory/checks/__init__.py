"""What `assistant doctor` looks at, store by store."""
