"""What off-policy estimates assume of a log, a file for each assumption, and audits of it."""
