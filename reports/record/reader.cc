// Reads a records file line by line.
#include "reports/record/reader.h"

#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "reports/record/parse.h"

namespace thinpipe {
namespace {

// Where an id stands twice the later record counts, at the place of the first.
void add_point(Point point, std::map<std::string, std::size_t>& places, Records& records) {
  const auto [place, is_new] = places.try_emplace(point.id, records.points.size());
  if (is_new) {
    records.points.push_back(std::move(point));
  } else {
    records.points[place->second] = std::move(point);
  }
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

void walk_records(std::string_view text, const std::filesystem::path& name,
                  const RecordVisitor& visitor) {
  std::string kind;  // of the headers; "" before the first
  std::size_t start = 0;
  for (std::size_t number = 1; start < text.size(); ++number) {
    const std::size_t end = text.find('\n', start);
    const std::string where = name.string() + " line " + std::to_string(number);
    if (end == std::string_view::npos) {
      visitor.note(where + ": unfinished last line passed over");
      break;
    }
    const std::string_view line = text.substr(start, end - start);
    const bool is_last = end + 1 == text.size();
    if (!is_blank(line)) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_discarded()) {
        if (!is_last) throw InputError(where + ": not JSON; the file was damaged after writing");
        visitor.note(where + ": last line is not JSON and was passed over");
        break;
      }
      std::variant<Header, Point> record =
          parse_record(json, where, kind.empty() ? kRunKind : kind);
      if (Header* header = std::get_if<Header>(&record)) {
        if (!kind.empty() && header->kind != kind) {
          throw InputError(where + ": field 'kind': expected '" + kind +
                           "' as in the header before it, found '" + header->kind + "'");
        }
        kind = header->kind;
        visitor.header(std::move(*header));
      } else if (kind.empty()) {
        throw InputError(where +
                         ": field 'record': the first record must be a 'header', found 'point'");
      } else {
        visitor.point(std::move(std::get<Point>(record)));
      }
    }
    start = end + 1;
    visitor.complete(start);
  }
}

Records parse_records(std::string_view text, const std::filesystem::path& name,
                      std::uint64_t* complete_bytes) {
  Records records;
  records.file = name;
  std::map<std::string, std::size_t> places;
  std::uint64_t complete = 0;
  walk_records(text, name,
               {.header = [&](Header header) { records.headers.push_back(std::move(header)); },
                .point = [&](Point point) { add_point(std::move(point), places, records); },
                .note = [&](std::string note) { records.notes.push_back(std::move(note)); },
                .complete = [&](std::uint64_t bytes) { complete = bytes; }});
  if (complete_bytes != nullptr) *complete_bytes = complete;
  return records;
}

std::string records_text(std::filesystem::path& folder_or_file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(folder_or_file, ignored)) folder_or_file /= kRecordFileName;
  std::ifstream stream(folder_or_file, std::ios::binary);
  if (!stream) {
    throw InputError(folder_or_file.string() + ": cannot read it (" + std::strerror(errno) +
                     "); expected records");
  }
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad()) throw SystemError("read " + folder_or_file.string());
  return text;
}

Records read_records(const std::filesystem::path& folder_or_file) {
  std::filesystem::path file = folder_or_file;
  const std::string text = records_text(file);
  return parse_records(text, file);
}

Records read_run_records(const std::filesystem::path& folder_or_file) {
  Records records = read_records(folder_or_file);
  if (records.kind() != kRunKind) {
    throw InputError(records.file.string() + ": expected the records of a run, found those of '" +
                     records.kind() + "'");
  }
  return records;
}

}  // namespace thinpipe
