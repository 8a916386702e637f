// Every member of a description that can be wrong is found and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "compressors/plugin/thinpipe_plugin.h"
#include "tests/plugins/loaded.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

int create(const thinpipe_plugin_setup*, void**, thinpipe_plugin_error*) { return 0; }
void destroy(void*) {}
size_t max_size(const void*, size_t) { return 0; }
int encode(void*, const thinpipe_plugin_input*, void*, size_t, thinpipe_plugin_report*,
           thinpipe_plugin_error*) {
  return 0;
}
int decode_add(const void*, const void*, size_t, float, float*, size_t, thinpipe_plugin_error*) {
  return 0;
}
void reset(void*) {}

const char* const kColours[] = {"red", "green", nullptr};
const char* const kBlank[] = {"light red", nullptr};
const char* const kNoColours[] = {nullptr};

/// A good description to spoil.
struct Description {
  thinpipe_plugin_parameter parameters[2] = {
      {"share", THINPIPE_PLUGIN_REAL, 0, "0.1", "a share", 0, 1, nullptr},
      {"colour", THINPIPE_PLUGIN_CHOICE, 0, "red", "a colour", 0, 0, kColours}};
  thinpipe_plugin_method method = {};
  thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 1, &method};

  Description() {
    method.name = "good";
    method.summary = "a method";
    method.source = "a paper";
    method.aggregation = THINPIPE_PLUGIN_ALL_GATHER;
    method.parameter_count = 2;
    method.parameters = parameters;
    method.memory = "residual";
    method.expected_bits = 2;
    method.create = create;
    method.destroy = destroy;
    method.max_encoded_size = max_size;
    method.encode = encode;
    method.decode_add = decode_add;
  }
};

struct Case {
  std::string said;
  std::function<void(Description&)> spoil;
};

TEST(Description, AGoodOneIsTaken) {
  const Description good;
  const auto infos = describe_plugin(&good.plugin, "a.so");
  ASSERT_EQ(infos.size(), 1U);
  EXPECT_EQ(infos[0].name, "good");
  EXPECT_EQ(infos[0].source, "a paper");
  ASSERT_GE(infos[0].parameters.size(), 3U);
  EXPECT_EQ(infos[0].parameters[1].choices, (std::vector<std::string>{"red", "green"}));
  EXPECT_EQ(infos[0].parameters[2].name, "memory");  // thinpipe's follow
  EXPECT_EQ(infos[0].parameters[2].default_value, "residual");
}

TEST(Description, WithoutMemoryItHasItsOwnParametersOnly) {
  Description own;
  own.method.memory = nullptr;
  EXPECT_EQ(describe_plugin(&own.plugin, "a.so")[0].parameters.size(), 2U);
}

TEST(Description, ReadsStructsThatHaveGrown) {
  // As a later header of the same version would lay them out: each with 16 bytes more.
  struct Later {
    thinpipe_plugin_method method;
    char more[16];
  };
  const Description good;
  Later methods[2] = {{good.method, {}}, {good.method, {}}};
  std::memset(methods[0].more, 0xff, 16);
  methods[1].method.name = "second";
  thinpipe_plugin plugin = good.plugin;
  plugin.plugin_size += 16;
  plugin.method_size = sizeof(Later);
  plugin.method_count = 2;
  plugin.methods = &methods[0].method;
  EXPECT_EQ(describe_plugin(&plugin, "a.so")[1].name, "second");
}

/// Expects that every case is refused with `place` and its own message.
void expect_said(const std::vector<Case>& cases, const std::string& place) {
  for (const Case& wrong : cases) {
    Description description;
    wrong.spoil(description);
    EXPECT_THAT(input_error([&] { describe_plugin(&description.plugin, "a.so"); }),
                AllOf(HasSubstr(place), HasSubstr(wrong.said)));
  }
}

