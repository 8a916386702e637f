// What may be loaded, and what is refused with its name.
#include "compressors/plugin/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <fstream>

#include "tests/plugins/loaded.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using testing::error_of;
using testing::example_plugin;
using ::testing::HasSubstr;
using testing::test_plugin;

std::string refusal(const std::string& file) {
  return error_of<InputError>([&] { load_plugin(file); });
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
  const std::string text = ::testing::TempDir() + "/thinpipe-text.so";
  std::ofstream(text) << "not a library";
  EXPECT_THAT(refusal(text), AllOf(HasSubstr(text), HasSubstr("cannot be loaded")));
  std::filesystem::remove(text);
  EXPECT_THAT(refusal(test_plugin("broken_no_entry")),
              AllOf(HasSubstr("broken_no_entry.so"), HasSubstr("no function thinpipe_plugin_get")));
}

// The dynamic loader maps pages that are not there of a file that is shorter than its headers say,
// and dies of SIGBUS when it reads them.
TEST(Loader, RefusesAFileThatIsCutShort) {
  const std::string copy = ::testing::TempDir() + "/thinpipe-short.so";
  const auto whole = std::filesystem::file_size(example_plugin("example_sign"));
  for (std::uintmax_t sixteenth = 0; sixteenth < 16; ++sixteenth) {
    std::filesystem::copy_file(example_plugin("example_sign"), copy,
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(copy, whole * sixteenth / 16);
    EXPECT_THAT(refusal(copy), AllOf(HasSubstr(copy), HasSubstr("cannot be loaded")));
  }
  std::filesystem::resize_file(copy, whole - 1);
  EXPECT_THAT(refusal(copy), HasSubstr("it is damaged: its headers promise more than the file's"));
  std::filesystem::remove(copy);
}

TEST(Loader, RefusesATableOutsideOfTheFile) {
  const std::string copy = ::testing::TempDir() + "/thinpipe-damaged.so";
  std::filesystem::copy_file(example_plugin("example_sign"), copy,
                             std::filesystem::copy_options::overwrite_existing);
  std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
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
  EXPECT_THAT(refusal(copy), HasSubstr("a table of its dynamic section lies outside of it"));
  std::filesystem::remove(copy);
}

TEST(Loader, RefusesAFolder) {
  EXPECT_THAT(refusal(::testing::TempDir()), HasSubstr("it is no regular file"));
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
  const std::string copy = ::testing::TempDir() + "/thinpipe-copy.so";
  std::filesystem::copy_file(example_plugin("example_sign"), copy,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(copy),
              AllOf(HasSubstr(copy), HasSubstr("there is another method 'example-sign'")));
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace thinpipe
