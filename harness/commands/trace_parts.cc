#include "harness/commands/trace_parts.h"

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace thinpipe {

OptionInfo new_folder_option(const std::string& help) {
  return {.name = "out",
          .letter = 'o',
          .value_name = "DIR",
          .type = OptionInfo::Type::kFolder,
          .help = help,
          .required = true};
}

OptionInfo steps_option(const std::string& help) {
  return {.name = "steps", .value_name = "LIST", .type = OptionInfo::Type::kText, .help = help};
}

OptionInfo ranks_option(const std::string& help, const std::string& default_value) {
  return {.name = "ranks",
          .value_name = "LIST",
          .type = OptionInfo::Type::kText,
          .default_value = default_value,
          .help = help};
}

OptionInfo tensors_option(const std::string& help) {
  return {.name = "tensors",
          .value_name = "GLOB",
          .type = OptionInfo::Type::kText,
          .help = help,
          .repeatable = true};
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(const std::string& text,
                                                                  const std::string& option) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  if (text.empty()) return ranges;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    std::vector<std::uint64_t> numbers;
    for (const std::string& end : ends) {
      if (const auto number = parse_number<std::uint64_t>(end)) numbers.push_back(*number);
    }
    if (ends.size() > 2 || numbers.size() != ends.size() || numbers.front() > numbers.back()) {
      throw InputError("--" + option + ": expected numbers and ranges such as 0,10-20, found " +
                       in_quotes(part));
    }
    ranges.emplace_back(numbers.front(), numbers.back());
  }
  return ranges;
}

SliceParts parts_of(const Trace& trace, const Arguments& arguments) {
  return slice_parts(trace, {.steps = parse_ranges(arguments.text("steps"), "steps"),
                             .ranks = parse_ranges(arguments.text("ranks"), "ranks"),
                             .tensors = arguments.texts("tensors")});
}

}  // namespace thinpipe
