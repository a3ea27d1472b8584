"""How well a procedure does on recorded streams, and its model card."""
