#include "netem/real_nic/state_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/netem/real_nic/nic.h"

namespace thinpipe {
namespace {

void write_state(const std::string& text) {
  mkdir(kStateFolder, 0755);
  std::ofstream(std::string(kStateFolder) + "/nic0") << text;
}

TEST(StateFile, RefusesADamagedFile) {
  EXPECT_EQ(with_nics([] {
              const std::string begin = "thinpipe-shape 1\ninterface nic0\nindex 2\nnamespace 1\n";
              for (const auto& [text, expected] :
                   {std::pair{std::string("something else\n"), "/run/thinpipe/nic0:1"},
                    std::pair{begin, ":5: expected guard"},
                    std::pair{begin + "guard -1\nend\n", ":5: expected guard and a whole"},
                    std::pair{begin + "guard 1\n", ":6: expected saved"},
                    std::pair{begin + "guard 1\nsaved x\nend\n", "saved qdisc"},
                    std::pair{begin + "guard 1\nend", ":6: expected saved"}}) {
                write_state(text);
                const auto file = StateFile::hold("nic0");
                try {
                  finish(*file);
                  throw RunError("accepted " + text);
                } catch (const InputError& error) {
                  require(std::string(error.what()).find(expected) != std::string::npos,
                          error.what());
                }
              }
            }),
            0);
}

TEST(StateFile, KnowsAnotherNamespaceAndAnotherInterface) {
  EXPECT_EQ(with_nics([] {
              ShapedState state;
              state.interface = "nic0";
              state.index = interface_index("nic0");
              state.network_namespace = "12345";
              const auto file = StateFile::hold("nic0");
              file->write(state);
              require(file->read()->saved.empty(), "read back");
              try {
                finish(*file);
                throw InputError("finished in another namespace");
              } catch (const RunError& error) {
                require(std::string(error.what()).find("another network namespace (12345)") !=
                            std::string::npos,
                        error.what());
              }
              state.network_namespace = network_namespace_number();
              state.index += 1000;
              file->write(state);
              require(finish(*file) == "the interface is gone, and its qdisc with it", "gone");
            }),
            0);
}

}  // namespace
}  // namespace thinpipe
