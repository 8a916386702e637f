// A method whose payload is the text of all its inputs.
#include <cstdio>

#include "thinpipe_plugin.h"

namespace {

struct Given {
  char text[512];
};

int create(const thinpipe_plugin_setup* setup, void** instance, thinpipe_plugin_error*) {
  auto* given = new Given;
  std::snprintf(
      given->text, sizeof given->text, "%s %zux%lld=%zu seed=%llu rank=%d threads=%d %g %lld %s %d",
      setup->tensor, setup->dimensions, static_cast<long long>(setup->shape[0]), setup->elements,
      static_cast<unsigned long long>(setup->seed), setup->rank, setup->threads,
      setup->real(setup, "real"), static_cast<long long>(setup->integer(setup, "integer")),
      setup->choice(setup, "choice"), setup->flag(setup, "flag"));
  *instance = given;
  return THINPIPE_PLUGIN_OK;
}
void destroy(void* instance) { delete static_cast<Given*>(instance); }
size_t max_size(const void*, size_t) { return 1024; }

int encode(void* instance, const thinpipe_plugin_input* input, void* payload, size_t capacity,
           thinpipe_plugin_report* report, thinpipe_plugin_error*) {
  report->encoded_bytes = static_cast<size_t>(
      std::snprintf(static_cast<char*>(payload), capacity, "%s | %g %g step=%llu epoch=%g",
                    static_cast<Given*>(instance)->text, static_cast<double>(input->values[0]),
                    input->squares == nullptr ? -1 : static_cast<double>(input->squares[0]),
                    static_cast<unsigned long long>(input->step), input->epoch));
  report->target_elements = 2;
  report->selected_elements = 1;
  report->threshold = 0.5;
  report->passes = 3;
  return THINPIPE_PLUGIN_OK;
}
int decode_add(const void*, const void*, size_t, float, float*, size_t, thinpipe_plugin_error*) {
  return THINPIPE_PLUGIN_OK;
}

const char* const kChoices[] = {"red", "green", nullptr};
const thinpipe_plugin_parameter kParameters[] = {
    {"real", THINPIPE_PLUGIN_REAL, THINPIPE_PLUGIN_ABOVE_MINIMUM, "0.5", "a number", 0, 1, nullptr},
    {"integer", THINPIPE_PLUGIN_INTEGER, THINPIPE_PLUGIN_BELOW_MAXIMUM, "3", "a count", -5, 5,
     nullptr},
    {"choice", THINPIPE_PLUGIN_CHOICE, 0, "red", "a colour", 0, 0, kChoices},
    {"flag", THINPIPE_PLUGIN_FLAG, 0, "false", "or not", 0, 0, nullptr}};

}  // namespace

const thinpipe_plugin* thinpipe_plugin_get(uint32_t) {
  static const thinpipe_plugin_method method = {.name = "test-setup",
                                                .summary = "what it was given",
                                                .source = "a test",
                                                .aggregation = THINPIPE_PLUGIN_ALL_GATHER,
                                                .parameter_count = 4,
                                                .parameters = kParameters,
                                                .expected_bits = 1,
                                                .create = create,
                                                .destroy = destroy,
                                                .max_encoded_size = max_size,
                                                .encode = encode,
                                                .decode_add = decode_add};
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 1, &method};
  return &plugin;
}
