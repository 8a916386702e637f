#include "tests/reports/markup.h"

#include <algorithm>
#include <cctype>

namespace thinpipe::sample {
namespace {

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  Markup run() {
    while (markup_.error.empty() && place_ < text_.size()) {
      if (text_[place_] == '<') {
        tag();
      } else {
        content();
      }
    }
    if (markup_.error.empty() && !open_.empty()) fail("unclosed <" + open_.back() + ">");
    return markup_;
  }

 private:
  void fail(const std::string& what) {
    if (markup_.error.empty()) {
      markup_.error =
          what + " near '" + std::string(text_.substr(place_ < 30 ? 0 : place_ - 30, 60)) + "'";
    }
  }

  bool entity_ok(std::size_t at) const {
    const std::size_t end = text_.find(';', at);
    if (end == std::string_view::npos || end - at < 2 || end - at > 8) return false;
    for (std::size_t i = at + 1; i < end; ++i) {
      if (std::isalnum(static_cast<unsigned char>(text_[i])) == 0 && text_[i] != '#') return false;
    }
    return true;
  }

  void content() {
    const std::size_t end = std::min(text_.find('<', place_), text_.size());
    for (std::size_t i = place_; i < end; ++i) {
      if (text_[i] == '&' && !entity_ok(i)) fail("bare &");
    }
    if (!open_.empty() && open_.back() == "title") {
      markup_.titles.emplace_back(text_.substr(place_, end - place_));
    }
    place_ = end;
  }

  std::string name() {
    const std::size_t start = place_;
    while (place_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[place_])) != 0 ||
            std::string_view("-_:").find(text_[place_]) != std::string_view::npos)) {
      ++place_;
    }
    if (place_ == start) fail("expected a name");
    return std::string(text_.substr(start, place_ - start));
  }

  void spaces() {
    while (place_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[place_])) != 0)
      ++place_;
  }

  bool take(char byte) {
    if (place_ >= text_.size() || text_[place_] != byte) return false;
    ++place_;
    return true;
  }

  void attribute(std::set<std::string>& seen) {
    const std::string key = name();
    if (!seen.insert(key).second) fail("attribute " + key + " twice");
    spaces();
    if (!take('=')) return fail("attribute without value");
    spaces();
    const char quote = place_ < text_.size() ? text_[place_] : '\0';
    if (quote != '"' && quote != '\'') return fail("unquoted value");
    const std::size_t end = text_.find(quote, ++place_);
    if (end == std::string_view::npos) return fail("unclosed value");
    const std::string value(text_.substr(place_, end - place_));
    if (value.find('<') != std::string::npos) fail("< in a value");
    for (std::size_t i = place_; i < end; ++i) {
      if (text_[i] == '&' && !entity_ok(i)) fail("bare & in a value");
    }
    if (key == "id") markup_.ids.push_back(value);
    if (key.find("href") != std::string::npos && value.rfind('#', 0) == 0) {
      markup_.references.insert(value.substr(1));
    }
    place_ = end + 1;
  }

  void tag() {
    ++place_;
    if (take('/')) {
      const std::string closed = name();
      if (open_.empty() || open_.back() != closed) return fail("</" + closed + "> closes nothing");
      open_.pop_back();
      spaces();
      if (!take('>')) fail("expected >");
      return;
    }
    const std::string opened = name();
    std::set<std::string> seen;
    for (;;) {
      spaces();
      if (!markup_.error.empty() || place_ >= text_.size()) return fail("unfinished tag");
      if (take('>')) return open_.push_back(opened);
      if (take('/')) {
        if (!take('>')) fail("expected />");
        return;
      }
      attribute(seen);
    }
  }

  std::string_view text_;
  std::size_t place_ = 0;
  std::vector<std::string> open_;
  Markup markup_;
};

}  // namespace

Markup check_markup(std::string_view text) { return Checker(text).run(); }

}  // namespace thinpipe::sample
