"""Sources that are what another program exported: archives, or folders unpacked from them."""
