/* The C interface of thinpipe's compressors, for programs in any language. The header is plain C99
   and includes no other header of thinpipe. Link libthinpipe_compressors. docs/embedding.md
   explains the example. To add a method to thinpipe, use plugin/thinpipe_plugin.h instead.

   Example:

     thinpipe_compressor* open_top_k(const char* tensor, int64_t elements, int rank) {
       thinpipe_error error;
       thinpipe_compressor* compressor = NULL;
       const thinpipe_setup setup = {sizeof setup, tensor, &elements, 1, 1, rank, 1};
       if (thinpipe_open("topk:ratio=0.01", &setup, &compressor, &error) != THINPIPE_OK)
         fprintf(stderr, "%s\n", error.message);
       return compressor;
     }

   In each step of training, every worker encodes its gradient into a payload, and the workers
   exchange the payloads. The aggregate is the mean of the decoded payloads. A compressor's memory
   is the state that it carries from step to step, such as a momentum or the residual (the sum of
   the values that were not sent so far). */
#ifndef THINPIPE_H
#define THINPIPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It changes only when a declaration in this file changes its
   meaning. Structs may grow at their end without a new version. Therefore every struct except
   thinpipe_error begins with struct_size, which the caller sets to the size of the struct. A call
   fails if this size is larger than the library's. */
#define THINPIPE_API 1u

#define THINPIPE_EXPORT __attribute__((visibility("default")))

/* Returns the THINPIPE_API of the loaded library. Compare it with the header's. */
THINPIPE_EXPORT uint32_t thinpipe_api(void);
/* Returns the version of the loaded library, such as "0.1.0". */
THINPIPE_EXPORT const char* thinpipe_version(void);

/* Results of all functions that may fail. */
enum {
  THINPIPE_OK = 0,
  THINPIPE_BAD_INPUT =
      1, /* an argument, a spec or a state that does not fit; a call out of order */
  THINPIPE_BAD_PAYLOAD =
      2,              /* a payload that cannot be decoded: truncated, too long, out of range */
  THINPIPE_FAILED = 3 /* any other failure, such as a lack of memory */
};

/* Receives the reason for a failure: what was found, and what was expected. Every function accepts
   NULL instead of a thinpipe_error. After a success the message is "". */
typedef struct thinpipe_error {
  char message[512];
} thinpipe_error;

/* One tensor's compressor with its memory. Several threads may use one compressor, because every
   call locks it. Calls with different compressors run in parallel. After the first steps,
   thinpipe_encode, thinpipe_hold and thinpipe_decode_add allocate no heap memory. */
typedef struct thinpipe_compressor thinpipe_compressor;

typedef struct thinpipe_setup {
  size_t struct_size;
  const char* tensor;   /* name, for messages and seeds: the same on all workers */
  const int64_t* shape; /* row-major; NULL where dimensions is 0, which is a scalar */
  size_t dimensions;
  uint64_t seed;   /* shared by all workers; for sampling and stochastic rounding */
  int32_t rank;    /* this worker, from 0 */
  int32_t threads; /* threads that one call may use; 1 to 256 */
} thinpipe_setup;

/* Opens a compressor, copies the arguments, and sets `*compressor`, which is NULL after an error.
   `spec` is a method with its parameters, such as "sidco:ratio=0.001"; `thinpipe list compressors`
   prints all methods and their parameters. All workers that exchange payloads need the same spec,
   seed, tensor name and shape. */
THINPIPE_EXPORT int thinpipe_open(const char* spec, const thinpipe_setup* setup,
                                  thinpipe_compressor** compressor, thinpipe_error* error);
/* Frees a compressor. NULL is allowed. No other call with this compressor may be running. */
THINPIPE_EXPORT void thinpipe_close(thinpipe_compressor* compressor);

/* Adds the methods of a plug-in (plugin/thinpipe_plugin.h) to those that thinpipe_open knows. Call
   it before threads use this interface. */
THINPIPE_EXPORT int thinpipe_load_plugin(const char* file, thinpipe_error* error);

/* thinpipe_properties.aggregation */
enum {
  THINPIPE_ALL_REDUCE = 1, /* a payload is a dense array; add the arrays of all workers */
  THINPIPE_ALL_GATHER = 2  /* send every payload to every worker, and decode all of them */
};

/* thinpipe_properties.element */
enum {
  THINPIPE_FLOAT32 = 1,
  THINPIPE_FLOAT16 = 2, /* IEEE 754 binary16 */
  THINPIPE_BFLOAT16 = 3 /* the upper half of a binary32 */
};

