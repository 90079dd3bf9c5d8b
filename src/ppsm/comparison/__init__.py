"""Reports of a comparison: one page to share, one for the owner of the secret, each a single file.

::

    Comparison, ExampleRelease    what a report is made of
    conclude                      what the figures show, in plain words, and no more than that
    shareable_page                the page for everybody: releases, publications, public test data
    owner_page                    the page with the true demand, for its owner only
"""

from ppsm.comparison.conclusion import conclude
from ppsm.comparison.content import Comparison, ExampleRelease, Setting
from ppsm.comparison.pages import owner_page, shareable_page

__all__ = ["Comparison", "ExampleRelease", "Setting", "conclude", "owner_page", "shareable_page"]
