"""The discrete-event engine. Only this folder imports SimPy."""
