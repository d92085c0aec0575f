"""`gemsim recommend`: what to run, how surely, and what the answer hangs on.

The closed form screens the whole space, the engine confirms a few designs on the same failures.
"""
