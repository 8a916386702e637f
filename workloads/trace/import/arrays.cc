#include "workloads/trace/import/arrays.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "workloads/trace/gradient_values.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/zip.h"

static_assert(std::endian::native == std::endian::little, "elements are read without conversion");

namespace thinpipe {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPreamble = 8;          // magic and version
constexpr std::size_t kMaxNpyHeader = 65536;  // NumPy's own default limit is 10,000
constexpr std::size_t kMaxNpyDimensions = 64;
constexpr std::size_t kNpyAlignment = 64;

/// Reads the header: the text of a Python dictionary with three members.
class Dictionary {
 public:
  Dictionary(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  void parse(NpyArray& array) {
    expect('{');
    bool descr = false, order = false, shape = false;
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !std::exchange(descr, true)) {
        array.dtype = dtype();
      } else if (key == "fortran_order" && !std::exchange(order, true)) {
        array.fortran_order = boolean();
      } else if (key == "shape" && !std::exchange(shape, true)) {
        array.shape = tuple();
      } else {
        fail(fmt::format("member '{}' (expected descr, fortran_order and shape, once each)",
                         printable(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail("unexpected text after the dictionary");
    if (!descr || !order || !shape) {
      fail(fmt::format("{} is missing", !descr ? "descr" : !order ? "fortran_order" : "shape"));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}: header: {}", where_, what));
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (accept(c)) return;
    fail(fmt::format("expected '{}' at byte {}, found {}", c, at_,
                     at_ < text_.size() ? "'" + printable(text_.substr(at_, 1)) + "'" : "the end"));
  }
  std::string string() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') {
      fail(fmt::format("expected a string at byte {}; structured arrays are not read", at_));
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string is not terminated");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::string dtype() {
    const std::string descr = string();
    if (descr == "<f2") return "F16";
    if (descr == "<f4") return "F32";
    if (descr == "<f8") return "F64";
    fail(fmt::format(
        "descr: found '{}', expected '<f2', '<f4' or '<f8' (little-endian floating point)",
        printable(descr)));
  }
  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("fortran_order: expected True or False");
  }
  std::vector<std::int64_t> tuple() {
    expect('(');
    std::vector<std::int64_t> values;
    while (!accept(')')) {
      if (values.size() == kMaxNpyDimensions) fail("shape: more than 64 dimensions");
      values.push_back(integer());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }
  std::int64_t integer() {
    skip_blanks();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        fail("shape: a dimension is too large");
      }
      ++at_;
    }
    if (at_ == begin) fail(fmt::format("shape: expected a number at byte {}", at_));
    return value;
  }

  std::string_view text_;
  std::string where_;
  std::size_t at_ = 0;
};

std::size_t element_bytes(const std::string& dtype) {
  return dtype == "F64" ? 8 : dtype == "F32" ? 4 : 2;
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic) || text.size() < kPreamble + 2) {
    throw InputError(
        fmt::format("{}: not a .npy file (expected \\x93NUMPY and a version at its start)", name));
  }
  const auto major = static_cast<unsigned char>(text[6]);
  if (major < 1 || major > 3) {
    throw InputError(fmt::format("{}: version: found {}, expected 1, 2 or 3", name, major));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (text.size() < kPreamble + length_bytes) {
    throw InputError(fmt::format("{}: header length: missing, the file ends too early", name));
  }
  std::uint32_t length = 0;
  std::memcpy(&length, text.data() + kPreamble, length_bytes);
  const std::size_t begin = kPreamble + length_bytes;
  if (length > std::min(text.size() - begin, kMaxNpyHeader)) {
    throw InputError(fmt::format("{}: header length: {} bytes, expected at most {}", name, length,
                                 std::min(text.size() - begin, kMaxNpyHeader)));
  }
  NpyArray array;
  Dictionary(text.substr(begin, length), name).parse(array);
  array.bytes = file.subspan(begin + length);
  const std::size_t elements = shape_elements(array.shape, name);
  const std::size_t size = element_bytes(array.dtype);
  if (elements > array.bytes.size() / size || elements * size != array.bytes.size()) {
    throw InputError(fmt::format("{}: {} bytes after the header, expected {} elements of {} bytes",
                                 name, array.bytes.size(), elements, size));
  }
  return array;
}

std::vector<float> floats_of(const std::string& dtype, std::span<const std::byte> bytes,
                             const std::string& where) {
  const auto convert = [&]<class From>(From, auto&& to_float) {
    std::vector<float> values(bytes.size() / sizeof(From));
    for (std::size_t i = 0; i < values.size(); ++i) {
      From element;  // may lie at any address
      std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
      values[i] = to_float(element);
    }
    return values;
  };
  if (dtype == "F32") return convert(float{}, [](float value) { return value; });
  if (dtype == "F64") return convert(double{}, [](double value) { return float(value); });
  if (dtype == "F16") return convert(std::uint16_t{}, widen_f16);
  if (dtype == "BF16") return convert(std::uint16_t{}, widen_bf16);
  throw InputError(
      fmt::format("{}: dtype: found {}, expected F16, BF16, F32 or F64", where, printable(dtype)));
}

std::vector<float> row_major(std::span<const float> values, std::span<const std::int64_t> shape) {
  std::vector<float> result(values.size());
  std::vector<std::size_t> index(shape.size());
  for (float& element : result) {
    std::size_t from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from = from * static_cast<std::size_t>(shape[axis]) + index[axis];
    }
    element = values[from];
    for (std::size_t axis = shape.size(); axis-- > 0;) {  // next index; the last runs fastest
      if (++index[axis] < static_cast<std::size_t>(shape[axis])) break;
      index[axis] = 0;
    }
  }
  return result;
}

