// Names at the left of rows.
#include "reports/figures/row_label.h"

#include <fmt/format.h>

#include "reports/text/escape.h"

namespace thinpipe {
namespace {

constexpr std::size_t kLongestLabel = 17;  // 144 px of a wide font (DejaVu Sans) at 12.5 px
constexpr double kBaseline = 4.5;          // px below the middle of text of 12.5 px

// Cuts between characters, not inside one: continuation bytes of UTF-8 are 10xxxxxx.
std::string shortened(const std::string& text) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (++characters > kLongestLabel) return text.substr(0, i) + "\xe2\x80\xa6";
  }
  return text;
}

}  // namespace

std::string row_label(const std::string& label, double right, double y) {
  return fmt::format(
      "<text x=\"{}\" y=\"{:.1f}\" font-size=\"12.5\" "
      "text-anchor=\"end\">{}<title>{}</title></text>\n",
      right, y + kBaseline, escape_html(shortened(label)), escape_html(label));
}

}  // namespace thinpipe
