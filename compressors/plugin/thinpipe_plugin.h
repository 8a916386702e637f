/* The C interface of plug-ins: compressors in a shared library of their own, loaded with
   `thinpipe ... --plugin FILE.so`. Plain C99, no other header of thinpipe. docs/plugins.md explains
   the two examples in examples/plugins/. */
#ifndef THINPIPE_PLUGIN_H
#define THINPIPE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It changes only when a declaration in this file changes its
   meaning. Structs grow at their end without a new version, and each has a member with its size. */
#define THINPIPE_PLUGIN_ABI 1u

#define THINPIPE_PLUGIN_EXPORT __attribute__((visibility("default")))

/* Results of functions that may fail. A failing function may also write a message. A C++ exception
   that leaves a function is caught and reported as an error of the plug-in. */
enum {
  THINPIPE_PLUGIN_OK = 0,
  THINPIPE_PLUGIN_BAD_INPUT = 1, /* create, load: parameters or bytes that do not fit;
                                    decode_add: the payload is malformed */
  THINPIPE_PLUGIN_FAILED = 2     /* any other failure, such as a lack of memory */
};

typedef struct thinpipe_plugin_error {
  char message[256]; /* "" when called; a C string when a function fails */
} thinpipe_plugin_error;

/* ---- Arguments from the host. struct_size is the host's sizeof; no member lies beyond it. */

/* Arguments of `create`: one tensor, the settings of the worker, the parameters. Valid during
   `create` only; copy everything that must outlive it. */
typedef struct thinpipe_plugin_setup {
  size_t struct_size;
  const char* tensor;   /* name */
  const int64_t* shape; /* row-major; NULL where dimensions is 0 */
  size_t dimensions;
  size_t elements; /* d, the product of shape; may be 0 */
  uint64_t seed;   /* shared by all workers */
  int32_t rank;    /* this worker */
  int32_t threads; /* threads that one encode may use */
  /* Return the parameter `name`, checked against its declaration. A name that was not declared, or
     was declared with another type, makes `create` fail. */
  double (*real)(const struct thinpipe_plugin_setup* setup, const char* name);
  int64_t (*integer)(const struct thinpipe_plugin_setup* setup, const char* name);
  const char* (*choice)(const struct thinpipe_plugin_setup* setup, const char* name);
  int (*flag)(const struct thinpipe_plugin_setup* setup, const char* name); /* 0 or 1 */
} thinpipe_plugin_setup;

/* Input of one step. */
typedef struct thinpipe_plugin_input {
  size_t struct_size;
  const float* values;  /* `elements` floats: c, gradient plus memory, where thinpipe has the
                           memory, else the gradient itself */
  const float* squares; /* as many second moments of the gradient, or NULL without any */
  size_t elements;
  uint64_t step; /* counts from 0 */
  double epoch;
} thinpipe_plugin_input;

/* Filled in by `encode`. encoded_bytes must be set; the other members have defaults. */
typedef struct thinpipe_plugin_report {
  size_t struct_size;
  size_t encoded_bytes;     /* the payload's size, at most max_encoded_size */
  size_t target_elements;   /* k; default 0: no target */
  size_t selected_elements; /* elements in the payload; default d */
  double threshold;         /* on |c|; default NaN: none */
  int32_t passes;           /* over the d elements; default 1 */
} thinpipe_plugin_report;

/* ---- Description by the plug-in. It must stay valid and unchanged until the program ends. */

/* thinpipe_plugin_parameter.type */
enum {
  THINPIPE_PLUGIN_REAL = 1,
  THINPIPE_PLUGIN_INTEGER = 2,
  THINPIPE_PLUGIN_CHOICE = 3,
  THINPIPE_PLUGIN_FLAG = 4 /* true or false */
};

/* thinpipe_plugin_parameter.exclusive, any combination */
enum {
  THINPIPE_PLUGIN_ABOVE_MINIMUM = 1, /* the minimum itself is not allowed */
  THINPIPE_PLUGIN_BELOW_MAXIMUM = 2
};