/* Properties of a compressor. They never change. */
typedef struct thinpipe_properties {
  size_t struct_size;
  const char* spec; /* with every parameter, in one normal form; valid until thinpipe_close */
  size_t elements;  /* d, the product of the shape */
  size_t max_encoded_size; /* bytes: an upper bound of every payload */
  uint64_t period;         /* a payload is sent in every period-th step; see thinpipe_hold */
  int32_t aggregation;
  int32_t element;       /* type of the elements that an all-reduce adds */
  int32_t predivides;    /* 1: divide the array by the number of workers before the all-reduce */
  int32_t rounds;        /* all-reduces in one step; more than 1: see thinpipe_first_round */
  int32_t shares_scale;  /* 1: workers may agree on one scale; see thinpipe_prepare */
  int32_t needs_squares; /* 1: thinpipe_gradient.squares is required */
  int32_t needs_whole;   /* 1: it uses the tensor's shape, so slices of a tensor do not work */
  int32_t incremental;   /* 1: payloads decode to a change of the previous estimate (EF21) */
  int32_t has_target;    /* 1: the number of elements to send, k, is known beforehand */
  size_t max_pairs;      /* upper bound of the pairs of a payload; 0: payloads have no pairs. See
                            thinpipe_decode_pairs */
} thinpipe_properties;

/* Writes the compressor's properties to `properties`, whose struct_size the caller sets. */
THINPIPE_EXPORT int thinpipe_describe(thinpipe_compressor* compressor,
                                      thinpipe_properties* properties, thinpipe_error* error);

/* One tensor's gradient in one step. */
typedef struct thinpipe_gradient {
  size_t struct_size;
  const float* values;  /* `elements` finite floats */
  const float* squares; /* as many second moments, or NULL: for each element, the sum over the
                           samples of the batch B of (gradient of the sample / |B|)^2
                           (Tsuzuku et al., section 4) */
  size_t elements;
  uint64_t step;      /* counts from 0 */
  double epoch;       /* for warm-up schedules */
  float shared_scale; /* the workers' greatest scale (thinpipe_prepare); 0: this worker's own */
} thinpipe_gradient;

/* Statistics of one encode. */
typedef struct thinpipe_report {
  size_t struct_size;
  size_t encoded_bytes;     /* exact size of the payload */
  size_t target_elements;   /* k; 0 without a target */
  size_t selected_elements; /* in the payload */
  double threshold;         /* on the magnitude of gradient plus memory; NaN where none was used */
  int32_t passes;           /* over the tensor's elements */
} thinpipe_report;

/* Adds the gradient to the memory, compresses the sum, writes the payload to the front of `payload`
   (`capacity` bytes, at least max_encoded_size), and keeps unsent values in the memory. `report`
   may be NULL. A NaN or an infinity in the gradient is no error: each method decides what it sends
   for such a value. */
THINPIPE_EXPORT int thinpipe_encode(thinpipe_compressor* compressor,
                                    const thinpipe_gradient* gradient, void* payload,
                                    size_t capacity, thinpipe_report* report,
                                    thinpipe_error* error);

/* Adds the gradient to the memory, in a step without an exchange. With thinpipe_properties.period
   P, call thinpipe_encode in the steps P - 1, 2 P - 1 and so on (steps count from 0), and
   thinpipe_hold in all other steps. With P = 1, thinpipe_hold fails. */
THINPIPE_EXPORT int thinpipe_hold(thinpipe_compressor* compressor,
                                  const thinpipe_gradient* gradient, thinpipe_error* error);

/* Computes out[i] += factor * decoded[i]. Any worker's compressor decodes any worker's payload. The
   payload needs no alignment, and may come from an untrusted network. After an error `out` is
   unspecified. */
THINPIPE_EXPORT int thinpipe_decode_add(thinpipe_compressor* compressor, const void* payload,
                                        size_t size, float factor, float* out, size_t elements,
                                        thinpipe_error* error);

/* Computes |decoded - c|^2 and |c|^2, where c is the gradient plus the memory. `gradient` and
   `payload` must be those of the last thinpipe_encode; with several all-reduces, those of the last
   thinpipe_first_round and thinpipe_own_payload. Allocates heap memory. */
THINPIPE_EXPORT int thinpipe_distortion(thinpipe_compressor* compressor,
                                        const thinpipe_gradient* gradient, const void* payload,
                                        size_t size, double* error_squares, double* input_squares,
                                        thinpipe_error* error);