std::string npy_prologue(std::span<const std::int64_t> shape) {
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}",
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  while ((kPreamble + 2 + header.size() + 1) % kNpyAlignment != 0) header += ' ';
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string prologue = std::string(kMagic) + '\1' + '\0';
  prologue.append(reinterpret_cast<const char*>(&length), sizeof length);
  return prologue + header;
}

NamedArray read_npy_array(std::span<const std::byte> file, const std::string& shown,
                          const std::string& name) {
  const NpyArray npy = parse_npy(file, shown);
  NamedArray array{name, npy.dtype, npy.shape, floats_of(npy.dtype, npy.bytes, shown)};
  if (npy.fortran_order && npy.shape.size() > 1) array.values = row_major(array.values, npy.shape);
  return array;
}

std::vector<NamedArray> read_npz_arrays(std::span<const std::byte> file, const std::string& shown) {
  static constexpr std::string_view kExtension = ".npy";
  std::vector<NamedArray> arrays;
  unpack_zip(file, shown, [&](const std::string& member, std::span<const std::byte> bytes) {
    const std::string where = shown + ": member '" + printable(member) + "'";
    if (!member.ends_with(kExtension))
      throw InputError(where + ": expected only members whose names end in .npy");
    arrays.push_back(
        read_npy_array(bytes, where, member.substr(0, member.size() - kExtension.size())));
  });
  return arrays;
}

std::vector<NamedArray> read_safetensors_arrays(std::span<const std::byte> file,
                                                const std::string& shown) {
  const auto entries = parse_safetensors(file, shown);
  std::vector<std::pair<const std::byte*, const std::string*>> order;
  for (const auto& [name, entry] : entries) {
    const bool floats = entry.dtype == "F64" || entry.dtype == "F32" || entry.dtype == "F16" ||
                        entry.dtype == "BF16";
    if (floats) order.emplace_back(entry.bytes.data(), &name);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NamedArray> arrays;
  for (const auto& [begin, name] : order) {
    const SafetensorsEntry& entry = entries.at(*name);
    const std::string where = shown + ": tensor '" + printable(*name) + "'";
    arrays.push_back({*name, entry.dtype, entry.shape, floats_of(entry.dtype, entry.bytes, where)});
  }
  return arrays;
}

}  // namespace thinpipe
