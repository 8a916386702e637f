// Replacing inside a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thinpipe {

/// Every `from`, which is not empty, becomes `to`.
inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t place = text.find(from); place != std::string::npos;
       place = text.find(from, place + to.size())) {
    text.replace(place, from.size(), to);
  }
}

}  // namespace thinpipe
