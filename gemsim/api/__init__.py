"""What a program or a notebook uses: `import gemsim as gs`. Results are tidy pandas frames that know their units."""
