"""One function per verb, each in a module of its name."""
