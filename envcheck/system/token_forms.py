"""Keys that are told by their form alone, as their makers give them one so that they are found where they should not be."""

from __future__ import annotations

import re

from envcheck.system.secret_values import HIDDEN

_FORMS = (  # compiled when first needed: a visit mostly meets no key
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)"
    r"|\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d{3}|sk-ssh-ed25519@openssh\.com)\s+[A-Za-z0-9+/=]{20,}"
    r"|\bSHA256:[A-Za-z0-9+/]{43}=?"
    r"|\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?"
    r"|\bhf_[A-Za-z0-9]{12,}|\bsk-[\w-]{16,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bnpm_\w{16,}|\bpypi-[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\bLTAI[0-9A-Za-z]{12,}|\bAKID[0-9A-Za-z]{12,}|\bAIza[\w-]{20,}|\bxox[abeprs]-[\w-]{10,}|\bnvapi-[\w-]{16,}"
    r"|\bAKLT[\w-]{16,}|\bALTAK[\w-]{10,}|\bbce-v3/[\w/-]{16,}|\bms-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\b[rs]k_(?:live|test)_\w{10,}|\br8_\w{20,}|\bgsk_\w{16,}|\bxai-[\w-]{16,}|\brpa_\w{16,}|\blsv2_\w{16,}|\bdapi[0-9a-f]{32}"
    r"|\btskey-[\w-]{16,}|\bdo[opr]_v1_\w{16,}|\bhv[sbr]\.[\w-]{16,}|\bSG\.[\w-]{16,}\.[\w-]{16,}"
    r"|(?<=/bot/v2/hook/)[\w-]{8,}|(?<=hooks\.slack\.com/services/)[\w/-]{8,}"
)
# Looked for before the patterns are, which take a microsecond a character.
_SIGNS = (
    *("PRIVATE KEY", "ssh-", "ecdsa-", "SHA256:", "eyJ", "hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("npm_", "pypi-", "AKIA", "ASIA", "LTAI", "AKID", "AIza", "xox", "nvapi-", "AKLT", "ALTAK", "bce-v3/", "ms-", "k_live_", "k_test_"),
    *("r8_", "gsk_", "xai-", "rpa_", "lsv2_", "dapi", "tskey-", "_v1_", "hvs.", "hvb.", "hvr.", "SG.", "/hook/", "hooks.slack"),
)


def holds_token(text: str) -> bool:
    """Whether something in the text begins as a key does."""
    return any(sign in text for sign in _SIGNS)


def known_tokens(text: str) -> str:
    """The text with `***` in place of keys."""
    return re.sub(_FORMS, HIDDEN, text) if holds_token(text) else text
