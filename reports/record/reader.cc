// Reads a records file line by line.
#include "reports/record/reader.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "base/error.h"
#include "reports/record/parse.h"

namespace thinpipe {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

nlohmann::json parsed_line(const InputLines& lines) {
  return nlohmann::json::parse(lines.line(), nullptr, /*allow_exceptions=*/false);
}

// Calls a function of a RecordVisitor unless it is empty.
template <class Function, class Argument>
void tell(const Function& function, Argument&& argument) {
  if (function) function(std::forward<Argument>(argument));
}

// Reads all records. `add` adds a point to them.
Records collect(InputLines lines, const std::filesystem::path& name,
                const std::function<void(Point, Records&)>& add,
                std::uint64_t* complete_bytes = nullptr) {
  Records records;
  records.file = name;
  std::uint64_t complete = 0;
  walk_records(std::move(lines), name,
               {.header = [&](Header header) { records.headers.push_back(std::move(header)); },
                .point = [&](Point point) { add(std::move(point), records); },
                .note = [&](std::string note) { records.notes.push_back(std::move(note)); },
                .complete = [&](std::uint64_t bytes) { complete = bytes; }});
  if (complete_bytes != nullptr) *complete_bytes = complete;
  return records;
}

std::filesystem::path records_file(const std::filesystem::path& folder_or_file) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(folder_or_file, ignored);
  return is_folder ? folder_or_file / kRecordFileName : folder_or_file;
}

}  // namespace

void walk_records(InputLines lines, const std::filesystem::path& name,
                  const RecordVisitor& visitor) {
  std::string kind;  // of the headers; "" before the first
  while (lines.next()) {
    const std::string where = name.string() + " line " + std::to_string(lines.number());
    if (!lines.finished()) {
      tell(visitor.note, where + ": unfinished last line skipped");
      break;
    }
    if (!is_blank(lines.line())) {
      const nlohmann::json json = parsed_line(lines);
      if (json.is_discarded()) {
        if (!lines.last())
          throw InputError(where + ": not JSON; the file was damaged after writing");
        tell(visitor.note, where + ": last line is not JSON and was skipped");
        break;
      }
      std::variant<Header, Point> record =
          parse_record(json, where, kind.empty() ? kRunKind : kind);
      if (Header* header = std::get_if<Header>(&record)) {
        if (!kind.empty() && header->kind != kind)
          throw InputError(where + ": field 'kind': expected '" + kind +
                           "' as in the header before it, found '" + header->kind + "'");
        kind = header->kind;
        tell(visitor.json, json);
        tell(visitor.header, std::move(*header));
      } else if (kind.empty()) {
        throw InputError(where +
                         ": field 'record': the first record must be a 'header', found 'point'");
      } else {
        tell(visitor.json, json);
        tell(visitor.point, std::move(std::get<Point>(record)));
      }
    }
    tell(visitor.complete, lines.end());
  }
}

Records parse_records(InputLines lines, const std::filesystem::path& name,
                      std::uint64_t* complete_bytes) {
  PointNames names;
  std::map<std::string, std::size_t> places;
  const auto add = [&](Point point, Records& records) {
    const auto [place, is_new] =
        places.try_emplace(names.of(point.id, point.normal_id), records.points.size());
    if (is_new) {
      records.points.push_back(std::move(point));
    } else {
      records.points[place->second] = std::move(point);
    }
  };
  return collect(std::move(lines), name, add, complete_bytes);
}

InputLines open_record_lines(std::filesystem::path& folder_or_file) {
  folder_or_file = records_file(folder_or_file);
  return {InputFile(folder_or_file, "records"), kMaxRecordBytes};
}

std::optional<nlohmann::json> first_record(const std::filesystem::path& folder_or_file) {
  const std::filesystem::path file = records_file(folder_or_file);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;
  InputLines lines(InputFile(file, "records"), kMaxRecordBytes);
  lines.next();
  nlohmann::json json = parsed_line(lines);
  if (!json.is_object()) return std::nullopt;
  return json;
}

Records read_records(const std::filesystem::path& folder_or_file) {
  std::filesystem::path file = folder_or_file;
  InputLines lines = open_record_lines(file);
  return parse_records(std::move(lines), file);
}

Records read_repeated_records(const std::filesystem::path& folder_or_file) {
  std::filesystem::path file = folder_or_file;
  InputLines lines = open_record_lines(file);
  std::map<std::string, int> repeats;
  return collect(std::move(lines), file, [&](Point point, Records& records) {
    point.axes.repeat = repeats[point.id]++;
    records.points.push_back(std::move(point));
  });
}

Records read_run_records(const std::filesystem::path& folder_or_file) {
  Records records = read_records(folder_or_file);
  if (records.kind() != kRunKind)
    throw InputError(records.file.string() + ": expected the records of a run, found records of '" +
                     records.kind() + "'");
  return records;
}

}  // namespace thinpipe
