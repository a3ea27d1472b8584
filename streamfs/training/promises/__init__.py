"""Promises: the cheapest procedure that is right often enough, and the evidence that it is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
