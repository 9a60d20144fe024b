"""One function per verb of the command line, each in a module of its name."""
