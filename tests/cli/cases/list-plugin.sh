# Methods of a plug-in are listed as any other; errors in one are reported.
thinpipe list example-stride --plugin "$BIN/../plugins/example_stride.so" | head -4
thinpipe list --json --plugin "$BIN/../plugins/example_stride.so" \
  --plugin "$BIN/../plugins/example_sign.so" | grep '"name": "example'
thinpipe list --plugin "$BIN/../tests/plugins/broken_version.so"
thinpipe list --plugin "$BIN/../tests/plugins/broken_method.so"
thinpipe list --plugin "$BIN/../tests/plugins/broken_no_entry.so"
