"""ir-measures over its pytrec_eval provider. Its ERR is a Perl script and is left out."""

from __future__ import annotations

import json

import ir_measures
from ir_measures import AP, RR, Bpref, P, R, SetF, infAP, nDCG
from lists import Asked, name, nested


def main() -> None:
    asked = Asked.given()
    measures = [
        P(rel=4) @ 100,
        R(rel=4) @ 100,
        SetF(rel=4),
        AP(rel=4) @ 100,
        nDCG @ 100,
        RR(rel=4),
        Bpref(rel=4),
        infAP(rel=4),
    ]
    evaluator = ir_measures.evaluator(measures, nested(asked.judgments, "rating"))
    for path in asked.runs:
        means, _per_user = evaluator.calc(nested(path, "score"))
        print(json.dumps({name(path): {str(m): x for m, x in means.items()}}))


if __name__ == "__main__":
    main()
