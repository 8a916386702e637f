// Finds recipes and parses their files: TOML in which {NAME} is replaced by a value and `each`
// repeats an entry.

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"
#include "compressors/registry.h"
#include "compressors/spec.h"
#include "harness/reproduce/columns.h"
#include "harness/reproduce/recipe.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

using nlohmann::json;
using Values = std::map<std::string, std::string>;

// Refuses deep nesting by `a.a.a...`: toml++ limits brackets to 256 levels, but not dots.
void refuse_deep_keys(std::string_view text, const std::string& file) {
  constexpr int kMaxDots = 200;  // in a line
  for (const std::string& line : split(text, '\n'))
    if (std::count(line.begin(), line.end(), '.') > kMaxDots)
      throw InputError(fmt::format("{}: more than {} dots in a line", file, kMaxDots));
}

json read_toml(std::string_view text, const std::string& file) {
  refuse_deep_keys(text, file);
  std::ostringstream written;
  try {
    written << toml::json_formatter(toml::parse(text, file));
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}:{}: not TOML: {}", file, error.source().begin.line,
                                 excerpt(error.description())));
  }
  return parse_json_strictly(written.str(), file);
}

// Returns all members of a table of strings.
Values strings_of(const JsonField& table) {
  Values values;
  for (const auto& [name, value] : table.value().items()) values[name] = table.at(name).string();
  return values;
}

// Returns `text` with every {NAME} replaced by its value, which may contain other names.
// @param left  remaining number of replacements
std::string replaced(const std::string& text, const Values& values, const JsonField& where,
                     int& left) {
  constexpr std::size_t kLongest = 1 << 16;
  std::string filled;
  std::size_t rest = 0;
  for (std::size_t open; (open = text.find('{', rest)) != std::string::npos;) {
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) where.fail("a { without its }: " + excerpt(text));
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto found = values.find(name);
    if (found == values.end()) {
      std::vector<std::string> names;
      for (const auto& [known, value] : values) names.push_back(known);
      where.fail("{" + printable(name) + "} has no value" + did_you_mean(name, names));
    }
    if (--left < 0) where.fail("too many values, or they contain each other: " + excerpt(text));
    filled += text.substr(rest, open - rest) + replaced(found->second, values, where, left);
    rest = close + 1;
    if (filled.size() > kLongest) where.fail("longer than 64 KiB with its values");
  }
  return filled + text.substr(rest);
}

std::string filled_in(const std::string& text, const Values& values, const JsonField& where) {
  int left = 100;  // the longest command needs ten
  return replaced(text, values, where, left);
}

// Fills in all strings within an entry.
json filled_in(const json& entry, const Values& values, const JsonField& where) {
  if (entry.is_string()) return filled_in(entry.get<std::string>(), values, where);
  json filled = entry;
  if (entry.is_structured())
    for (json& member : filled) member = filled_in(member, values, where);
  return filled;
}

// Reads "0.95 * 597", "15.9 / 1.33", or a TOML number.
double read_bound(const JsonField& field) {
  constexpr double kMax = 1e100;
  if (!field.value().is_string()) return field.number(-kMax, kMax);
  const std::vector<std::string> words = split(field.string(), ' ');
  const auto first = parse_number<double>(words[0], -kMax, kMax);
  const auto second = parse_number<double>(words.back(), -kMax, kMax);
  if (first && words.size() == 1) return *first;
  if (first && second && words.size() == 3 && words[1] == "*") return *first * *second;
  if (first && second && words.size() == 3 && words[1] == "/" && *second != 0)
    return *first / *second;
  field.fail("expected a number or a product such as '0.95 * 597', found " +
             in_quotes(field.string()));
}

std::vector<std::string> words_of(const JsonField& command) {
  static const std::vector<std::string> kVerbs{"bench", "capture", "predict", "quality",
                                               "run",   "trace",   "train"};
  std::vector<std::string> words = words_in(command.string());
  if (!words.empty() && std::find(kVerbs.begin(), kVerbs.end(), words[0]) == kVerbs.end())
    command.fail(
        "expected a command of train, run, bench, quality, capture, trace stats or "
        "predict, found " +
        in_quotes(words[0]) + did_you_mean(words[0], kVerbs));
  if (!words.empty() && words[0] == "trace" && (words.size() < 2 || words[1] != "stats"))
    command.fail("expected `trace stats`, the only command of `trace` in recipes");
  return words;
}

