// The columns and pictures that a recipe's file names.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "reports/reproduction/reproduction.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

/// Reads a column: its name, or a table with the name in `show`, its parameters, and optionally
/// `name` (another heading) and `arm` (reads this arm's records instead of the row's).
/// docs/reproduce.md has the names of columns. @throws InputError
ReproductionColumn read_column(const JsonField& field);

/// One line of a picture.
struct PictureLine {
  std::string name, compressor;
};

/// Reads a picture: a table with its name in `show`, `alt` and its parameters.
/// @param lines  its `picture.lines` @throws InputError
std::function<ReproductionPicture(const std::vector<ArmRecords>&)> read_picture(
    const JsonField& field, const std::vector<PictureLine>& lines);

/// Returns the compressor with every parameter; a text that is no spec is returned unchanged.
std::string spelt_out(const std::string& compressor);

/// Returns a spec's value of a key, after the text `before`: "s=1.75"; "" without a value.
std::string spec_value(const std::string& spec, const std::string& key, const std::string& before);

/// Returns a rate of the form "1gbit" in bit/s. @throws InputError
double read_rate(const JsonField& field);

/// Returns the entry of `all` whose name is in `show`. @throws InputError
template <class Named, std::size_t size>
const Named& shown(const Named (&all)[size], const JsonField& show) {
  std::vector<std::string> names;
  for (const Named& one : all) {
    if (one.name == show.string()) return one;
    names.emplace_back(one.name);
  }
  show.fail("unknown name " + describe_json(show.value()) + did_you_mean(show.string(), names) +
            "; docs/reproduce.md lists all");
}

}  // namespace thinpipe
