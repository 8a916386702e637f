// Numbers out of a spec's values, with messages that name the spec.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/spec.h"

namespace thinpipe {

/// Reads what `sgd:lr=0.1,nesterov=1` holds; keys that are absent keep their defaults.
class SpecValues {
 public:
  /// @param what  "optimiser" or the like, for messages
  /// @throws InputError when the text is no spec
  SpecValues(std::string_view text, std::string what);

  const std::string& name() const { return spec_.name; }
  bool has(const std::string& key) const { return spec_.values.contains(key); }

  /// @throws InputError unless a number within the bounds
  double number(const std::string& key, double otherwise, double least, double most) const;
  /// 0 or 1
  bool flag(const std::string& key, bool otherwise) const;
  /// "0.5/0.75"
  std::vector<double> numbers(const std::string& key, double least, double most) const;

  /// @throws InputError for another name, with the nearest one
  void expect_name(const std::vector<std::string>& names) const;
  /// @throws InputError for keys other than these, with the nearest one
  void expect_keys(const std::vector<std::string>& keys) const;

 private:
  double parse(const std::string& key, std::string_view value, double least, double most) const;
  [[noreturn]] void fail(const std::string& problem) const;

  std::string what_;
  Spec spec_;
};

}  // namespace thinpipe
