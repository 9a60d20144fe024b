"""Does the answer flip inside groups? Stratified evaluation and the paradox audit."""

from counterrank.stratified.face import Blend, Face

__all__ = ["Blend", "Face"]