// Returns the field's label, which must be one of `labels`.
std::string known_label(const JsonField& field, const std::vector<std::string>& labels,
                        const char* what) {
  const std::string label = field.string();
  if (std::find(labels.begin(), labels.end(), label) == labels.end())
    field.fail(
        fmt::format("no {} is called {}{}", what, in_quotes(label), did_you_mean(label, labels)));
  return label;
}

class RecipeFile {
 public:
  RecipeFile(const std::string& name, std::string_view text, const std::string& file)
      : file_(file), own_(read_toml(text, file)), shared_(read_shared()) {
    recipe_.plan.name = name;
    for (const json* from : {&shared_, &own_}) {
      const JsonField root(*from, file_);
      if (root.has("values"))
        for (const auto& [key, value] : strings_of(root.at("values"))) values_[key] = value;
      if (root.has("lists"))
        for (const auto& [key, list] : root.at("lists").value().items())
          lists_[key] = root.at("lists").at(key).value();
    }
  }

  Recipe read() {
    const JsonField root(own_, file_);
    root.allow_only({"title", "source", "here", "differences", "rests_on_times", "memory_gb",
                     "disk_mb", "full_minutes", "quick_seconds", "picture", "values", "lists",
                     "columns", "arms", "rows", "rules"});
    read_description(root);
    for_each_entry(root, "arms", [this](const JsonField& entry) { read_arm(entry); });
    for_each_entry(root, "columns", [this](const JsonField& entry) { read_column_of(entry); });
    if (root.has("rows")) recipe_.plan.rows.clear();
    for_each_entry(root, "rows", [this](const JsonField& entry) { read_row(entry); });
    check_labels(root);
    for_each_entry(root, "rules", [this](const JsonField& entry) { read_rule(entry); });
    if (recipe_.plan.expectations.empty()) root.fail("there are no rules");
    if (root.has("picture")) read_picture_of(root.at("picture"));
    return std::move(recipe_);
  }

 private:
  static json read_shared() {
    return read_toml(recipe_files().at("shared"), "recipes/shared.toml");
  }

  std::string text(const JsonField& field) const {
    return filled_in(field.string(), values_, field);
  }

  void read_description(const JsonField& root) {
    constexpr double kMaxMemory = 1e5, kMaxDisk = 1e7;
    constexpr std::uint64_t kLongest = 1'000'000;
    ReproductionPlan& plan = recipe_.plan;
    plan.title = text(root.at("title"));
    plan.source = text(root.at("source"));
    plan.here = text(root.at("here"));
    const JsonField differences = root.at("differences");
    for (std::size_t i = 0; i < differences.size(); ++i)
      plan.differences.push_back(text(differences.at(i)));
    plan.rests_on_times = root.has("rests_on_times") && root.at("rests_on_times").boolean();
    if (root.has("memory_gb")) recipe_.memory = 1e9 * root.at("memory_gb").number(0, kMaxMemory);
    if (root.has("disk_mb")) recipe_.disk = 1e6 * root.at("disk_mb").number(0, kMaxDisk);
    recipe_.full_minutes = static_cast<int>(root.at("full_minutes").unsigned_integer(1, kLongest));
    recipe_.quick_seconds =
        static_cast<int>(root.at("quick_seconds").unsigned_integer(1, kLongest));
  }

  // Returns the values of {NAME} for each entry that `entry` expands to. `entry` expands to one
  // entry for each combination of elements of the lists in its `each`. The last list's element
  // changes fastest.
  std::vector<Values> values_of(const JsonField& entry) const {
    constexpr std::size_t kMax = 1000;
    std::vector<Values> all{values_};
    if (!entry.has("each")) return all;
    const JsonField each = entry.at("each"), lists(lists_, file_, "lists");
    const bool one = each.value().is_string();
    for (std::size_t i = 0; i < (one ? 1 : each.size()); ++i) {
      const std::string name = one ? each.string() : each.at(i).string();
      const JsonField list = lists.at(name);
      if (all.size() * list.size() > kMax) entry.fail("expands to more than 1000 entries");
      std::vector<Values> longer;
      for (const Values& before : all)
        for (std::size_t element = 0; element < list.size(); ++element) {
          Values& values = longer.emplace_back(before);
          if (list.at(element).value().is_string())
            values[name] = list.at(element).string();
          else
            for (const auto& [key, value] : strings_of(list.at(element))) values[key] = value;
        }
      all = std::move(longer);
    }
    return all;
  }

