"""What other programs computed, recorded once."""
