"""Typed values of what the collected advisories say in prose."""

# Ways to live with an advisory, by the collected wording. An upgrade is none: the fixed version says it.
WORKAROUNDS = {
    "upgrade": [],
    "upgrade; none found in the part read": [],
    "informational for serving hosts": [],
    "accept or patch; vLLM itself defers it": [],
    "pip install -U aiohttp (vLLM sets only a lower bound)": [],
    'pip install "starlette>=1.3.1" where vLLM allows it (>=0.24.0: starlette>=1.0.1, fastapi<0.137.0)': [],
    "trusted, pinned repositories": ["trusted-models"],
    "trusted, pinned repositories only": ["trusted-models"],
    "serve from a local reviewed copy": ["local-model"],
    "use safetensors from trusted repositories": ["safetensors"],
    "use safetensors; torch >= 2.6.0": ["safetensors"],
    "safetensors": ["safetensors"],
    "run trusted images only; CDI mode where the bulletin exempts it": ["trusted-images"],
    "RAY_AUTH_MODE=token; isolated network; dashboard on loopback": ["ray-token"],
    "strip kv_transfer_params at the gateway; do not use P/D disaggregation with untrusted clients": ["strip-kv-params"],
    "strip kv_transfer_params at the gateway; private network": ["strip-kv-params"],
    "do not use Mooncake; private network": ["private-network"],
    "private network; V1 engine": ["private-network"],
    "V1 engine; private network": ["private-network"],
    "firewall; loopback binding": ["private-network"],
    "firewall; isolated network": ["private-network"],
    "keep internal ports private": ["private-network"],
    "isolated network for node-to-node traffic": ["private-network"],
    "firewall so that only vLLM hosts reach the (random) port": ["private-network"],
    "firewall the exporter port; DCGM 4.5.3": ["private-network"],
    "reject grammars at the proxy; upgrade vLLM (exact pins before 0.18.0)": ["proxy-filter"],
    "reject at proxy": ["proxy-filter"],
    "proxy that rejects empty prompts": ["proxy-filter"],
    "disk quota; forbid structured output at the proxy": ["proxy-filter"],
    "limit input size": ["proxy-filter"],
    "reverse proxy with header limits (--h11-max-* from 0.10.1.1)": ["proxy-filter"],
    "strip chat_template* at the proxy; from 0.11.0 request templates need --trust-request-chat-template": ["proxy-filter"],
    "strip the field at the proxy": ["proxy-filter"],
    "cap n at the proxy; VLLM_MAX_N_SEQUENCES (0.19.0+, default 16384: lower it)": ["proxy-filter"],
    "rate limiting; treat as low-quality report": ["proxy-filter"],
    "authenticate at a proxy": ["proxy-auth"],
    "authenticate at a reverse proxy that normalises Host": ["proxy-auth"],
    "leave prompt embeds off": ["no-prompt-embeds"],
    "do not enable prompt embeds": ["no-prompt-embeds"],
    "leave --enable-mm-embeds off (flag exists since 0.11.1)": ["no-mm-embeds"],
    "trusted templates; leave --trust-request-chat-template off": ["trusted-templates"],
    "egress firewall": ["egress-firewall"],
    "egress firewall; --allowed-media-domains from 0.11.0": ["egress-firewall"],
    "text only; --allowed-media-domains; egress firewall": ["egress-firewall"],
    "--allowed-media-domains (0.19.0+)": ["egress-firewall"],
    "turn prefix caching off or upgrade": ["no-prefix-caching"],
    "cache_salt per tenant (documented since 0.29.0), one instance per tenant": ["separate-tenants"],
    "turn the multimodal cache off": ["no-mm-cache"],
    "choose another parser": ["other-tool-parser"],
    "another parser": ["other-tool-parser"],
    "other method": ["no-speculation"],
    "no speculative decoding": ["no-speculation"],
    "do not run with -O": ["no-optimize"],
    "build with a single index": ["single-index"],
    "Python front end": ["python-front-end"],
    "no audio": ["no-audio"],
    "do not start with --trust-remote-code": ["no-remote-code"],
    "private cache directory; vLLM >= 0.26.0 no longer lists it": ["private-cache"],
}
# Ids that are none: the id used, and a remark.
NAMES = {
    "torch.distributed (by design)": ("torch-distributed-by-design", None),
    "diskcache<=5.6.3 (identifier not looked up)": ("diskcache-5.6.3", "identifier not looked up"),
    "CVE-2024-53870..53879": ("CVE-2024-53870", "and the following up to CVE-2024-53879"),
}
# Conditions that the collected words do not bear out.
CONDITIONS = {
    # Before its fix the release took embeddings whether or not they were switched on.
    "GHSA-mrw7-hf4f-83pf": ["prompt_embeds_accepted"],
    # A backend that is not the default.
    "CVE-2026-73556": ["structured_outputs", "backend:lm-format-enforcer"],
}
# Fragments of model types and architectures, without their separators.
MODELS = {
    "idefics3": ["idefics3"],
    "nemotron_vl": ["nemotronvl", "nemotronnanovl", "nemotronhnanovl"],
    "kimi_k25": ["kimik25"],
    "mimo_v2_omni": ["mimov2omni"],
    "llava_onevision2": ["llavaonevision2"],
    "funaudiochat": ["funaudiochat"],
    "tarsier2": ["tarsier2"],
    "qwen_vl": ["qwen2vl", "qwen25vl", "qwen3vl"],
    "glmga": ["glmga"],
    "gpt_oss": ["gptoss"],
    "moss_audio": ["mossaudio"],
}
CUTOFFS = [
    {
        "about": "packages",
        "date": "2026-10-09",
        "sources": ["digest of vLLM's repository advisories, 2026-10-09"],
        "note": "Reviewed advisory texts reach 2026-08; from 0.28.0 on most ranges come from digests.",
    },
    {"about": "nvidia", "date": "2026-08-18", "sources": ["NVIDIA/product-security, snapshot of 2026-08-18"]},
]
SECURITY_PAGE = "vllm 0.33.0 source distribution: docs/usage/security.md"
OPEN = ["/invocations", "/pooling", "/classify", "/score", "/rerank", "/tokenize", "/detokenize", "/metrics"]
OPEN_LATER = [*OPEN[:5], "/generative_scoring", *OPEN[5:7], "/pause", "/resume", "/abort_requests", "/update_weights"]
OPEN_LATER += ["/scale_elastic_ep", "/metrics"]
KEY_GUARDS = [
    {
        "releases": ">=0.3.0,<0.22.0",
        "guarded": ["/v1"],
        "open": OPEN,
        "sources": [SECURITY_PAGE, "GHSA-94f4-hr76-p5j6"],
        "note": "A crafted Host header passes the check of the path.",
    },
    {"releases": ">=0.22.0,<0.27.0", "guarded": ["/v1", "/v2", "/inference"], "open": OPEN_LATER, "sources": [SECURITY_PAGE]},
    {"releases": ">=0.27.0", "guarded": ["/v1", "/v2", "/inference", "/cohere"], "open": OPEN_LATER, "sources": [SECURITY_PAGE]},
]
