/* The C interface of plug-ins: compressors in a shared library of their own, loaded with
   `thinpipe ... --plugin FILE.so`. The header is plain C99 and includes no other header of
   thinpipe. docs/plugins.md explains the two examples in examples/plugins/.

   In this file, the memory is the state that is carried from step to step, such as a momentum or
   the values that were not sent so far. c is the gradient plus the memory: the array to compress.
   d is its number of elements. The host is the program that loads the plug-in. */
#ifndef THINPIPE_PLUGIN_H
#define THINPIPE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It changes only when a declaration in this file changes its
   meaning. Structs may grow at their end without a new version. The members struct_size, and the
   sizes in thinpipe_plugin, tell each side how large the structs of the other side are. */
#define THINPIPE_PLUGIN_ABI 1u

#define THINPIPE_PLUGIN_EXPORT __attribute__((visibility("default")))

/* Results of functions that may fail. A failing function may also write a message. If a C++
   exception leaves a function, the host catches it and reports an error of the plug-in. */
enum {
  THINPIPE_PLUGIN_OK = 0,
  THINPIPE_PLUGIN_BAD_INPUT = 1, /* create, load: parameters or bytes that do not fit;
                                    decode_add: the payload is malformed */
  THINPIPE_PLUGIN_FAILED = 2     /* any other failure, such as a lack of memory */
};

typedef struct thinpipe_plugin_error {
  char message[256]; /* "" when called; a C string when a function fails */
} thinpipe_plugin_error;

/* ---- Arguments from the host. struct_size is the host's sizeof. Access no member beyond it. */

/* Arguments of `create`: one tensor, the settings of the worker, the parameters. They are valid
   during `create` only, so copy what is needed later. */
typedef struct thinpipe_plugin_setup {
  size_t struct_size;
  const char* tensor;   /* name */
  const int64_t* shape; /* row-major; NULL where dimensions is 0 */
  size_t dimensions;
  size_t elements; /* d, the product of shape; may be 0 */
  uint64_t seed;   /* shared by all workers */
  int32_t rank;    /* this worker */
  int32_t threads; /* threads that one encode may use */
  /* Return the value of the parameter `name`, which the host has checked against its declaration.
     If no parameter of this name and type was declared, `create` fails. */
  double (*real)(const struct thinpipe_plugin_setup* setup, const char* name);
  int64_t (*integer)(const struct thinpipe_plugin_setup* setup, const char* name);
  const char* (*choice)(const struct thinpipe_plugin_setup* setup, const char* name);
  int (*flag)(const struct thinpipe_plugin_setup* setup, const char* name); /* 0 or 1 */
} thinpipe_plugin_setup;

/* Input of one step. */
typedef struct thinpipe_plugin_input {
  size_t struct_size;
  const float* values;  /* `elements` floats: c if thinpipe keeps the memory
                           (thinpipe_plugin_method.memory), otherwise the gradient */
  const float* squares; /* as many second moments of the gradient (thinpipe.h), or NULL */
  size_t elements;
  uint64_t step; /* counts from 0 */
  double epoch;  /* of the training, for warm-up schedules */
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
  const char* name;    /* like a parameter's name, also with '-'; unique among all methods */
  const char* summary; /* one line */
  const char* source;  /* one line: paper, section */
  uint32_t aggregation;
  uint32_t parameter_count;
  const thinpipe_plugin_parameter* parameters; /* NULL without parameters */
  /* "none", "residual" or "momentum": thinpipe keeps the memory (error feedback, delay, clipping)
     and passes c to `encode`. The method then has the parameters of thinpipe's memories too, and
     this string is the default of `memory=`. NULL: thinpipe passes the gradient to `encode`, and
     the instance stores what it needs between steps. */
  const char* memory;
  double expected_bits; /* payload bits per element of a large tensor, for listings; in (0, 64] */

  /* Both or neither; required where there are parameters. */
  int (*create)(const thinpipe_plugin_setup* setup, void** instance, thinpipe_plugin_error* error);
  void (*destroy)(void* instance);

  /* Required. Returns an upper bound of the payload in bytes for any input. The bound is the same
     in every step, and at most 64 bytes per element plus 64 KiB. */
  size_t (*max_encoded_size)(const void* instance, size_t elements);
  /* Required. Writes the payload to a buffer of `capacity` bytes, which is max_encoded_size and is
     aligned as by malloc. For any input, NaN included, decode_add must accept the payload. */
  int (*encode)(void* instance, const thinpipe_plugin_input* input, void* payload, size_t capacity,
                thinpipe_plugin_report* report, thinpipe_plugin_error* error);
  /* Required. Computes out[i] += factor * decoded[i]. The payload comes from the network and has no
     alignment; check every size and index in it. The result must not depend on earlier calls of
     encode. */
  int (*decode_add)(const void* instance, const void* payload, size_t size, float factor,
                    float* out, size_t elements, thinpipe_plugin_error* error);

  /* All four or none: the instance's own state between steps. Its size is the same in every step,
     at most 256 bytes per element plus 1 MiB. save writes and load reads exactly this size. */
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

/* The first four members of thinpipe_plugin, with the struct sizes of this header. */
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
