"""The table of DOP853 against that of SciPy, which the tests may import."""

import numpy as np
from scipy.integrate import DOP853

from carom.laws import dormand_prince


def test_the_table_is_scipys_to_the_last_bit():
    for name in ("A", "B", "E3", "E5"):
        found, expected = getattr(dormand_prince, name), getattr(DOP853, name)
        assert found.flags.c_contiguous and np.array_equal(found, expected), name
    assert DOP853.n_stages == dormand_prince.STAGES


def test_the_weights_of_a_step_add_up_to_one_and_those_of_an_error_to_zero():
    """Conditions of order one; sums of a dozen numbers of up to 10 are exact to 1e-14."""
    assert abs(dormand_prince.B.sum() - 1.0) < 1e-14
    assert abs(dormand_prince.E3.sum()) < 1e-14 and abs(dormand_prince.E5.sum()) < 1e-14
