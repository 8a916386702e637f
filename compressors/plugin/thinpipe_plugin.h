/* The C interface of plug-ins: compressors in a shared library of their own, loaded with
   `thinpipe ... --plugin FILE.so`. Plain C99, no other header of thinpipe. docs/plugins.md walks
   through two of them; examples/plugins/ holds both. */
#ifndef THINPIPE_PLUGIN_H
#define THINPIPE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It changes only when what is here changes its meaning; structs
   grow at their end without a new version, and every one of them says how large it is. */
#define THINPIPE_PLUGIN_ABI 1u

#define THINPIPE_PLUGIN_EXPORT __attribute__((visibility("default")))

/* What a function that may fail returns. A failing one may also write a message. A C++ exception
   that leaves a function is caught and reported as a fault of the plug-in. */
enum {
  THINPIPE_PLUGIN_OK = 0,
  THINPIPE_PLUGIN_BAD_INPUT = 1, /* create, load: parameters or bytes that do not fit;
                                    decode_add: the payload is malformed */
  THINPIPE_PLUGIN_FAILED = 2     /* anything else, such as no memory */
};

typedef struct thinpipe_plugin_error {
  char message[256]; /* "" when called; a C string when a function fails */
} thinpipe_plugin_error;

/* ---- What the host passes in. struct_size is the host's sizeof: what lies beyond is not there. */

/* All that an instance is made from: one tensor, the settings of the worker, the parameters. Valid
   during `create` only; copy what must outlive it. */
typedef struct thinpipe_plugin_setup {
  size_t struct_size;
  const char* tensor;   /* its name */
  const int64_t* shape; /* row-major; NULL where dimensions is 0 */
  size_t dimensions;
  size_t elements; /* d, the product of shape; may be 0 */
  uint64_t seed;   /* shared by all workers */
  int32_t rank;    /* this worker */
  int32_t threads; /* that one encode may use */
  /* The parameter `name`, checked against its declaration. Asking for one that was not declared, or
     was declared with another type, makes `create` fail. */
  double (*real)(const struct thinpipe_plugin_setup* setup, const char* name);
  int64_t (*integer)(const struct thinpipe_plugin_setup* setup, const char* name);
  const char* (*choice)(const struct thinpipe_plugin_setup* setup, const char* name);
  int (*flag)(const struct thinpipe_plugin_setup* setup, const char* name); /* 0 or 1 */
} thinpipe_plugin_setup;

/* What is compressed in one step. */
typedef struct thinpipe_plugin_input {
  size_t struct_size;
  const float* values;  /* `elements` floats: c, gradient plus memory, where thinpipe keeps the
                           memory, else the gradient itself */
  const float* squares; /* as many second moments of the gradient, or NULL where there are none */
  size_t elements;
  uint64_t step; /* counts from 0 */
  double epoch;
} thinpipe_plugin_input;

/* Filled in by `encode`. encoded_bytes must be set; the others may be left as they come. */
typedef struct thinpipe_plugin_report {
  size_t struct_size;
  size_t encoded_bytes;     /* the payload's size, at most max_encoded_size */
  size_t target_elements;   /* k, or 0 where the method aims at none */
  size_t selected_elements; /* elements the payload carries; comes as d */
  double threshold;         /* on |c|; comes as NaN: none */
  int32_t passes;           /* over the d elements; comes as 1 */
} thinpipe_plugin_report;

/* ---- What the plug-in describes. All of it must stay valid and unchanged until the end. */

/* thinpipe_plugin_parameter.type */
enum {
  THINPIPE_PLUGIN_REAL = 1,
  THINPIPE_PLUGIN_INTEGER = 2,
  THINPIPE_PLUGIN_CHOICE = 3,
  THINPIPE_PLUGIN_FLAG = 4 /* true or false */
};

/* thinpipe_plugin_parameter.exclusive, any of them */
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
  double minimum, maximum;    /* of a number; integers within +-2^53 */
  const char* const* choices; /* of a choice: ends with NULL */
} thinpipe_plugin_parameter;

/* thinpipe_plugin_method.aggregation */
enum {
  THINPIPE_PLUGIN_ALL_GATHER = 1, /* every worker decodes every payload */
  THINPIPE_PLUGIN_ALL_REDUCE = 2  /* a payload is d floats that are summed element by element;
                                     then encoded_bytes is 4 d for every input */
};

/* A compressor. An `instance` serves one tensor, is used by one thread at a time, and may be NULL
   where there is no `create`. Pointers to arrays of 0 elements may be NULL. Allocate in `create`,
   not in `encode` or `decode_add`. */
typedef struct thinpipe_plugin_method {
  const char* name;    /* as parameters' names, and '-'; no other method may have it */
  const char* summary; /* one line */
  const char* source;  /* one line: paper, section */
  uint32_t aggregation;
  uint32_t parameter_count;
  const thinpipe_plugin_parameter* parameters; /* NULL where there are none */
  /* "none", "residual" or "momentum": thinpipe keeps the memory (error feedback, delay, clipping)
     around the method and takes this as the default of `memory=`; parameters of those names are
     then thinpipe's. NULL: the method is given the gradient and keeps what it needs by itself. */
  const char* memory;
  double expected_bits; /* a payload bits per element of a large tensor, for listings; in (0, 64] */

  /* Both or neither; required where there are parameters. */
  int (*create)(const thinpipe_plugin_setup* setup, void** instance, thinpipe_plugin_error* error);
  void (*destroy)(void* instance);

  /* Required. An upper bound for any input, the same in every step; at most 64 bytes an element and
     64 KiB. */
  size_t (*max_encoded_size)(const void* instance, size_t elements);
  /* Required. `payload` has max_encoded_size bytes of room, `capacity`, aligned as by malloc.
     Whatever the input, NaN too, what is written must decode. */
  int (*encode)(void* instance, const thinpipe_plugin_input* input, void* payload, size_t capacity,
                thinpipe_plugin_report* report, thinpipe_plugin_error* error);
  /* Required. out[i] += factor * decoded[i]. The payload comes from the network, at any address:
     trust no size and no index in it. Must not depend on what encode did before. */
  int (*decode_add)(const void* instance, const void* payload, size_t size, float factor,
                    float* out, size_t elements, thinpipe_plugin_error* error);

  /* All or none: what the instance itself carries between steps. The size is the same in every
     step, at most 256 bytes an element and 1 MiB; save writes and load reads exactly as much. */
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

/* The first four members, as they are where the plug-in is compiled. */
#define THINPIPE_PLUGIN_HEAD                                                    \
  THINPIPE_PLUGIN_ABI, sizeof(thinpipe_plugin), sizeof(thinpipe_plugin_method), \
      sizeof(thinpipe_plugin_parameter)

/* The one function that a plug-in exports. `host_abi` is the host's THINPIPE_PLUGIN_ABI; NULL says
   that the plug-in cannot work with it. */
THINPIPE_PLUGIN_EXPORT const thinpipe_plugin* thinpipe_plugin_get(uint32_t host_abi);

#ifdef __cplusplus
}
#endif

#endif /* THINPIPE_PLUGIN_H */
