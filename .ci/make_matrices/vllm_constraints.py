"""What a fresh install must add because a release's metadata leaves it open."""


def constraints(version, wanted):
    return {}
