"""The workflow suite: acting again when nobody knows what happened (workflow protocol, sections 1 to 4).

A tool call timed out. The agent may pay twice, give up half way, or find out first. The rooms, in import order:

- ``model``, ``world``, ``actions``, ``verdict``: the data, all of it serialisable (``serial``);
- ``adjudicator``: judges a recorded trajectory against the hidden truth; it imports the data and nothing else;
- ``fates``, ``timeline``, ``answers``, ``support``: what can have happened, what follows from it, what is seen of it;
- ``certificate``, ``shield``, ``refusal``: what may be done, what may be claimed, and why not;
- ``episode``: one run of a truth, with the public answers and the private ledger;
- ``controllers``: policies with known answers; ``bank``: templates from files; ``study``: all of them over all of it.
"""
