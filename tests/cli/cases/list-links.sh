# Links by name, and every key.
thinpipe list links
