"""Pictures, drawn from what the modules built."""
