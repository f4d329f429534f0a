"""From flows between tiles to the settings of every stream switch on the way.

`nets` reads what is wanted, `grid` and `search` find paths, `congestion` makes them fit beside each other, `circuits`
and `packets` write them as switch settings, and `walk` follows finished settings, knowing nothing of their origin.
"""
