# cmake -DSOURCE_DIR=... -DOUTPUT=... -P Revision.cmake: writes which revision is being built, and
# leaves the file alone when that has not changed.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty
                OUTPUT_VARIABLE git_revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
configure_file(${SOURCE_DIR}/harness/machine/revision.cc.in ${OUTPUT} @ONLY)
