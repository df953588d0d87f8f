"""Thresholds that select a method by the size or the cost of a problem.

Results on the two sides of a threshold agree within the tolerances of the methods, but not bit for bit: another value
changes the bits of runs that cross it. The values were measured on one core. "Work" is a number of multiplications; a
million of them take about a millisecond.
"""

from __future__ import annotations

# ---- cone problem

# Contacts of an island up to which the cone problem is solved by dense pivoting, else by sparse methods. The dense
# matrix and its factor still fit into the first-level cache. The islands of the drop of 10,201 discs took about half as
# long again with 24, and a sixth longer with 80.
DENSE_QP_CONTACTS = 48
# The same where rows touch more than two bodies, as those of mechanisms: sparse methods have nothing to gain there. Of
# 100 contacts of a chain of 100 bars dense pivoting takes 1.1 ms, sparse methods took 134 ms.
DENSE_WIDE_QP_CONTACTS = 256
# The same where a tolerance allows to relax larger islands.
RELAXED_QP_CONTACTS = 8
# Contacts from which the islands of a cone problem are shared out to threads.
THREADED_QP_CONTACTS = 4000
# Number of problems of a batch from which threads share them: a small problem takes about 2 us.
THREADED_PROBLEMS = 1000
# Work of one sparse factorization above which projected gradients are tried before it: factors fill in, mostly in 3D.
GRADIENT_QP_WORK = 3e8
# Work of one sparse factorization above which it is never done: minutes, and gigabytes of memory.
LARGEST_FACTOR_WORK = 3e11

# ---- frictional contact

# Contacts of an island that gets a few sweeps and Newton steps even where many islands have to be solved.
TINY_ISLAND_CONTACTS = 24
# Contacts of an island up to which Newton steps come first while the work of a call is small, and alone where the
# tolerance is exact; else sweeps over compact records come first.
SMALL_ISLAND_CONTACTS = 100
# Work of one linear system up to which Newton steps are taken on such islands, number of systems, and work of all.
NEWTON_SYSTEM_WORK = 5e6
NEWTON_SYSTEMS = 1000
NEWTON_ISLAND_WORK = 2e8
# The work of all where the run asks for less accuracy than the stepper aims for: a few milliseconds.
EASY_ISLAND_WORK = 5e6
# The same for islands that sweeps did not solve: a tenth of a second for one system, a few seconds for all.
LARGE_SYSTEM_WORK = 1e8
LARGE_ISLAND_WORK = 2e9
# Contacts from which sweeps are cut into slabs for threads: below, waiting for each other costs more than it saves.
THREADED_SWEEPS_CONTACTS = 8000

# ---- impacts

# Contacts of an island up to which smm uses a singular value decomposition, else a sparse factorization.
DENSE_SMM_CONTACTS = 120
# Contacts of an island up to which clamps are searched for by a linear program, which takes 0.2 s for 20,000 contacts;
# contacts of a clamp up to which it is resolved, with dense singular values.
CLAMP_CONTACTS, HELD_CONTACTS = 100_000, 2000
# With fewer contacts than bodies by this factor, only the touched bodies enter the rows: a gas costs its contacts.
TOUCHED_BODIES_FACTOR = 8

# ---- steps

# Contacts of a stage of a step up to which it is solved exactly, whatever the tolerance of the run: it costs little.
EXACT_CONTACTS = 200
# The same in steps with impacts, where the answer of the last step is a bad first guess.
EXACT_IMPACT_CONTACTS = 60
