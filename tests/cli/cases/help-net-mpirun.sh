thinpipe net mpirun --help
