"""Choices that the listings of twenty parsers and the static reading do not have.

The listings were made on the CPU platform: `ON_A_GPU` = the words that the same releases add where they find one. `READ_SINCE` = what
parsers of releases between the twenty list, with the range that states it in its source. `CHECKED_LATER` = whose parser takes any word
while the configuration behind it takes those of its type alone.
"""

ON_A_GPU = {"--mm-processor-device": ["cuda"]}
READ_SINCE = {"--safetensors-load-strategy": (">=0.24.0,<0.26.0", ["eager", "lazy", "prefetch", "torchao", "None"])}
CHECKED_LATER = {"--kv-cache-dtype": ">=0.33.0"}
