thinpipe net torchrun --help
