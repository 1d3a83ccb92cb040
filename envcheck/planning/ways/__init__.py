"""The ways round what keeps a request from running, each proved by judging the host as the way would leave it."""
