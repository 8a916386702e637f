#include "workloads/data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "workloads/trace/draws.h"

namespace thinpipe {
namespace {

constexpr std::size_t kClasses = 10;
// 4,000 to learn from and 1,000 held out: one is a tenth of a percentage point, and a network of
// 400,000 parameters cannot learn what counts from one epoch.
constexpr std::size_t kDrawn = 5'000;
constexpr std::uint64_t kDrawnSeed = 1;

// Part of an ellipse, angles in degrees from the positive x axis towards positive y (clockwise as
// seen, because y points down), in steps of about 15 degrees.
Stroke arc(GlyphPoint centre, double rx, double ry, double from, double to) {
  constexpr double kDegree = 3.14159265358979323846 / 180;
  const int steps = std::max(2, static_cast<int>(std::fabs(to - from) / 15));
  Stroke stroke;
  for (int i = 0; i <= steps; ++i) {
    const double angle = (from + (to - from) * i / steps) * kDegree;
    stroke.push_back({centre.x + rx * std::cos(angle), centre.y + ry * std::sin(angle)});
  }
  return stroke;
}

Stroke join(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::array<std::vector<Stroke>, 10> make_digits() {
  return {{
      {arc({0.5, 0.5}, 0.26, 0.4, 0, 360)},
      {{{0.35, 0.25}, {0.53, 0.1}, {0.53, 0.9}}},
      {join(arc({0.5, 0.32}, 0.25, 0.22, -170, 35), {{0.24, 0.88}, {0.78, 0.88}})},
      {join(arc({0.48, 0.3}, 0.24, 0.2, -150, 90), arc({0.48, 0.69}, 0.27, 0.2, -90, 150))},
      {{{0.62, 0.9}, {0.62, 0.1}, {0.22, 0.62}, {0.8, 0.62}}},
      {join({{0.75, 0.12}, {0.32, 0.12}, {0.29, 0.46}}, arc({0.48, 0.64}, 0.27, 0.24, -120, 150))},
      {join(arc({0.68, 0.5}, 0.42, 0.42, -95, -180), arc({0.51, 0.66}, 0.25, 0.22, 180, -180))},
      {{{0.22, 0.13}, {0.77, 0.13}, {0.42, 0.9}}},
      {arc({0.5, 0.3}, 0.2, 0.19, 90, 450), arc({0.5, 0.69}, 0.25, 0.2, -90, 270)},
      {join(arc({0.48, 0.34}, 0.24, 0.22, 0, -360), {{0.72, 0.34}, {0.68, 0.62}, {0.55, 0.9}})},
  }};
}

/// How much ink lies on each pixel, 0..1.
class Canvas {
 public:
  explicit Canvas(std::size_t side) : side_(side), ink_(side * side) {}

  float at(std::size_t row, std::size_t column) const { return ink_[row * side_ + column]; }

  void draw(const Stroke& stroke, double pen) {
    for (std::size_t i = 1; i < stroke.size(); ++i) draw_line(stroke[i - 1], stroke[i], pen);
  }

 private:
  // Coverage falls from 1 to 0 over one pixel around the pen's edge.
  void draw_line(GlyphPoint from, GlyphPoint to, double pen) {
    const double reach = pen / 2 + 1;
    const auto side = static_cast<double>(side_);
    const auto low = [&](double a, double b) {
      return static_cast<std::size_t>(std::clamp(std::min(a, b) - reach, 0.0, side));
    };
    const auto high = [&](double a, double b) {
      return static_cast<std::size_t>(std::clamp(std::max(a, b) + reach + 1, 0.0, side));
    };
    for (std::size_t row = low(from.y, to.y); row < high(from.y, to.y); ++row) {
      for (std::size_t column = low(from.x, to.x); column < high(from.x, to.x); ++column) {
        const GlyphPoint pixel{static_cast<double>(column), static_cast<double>(row)};
        const double cover = std::clamp(pen / 2 + 0.5 - distance(pixel, from, to), 0.0, 1.0);
        float& ink = ink_[row * side_ + column];
        ink = std::max(ink, static_cast<float>(cover));
      }
    }
  }

  static double distance(GlyphPoint pixel, GlyphPoint from, GlyphPoint to) {
    const double dx = to.x - from.x;
    const double dy = to.y - from.y;
    const double length = dx * dx + dy * dy;
    const double along =
        length > 0
            ? std::clamp(((pixel.x - from.x) * dx + (pixel.y - from.y) * dy) / length, 0.0, 1.0)
            : 0;
    return std::hypot(pixel.x - from.x - along * dx, pixel.y - from.y - along * dy);
  }

  std::size_t side_;
  std::vector<float> ink_;
};

// A random affine map of the unit square onto the canvas: turned by up to 23 degrees, sheared by
// up to 0.35, each axis scaled by 0.6 to 1, shifted by up to a seventh of the side.
class Distortion {
 public:
  Distortion(std::size_t side, Draws& random) {
    const auto pixels = static_cast<double>(side);
    const double turn = random.uniform(-0.4, 0.4);
    const double shear = random.uniform(-0.35, 0.35);
    const double sx = pixels * random.uniform(0.6, 1.0);
    const double sy = pixels * random.uniform(0.6, 1.0);
    xx_ = sx * std::cos(turn);
    xy_ = sy * (shear * std::cos(turn) - std::sin(turn));
    yx_ = sx * std::sin(turn);
    yy_ = sy * (shear * std::sin(turn) + std::cos(turn));
    centre_x_ = pixels / 2 + pixels * random.uniform(-1.0 / 7, 1.0 / 7);
    centre_y_ = pixels / 2 + pixels * random.uniform(-1.0 / 7, 1.0 / 7);
  }
  GlyphPoint operator()(GlyphPoint p) const {
    const double x = p.x - 0.5;
    const double y = p.y - 0.5;
    return {centre_x_ + xx_ * x + xy_ * y, centre_y_ + yx_ * x + yy_ * y};
  }

 private:
  double xx_, xy_, yx_, yy_, centre_x_, centre_y_;
};

// A slow sideways drift along each stroke, as a hand has: two waves of random phase.
Stroke wobble(const Stroke& stroke, Draws& random) {
  const double phase_x = random.uniform(0, 6.3);
  const double phase_y = random.uniform(0, 6.3);
  const double strength = random.uniform(0, 0.045);
  Stroke out = stroke;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double t = 5.0 * static_cast<double>(i) / static_cast<double>(out.size());
    out[i].x += strength * std::sin(t + phase_x);
    out[i].y += strength * std::sin(t + phase_y);
  }
  return out;
}

Canvas draw_digit(std::size_t digit, std::size_t side, Draws& random) {
  Canvas canvas(side);
  const Distortion distort(side, random);
  const double pen = static_cast<double>(side) / 28 * random.uniform(1.0, 3.2);
  for (const Stroke& stroke : digit_strokes(digit)) {
    Stroke moved = wobble(stroke, random);
    for (GlyphPoint& point : moved) point = distort(point);
    canvas.draw(moved, pen);
  }
  return canvas;
}

// A stray mark: straight, an eighth to a third of the side long, anywhere.
Canvas draw_clutter(std::size_t side, Draws& random) {
  Canvas canvas(side);
  const auto pixels = static_cast<double>(side);
  const GlyphPoint from{random.uniform(0, pixels), random.uniform(0, pixels)};
  const double angle = random.uniform(0, 6.3);
  const double length = pixels * random.uniform(0.125, 0.33);
  canvas.draw({from, {from.x + length * std::cos(angle), from.y + length * std::sin(angle)}},
              random.uniform(0.8, 2.2));
  return canvas;
}

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

// A channel of light: ground, then layers of ink over it, then noise.
class Light {
 public:
  Light(std::size_t side, std::size_t channels) : side_(side), values_(channels * side * side) {}

