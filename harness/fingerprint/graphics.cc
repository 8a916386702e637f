#include "harness/fingerprint/graphics.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// "Model: \t\t NVIDIA H200"
std::string model_of(const fs::path& information) {
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Model:")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", 6);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

nlohmann::json graphics_description(const fs::path& root) {
  std::ifstream version(root / "sys/module/nvidia/version");
  std::string driver;
  if (!(version >> driver)) return nullptr;
  std::vector<fs::path> cards;
  std::error_code none;
  for (const auto& card : fs::directory_iterator(root / "proc/driver/nvidia/gpus", none))
    cards.push_back(card.path());
  std::sort(cards.begin(), cards.end());
  nlohmann::json models = nlohmann::json::array();
  for (const fs::path& card : cards) models.push_back(model_of(card / "information"));
  return {{"driver", driver}, {"models", models}};
}

}  // namespace thinpipe