/* Adds the gradient to the memory and writes this worker's scale to `scale` (TernGrad, section
   4.3). Requires thinpipe_properties.shares_scale. Then call thinpipe_encode with the same gradient
   at the same address, and with the greatest scale of all workers in its shared_scale. */
THINPIPE_EXPORT int thinpipe_prepare(thinpipe_compressor* compressor,
                                     const thinpipe_gradient* gradient, float* scale,
                                     thinpipe_error* error);

/* ---- Several all-reduces in one step (PowerSGD, algorithm 1). A job of several workers calls
   thinpipe_first_round in place of thinpipe_encode, and then thinpipe_next_round as many times as
   thinpipe_properties.rounds says. Between these calls do not call thinpipe_save, and do not free
   or change the gradient's values. */

/* Writes the floats of the first all-reduce to `payload`. report->encoded_bytes is their size. */
THINPIPE_EXPORT int thinpipe_first_round(thinpipe_compressor* compressor,
                                         const thinpipe_gradient* gradient, void* payload,
                                         size_t capacity, thinpipe_report* report,
                                         thinpipe_error* error);
/* Reads the mean over workers of the floats that the previous round wrote. Writes the floats of the
   next round to `payload`, and their size to `encoded_bytes`. The last call writes the payload of
   the aggregate instead, for thinpipe_decode_add with factor 1. The mean must have the same bits on
   all workers. */
THINPIPE_EXPORT int thinpipe_next_round(thinpipe_compressor* compressor, const float* mean,
                                        size_t floats, void* payload, size_t capacity,
                                        size_t* encoded_bytes, thinpipe_error* error);
/* Writes the payload of this worker's own contribution to the aggregate. Call it after the last
   round. */
THINPIPE_EXPORT int thinpipe_own_payload(thinpipe_compressor* compressor, void* payload,
                                         size_t capacity, size_t* encoded_bytes,
                                         thinpipe_error* error);

/* ---- Sparse all-reduce: payloads are lists of pairs of a position and a value. The caller adds
   the pairs of all workers and selects again from the sums (gTop-k, Ok-Topk). */

/* Writes the pairs of a payload to the front of two arrays, each of `capacity` elements. `capacity`
   must be at least thinpipe_properties.max_pairs. Positions ascend strictly, and the values are
   those that thinpipe_decode_add adds with factor 1. After an error the arrays are unspecified. */
THINPIPE_EXPORT int thinpipe_decode_pairs(thinpipe_compressor* compressor, const void* payload,
                                          size_t size, uint32_t* positions, float* values,
                                          size_t capacity, size_t* pairs, thinpipe_error* error);
/* Restores values to the memory: those that a worker sent, but that the selection from the sums
   dropped. The worker may be another one. Positions ascend strictly. Call it before the next
   thinpipe_encode or thinpipe_hold. Without a memory the values are lost. */
THINPIPE_EXPORT int thinpipe_give_back(thinpipe_compressor* compressor, const uint32_t* positions,
                                       const float* values, size_t pairs, thinpipe_error* error);

/* ---- Two-shot exchange: every worker cuts its array into slices, one for each worker, and
   compresses each slice by a compressor of its own. One worker receives a slice from all workers,
   decodes and averages them, compresses the mean, and sends it to all workers. */

/* Cuts an array as `thinpipe run --collective twoshot` does. Writes the number of slices to `count`
   and the end of each slice, in elements, to `ends`, which has `workers` entries. Small arrays have
   fewer slices than workers. */
THINPIPE_EXPORT int thinpipe_slices(const char* spec, size_t elements, int32_t workers,
                                    size_t* ends, int32_t* count, thinpipe_error* error);

/* ---- State between steps */

/* Discards the memory. */
THINPIPE_EXPORT int thinpipe_reset(thinpipe_compressor* compressor, thinpipe_error* error);
/* Serializes the memory into a buffer that belongs to the compressor, and sets `state` to the
   buffer and `size` to its bytes. The next call with this compressor, by any thread, frees the
   buffer when the call ends. The bytes are those that `thinpipe compress --state` stores for a
   tensor (docs/wire-format.md). */
THINPIPE_EXPORT int thinpipe_save(thinpipe_compressor* compressor, const void** state, size_t* size,
                                  thinpipe_error* error);
/* Loads a memory that thinpipe_save serialized. An error resets the compressor. */
THINPIPE_EXPORT int thinpipe_load(thinpipe_compressor* compressor, const void* state, size_t size,
                                  thinpipe_error* error);

#ifdef __cplusplus
}
#endif

#endif /* THINPIPE_H */
