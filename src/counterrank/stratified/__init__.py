"""Does the answer flip inside groups? Stratified evaluation and the paradox audit."""
