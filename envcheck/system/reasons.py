"""Words for how a request failed, which the probes tell apart: somebody refused, or nobody answered."""

from __future__ import annotations

CONNECTION_REFUSED = "connection refused"
PROXY_REFUSED = "the proxy refused"
UNTRUSTED = "its certificate is not trusted"
OFFLINE = "offline"
NOT_RECORDED = "not recorded"
PLAIN_HTTP = "plain http, which anyone on the way can change"
NOT_A_URL = "not a URL"
NOT_HTTPS = "not an https URL"

REFUSED = (CONNECTION_REFUSED, PROXY_REFUSED, UNTRUSTED)
NOT_ASKED = (OFFLINE, NOT_RECORDED, PLAIN_HTTP, NOT_A_URL, NOT_HTTPS)
