#include "formats/diagonals/hdia/constants.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/machine/on_backend.hpp"
#include "core/machine/simd.hpp"
#include "formats/common/host/pack.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/diagonals/host.hpp"

namespace autospmv::formats::hdia {

namespace host {

namespace {

// The value of the nonzeros among some slots; where they have several, 0 and `constant` becomes false.
template <class T>
T common_value(const T* slots, std::int64_t count, bool& constant) {
  const auto* first = std::find_if_not(slots, slots + count, is_absent<T>);
  if (first == slots + count) return T{0};
  const auto pattern = pattern_of(*first);
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    others += static_cast<int>(!is_absent(slots[i])) * static_cast<int>(pattern_of(slots[i]) != pattern);
  }
  const bool alike = others == 0 && std::isfinite(*first);
  constant = constant && alike;
  return alike ? *first : T{0};
}

// Neighbouring rows whose sums stay in registers: they share a word of bits, and a hack has a whole number of such
// groups.
template <class T>
struct Group {
  static constexpr int width = Pack<T>::size;
  static constexpr int packs = 4;
  static constexpr int rows = packs * width;
  static constexpr std::uint32_t all = rows == word_rows ? ~std::uint32_t{0} : (std::uint32_t{1} << rows) - 1;
  static_assert(word_rows % rows == 0);
};

// The bit of each lane of a pack.
template <class T>
constexpr BitsOf<T> lane_bits[] = {1, 2, 4, 8, 16, 32, 64, 128};

// A diagonal at the rows of a group.
template <class T>
struct Run {
  T constant;
  const T* slots;       // nullptr: constant
  std::uint32_t bits;   // of the rows with a nonzero
  std::int64_t column;  // of the first row's element of x
};

template <class T>
AUTOSPMV_INLINE void multiply_group(const ConstantsView<T>& view, std::int64_t h, std::int64_t row, T alpha, const T* x,
                                    T beta, T* y) {
  using Vector = typename Pack<T>::Vector;
  typedef BitsOf<T> Bits __attribute__((vector_size(sizeof(Vector))));
  using Rows = Group<T>;
  const auto within = row - h * view.hack;
  const auto hack_words = view.hack / word_rows;
  const auto run_of = [&](std::int64_t d) AUTOSPMV_INLINE_LAMBDA {
    const auto& diagonal = view.diagonals[d];
    const auto bits = view.words[d * hack_words + within / word_rows] >> within % word_rows & Rows::all;
    const T* slots = diagonal.full < 0 ? nullptr : view.slots + diagonal.full * view.hack + within;
    return Run<T>{diagonal.constant, slots, bits, row + diagonal.offset};
  };
  const auto within_x = [&](const Run<T>& run)
                            AUTOSPMV_INLINE_LAMBDA { return run.column >= 0 && run.column + Rows::rows <= view.cols; };
  const std::int64_t first = view.first[h];
  const std::int64_t last = view.first[h + 1];
  Bits lanes;
  std::memcpy(&lanes, lane_bits<T>, sizeof lanes);
  Pack<T> sum[Rows::packs] = {};
  bool some = false;
  for (auto d = first; d < last; ++d) {
    const auto run = run_of(d);
    if (!within_x(run)) {
      some = some || run.bits != 0;
    } else if (run.slots == nullptr && run.bits == Rows::all) {
      for (int p = 0; p < Rows::packs; ++p) {
        Pack<T> element;
        element.load(x + run.column + p * Rows::width);
        sum[p].elements += run.constant * element.elements;
      }
    } else {
      for (int p = 0; p < Rows::packs; ++p) {
        Pack<T> element;
        element.load(x + run.column + p * Rows::width);
        // Where there is no nonzero, x, which may be infinite, is taken to be zero.
        const auto bits = static_cast<BitsOf<T>>(run.bits >> p * Rows::width);
        const Bits present = (lanes & bits) != 0;
        element.elements = reinterpret_cast<Vector>(reinterpret_cast<Bits>(element.elements) & present);
        if (run.slots == nullptr) {
          sum[p].elements += run.constant * element.elements;
        } else {
          Pack<T> value;
          value.load(run.slots + p * Rows::width);
          sum[p].elements += value.elements * element.elements;
        }
      }
    }
  }
  T sums[Rows::rows];
  for (int p = 0; p < Rows::packs; ++p) sum[p].store(sums + p * Rows::width);
  // Few groups meet the first or the last column.
  for (auto d = first; some && d < last; ++d) {
    const auto run = run_of(d);
    if (within_x(run)) continue;
    for (int lane = 0; lane < Rows::rows; ++lane) {
      if ((run.bits >> lane & 1U) == 0) continue;
      sums[lane] += (run.slots == nullptr ? run.constant : run.slots[lane]) * x[run.column + lane];
    }
  }
  const auto count = std::min<std::int64_t>(Rows::rows, view.rows - row);
  for (std::int64_t lane = 0; lane < count; ++lane) {
    y[row + lane] = beta == T{0} ? alpha * sums[lane] : alpha * sums[lane] + beta * y[row + lane];
  }
}

template <class T>
AUTOSPMV_INLINE void multiply_hacks(const ConstantsView<T>& view, Share hacks, T alpha, const T* x, T beta, T* y) {
  for (auto h = hacks.first; h < hacks.last; ++h) {
    const auto last = std::min(view.rows, (h + 1) * view.hack);
    for (auto row = h * view.hack; row < last; row += Group<T>::rows) multiply_group(view, h, row, alpha, x, beta, y);
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_HACKS(T)                                                                                          \
  AUTOSPMV_MULTIVERSION void hacks_version(const ConstantsView<T>& view, Share hacks, T alpha, const T* x, T beta, \
                                           T* y) {                                                                 \
    multiply_hacks(view, hacks, alpha, x, beta, y);                                                                \
  }
AUTOSPMV_HACKS(float)
AUTOSPMV_HACKS(double)
#undef AUTOSPMV_HACKS

}  // namespace

template <class T>
std::optional<std::int64_t> find_constants(const CsrView<T>& matrix, Constants<T>& constants) {
  const auto& places = constants.places;
  const auto hack = places.hack;
  const auto faults = formats::host::visit_diagonals(matrix, places, [&](std::int64_t d, const T* slots) {
    bool constant = true;
    const T value = common_value(slots, hack, constant);
    constants.diagonals.data()[d] = {value, places.offsets.data()[d], constant ? -1 : 0};
    auto* words = constants.words.data() + d * (hack / word_rows);
    for (std::int64_t w = 0; w < hack / word_rows; ++w) {
      std::uint32_t bits = 0;
      for (std::int64_t i = 0; i < word_rows; ++i) {
        bits |= static_cast<std::uint32_t>(!is_absent(slots[w * word_rows + i])) << i;
      }
      words[w] = bits;
    }
  });
  if (!faults.none()) return std::nullopt;
  std::int32_t full = 0;
  for (auto& diagonal : constants.diagonals.span()) {
    if (diagonal.full >= 0) diagonal.full = full++;
  }
  return full;
}

template <class T>
bool take_values(const CsrView<T>& matrix, Constants<T>& constants) {
  const auto hack = constants.places.hack;
  std::atomic<bool> constant{true};
  const auto faults = formats::host::visit_diagonals(matrix, constants.places, [&](std::int64_t d, const T* slots) {
    auto& diagonal = constants.diagonals.data()[d];
    if (diagonal.full >= 0) {
      std::copy_n(slots, hack, constants.slots.data() + diagonal.full * hack);
      return;
    }
    bool alike = true;
    diagonal.constant = common_value(slots, hack, alike);
    if (!alike) constant.store(false, std::memory_order_relaxed);
  });
  return constant && faults.none();
}

template <class T>
void multiply(const Constants<T>& constants, T alpha, const T* x, T beta, T* y) {
  const auto view = constants.view();
  for_each_share(
      view.first, constants.places.hacks, [&](Share hacks) { hacks_version(view, hacks, alpha, x, beta, y); },
      view.hack);
}

}  // namespace host

namespace {

// Of all diagonals, how many must be constant.
constexpr double least_share = 0.5;

template <class T>
std::optional<std::int64_t> find_constants(const CsrView<T>& matrix, Constants<T>& constants, Place place,
                                           Stream stream) {
  return on_backend(
      place, [&] { return host::find_constants(matrix, constants); },
      [&] { return device::find_constants(matrix, constants, stream); });
}

template <class T>
bool take_values(const CsrView<T>& matrix, Constants<T>& constants, Place place, Stream stream) {
  return on_backend(
      place, [&] { return host::take_values(matrix, constants); },
      [&] {
        auto& places = constants.places;
        const bool filled = fill_diagonals(places, matrix, place, stream);
        const auto values = std::exchange(places.values, {});
        return filled && device::take_values(values, constants, stream);
      });
}

}  // namespace

template <class T>
void Constants<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (places.rows == 0) return;
  on_backend(
      place, [&] { host::multiply(*this, alpha, x, beta, y); },
      [&] { device::multiply(*this, places.layout, alpha, x, beta, y, stream); });
}

// Waits for the stream: only then is it known whether the diagonals are constant still.
template <class T>
bool Constants<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  // A stream that is being captured must not draw the setup stream into its graph.
  synchronize(place, stream);
  const auto setup = setup_stream(place);
  const bool fits = take_values(matrix, *this, place, setup);
  order_after(place, stream, setup);
  return fits;
}