  template <class Read>
  void for_each_entry(const JsonField& parent, const char* key, const Read& read) const {
    if (!parent.has(key)) return;
    const JsonField entries = parent.at(key);
    for (std::size_t i = 0; i < entries.size(); ++i)
      for (const Values& values : values_of(entries.at(i))) {
        const json filled = filled_in(entries.at(i).value(), values, entries.at(i));
        read(JsonField(filled, file_, entries.at(i).place()));
      }
  }

  void read_arm(const JsonField& entry) {
    entry.allow_only({"each", "label", "full", "quick", "paper"});
    RecipeArm arm{.label = entry.at("label").string(), .full = words_of(entry.at("full"))};
    if (arm.full.empty()) entry.at("full").fail("expected a command");
    if (entry.has("quick")) arm.quick = words_of(entry.at("quick"));
    recipe_.plan.rows.push_back({.label = arm.label, .arm = arm.label, .paper = read_paper(entry)});
    arm_labels_.push_back(arm.label);
    recipe_.arms.push_back(std::move(arm));
  }

  void read_column_of(const JsonField& entry) {
    ReproductionColumn column = read_column(entry);
    if (!column.arm.empty()) known_label(entry.at("arm"), arm_labels_, "arm");
    column_names_.push_back(column.name);
    recipe_.plan.columns.push_back(std::move(column));
  }

  static std::vector<std::string> read_paper(const JsonField& entry) {
    std::vector<std::string> figures;
    for (std::size_t i = 0; entry.has("paper") && i < entry.at("paper").size(); ++i)
      figures.push_back(entry.at("paper").at(i).string());
    return figures;
  }

  void read_row(const JsonField& entry) {
    entry.allow_only({"each", "label", "arm", "compressor", "paper"});
    ReproductionRow row{.label = entry.at("label").string(), .arm = "", .paper = read_paper(entry)};
    if (entry.has("arm"))
      row.arm = entry.at("arm").string() == kAllArms
                    ? kAllArms
                    : known_label(entry.at("arm"), arm_labels_, "arm");
    if (entry.has("compressor")) {
      row.compressor = entry.at("compressor").string();
      try {
        check_spec(parse_spec(row.compressor));
      } catch (const InputError& error) {
        entry.at("compressor").fail(error.what());
      }
    }
    recipe_.plan.rows.push_back(std::move(row));
  }

  // Checks that labels differ, and arms' folders too.
  void check_labels(const JsonField& root) {
    std::vector<std::string> places;
    for (const std::string& label : arm_labels_) places.push_back(plain_file_name(label));
    for (const ReproductionRow& row : recipe_.plan.rows) {
      row_labels_.push_back(row.label);
      if (row.paper.size() > recipe_.plan.columns.size())
        root.fail("row " + in_quotes(row.label) + " has more figures than there are columns");
      for (const ReproductionColumn& column : recipe_.plan.columns) check_cell(root, row, column);
    }
    for (const std::string& place : places)
      if (place.find_first_not_of('.') == std::string::npos)
        root.fail(
            "an arm's label needs letters or digits, because it names the folder of its records");
    const std::pair<const char*, const std::vector<std::string>*> kinds[] = {
        {"arms", &places}, {"rows", &row_labels_}, {"columns", &column_names_}};
    for (const auto& [what, names] : kinds) {
      std::vector<std::string> sorted = *names;
      std::sort(sorted.begin(), sorted.end());
      const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
      if (sorted.empty()) root.fail(std::string("there are no ") + what);
      if (twice != sorted.end())
        root.fail(std::string("two ") + what + " are called " + in_quotes(*twice));
    }
  }

  static void check_cell(const JsonField& root, const ReproductionRow& row,
                         const ReproductionColumn& column) {
    const std::string where =
        "row " + in_quotes(row.label) + ", column " + in_quotes(column.name) + ": ";
    if (row.arm.empty() && column.arm.empty()) root.fail(where + "neither names an arm");
    try {
      column.measure(ArmRecords{}, row.compressor);
    } catch (const InputError& error) {
      root.fail(where + error.what());
    }
  }

