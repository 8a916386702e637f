// SHA-256 of bytes, as lower-case hexadecimal.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace thinpipe {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  std::string finish();  ///< 64 hexadecimal digits; the object is then spent

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace thinpipe
