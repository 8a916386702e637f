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

Records parse_records(std::string_view text, const std::filesystem::path& name,
                      std::uint64_t* complete_bytes) {
  Records records;
  records.file = name;
  std::map<std::string, std::size_t> places;
  std::size_t start = 0;
  for (std::size_t number = 1; start < text.size(); ++number) {
    const std::size_t end = text.find('\n', start);
    const std::string where = name.string() + " line " + std::to_string(number);
    if (end == std::string_view::npos) {
      records.notes.push_back(where + ": unfinished last line passed over");
      break;
    }
    const std::string_view line = text.substr(start, end - start);
    const bool is_last = end + 1 == text.size();
    if (!is_blank(line)) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_discarded()) {
        if (!is_last) throw InputError(where + ": not JSON; the file was damaged after writing");
        records.notes.push_back(where + ": last line is not JSON and was passed over");
        break;
      }
      std::variant<Header, Point> record = parse_record(json, where, records.kind());
      if (Header* header = std::get_if<Header>(&record)) {
        if (!records.headers.empty() && header->kind != records.kind()) {
          throw InputError(where + ": field 'kind': expected '" + records.kind() +
                           "' as in the header before it, found '" + header->kind + "'");
        }
        records.headers.push_back(std::move(*header));
      } else if (records.headers.empty()) {
        throw InputError(where +
                         ": field 'record': the first record must be a 'header', found 'point'");
      } else {
        add_point(std::move(std::get<Point>(record)), places, records);
      }
    }
    start = end + 1;
  }
  if (complete_bytes != nullptr) *complete_bytes = start;
  return records;
}

Records read_records(const std::filesystem::path& folder_or_file) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::is_directory(folder_or_file, ignored)
                                         ? folder_or_file / kRecordFileName
                                         : folder_or_file;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw InputError(file.string() + ": cannot read it (" + std::strerror(errno) +
                     "); expected the records of a run");
  }
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  if (stream.bad()) throw SystemError("read " + file.string());
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
