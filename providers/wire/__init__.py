"""What the network providers share: headers, addresses, errors, one attempt at one call.

Nothing here imports an SDK or an HTTP client.
"""
