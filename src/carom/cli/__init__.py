"""The command line: one file a command. Heavy imports live inside the commands, so that `--help` is quick."""
