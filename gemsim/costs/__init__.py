"""What things cost in seconds: coding kernels from a calibration profile, and bytes over links."""
