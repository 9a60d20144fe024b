"""The JSON document of a result, results that were saved, and what is decided from them."""