  double& at(std::size_t channel, std::size_t row, std::size_t column) {
    return values_[(channel * side_ + row) * side_ + column];
  }
  void paint(const Canvas& canvas, std::span<const double> colour, double strength) {
    for (std::size_t c = 0; c < colour.size(); ++c) {
      for (std::size_t row = 0; row < side_; ++row) {
        for (std::size_t column = 0; column < side_; ++column) {
          double& value = at(c, row, column);
          value += strength * canvas.at(row, column) * (colour[c] - value);
        }
      }
    }
  }
  void append_with_noise(double sigma, Draws& random, std::vector<std::uint8_t>& out) const {
    for (const double value : values_) out.push_back(to_byte(value + sigma * random.normal()));
  }

 private:
  std::size_t side_;
  std::vector<double> values_;
};

void draw_grey(std::size_t digit, Draws& random, std::vector<std::uint8_t>& pixels) {
  constexpr std::size_t kSide = 28;
  Light light(kSide, 1);
  const std::array<double, 1> white = {1.0};
  for (std::uint64_t marks = random.below(4); marks > 0; --marks)
    light.paint(draw_clutter(kSide, random), white, random.uniform(0.3, 0.8));
  light.paint(draw_digit(digit, kSide, random), white, random.uniform(0.5, 1.0));
  light.append_with_noise(random.uniform(0.05, 0.25), random, pixels);
}

std::array<double, 3> random_colour(Draws& random) {
  return {random.uniform(), random.uniform(), random.uniform()};
}

// Ground shaded from one colour to another; the ink differs from both enough to be seen.
// With light ink no channel of the ground is above 0.4, and none of the ink below 0.6.
void draw_colour(InkTone tone, std::size_t digit, Draws& random,
                 std::vector<std::uint8_t>& pixels) {
  constexpr std::size_t kSide = 32;
  Light light(kSide, 3);
  auto top = random_colour(random);
  auto bottom = top;
  for (double& value : bottom) value = std::clamp(value + random.uniform(-0.3, 0.3), 0.0, 1.0);
  if (tone == InkTone::kLight) {
    for (double& value : top) value *= 0.4;
    for (double& value : bottom) value *= 0.4;
  }
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t row = 0; row < kSide; ++row) {
      const double down = static_cast<double>(row) / (kSide - 1);
      for (std::size_t column = 0; column < kSide; ++column)
        light.at(c, row, column) = top[c] + down * (bottom[c] - top[c]);
    }
  }
  const auto contrast = [](const std::array<double, 3>& a, const std::array<double, 3>& b) {
    return std::fabs(a[0] - b[0]) + std::fabs(a[1] - b[1]) + std::fabs(a[2] - b[2]);
  };
  auto ink = random_colour(random);
  // Two random colours differ by 1 in the mean, summed over the channels; a few tries find more.
  for (int i = 0; i < 16 && std::min(contrast(ink, top), contrast(ink, bottom)) < 1.1; ++i)
    ink = random_colour(random);
  if (tone == InkTone::kLight) {
    for (double& value : ink) value = 0.6 + 0.4 * value;
  }
  for (std::uint64_t marks = random.below(4); marks > 0; --marks)
    light.paint(draw_clutter(kSide, random), random_colour(random), random.uniform(0.3, 0.8));
  light.paint(draw_digit(digit, kSide, random), ink, random.uniform(0.7, 1.0));
  light.append_with_noise(random.uniform(0.02, 0.08), random, pixels);
}

