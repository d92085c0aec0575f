"""gemsim: how to protect the state of a large training job, judged by simulation with the closed form beside it."""

__version__ = "0.1.0"
