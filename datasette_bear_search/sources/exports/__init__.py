"""Sources exported by other programs: archives, or folders unpacked from them."""