typedef struct thinpipe_plugin_parameter {
  const char* name; /* lower-case letter, then lower-case letters, digits, '_' */
  uint32_t type;
  uint32_t exclusive;
  const char* default_value;  /* as a user writes it */
  const char* help;           /* one line, with the unit */
  double minimum, maximum;    /* for numbers; integers within +-2^53 */
  const char* const* choices; /* for choices; ends with NULL */
} thinpipe_plugin_parameter;

/* thinpipe_plugin_method.aggregation */
enum {
  THINPIPE_PLUGIN_ALL_GATHER = 1, /* every worker decodes every payload */
  THINPIPE_PLUGIN_ALL_REDUCE = 2  /* a payload is d floats, summed element by element;
                                     encoded_bytes is then 4 d for every input */
};

/* A compressor. An `instance` serves one tensor, is used by one thread at a time, and may be NULL
   where there is no `create`. Pointers to arrays of 0 elements may be NULL. Allocate in `create`,
   not in `encode` or `decode_add`. */
typedef struct thinpipe_plugin_method {
  const char* name;    /* as parameters' names, and '-'; unique among all methods */
  const char* summary; /* one line */
  const char* source;  /* one line: paper, section */
  uint32_t aggregation;
  uint32_t parameter_count;
  const thinpipe_plugin_parameter* parameters; /* NULL without parameters */
  /* "none", "residual" or "momentum": thinpipe provides the memory (error feedback, delay,
     clipping) around the method and takes this as the default of `memory=`; the parameters of the
     memory are then thinpipe's. NULL: the method gets the gradient and stores what it needs. */
  const char* memory;
  double expected_bits; /* payload bits per element of a large tensor, for listings; in (0, 64] */

  /* Both or neither; required where there are parameters. */
  int (*create)(const thinpipe_plugin_setup* setup, void** instance, thinpipe_plugin_error* error);
  void (*destroy)(void* instance);

  /* Required. Returns an upper bound in bytes for any input, the same in every step; at most 64
     bytes per element plus 64 KiB. */
  size_t (*max_encoded_size)(const void* instance, size_t elements);
  /* Required. `payload` is a buffer of max_encoded_size bytes, `capacity`, aligned as by malloc.
     For any input, NaN included, the payload must decode. */
  int (*encode)(void* instance, const thinpipe_plugin_input* input, void* payload, size_t capacity,
                thinpipe_plugin_report* report, thinpipe_plugin_error* error);
  /* Required. Computes out[i] += factor * decoded[i]. The payload comes from the network and has no
     alignment; check every size and index in it. Must not depend on earlier calls of encode. */
  int (*decode_add)(const void* instance, const void* payload, size_t size, float factor,
                    float* out, size_t elements, thinpipe_plugin_error* error);

  /* All or none: the instance's own state between steps. The size is the same in every step, at
     most 256 bytes per element plus 1 MiB; save writes and load reads exactly this size. */
  void (*reset)(void* instance);
  size_t (*state_size)(const void* instance);
  int (*save)(const void* instance, void* state, size_t size, thinpipe_plugin_error* error);
  int (*load)(void* instance, const void* state, size_t size, thinpipe_plugin_error* error);
} thinpipe_plugin_method;

typedef struct thinpipe_plugin {
  uint32_t abi;            /* THINPIPE_PLUGIN_ABI */
  uint32_t plugin_size;    /* sizeof(thinpipe_plugin) */
  uint32_t method_size;    /* sizeof(thinpipe_plugin_method) */
  uint32_t parameter_size; /* sizeof(thinpipe_plugin_parameter) */
  uint32_t method_count;   /* at least 1 */
  const thinpipe_plugin_method* methods;
} thinpipe_plugin;

/* The first four members, with the sizes of the header that the plug-in is compiled with. */
#define THINPIPE_PLUGIN_HEAD                                                    \
  THINPIPE_PLUGIN_ABI, sizeof(thinpipe_plugin), sizeof(thinpipe_plugin_method), \
      sizeof(thinpipe_plugin_parameter)

/* The one function that a plug-in exports. `host_abi` is the host's THINPIPE_PLUGIN_ABI. Returns
   NULL where the plug-in does not work with that version. */
THINPIPE_PLUGIN_EXPORT const thinpipe_plugin* thinpipe_plugin_get(uint32_t host_abi);

#ifdef __cplusplus
}
#endif

#endif /* THINPIPE_PLUGIN_H */
