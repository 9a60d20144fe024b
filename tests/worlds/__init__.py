"""Worlds whose truth is known, written without a look at the estimators or at `simulate`.

`feed.Feed` makes logs of ranked lists with rewards, `shop.Shop` funnels from exposure to purchase,
`judged.Judged` feedback that is missing not at random. Options are frozen dataclasses, everything
follows from two seeds: the world's, and that of a sample of it.
"""
