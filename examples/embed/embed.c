/* Compresses the gradients of 100 steps, decodes every payload as a receiver would, and prints what
   was sent. docs/embedding.md walks through it.

   cc -std=c99 embed.c $(pkg-config --cflags --libs thinpipe) -lm -o embed && ./embed dgc:ratio=0.01
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <thinpipe.h>

enum { kRows = 300, kColumns = 400, kElements = kRows * kColumns, kSteps = 100 };

static void fail(const char* what, const thinpipe_error* error) {
  fprintf(stderr, "embed: %s: %s\n", what, error->message);
  exit(2);
}

/* A stand-in for a backward pass: heavy-tailed values around a fixed direction. */
static void compute_gradient(float* gradient, int step) {
  srand((unsigned)step);
  for (int i = 0; i < kElements; ++i) {
    const double noise = 2.0 * rand() / RAND_MAX - 1;
    gradient[i] = (float)(noise * noise * noise + (i % 1000 == 0 ? 0.5 : 0));
  }
}

int main(int argc, char** argv) {
  if (thinpipe_api() != THINPIPE_API) {
    fprintf(stderr, "embed: compiled for interface %u, the library %s has %u\n", THINPIPE_API,
            thinpipe_version(), thinpipe_api());
    return 2;
  }
  thinpipe_error error;
  const int64_t shape[] = {kRows, kColumns};
  const thinpipe_setup setup = {sizeof setup, "layer.weight", shape, 2, 1, 0, 1};
  thinpipe_compressor* compressor = NULL;
  if (thinpipe_open(argc > 1 ? argv[1] : "topk:ratio=0.01", &setup, &compressor, &error) !=
      THINPIPE_OK)
    fail("cannot open the compressor", &error);
  thinpipe_properties properties = {sizeof properties};
  thinpipe_describe(compressor, &properties, &error);
  if (properties.incremental) { /* EF21: each payload changes an estimate; the sum means nothing */
    fprintf(stderr, "embed: %s sends changes of an estimate; choose another memory\n",
            properties.spec);
    return 2;
  }
  printf("%s, %s\n", properties.spec,
         properties.aggregation == THINPIPE_ALL_GATHER ? "all-gather" : "all-reduce");

  float* const values = malloc(kElements * sizeof *values);
  float* const sum = calloc(kElements, sizeof *sum);
  double* const expected = calloc(kElements, sizeof *expected);
  void* const payload = malloc(properties.max_encoded_size);
  thinpipe_gradient gradient = {sizeof gradient, values, NULL, kElements};
  thinpipe_report report = {sizeof report};
  size_t bytes = 0;
  for (int step = 0; step < kSteps; ++step) {
    compute_gradient(values, step);
    for (int i = 0; i < kElements; ++i) expected[i] += values[i];
    gradient.step = (uint64_t)step;
    if ((gradient.step + 1) % properties.period != 0) { /* a step without an exchange */
      if (thinpipe_hold(compressor, &gradient, &error) != THINPIPE_OK) fail("hold", &error);
      continue;
    }
    if (thinpipe_encode(compressor, &gradient, payload, properties.max_encoded_size, &report,
                        &error) != THINPIPE_OK)
      fail("encode", &error);
    bytes += report.encoded_bytes; /* here a program sends the payload to the other workers */
    if (thinpipe_decode_add(compressor, payload, report.encoded_bytes, 1.0F, sum, kElements,
                            &error) != THINPIPE_OK)
      fail("decode", &error);
  }
  double square = 0;
  double norm = 0;
  for (int i = 0; i < kElements; ++i) {
    square += (sum[i] - expected[i]) * (sum[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  printf(
      "%d steps: %zu bytes, %.1f times fewer than floats; the sum of the decoded gradients is "
      "%.1f %% off\n",
      kSteps, bytes, (double)kSteps * kElements * sizeof(float) / (double)bytes,
      100 * sqrt(square / norm));

  const void* state = NULL;
  size_t size = 0;
  if (thinpipe_save(compressor, &state, &size, &error) != THINPIPE_OK) fail("save", &error);
  printf("the state for a checkpoint has %zu bytes\n", size);
  thinpipe_close(compressor);
  free(values), free(sum), free(expected), free(payload);
  return 0;
}