template <class T>
Result<Constants<T>> build_constants(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device) {
  auto placed = place_diagonals(matrix, layout, device);
  if (!placed) return Refusal{placed.reason()};
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  Constants<T> constants;
  constants.places = std::move(*placed);
  const auto count = constants.places.offsets.size();
  const auto hack = static_cast<std::size_t>(constants.places.hack);
  constants.diagonals = Array<HackDiagonal<T>>(count, device);
  constants.words = Array<std::uint32_t>(count * (hack / word_rows), device);
  const auto full = find_constants(matrix, constants, device, stream);
  if (!full) return refuse_duplicates();
  if (static_cast<double>(*full) > (1 - least_share) * static_cast<double>(count)) {
    return Refusal{"values: " + std::to_string(*full) + " of " + std::to_string(count) + " diagonals have several"};
  }
  constants.slots = Array<T>(static_cast<std::size_t>(*full) * hack, device);
  // Those that are constant are known by now.
  if (*full > 0 && !take_values(matrix, constants, device, stream)) {
    return Refusal{"values: changed while they were converted"};
  }
  return constants;
}

template struct Constants<float>;
template struct Constants<double>;
template Result<Constants<float>> build_constants(const CsrView<float>&, const DiagonalLayout&, const Device&);
template Result<Constants<double>> build_constants(const CsrView<double>&, const DiagonalLayout&, const Device&);

}  // namespace autospmv::formats::hdia
