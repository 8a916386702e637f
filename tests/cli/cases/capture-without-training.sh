# A build without libtorch has no thinpipe-capture beside the command.
mkdir bin && cp "$BIN/thinpipe" bin/ && bin/thinpipe capture --out trace