  void read_rule(const JsonField& entry) {
    entry.allow_only({"each", "says", "row", "than", "bounded", "column", "than_column", "least",
                      "most", "one_side", "arithmetic"});
    Expectation rule{.says = entry.at("says").string(),
                     .arm = known_label(entry.at("row"), row_labels_, "row"),
                     .bounded = Bounded::kValue};
    const auto name = [&](const char* key, const std::vector<std::string>& labels,
                          const char* what) {
      return entry.has(key) ? known_label(entry.at(key), labels, what) : "";
    };
    rule.than = name("than", row_labels_, "row");
    rule.column = name("column", column_names_, "column");
    rule.than_column = name("than_column", column_names_, "column");
    if (!rule.than.empty()) rule.bounded = Bounded::kDifference;
    if (entry.has("bounded")) {
      const std::string bounded = entry.at("bounded").string();
      if (rule.than.empty() || (bounded != "ratio" && bounded != "difference"))
        entry.at("bounded").fail("expected ratio or difference, together with `than`");
      if (bounded == "ratio") rule.bounded = Bounded::kRatio;
    }
    if (entry.has("least")) rule.least = read_bound(entry.at("least"));
    if (entry.has("most")) rule.most = read_bound(entry.at("most"));
    if (!entry.has("least") && !entry.has("most")) entry.fail("expected least, most or both");
    if (rule.least > rule.most) entry.fail("its least is greater than its most");
    if (entry.has("one_side")) rule.one_side = entry.at("one_side").string();
    if ((entry.has("least") && entry.has("most")) != rule.one_side.empty())
      entry.fail(
          "expected least and most, or one of them and `one_side`, the reason why a second bound "
          "would say nothing");
    rule.arithmetic = entry.has("arithmetic") && entry.at("arithmetic").boolean();
    recipe_.plan.expectations.push_back(std::move(rule));
  }

  void read_picture_of(const JsonField& picture) {
    std::vector<PictureLine> lines;
    for_each_entry(picture, "lines", [&lines](const JsonField& entry) {
      entry.allow_only({"each", "name", "compressor"});
      lines.push_back({entry.at("name").string(), entry.at("compressor").string()});
    });
    json filled = picture.value();
    filled.erase("lines");
    filled = filled_in(filled, values_, picture);
    if (picture.has("lines")) filled["lines"] = picture.at("lines").value();
    const JsonField field(filled, file_, picture.place());
    if (field.has("arm")) known_label(field.at("arm"), arm_labels_, "arm");
    recipe_.plan.picture = read_picture(field, lines);
  }

  const std::string file_;
  const json own_, shared_;
  Values values_;
  json lists_ = json::object();
  Recipe recipe_;
  std::vector<std::string> arm_labels_, row_labels_, column_names_;
};

}  // namespace

bool Recipe::trains() const {
  return std::any_of(arms.begin(), arms.end(), [](const RecipeArm& arm) {
    return arm.full.at(0) == "train" || arm.full.at(0) == "capture";
  });
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : recipe_files())
    if (name != "shared") names.push_back(name);
  return names;
}

std::string_view recipe_text(const std::string& name) {
  const auto file = recipe_files().find(name);
  if (file != recipe_files().end()) return file->second;
  throw InputError("no recipe " + in_quotes(name) +
                   " (`thinpipe reproduce --list` lists all; the name of a recipe file ends with "
                   ".toml)" +
                   did_you_mean(name, recipe_names()));
}

Recipe find_recipe(const std::string& name) {
  if (name.ends_with(".toml")) {
    constexpr std::uint64_t kMaxBytes = 1 << 16;  // thinpipe's own have at most 6 kB
    const std::string stem = plain_file_name(std::filesystem::path(name).stem().string());
    if (stem.find_first_not_of('.') == std::string::npos)
      throw InputError(in_quotes(name) + ": a recipe's file needs a name");
    return parse_recipe(stem, read_input(name, "a recipe", kMaxBytes), name);
  }
  return parse_recipe(name, recipe_text(name), "recipes/" + name + ".toml");
}

std::string arm_place(const std::string& recipe, const std::string& label) {
  return recipe + "/" + plain_file_name(label);
}

Recipe parse_recipe(const std::string& name, std::string_view text, const std::string& file) {
  return RecipeFile(name, text, file).read();
}

}  // namespace thinpipe
