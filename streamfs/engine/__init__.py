"""A procedure run on many streams, tick by tick: no clock, no thread, no input or output."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
