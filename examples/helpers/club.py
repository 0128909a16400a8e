"""The karate club of Zachary, for `karate_club.py`.

Data: Zachary, 1977, [An information flow model for conflict and fission in
small groups](https://doi.org/10.1086/jar.33.4.3629752), figures 1 to 3.
"""

import numpy as np

INSTRUCTOR, ADMINISTRATOR, MEMBERS = 0, 33, 34
FRIENDS = {  # of each member, those with a larger number
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}
WITH_INSTRUCTOR = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21)


def friendships() -> np.ndarray:
    """Return who met whom: boolean `(34, 34)`, symmetric."""
    adjacency = np.zeros((MEMBERS, MEMBERS), bool)
    for member, friends in FRIENDS.items():
        adjacency[member, friends] = True
    return adjacency | adjacency.T


def sides() -> np.ndarray:
    """Return the side of each: `(34,)`, 0 instructor, 1 administrator."""
    found = np.ones(MEMBERS, int)
    found[list(WITH_INSTRUCTOR)] = 0
    return found
