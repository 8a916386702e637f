#include "harness/advise/training_results.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "compressors/registry.h"

namespace thinpipe {
namespace {

constexpr const char* kDigits = "LeNet-5 on generated digits, 4 workers, SGD";
constexpr const char* kDigitsMomentum = "LeNet-5 on generated digits, 4 workers, SGD with momentum";
constexpr const char* kCharacters = "character LSTM, 4 workers, SGD with momentum";

}  // namespace

const std::vector<TrainingResult>& training_results() {
  static const std::vector<TrainingResult> kResults = {
      {"topk:ratio=0.01", "error-feedback", kDigits, "topk 1 %", "93.52 +-1.25 %", "no compression",
       "93.16 +-0.79 %"},
      {"topk:ratio=0.001", "error-feedback", kDigits, "topk 0.1 %", "90.90 +-0.60 %",
       "no compression", "93.16 +-0.79 %"},
      {"sbc:p=0.01", "error-feedback", kDigits, "sbc 1 %", "93.64 +-1.00 %", "no compression",
       "93.16 +-0.79 %"},
      {"topk:ratio=0.01", "ef-momentum", kDigitsMomentum, "topk 1 %", "91.16 +-1.88 %",
       "no compression", "94.50 +-0.68 %"},
      {"topk:ratio=0.001", "ef-momentum", kDigitsMomentum, "topk 0.1 %", "65.36 +-10.06 %",
       "no compression", "94.50 +-0.68 %"},
      {"sbc:p=0.01", "ef-momentum", kDigitsMomentum, "sbc 1 %", "56.06 +-34.05 %", "no compression",
       "94.50 +-0.68 %"},
      {"dgc:ratio=0.001,warmup=0.25/0.0625/0.015625/0.004", "dgc-fig3",
       "LeNet-5 on generated digits, 4 workers, SGD, local clip 2", "\\+ warm-up: DGC",
       "90.52 +-1.35 %", "baseline", "94.78 +-0.88 %"},
      {"int8", "3lc-accuracy", kDigits, "8-bit int", "93.67 +-1.37 %", "32-bit float",
       "93.67 +-1.37 %"},
      {"mqe1bit", "3lc-accuracy", kDigits, "MQE 1-bit int", "93.67 +-2.14 %", "32-bit float",
       "93.67 +-1.37 %"},
      {"3lc", "3lc-accuracy", kDigits, "3LC (s=1.00)", "93.77 +-0.76 %", "32-bit float",
       "93.67 +-1.37 %"},
      {"3lc:s=1.75", "3lc-accuracy", kDigits, "3LC (s=1.75)", "94.17 +-1.62 %", "32-bit float",
       "93.67 +-1.37 %"},
      {"blockint4:hadamard=true", "modern", kCharacters, "int4 + Hadamard", "8.31 (8.24 to 8.39)",
       "no compression", "8.38 (8.29 to 8.47)"},
      {"powersgd:rank=4", "modern", kCharacters, "PowerSGD rank 4", "8.68 (8.56 to 8.8)",
       "no compression", "8.38 (8.29 to 8.47)"},
      {"topk:ratio=0.01", "modern", kCharacters, "Top-k 1 %", "10.7 (10.1 to 11.3)",
       "no compression", "8.38 (8.29 to 8.47)"},
      {"demo", "modern", "character LSTM, 4 workers, signum", "DeMo", "7.95 (7.1 to 8.79)",
       "no compression", "8.38 (8.29 to 8.47)"},
  };
  return kResults;
}

std::vector<TrainingResult> trainings_with(const Spec& compressor) {
  const std::string wanted = parameters_of(compressor).text();
  std::vector<TrainingResult> found;
  for (const TrainingResult& result : training_results())
    if (parameters_of(parse_spec(result.compressor)).text() == wanted) found.push_back(result);
  return found;
}

std::string to_string(const TrainingResult& result) {
  const bool accuracy = std::string_view(result.figure).ends_with('%');
  const auto figure = [](std::string text) {
    const std::size_t at = text.find("+-");
    return at == std::string::npos ? text : text.replace(at, 2, "± ");
  };
  return fmt::format("{} {}, without compression {}: {} (recipe {})",
                     accuracy ? "accuracy" : "perplexity", figure(result.figure),
                     figure(result.baseline_figure), result.training, result.recipe);
}

}  // namespace thinpipe
