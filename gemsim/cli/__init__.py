"""The command line: one small file per command, imported only when the command is called."""
