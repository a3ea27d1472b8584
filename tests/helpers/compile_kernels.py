"""Compile most kernels once, before several test processes would each compile them."""

from helpers.procedures import labelled_streams

from streamfs import evaluate, train
from streamfs.gateway.warm_up import warm_up


def main() -> None:
    """Train, evaluate and serve in each of the ways that have kernels of their own."""
    streams = labelled_streams(n_streams=40)
    for options in ({}, {"select": "streamrelief"}, {"select": None, "classifier": "qsfs2"}):
        procedure = train(streams, confidence=0.6, **options)
        evaluate(procedure, streams)
        warm_up(procedure)


if __name__ == "__main__":
    main()
