"""Checks a Hugging Face token: the Hub is not a provider, but its token is stored like a key."""

from __future__ import annotations

from evalbench.engine.errors import BadKey, ConnectionFailed, ProviderError, ServerFault

_REFUSED = (401, 403)


def check_hub_token(token: str) -> str:
    """Ask the Hub whose token this is; only for the preflight, since it imports the Hub's client.

    Returns:
        One line on the Hub's answer.

    Raises:
        BadKey: the Hub rejects the token.
        ProviderError: the Hub cannot be reached or is not working.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        account = HfApi(token=token).whoami()
    except HfHubHTTPError as error:
        raise _explained(error.response.status_code) from None
    except Exception as error:
        # The client passes on errors of its HTTP library, which may quote what was sent.
        why = type(error).__name__
        raise ConnectionFailed(
            "the Hugging Face hub cannot be reached", why=why, hint="check the connection"
        ) from None
    return f"the Hugging Face hub knows it as {account.get('name', 'somebody')}"


def _explained(status: int) -> ProviderError:
    if status in _REFUSED:
        return BadKey(
            "the Hugging Face hub does not accept the token",
            hint="make one at https://huggingface.co/settings/tokens",
            status=status,
        )
    return ServerFault(f"the Hugging Face hub answers with HTTP {status}", status=status)
