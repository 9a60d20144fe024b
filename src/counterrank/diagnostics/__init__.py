"""What a number rests on: statistics with a threshold, a verdict and a sentence."""
