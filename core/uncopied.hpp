// What there is one of.
#pragma once

namespace autospmv {

/// A base of classes whose objects are neither copied nor moved: others refer to them, or they own what cannot be
/// shared.
class Uncopied {
 public:
  Uncopied() = default;
  Uncopied(const Uncopied&) = delete;
  Uncopied& operator=(const Uncopied&) = delete;

 protected:
  ~Uncopied() = default;
};

}  // namespace autospmv
