"""What is run and how: design points, executors, sweeps with resume."""
