"""mechanism_groups: the variables of each mechanism, wherever they stand."""

import numpy as np

from keras_attention.migration.groups import sort_variables
from keras_attention.migration.mechanisms import in_order_of
from keras_attention.migration.mechanisms import mechanism_groups
from keras_attention.migration.mechanisms import with_memories
from keras_attention.migration.slots import Slot
from keras_attention.migration.stored import Stored

INSIDE = "m/decoder/attention_wrapper/BahdanauAttention/"


class Weight:
    def __init__(self, *shape):
        self.shape = shape


def entries(**shapes):
    variables = [Stored((k,), np.zeros(x)) for k, x in shapes.items()]
    return sort_variables(variables).mechanisms


def shapes(group):
    return {field: x.value.shape for field, x in group.fields.items()}


def test_the_kernel_inside_of_the_wrapper_is_that_of_the_query():
    """Where the memory was set by a call, neither kernel has its layer's name.

    Nor need the scope's counter be the same.
    """
    for memory in ("kernel", "memory_layer/kernel"):
        found = entries(
            **{
                f"m/BahdanauAttention_1/{memory}": (3, 5),
                f"{INSIDE}kernel": (2, 5),
                f"{INSIDE}attention_v": (5,),
            }
        )
        (group,) = mechanism_groups(found, 1)
        wanted = {"memory": (3, 5), "query": (2, 5), "vector": (5,)}
        assert shapes(group) == wanted


def test_the_only_kernel_of_luong_is_that_of_the_memory():
    (group,) = mechanism_groups(
        entries(**{"m/LuongAttention/kernel": (3, 2)}), 1
    )
    assert shapes(group) == {"memory": (3, 2)}


def test_two_mechanisms_by_their_names():
    found = entries(
        **{
            "m/one/memory_layer/kernel": (3, 5),
            "m/two/memory_layer/kernel": (3, 2),
            "m/attention_wrapper/two/attention_g": (),
            "m/attention_wrapper/one/attention_v": (5,),
        }
    )
    one, two = mechanism_groups(found, 2)
    assert shapes(one) == {"memory": (3, 5), "vector": (5,)}
    assert shapes(two) == {"memory": (3, 2), "gain": ()}
    additive = {"memory": Slot(Weight(3, 5)), "vector": Slot(Weight(5))}
    scaled = {"memory": Slot(Weight(3, 2)), "gain": Slot(Weight())}
    assert in_order_of([scaled, additive], [one, two]) == [two, one]


def test_indices_give_the_order():
    found = entries(
        **{f"m/_attention_mechanisms/{i}/attention_v": (i,) for i in (1, 0)}
    )
    groups = mechanism_groups(found, 2)
    slots = [{"vector": Slot(Weight(size))} for size in (1, 0)]
    sizes = [shapes(x)["vector"] for x in in_order_of(slots, groups)]
    assert sizes == [(0,), (1,)]


def test_one_scalar_is_what_the_target_needs():
    found = entries(**{"m/mine/attention_scalar": ()})
    for name in ("gain", "score_bias"):
        groups = mechanism_groups(found, 1)
        (group,) = in_order_of([{name: Slot(Weight())}], groups)
        assert list(group.fields) == [name]


def test_what_a_prefix_lacks_is_found_outside_of_other_wrappers():
    everything = entries(
        **{
            f"{INSIDE}attention_v": (5,),
            "m/BahdanauAttention/memory_layer/kernel": (3, 5),
            "m/b/attention_wrapper_1/BahdanauAttention/kernel": (2, 5),
            "m/LuongAttention/memory_layer/kernel": (3, 2),
        }
    )
    found = with_memories(everything[:1], everything)
    assert [field for _, field, _ in found] == ["vector", "memory"]
    assert len(with_memories([], everything)) == 2


def test_counters_tell_whose_memory_it_is():
    names = [f"m/d{i}/attention_wrapper{i}/Attention/" for i in ("", "_1")]
    everything = entries(
        **{f"{name}attention_v": (5,) for name in names},
        **{
            "m/Attention_2/memory_layer/kernel": (4, 5),
            "m/Attention_1/memory_layer/kernel": (3, 5),
        },
    )
    inside = [x for x in everything if x[0][1] == "d_1"]
    *_, (_, field, stored) = with_memories(inside, everything)
    assert (field, stored.value.shape) == ("memory", (4, 5))


def test_equal_mechanisms_without_an_order_are_not_taken():
    found = entries(**{f"m/{x}/attention_v": (5,) for x in ("one", "two")})
    slots = [{"vector": Slot(Weight(5))} for _ in range(2)]
    assert in_order_of(slots, mechanism_groups(found, 2)) == [None, None]
