"""What a student types."""
