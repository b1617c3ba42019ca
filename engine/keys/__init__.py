"""Provider keys: finding, storing, listing and hiding them.

A key is looked up in this order: what the command names (a named key in the keychain, or
``--env-file``), the environment, the operating system's keychain. Prompting the user is up to
the caller. Journals and records hold a :class:`KeyRef`, never a key.
"""

from evalbench.engine.config.env_file import read_env_file
from evalbench.engine.keys.finding import find_again, find_key, key_in, with_variables
from evalbench.engine.keys.keychain import ATTENDED_S, UNATTENDED_S, KeychainState, probe
from evalbench.engine.keys.log_scrubbing import (
    ScrubbedFormatter,
    header_secrets,
    provider_variables,
    scrub,
    strip_environment,
)
from evalbench.engine.keys.references import DEFAULT_NAME, KeyRef, KeySource, fingerprint, masked
from evalbench.engine.keys.stored_keys import (
    GALILEO_KEY,
    HUGGINGFACE,
    OTLP_HEADERS,
    clean_key,
    implausible,
    is_variable,
    key_needs,
    known_names,
    list_keys,
    looks_like_key,
    not_here,
    remove_key,
    set_key,
)

__all__ = [
    "ATTENDED_S",
    "DEFAULT_NAME",
    "GALILEO_KEY",
    "HUGGINGFACE",
    "OTLP_HEADERS",
    "UNATTENDED_S",
    "KeyRef",
    "KeySource",
    "KeychainState",
    "ScrubbedFormatter",
    "clean_key",
    "find_again",
    "find_key",
    "fingerprint",
    "header_secrets",
    "implausible",
    "is_variable",
    "key_in",
    "key_needs",
    "known_names",
    "list_keys",
    "looks_like_key",
    "masked",
    "not_here",
    "probe",
    "provider_variables",
    "read_env_file",
    "remove_key",
    "scrub",
    "set_key",
    "strip_environment",
    "with_variables",
]