template <typename Draw>
ImageSet draw_set(ImageSet set, std::size_t count, std::uint64_t seed, const Draw& draw) {
  Draws random(seed);
  set.pixels.reserve(count * set.image_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    // Every ten images hold each class once, in an order of their own.
    if (i % kClasses == 0) {
      for (std::uint8_t digit = 0; digit < kClasses; ++digit) set.labels.push_back(digit);
      for (std::size_t left = kClasses; left > 1; --left)
        std::swap(set.labels[i + left - 1], set.labels[i + random.below(left)]);
    }
    draw(set.labels[i], random, set.pixels);
  }
  set.labels.resize(count);
  return set;
}

}  // namespace

const std::vector<Stroke>& digit_strokes(std::size_t digit) {
  static const auto kDigits = make_digits();
  return kDigits.at(digit);
}

ImageSet draw_digits(std::size_t count, std::uint64_t seed) {
  return draw_set({1, 28, 28, {}, {}, "drawn digits"}, count, seed, draw_grey);
}

ImageSet draw_colour_digits(std::size_t count, std::uint64_t seed, InkTone tone) {
  const char* source =
      tone == InkTone::kAny ? "drawn colour digits" : "drawn colour digits of light ink";
  return draw_set({3, 32, 32, {}, {}, source}, count, seed,
                  [tone](std::size_t digit, Draws& random, std::vector<std::uint8_t>& pixels) {
                    draw_colour(tone, digit, random, pixels);
                  });
}

// Drawn once a process: it takes longer than many a step of training.
ImageData drawn_digits() {
  static const ImageData kDigits = hold_out_fifth(draw_digits(kDrawn, kDrawnSeed));
  return kDigits;
}

ImageData drawn_colour_digits() {
  static const ImageData kDigits =
      hold_out_fifth(draw_colour_digits(kDrawn, kDrawnSeed, InkTone::kLight));
  return kDigits;
}

}  // namespace thinpipe
