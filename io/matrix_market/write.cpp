#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ostream>
#include <vector>

#include "core/error.hpp"
#include "core/uncopied.hpp"
#include "io/matrix_market.hpp"

namespace autospmv {

namespace {

// Collects text and hands it to the stream in large pieces.
class Writer : Uncopied {
 public:
  explicit Writer(std::ostream& out) : out_(out), buffer_(capacity) {}
  ~Writer() = default;

  // A number, and the character behind it.
  template <class V>
  void number(V value, char behind) {
    if (size_ + longest_number >= capacity) flush();
    char* first = buffer_.data() + size_;
    char* end = std::to_chars(first, first + longest_number, value).ptr;
    *end++ = behind;
    size_ += end - first;
  }

  void flush() {
    out_.write(buffer_.data(), size_);
    size_ = 0;
  }

 private:
  static constexpr std::int64_t capacity = std::int64_t{1} << 20;
  static constexpr std::int64_t longest_number = 64;  // the shortest digits of a double take at most 24 characters

  std::ostream& out_;
  std::vector<char> buffer_;
  std::int64_t size_ = 0;
};

void write_comment(std::ostream& out, std::string_view comment) {
  while (!comment.empty()) {
    const auto line = comment.substr(0, comment.find('\n'));
    out << '%' << (line.empty() ? "" : " ") << line << '\n';
    comment.remove_prefix(std::min(comment.size(), line.size() + 1));
  }
}

}  // namespace

template <class T>
void write_matrix_market(std::ostream& out, const CsrView<T>& matrix, std::string_view comment) {
  out << "%%MatrixMarket matrix coordinate real general\n";
  write_comment(out, comment);
  out << matrix.rows << ' ' << matrix.cols << ' ' << matrix.nnz << '\n';
  Writer writer(out);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
        writer.number(row + 1, ' ');
        writer.number(std::int64_t{matrix.col_idx[k]} + 1, ' ');
        writer.number(matrix.values[k], '\n');
      }
    }
  });
  writer.flush();
  if (!out.flush()) throw Error("the matrix could not be written");
}

template void write_matrix_market(std::ostream&, const CsrView<float>&, std::string_view);
template void write_matrix_market(std::ostream&, const CsrView<double>&, std::string_view);

}  // namespace autospmv
