"""Is what is said of a log true? A grid of worlds, and a page of what came out."""
