#include "operands.h"

#include <algorithm>
#include <cmath>

namespace uhop::check {

namespace {

template <class T>
class Source {
 public:
  Source(Kind kind, Role role, std::size_t terms, Random& random)
      : kind_(kind), random_(random), rarity_(2 * terms + 4) {
    const double most = std::sqrt(kSummed.largest / double(terms + 2));
    switch (kind) {
      case Kind::exact:
        limit_ = std::sqrt(std::ldexp(1, kSummed.digits) / double(terms + 1));
        limit_ = std::floor(std::min(limit_, std::ldexp(1, kElement.digits)));
        break;
      case Kind::huge:
        limit_ = std::min(role == Role::bias ? most * most : most, kElement.largest);
        break;
      case Kind::overflow:
        limit_ = std::sqrt(kSummed.largest) * 1.01;
        break;
      default:
        limit_ = role == Role::right ? 1 : kElement.smallest;
    }
  }

  T draw() {
    switch (kind_) {
      case Kind::integers:
        return stored<T>(double(random_.between(-9, 9)));
      case Kind::exact:
        return stored<T>(double(random_.between(-std::int64_t(limit_), std::int64_t(limit_))));
      case Kind::cancelling:
        return stored<T>(sign() * (1 + random_.unit() * 0x1p-6));
      case Kind::huge:
        return stored<T>(sign() * limit_ * (0.5 + random_.unit() * 0.49));
      case Kind::overflow:
        return stored<T>(std::min(limit_ * (1 + random_.unit()), kElement.largest));
      case Kind::subnormal:
        return stored<T>(double(random_.between(-9, 9)) * limit_);
      case Kind::special:
        return special();
      default:
        return stored<T>(spread());
    }
  }

 private:
  double sign() { return random_.one_in(2) ? -1 : 1; }
  double spread() { return (random_.unit() - 0.5) * std::ldexp(1, int(random_.between(0, 5))); }

  // Rare enough that many sums have none.
  T special() {
    if (random_.one_in(8)) return stored<T>(sign() * 0.0);
    if (!random_.one_in(rarity_)) return stored<T>(spread());
    return stored<T>(random_.one_in(3) ? std::nan("") : sign() * INFINITY);
  }

  static constexpr Format kElement = format_of<T>();
  static constexpr Format kSummed = format_of<Sum<T>>();
  Kind kind_;
  Random& random_;
  std::uint64_t rarity_;
  /** The largest integer, magnitude or unit, as the kind has it. */
  double limit_;
};

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* names[kKinds] = {"random", "integers", "exact",     "cancelling",
                                         "huge",   "overflow", "subnormal", "special"};
  return names[int(kind)];
}

template <class T>
void fill(T* x, std::size_t count, Kind kind, Role role, std::size_t terms, Random& random) {
  Source<T> source(kind, role, terms, random);
  for (std::size_t i = 0; i < count; ++i) x[i] = source.draw();
}

template void fill(float*, std::size_t, Kind, Role, std::size_t, Random&);
template void fill(double*, std::size_t, Kind, Role, std::size_t, Random&);
template void fill(F16Bits*, std::size_t, Kind, Role, std::size_t, Random&);
template void fill(Bf16Bits*, std::size_t, Kind, Role, std::size_t, Random&);

}  // namespace uhop::check
