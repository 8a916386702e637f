#include "workloads/trace/sha256.h"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/error.h"

namespace thinpipe {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

namespace {

void check(int result) {
  if (result != 1) throw RunError("SHA-256: OpenSSL refused (is a FIPS policy in force?)");
}

}  // namespace

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check(state_->context == nullptr ? 0 : EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  check(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
}

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  check(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr));
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

}  // namespace thinpipe
