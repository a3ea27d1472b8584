"""A procedure run on many streams, tick by tick: no clock, no thread, no input or output."""
