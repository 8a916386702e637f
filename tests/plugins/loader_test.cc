// Plug-ins that may be loaded, those that are refused by name, and those that break the contract.
// Every member of a description that can be wrong is found and named.
#include "compressors/plugin/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "compressors/c/thinpipe.h"
#include "compressors/plugin/thinpipe_plugin.h"
#include "tests/compressors/support/inputs.h"
#include "tests/plugins/loaded.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using testing::example_plugin;
using ::testing::HasSubstr;
using testing::make_loaded;
using testing::test_plugin;

std::string refusal(const std::string& file) {
  return input_error([&] { load_plugin(file); });
}

bool is_known(const std::string& name) {
  for (const MethodInfo& method : methods())
    if (method.name == name) return true;
  return false;
}

TEST(Loader, RegistersTheMethodsOfAFileOnce) {
  load_plugin(example_plugin("example_sign"));
  load_plugin(example_plugin("example_sign"));
  const MethodInfo& method = find_method("example-sign");
  EXPECT_EQ(method.aggregation, Aggregation::kAllGather);
  EXPECT_EQ(method.expected_bits(Parameters(method.parameters, parse_spec("example-sign"))), 1);
  EXPECT_EQ(method.expected_bits(Parameters(method.parameters, parse_spec("example-sign:delay=4"))),
            0.25);
  EXPECT_EQ(traffic_of(parse_spec("example-sign")), EncodeTraffic{}) << "plug-ins declare none";
  load_plugin(example_plugin("example_stride"));
  EXPECT_TRUE(
      std::is_sorted(methods().begin(), methods().end(),
                     [](const MethodInfo& a, const MethodInfo& b) { return a.name < b.name; }));
}

TEST(Loader, FindsARelativePathFromHere) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(EXAMPLE_PLUGINS);
  EXPECT_NO_THROW(load_plugin("example_stride.so"));
  std::filesystem::current_path(before);
}

TEST(Loader, RefusesWhatIsNoPlugIn) {
  EXPECT_THAT(refusal("/nonexistent/x.so"),
              AllOf(HasSubstr("plug-in '/nonexistent/x.so'"), HasSubstr("cannot be loaded")));
  const TemporaryFolder folder;
  const std::string text = folder / "text.so";
  write_bytes(text, "not a library");
  EXPECT_THAT(refusal(text), AllOf(HasSubstr(text), HasSubstr("cannot be loaded")));
  EXPECT_THAT(refusal(test_plugin("broken_no_entry")),
              AllOf(HasSubstr("broken_no_entry.so"), HasSubstr("no function thinpipe_plugin_get")));
}

// The headers of a truncated file claim more bytes than the file has. The dynamic loader maps the
// missing pages all the same, and reading one of them kills the process with SIGBUS. So the length
// is checked before dlopen().
TEST(Loader, RefusesAFileThatIsCutShort) {
  const testing::PluginCopy copy;
  const auto whole = std::filesystem::file_size(copy.path());
  std::filesystem::resize_file(copy.path(), whole - 1);
  EXPECT_THAT(refusal(copy.path()),
              HasSubstr("it is damaged: its headers describe more than the file's"));
  for (std::uintmax_t sixteenth = 16; sixteenth-- > 0;) {
    std::filesystem::resize_file(copy.path(), whole * sixteenth / 16);
    EXPECT_THAT(refusal(copy.path()), AllOf(HasSubstr(copy.path()), HasSubstr("cannot be loaded")));
  }
}

TEST(Loader, RefusesATableOutsideOfTheFile) {
  const testing::PluginCopy copy;
  std::fstream file(copy.path(), std::ios::in | std::ios::out | std::ios::binary);
  ElfW(Ehdr) header;
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    file.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (segment.p_type != PT_DYNAMIC) continue;
    for (auto at = static_cast<std::streamoff>(segment.p_offset);; at += sizeof(ElfW(Dyn))) {
      ElfW(Dyn) entry;
      file.seekg(at);
      file.read(reinterpret_cast<char*>(&entry), sizeof entry);
      ASSERT_NE(entry.d_tag, DT_NULL) << "no DT_SYMTAB";
      if (entry.d_tag != DT_SYMTAB) continue;
      entry.d_un.d_ptr = 0x7fffffff;
      file.seekp(at);
      file.write(reinterpret_cast<const char*>(&entry), sizeof entry);
      break;
    }
  }
  file.close();
  EXPECT_THAT(refusal(copy.path()),
              HasSubstr("a table of its dynamic section lies outside its segments"));
}

TEST(Loader, RefusesAFolder) {
  EXPECT_THAT(refusal(::testing::TempDir()), HasSubstr("it is not a regular file"));
}

TEST(Loader, RefusesAnotherVersion) {
  EXPECT_THAT(refusal(test_plugin("broken_version")),
              AllOf(HasSubstr("broken_version.so"),
                    HasSubstr("version 7 of the plug-in interface; expected 1")));
}

TEST(Loader, RefusesAnEntryThatThrows) {
  EXPECT_THAT(refusal(test_plugin("broken_entry")),
              AllOf(HasSubstr("broken_entry.so"), HasSubstr("no licence")));
}

TEST(Loader, RegistersAllMethodsOrNone) {
  EXPECT_THAT(refusal(test_plugin("broken_method")),
              AllOf(HasSubstr("broken_method.so"), HasSubstr("'half-bad'"),
                    HasSubstr("no function max_encoded_size")));
  EXPECT_FALSE(is_known("half-good"));
  EXPECT_FALSE(is_known("half-bad"));
}

