"""Reference values of the Open Bandit Pipeline for tests/reference: OPEN_BANDIT_SAMPLE OUT.

Needs an environment with ``obp`` and ``pyarrow`` (see the README beside the values). Writes
``bandit.json`` (the Open Bandit sample: action distributions and estimates) and ``slate.json``
(a synthetic slate log, target probabilities, a table of Q and estimates).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import obp
import pandas as pd
from obp.dataset import (
    SyntheticSlateBanditDataset,
    linear_behavior_policy_logit,
    logistic_reward_function,
)
from obp.ope import (
    InverseProbabilityWeighting,
    SelfNormalizedInverseProbabilityWeighting,
    SelfNormalizedSlateIndependentIPS,
    SelfNormalizedSlateRewardInteractionIPS,
    SelfNormalizedSlateStandardIPS,
    SlateCascadeDoublyRobust,
    SlateIndependentIPS,
    SlateRegressionModel,
    SlateRewardInteractionIPS,
    SlateStandardIPS,
)
from obp.policy import BernoulliTS
from sklearn.tree import DecisionTreeRegressor

ROUNDS, ITEMS, LENGTH = 200, 4, 3


def bandit(folder: Path) -> dict[str, object]:
    """Each policy's value from the other's log, by campaign."""
    bts, estimates = {}, {}
    for campaign in ("all", "men", "women"):
        logs = {p: pd.read_parquet(folder / f"{p}_{campaign}.parquet") for p in ("random", "bts")}
        items = int(logs["random"]["item"].max()) + 1
        policy = BernoulliTS(
            n_actions=items, len_list=3, is_zozotown_prior=True, campaign=campaign,
            random_state=12345,
        )  # fmt: skip
        bts[campaign] = policy.compute_batch_action_dist(n_sim=100_000, n_rounds=1)[0]
        targets = {"bts": bts[campaign], "random": np.full((items, 3), 1 / items)}
        for logger, target in (("random", "bts"), ("bts", "random")):
            log = logs[logger]
            given = {
                "reward": log["click"].to_numpy(float),
                "action": log["item"].to_numpy(int),
                "position": log["position"].to_numpy(int) - 1,
                "pscore": log["propensity"].to_numpy(float),
                "action_dist": np.tile(targets[target], (len(log), 1, 1)),
            }
            estimates[f"{campaign} {target}"] = {
                "IPS": InverseProbabilityWeighting().estimate_policy_value(**given),
                "SNIPS": SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**given),
            }
    return {"bts": {c: dist.tolist() for c, dist in bts.items()}, "estimates": estimates}


def slate() -> dict[str, object]:
    """A factorisable slate log, its target, and every slate estimate."""
    world = SyntheticSlateBanditDataset(
        n_unique_action=ITEMS, len_list=LENGTH, dim_context=2, reward_type="binary",
        reward_structure="cascade_additive", click_model="cascade", eta=0.5, random_state=12345,
        behavior_policy_function=linear_behavior_policy_logit,
        base_reward_function=logistic_reward_function, is_factorizable=True,
    )  # fmt: skip
    log = world.obtain_batch_bandit_feedback(n_rounds=ROUNDS)
    logit = -0.5 * linear_behavior_policy_logit(
        context=log["context"], action_context=world.action_context,
        random_state=world.random_state,
    )  # fmt: skip
    dist = world.calc_evaluation_policy_action_dist(log["action"], logit)
    one = dist.reshape(ROUNDS, LENGTH, ITEMS)
    item = log["action"].reshape(ROUNDS, LENGTH)
    e = np.take_along_axis(one, item[:, :, None], axis=2)[:, :, 0]
    given = {
        **{k: log[k] for k in ("slate_id", "action", "position", "reward")},
        **{k: log[k] for k in ("pscore", "pscore_cascade", "pscore_item_position")},
        "evaluation_policy_pscore": np.repeat(e.prod(axis=1), LENGTH),
        "evaluation_policy_pscore_cascade": e.cumprod(axis=1).ravel(),
        "evaluation_policy_pscore_item_position": e.ravel(),
        "evaluation_policy_action_dist": dist,
    }
    model = SlateRegressionModel(
        base_model=DecisionTreeRegressor(max_depth=3, random_state=0), len_list=LENGTH,
        n_unique_action=ITEMS, fitting_method="normal",
    )  # fmt: skip
    names = ("action", "reward", "pscore_cascade", "evaluation_policy_pscore_cascade")
    q = model.fit_predict(
        context=log["context"], **{k: given[k] for k in names}, evaluation_policy_action_dist=dist
    ).round(4)
    kinds = {
        "SIPS": SlateStandardIPS, "IIPS": SlateIndependentIPS, "RIPS": SlateRewardInteractionIPS,
        "SNSIPS": SelfNormalizedSlateStandardIPS, "SNIIPS": SelfNormalizedSlateIndependentIPS,
        "SNRIPS": SelfNormalizedSlateRewardInteractionIPS,
    }  # fmt: skip
    found = {k: kind(len_list=LENGTH).estimate_policy_value(**given) for k, kind in kinds.items()}
    cascade = SlateCascadeDoublyRobust(len_list=LENGTH, n_unique_action=ITEMS)
    found["CascadeDR"] = cascade.estimate_policy_value(q_hat=q, **given)
    return {
        "item": item.tolist(),
        "reward": log["reward"].reshape(ROUNDS, LENGTH).astype(int).tolist(),
        "propensity": log["pscore_item_position"].reshape(ROUNDS, LENGTH).tolist(),
        "target": one[:, 0].tolist(),  # the same at every rank
        "q": q.reshape(ROUNDS, LENGTH, ITEMS).tolist(),
        "estimates": found,
    }


def main() -> None:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    for name, found in (("bandit", bandit(folder)), ("slate", slate())):
        text = json.dumps({"obp": obp.__version__, **found})
        (out / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
