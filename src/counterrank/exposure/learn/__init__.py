"""How likely is a rank to be seen? Learned from logs, or refused with reasons."""
