#include "reports/record/record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace thinpipe {
namespace {

TEST(MachineDifferences, NameWhatTellsThemApart) {
  const nlohmann::json one = {{"cpu", "A"}, {"cores", 2}, {"load", 0.1}, {"git", "1"}};
  nlohmann::json other = one;
  other["load"] = 3;
  other["git"] = "2";
  EXPECT_TRUE(machine_differences(one, other).empty());
  EXPECT_EQ(setting_differences(one, other),
            (std::vector<std::string>{"git: \"1\" against \"2\""}));
  other["cores"] = 4;
  EXPECT_EQ(machine_differences(one, other), (std::vector<std::string>{"cores: 2 against 4"}));
}

TEST(MachineDifferences, WhatAnOlderRecordDoesNotSayIsNone) {
  EXPECT_TRUE(machine_differences({{"cpu", "A"}}, {{"cpu", "A"}, {"smt", true}}).empty());
}

}  // namespace

}  // namespace thinpipe
