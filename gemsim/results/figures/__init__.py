"""Pictures. The only package that may import matplotlib and seaborn, and only when one is drawn."""
