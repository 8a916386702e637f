// Sequences of calls of the C interface, with arbitrary payloads, states, gradients, means and
// specs: each call succeeds or returns an error with a message.
#include "compressors/c/thinpipe.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/c_calls.h"
#include "tests/fuzz/specs.h"

namespace thinpipe::fuzz {
namespace {

/// Calls of one input: enough for two steps of two rounds each, and for a state between the steps.
constexpr int kMaxCalls = 16;

using Bytes = std::span<const std::byte>;

Bytes take_bytes(Input& input) { return input.take(input.get<std::uint16_t>()); }

/// Replaces the first of the floats by bytes of the input.
void take_floats(Input& input, std::span<float> floats) {
  const Bytes bytes = take_bytes(input);
  const std::size_t size = std::min(bytes.size(), floats.size_bytes());
  if (size > 0) std::memcpy(floats.data(), bytes.data(), size);
}

/// Returns a copy in which the input flips bits of one byte.
std::vector<std::byte> take_changed(Input& input, Bytes bytes) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  const std::size_t at = input.get<std::uint16_t>();
  const auto bits = static_cast<std::byte>(input.get<std::uint8_t>());
  if (!copy.empty()) copy[at % copy.size()] ^= bits;
  return copy;
}

/// One compressor, and the arrays of its calls, which stay at their addresses.
class Caller {
 public:
  explicit Caller(const Subject& subject)
      : values_(subject.tensor.elements),
        squares_(subject.needs_squares ? values_.size() : 0, 0.25F),
        out_(values_.size()) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<float>(i * 37 % 101) - 50;
    expect(open(subject.spec, subject.tensor.shape, &compressor_), subject.spec);
    properties_.struct_size = sizeof properties_;
    expect(thinpipe_describe(compressor_, &properties_, &error_), "describe");
    payload_.resize(properties_.max_encoded_size);
    positions_.resize(properties_.max_pairs);
    sent_.resize(properties_.max_pairs);
    report_.struct_size = sizeof report_;
  }
  ~Caller() { thinpipe_close(compressor_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// Makes the call at the front of the input.
  void make_call(Input& input) {
    switch (static_cast<Call>(input.get<std::uint8_t>() % kCalls)) {
      case Call::kDecode:
        decode(take_bytes(input));
        break;
      case Call::kLoad:
        load(take_bytes(input));
        break;
      case Call::kSetGradient:
        take_floats(input, pinned_ ? std::span<float>() : std::span<float>(values_));
        break;
      case Call::kEncode:
        encode();
        break;
      case Call::kHold:
        hold();
        break;
      case Call::kPrepare:
        prepare(input.get<std::uint8_t>());
        break;
      case Call::kFirstRound:
        first_round();
        break;
      case Call::kNextRound:
        next_round(input);
        break;
      case Call::kOwnPayload:
        own_payload();
        break;
      case Call::kDistortion:
        distortion();
        break;
      case Call::kDecodeChanged:
        decode(take_changed(input, Bytes(payload_).first(encoded_)));
        break;
      case Call::kSave:
        save();
        break;
      case Call::kLoadChanged:
        load(take_changed(input, saved_));
        break;
      case Call::kReset:
        expect(thinpipe_reset(compressor_, &error_), "reset");
        end_step();
        break;
      case Call::kOpen:
        open_another(take_bytes(input));
        break;
      case Call::kDecodePairs:
        decode_pairs(take_changed(input, Bytes(payload_).first(encoded_)));
        break;
      case Call::kGiveBack:
        give_back(input.get<std::uint8_t>());
        break;
    }
  }

 private:
  /// Checks the result of a call. Returns true if the call succeeded.
  bool check(int result, const std::string& call) const {
    require(result == THINPIPE_OK || result == THINPIPE_BAD_INPUT || result == THINPIPE_BAD_PAYLOAD,
            call + " fails for its input only: " + error_.message);
    require((result == THINPIPE_OK) == (error_.message[0] == '\0'),
            call + " gives a message with every error");
    return result == THINPIPE_OK;
  }
  /// Checks the result of a call that no input may make fail.
  void expect(int result, const std::string& call) const {
    require(check(result, call), call + " succeeds: " + error_.message);
  }

  int open(const std::string& spec, const std::vector<std::int64_t>& shape,
           thinpipe_compressor** opened) {
    const thinpipe_setup setup{sizeof setup, "t", shape.data(), shape.size(), 1, 0, 1};
    return thinpipe_open(spec.c_str(), &setup, opened, &error_);
  }
  void open_another(Bytes spec) {
    thinpipe_compressor* other = nullptr;
    check(open({reinterpret_cast<const char*>(spec.data()), spec.size()}, {4, 4}, &other), "open");
    thinpipe_close(other);
  }

  thinpipe_gradient gradient_of_step() const {
    return {.struct_size = sizeof(thinpipe_gradient),
            .values = values_.data(),
            .squares = squares_.data(),
            .elements = values_.size(),
            .step = step_,
            .epoch = static_cast<double>(step_),
            .shared_scale = scale_};
  }
  /// Lets the gradient change again.
  void end_step() {
    pinned_ = false;
    scale_ = 0;
    rounds_left_ = 0;
  }
  void set_encoded(std::size_t bytes) {
    require(bytes <= payload_.size(), "the payload is within its bound");
    encoded_ = bytes;
  }

  void encode() {
    const thinpipe_gradient gradient = gradient_of_step();
    expect(thinpipe_encode(compressor_, &gradient, payload_.data(), payload_.size(), &report_,
                           &error_),
           "encode");
    set_encoded(report_.encoded_bytes);
    end_step();
    ++step_;
    require(decode(Bytes(payload_).first(encoded_)), "an own payload decodes");
  }
  void hold() {
    const thinpipe_gradient gradient = gradient_of_step();
    if (check(thinpipe_hold(compressor_, &gradient, &error_), "hold")) ++step_;
  }
  /// @param others  the greatest scale of the other workers
  void prepare(float others) {
    const thinpipe_gradient gradient = gradient_of_step();
    float own = 0;
    if (!check(thinpipe_prepare(compressor_, &gradient, &own, &error_), "prepare")) return;
    scale_ = std::max(own, others);
    pinned_ = true;
  }
  void first_round() {
    const thinpipe_gradient gradient = gradient_of_step();
    if (!check(thinpipe_first_round(compressor_, &gradient, payload_.data(), payload_.size(),
                                    &report_, &error_),
               "first_round"))
      return;
    set_encoded(report_.encoded_bytes);
    ++step_;
    rounds_left_ = properties_.rounds;
    pinned_ = true;
  }
  void next_round(Input& input) {
    std::vector<float> mean(encoded_ / sizeof(float));
    if (!mean.empty()) std::memcpy(mean.data(), payload_.data(), mean.size() * sizeof(float));
    take_floats(input, mean);
    std::size_t bytes = 0;
    if (!check(thinpipe_next_round(compressor_, mean.data(), mean.size(), payload_.data(),
                                   payload_.size(), &bytes, &error_),
               "next_round"))
      return;
    set_encoded(bytes);
    if (--rounds_left_ <= 0) end_step();
  }
  void own_payload() {
    std::size_t bytes = 0;
    if (check(thinpipe_own_payload(compressor_, payload_.data(), payload_.size(), &bytes, &error_),
              "own_payload"))
      set_encoded(bytes);
  }
  void distortion() {
    const thinpipe_gradient gradient = gradient_of_step();
    double error_squares = 0, input_squares = 0;
    check(thinpipe_distortion(compressor_, &gradient, payload_.data(), encoded_, &error_squares,
                              &input_squares, &error_),
          "distortion");
  }
  bool decode(Bytes payload) {
    // A copy of exactly this size, so that a read before or after it is seen.
    const std::vector<std::byte> copy(payload.begin(), payload.end());
    return check(thinpipe_decode_add(compressor_, copy.data(), copy.size(), 0.5F, out_.data(),
                                     out_.size(), &error_),
                 "decode_add");
  }

  void decode_pairs(const std::vector<std::byte>& payload) {
    pairs_ = 0;
    std::size_t pairs = 0;
    if (!check(thinpipe_decode_pairs(compressor_, payload.data(), payload.size(), positions_.data(),
                                     sent_.data(), positions_.size(), &pairs, &error_),
               "decode_pairs"))
      return;
    require(pairs <= positions_.size(), "the pairs are within their bound");
    pairs_ = pairs;
  }
  void give_back(std::uint32_t shift) {
    if (pairs_ > 0) positions_[0] += shift;
    check(thinpipe_give_back(compressor_, positions_.data(), sent_.data(), pairs_, &error_),
          "give_back");
  }

  void save() {
    if (pinned_) return;  // the header forbids it between rounds
    const void* state = nullptr;
    std::size_t size = 0;
    expect(thinpipe_save(compressor_, &state, &size, &error_), "save");
    const auto* const bytes = static_cast<const std::byte*>(state);
    saved_.assign(bytes, bytes + size);
  }
  void load(Bytes state) {
    const std::vector<std::byte> copy(state.begin(), state.end());
    check(thinpipe_load(compressor_, copy.data(), copy.size(), &error_), "load");
    end_step();
  }

  std::vector<float> values_, squares_, out_;
  thinpipe_error error_{};
  thinpipe_compressor* compressor_ = nullptr;
  thinpipe_properties properties_{};
  thinpipe_report report_{};
  std::vector<std::byte> payload_;  ///< with room for the largest
  std::size_t encoded_ = 0;         ///< bytes of the last payload
  std::vector<std::byte> saved_;
  std::vector<std::uint32_t> positions_;
  std::vector<float> sent_;  ///< values at the positions
  std::size_t pairs_ = 0;    ///< of the last payload
  std::uint64_t step_ = 0;
  float scale_ = 0;      ///< that all workers share in this step; 0: none
  bool pinned_ = false;  ///< the compressor reads the gradient's values again
  int rounds_left_ = 0;
};

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  fuzz::Caller caller(fuzz::take_subject(input));
  for (int call = 0; call < fuzz::kMaxCalls && !input.rest().empty(); ++call)
    caller.make_call(input);
  return 0;
}
