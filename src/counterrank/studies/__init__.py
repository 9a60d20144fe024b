"""Published studies made again: their numbers beside ours, and which of their claims hold."""
