#include "workloads/replay/pushed_units.h"

namespace thinpipe {

PushedUnits::PushedUnits(const PlannedBucket& plan, const PushPullOptions& servers,
                         std::size_t first_unit, const CompressorSettings& settings)
    : order_(push_order(plan.units, servers)) {
  std::size_t pieces = 0;
  for (const PlannedUnit& planned : plan.units) {
    Unit& unit = units_.emplace_back();
    unit.pull = make_pull_compressor(planned.info, planned.compressor, servers, settings);
    unit.pieces = pieces_of(planned.info.elements, planned.compressor, servers);
    unit.first_piece = first_unit + pieces;
    pieces += unit.pieces.count;
  }
  pushed_.reserve(pieces);
  pushes_.reserve(pieces);
  answers_.reserve(pieces);
}

void PushedUnits::push(Pattern& pattern, const std::function<bool(std::size_t unit)>& sent,
                       std::span<const std::span<const std::byte>> payloads,
                       const std::function<std::size_t(std::size_t unit)>& come) {
  pushed_.clear();
  pushes_.clear();
  pulled_ = 0;
  std::size_t handed_over = 0;
  const auto hand_over = [&] {
    if (handed_over == pushed_.size()) return;
    pushes_.push_back(pattern.push(std::span(pushed_).subspan(handed_over)));
    handed_over = pushed_.size();
  };
  for (const std::size_t i : order_) {
    if (!sent(i)) continue;
    Unit& unit = units_[i];
    unit.first_pushed = pushed_.size();
    for (std::size_t piece = 0; piece < unit.pieces.count; ++piece) {
      const std::size_t begin = unit.pieces.first_byte(piece);
      const bool last = piece + 1 == unit.pieces.count;
      const std::size_t size = last ? payloads[i].size() - begin : unit.pieces.push_bytes;
      while (come && come(i) < begin + size) {
        hand_over();
        pattern.progress();
      }
      pushed_.push_back({unit.first_piece + piece, payloads[i].subspan(begin, size)});
    }
  }
  hand_over();
}

bool PushedUnits::pull(Pattern& pattern) {
  for (; pulled_ < pushes_.size(); ++pulled_)
    if (!pattern.pull(pushes_[pulled_])) return false;
  answers_.clear();
  for (const UnitPayload& pushed : pushed_) answers_.push_back(pattern.pulled(pushed.unit));
  return true;
}

std::size_t PushedUnits::pulled_bytes() const {
  std::size_t bytes = 0;
  for (const auto& answer : answers_) bytes += answer.size();
  return bytes;
}

std::span<const std::byte> joined_pieces(std::span<const std::span<const std::byte>> pieces,
                                         std::vector<std::byte>& room) {
  std::span<const std::byte> all = pieces.front();
  for (const std::span<const std::byte> piece : pieces.subspan(1)) {
    if (piece.data() != all.data() + all.size()) {
      room.clear();
      for (const auto& one : pieces) room.insert(room.end(), one.begin(), one.end());
      return room;
    }
    all = {all.data(), all.size() + piece.size()};
  }
  return all;
}

}  // namespace thinpipe
