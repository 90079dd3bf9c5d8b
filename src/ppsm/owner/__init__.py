"""The owner's side: a private release from the budget to the files, and what never leaves.

::

    private_release   the release as a sequence of states that can be stopped anywhere and gone on with
    release_files     its files: the vector, the dossier, a public prior; the owner's own directory
    distances         what a release is worth, measured against the secret; for the owner only
"""
