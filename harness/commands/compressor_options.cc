#include "harness/commands/compressor_options.h"

#include <algorithm>

#include "compressors/registry.h"

namespace thinpipe {

OptionInfo compressor_option(bool repeatable) {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) names.push_back(method.name);
  return {
      .name = "compressor",
      .letter = 'c',
      .value_name = "SPEC",
      .type = OptionInfo::Type::kText,
      .help = repeatable
                  ? "name:key=value,...; `|` between values gives alternatives; see `thinpipe list`"
                  : "name:key=value,...; see `thinpipe list`",
      .suggestions = names,
      .required = true,
      .repeatable = repeatable};
}

Spec one_compressor(const Arguments& arguments) {
  Spec spec = parse_spec(arguments.text("compressor"));
  check_spec(spec);
  return spec;
}

std::vector<Spec> all_compressors(const Arguments& arguments, std::vector<Spec> first) {
  std::vector<Spec> specs = std::move(first);
  for (const std::string& text : arguments.texts("compressor")) {
    for (const Spec& spec : expand_specs(text)) {
      check_spec(spec);
      if (std::find(specs.begin(), specs.end(), spec) == specs.end()) specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace thinpipe
