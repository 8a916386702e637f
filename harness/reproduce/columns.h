// The columns and pictures that a recipe's file asks for by name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "reports/reproduction/reproduction.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

/// A column's name, or a table with its name in `show`, its parameters, and perhaps `name` (another
/// heading) and `arm` (whose records are read, whatever the row's are). @throws InputError
ReproductionColumn read_column(const JsonField& field);
/// Values of a column's `show`, explained in docs/reproduce.md.
std::vector<std::string> column_names();

/// One line of a picture.
struct PictureLine {
  std::string name, compressor;
};

/// A table with the picture's name in `show`, `alt` and its parameters.
/// @param lines  its `picture.lines` @throws InputError
std::function<ReproductionPicture(const std::vector<ArmRecords>&)> read_picture(
    const JsonField& field, const std::vector<PictureLine>& lines);
/// Values of a picture's `show`.
std::vector<std::string> picture_names();

/// The compressor with every parameter written out; what is no spec stays.
std::string spelt_out(const std::string& compressor);

/// A spec's value of a key, with words before it: "s=1.75"; "" where it has none.
std::string spec_value(const std::string& spec, const std::string& key, const std::string& before);

/// A rate as users write it ("1gbit"), in bit/s. @throws InputError
double read_rate(const JsonField& field);

/// Refuses members of a table that are none of these. @throws InputError
void refuse_others(const JsonField& table, const std::vector<std::string>& known);

/// The entry of a table of named things that `show` names. @throws InputError
template <class Named, std::size_t size>
const Named& shown(const Named (&all)[size], const JsonField& show) {
  std::vector<std::string> names;
  for (const Named& one : all) {
    if (one.name == show.string()) return one;
    names.emplace_back(one.name);
  }
  show.fail("nothing is called " + describe_json(show.value()) +
            did_you_mean(show.string(), names) + "; docs/reproduce.md names all");
}

}  // namespace thinpipe
