"""What the network providers share: headers, addresses, failures, one attempt at one call.

Nothing here imports an SDK or an HTTP client.
"""
