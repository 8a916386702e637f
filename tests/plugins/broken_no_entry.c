/* A library that is no plug-in. */
int some_function(void);
int some_function(void) { return 1; }
