"""What a gateway keeps: the log of what has come in, the journal of what has come of it, and the models."""