TEST(Description, WhatIsWrongWithThePlugInIsSaid) {
  const std::vector<Case> cases = {
      {"version 2 of the plug-in interface; expected 1", [](auto& d) { d.plugin.abi = 2; }},
      {"plugin_size is 8 bytes", [](auto& d) { d.plugin.plugin_size = 8; }},
      {"method_size is", [](auto& d) { d.plugin.method_size -= 8; }},
      {"method_size is 1000000", [](auto& d) { d.plugin.method_size = 1000000; }},
      {"parameter_size is 0", [](auto& d) { d.plugin.parameter_size = 0; }},
      {"0 methods", [](auto& d) { d.plugin.method_count = 0; }},
      {"4294967295 methods", [](auto& d) { d.plugin.method_count = ~0U; }},
      {"methods are NULL", [](auto& d) { d.plugin.methods = nullptr; }},
      {"a method: it has no name", [](auto& d) { d.method.name = nullptr; }},
      {"a method: its name is not one line", [](auto& d) { d.method.name = ""; }},
      {"'Good' is not allowed", [](auto& d) { d.method.name = "Good"; }},
      {"'3good' is not allowed", [](auto& d) { d.method.name = "3good"; }},
      {"'a:b' is not allowed", [](auto& d) { d.method.name = "a:b"; }},
      {"a method 'topk' already exists", [](auto& d) { d.method.name = "topk"; }}};
  expect_said(cases, "plug-in 'a.so'");
  EXPECT_THAT(input_error([] { describe_plugin(nullptr, "a.so"); }),
              HasSubstr("plug-in 'a.so': it does not work with version 1"));
}

TEST(Description, WhatIsWrongWithAMethodIsSaid) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Case> cases = {
      {"no summary", [](auto& d) { d.method.summary = nullptr; }},
      {"summary is not one line", [](auto& d) { d.method.summary = "two\nlines"; }},
      {"no source", [](auto& d) { d.method.source = nullptr; }},
      {"aggregation is 0", [](auto& d) { d.method.aggregation = 0; }},
      {"expected_bits are 0", [](auto& d) { d.method.expected_bits = 0; }},
      {"expected_bits are nan", [](auto& d) { d.method.expected_bits = kNan; }},
      {"expected_bits are 65", [](auto& d) { d.method.expected_bits = 65; }},
      {"no function max_encoded_size", [](auto& d) { d.method.max_encoded_size = nullptr; }},
      {"no function encode", [](auto& d) { d.method.encode = nullptr; }},
      {"no function decode_add", [](auto& d) { d.method.decode_add = nullptr; }},
      {"no function destroy", [](auto& d) { d.method.destroy = nullptr; }},
      {"no function create", [](auto& d) { d.method.create = nullptr; }},
      {"but not all", [](auto& d) { d.method.reset = reset; }},
      {"parameters but no function create",
       [](auto& d) { d.method.create = nullptr, d.method.destroy = nullptr; }},
      {"1000 parameters", [](auto& d) { d.method.parameter_count = 1000; }},
      {"parameters are NULL", [](auto& d) { d.method.parameters = nullptr; }},
      {"memory=elephant is not allowed", [](auto& d) { d.method.memory = "elephant"; }}};
  expect_said(cases, "plug-in 'a.so', method 'good'");
}

TEST(Description, WhatIsWrongWithAParameterIsSaid) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<Case> cases = {
      {"no name", [](auto& d) { d.parameters[0].name = nullptr; }},
      {"'sh-are' is not allowed", [](auto& d) { d.parameters[0].name = "sh-are"; }},
      {"two parameters are called 'share'", [](auto& d) { d.parameters[1].name = "share"; }},
      {"two parameters are called 'delay'", [](auto& d) { d.parameters[1].name = "delay"; }},
      {"'share': it has no default", [](auto& d) { d.parameters[0].default_value = nullptr; }},
      {"share=2 is not allowed; expected a number in [0, 1]",
       [](auto& d) { d.parameters[0].default_value = "2"; }},
      {"share=0 is not allowed; expected a number in (0, 1]",
       [](auto& d) {
         d.parameters[0].default_value = "0";
         d.parameters[0].exclusive = THINPIPE_PLUGIN_ABOVE_MINIMUM;
       }},
      {"share=ten is not allowed", [](auto& d) { d.parameters[0].default_value = "ten"; }},
      {"'share': it has no help", [](auto& d) { d.parameters[0].help = nullptr; }},
      {"'share': its type is 9", [](auto& d) { d.parameters[0].type = 9; }},
      {"'share': its range is [1, 0]",
       [](auto& d) { d.parameters[0].minimum = 1, d.parameters[0].maximum = 0; }},
      {"'share': its range is [0, inf]", [](auto& d) { d.parameters[0].maximum = kInfinity; }},
      {"colour=blue is not allowed", [](auto& d) { d.parameters[1].default_value = "blue"; }},
      {"'colour': it is a choice without choices",
       [](auto& d) { d.parameters[1].choices = nullptr; }},
      {"'colour': it is a choice without choices",
       [](auto& d) { d.parameters[1].choices = kNoColours; }},
      {"the choice 'light red' is not allowed", [](auto& d) { d.parameters[1].choices = kBlank; }}};
  expect_said(cases, "plug-in 'a.so', method 'good'");
}

}  // namespace
}  // namespace thinpipe