TEST(Loader, RefusesANameThatIsTaken) {
  load_plugin(example_plugin("example_sign"));
  const testing::PluginCopy copy;
  EXPECT_THAT(refusal(copy.path()),
              AllOf(HasSubstr(copy.path()), HasSubstr("a method 'example-sign' already exists")));
}

// Methods that break the contract (broken_methods.cc): each is caught, with its name.

constexpr std::size_t kElements = 100;

auto names(const std::string& method, const std::string& said) {
  return AllOf(HasSubstr("broken_methods.so', method '" + method + "': "), HasSubstr(said));
}

TEST(Broken, EncodersAreCaught) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"throws", "encode threw an exception: out of ideas"},
      {"throws-anything", "encode threw an exception that is not a std::exception"},
      {"writes-after", "encode wrote outside of the 16 bytes of its payload"},
      {"writes-before", "encode wrote outside of the 16 bytes of its payload"},
      {"says-too-much", "encode reported a payload of 17 bytes; max_encoded_size is 16"},
      {"says-nothing", "encode reported a payload of 18446744073709551615 bytes"},
      {"selects-too-many", "encode reported 101 selected"},
      {"fails", "encode failed: too tired"},
      {"fails-silently", "encode failed without a message"},
      {"fails-endlessly", "encode failed: " + std::string(256, 'x')},
      {"invents-a-status", "encode returned -3; expected 0, 1 or 2"},
      {"cannot-decode", "never seen such a payload"},
      {"decode-throws", "decode_add threw an exception: index"},
      {"decodes-too-much", "decode_add wrote outside of the 100 elements of its output"}};
  const auto gradient = testing::heavy(kElements, 1);
  for (const auto& [method, said] : cases) {
    for (const char* memory : {"none", "residual"}) {
      const auto compressor = make_loaded(method + ":memory=" + memory, kElements);
      for (int attempt = 0; attempt < 2; ++attempt)
        EXPECT_THAT(error_text<RunError>([&] { testing::encode(*compressor, gradient); }),
                    names(method, said));
    }
  }
}

TEST(Broken, WhatItRefusesToDecodeIsABadPayload) {
  const auto compressor = make_loaded("cannot-decode", kElements);
  std::vector<float> out(kElements);
  const std::vector<std::byte> payload(3);
  EXPECT_THAT(error_text<PayloadError>([&] { compressor->decode_add(payload, 1, out); }),
              names("cannot-decode", "decode_add refused its input: never seen such a payload"));
}

TEST(Broken, ConstructionIsCaught) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"create-throws", "create threw an exception: not today"},
      {"makes-nothing", "create made no instance"},
      {"asks-wrongly", "undeclared parameter 'ratio'"},
      {"asks-for-null", "undeclared parameter ''"},
      {"sums-no-floats", "max_encoded_size returned 16; expected 400"},
      {"wants-everything", "max_encoded_size returned 18446744073709551615; expected at most"},
      {"size-throws", "max_encoded_size threw an exception"}};
  for (const auto& [method, said] : cases)
    EXPECT_THAT(error_text<RunError>([&, name = method] { make_loaded(name, kElements); }),
                names(method, said));
  EXPECT_THAT(input_error([] { make_loaded("refuses", kElements); }),
              names("refuses", "create refused its input: matrices only"));
}

TEST(Broken, StatesAreGuardedToo) {
  const auto compressor = make_loaded("saves-too-much", kElements);
  std::vector<std::byte> state;
  EXPECT_THAT(error_text<RunError>([&] { compressor->save_state(state); }),
              names("saves-too-much", "save wrote outside of the 8 bytes of its state"));
}

// The memory is loaded before the plug-in's state, and must not stay.
TEST(Broken, AStateThatCannotBeLoadedResetsTheCompressorOfTheCInterface) {
  make_loaded("none", 1);
  const std::int64_t shape[] = {kElements};
  const thinpipe_setup setup = {sizeof(thinpipe_setup), "layer", shape, 1, 1, 0, 1};
  thinpipe_compressor* compressor = nullptr;
  ASSERT_EQ(thinpipe_open("cannot-load:memory=residual", &setup, &compressor, nullptr),
            THINPIPE_OK);
  const auto state = [&] {
    const void* data = nullptr;
    std::size_t size = 0;
    EXPECT_EQ(thinpipe_save(compressor, &data, &size, nullptr), THINPIPE_OK);
    const auto* const bytes = static_cast<const std::byte*>(data);
    return std::vector<std::byte>(bytes, bytes + size);
  };
  const std::vector<std::byte> fresh = state();
  const auto values = testing::heavy(kElements, 1);
  const thinpipe_gradient gradient = {.struct_size = sizeof gradient,
                                      .values = values.data(),
                                      .squares = nullptr,
                                      .elements = kElements,
                                      .step = 0,
                                      .epoch = 0,
                                      .shared_scale = 0};
  std::byte payload[16];
  ASSERT_EQ(thinpipe_encode(compressor, &gradient, payload, sizeof payload, nullptr, nullptr),
            THINPIPE_OK);
  const std::vector<std::byte> used = state();
  EXPECT_NE(used, fresh);
  thinpipe_error error;
  EXPECT_EQ(thinpipe_load(compressor, used.data(), used.size(), &error), THINPIPE_FAILED);
  EXPECT_THAT(error.message, HasSubstr("load failed: the disk is gone"));
  EXPECT_EQ(state(), fresh);
  thinpipe_close(compressor);
}

// Descriptions.

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
