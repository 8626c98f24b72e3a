// autospmv generate: a generated matrix as a Matrix Market file.

#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>

#include "core/error.hpp"
#include "io/generators.hpp"
#include "io/matrix_market.hpp"
#include "tools/command.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"

namespace autospmv::tools {

namespace {

template <Scalar T>
void write_file(const CsrView<T>& matrix, const std::string& comment, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  if (!file) throw Error(path + ": cannot be written: " + std::generic_category().message(errno));
  try {
    write_matrix_market(file, matrix, comment);
    if (!file.flush()) throw Error("the device is full");
  } catch (const Error& error) {
    throw Error(path + ": cannot be written: " + error.what());
  }
}

template <Scalar T>
int generate_matrix(const Options& options) {
  const auto& spec = options.arguments.front();
  const auto matrix = load_matrix<T>(spec, options.values);
  const auto comment = "autospmv generate " + spec;
  if (options.output == "-") {
    write_matrix_market(std::cout, matrix.view(), comment);
    return 0;
  }
  write_file(matrix.view(), comment, options.output);
  if (options.json) {
    print_json({{"matrix", spec},
                {"file", options.output},
                {"rows", matrix.rows},
                {"columns", matrix.cols},
                {"nonzeros", matrix.nnz()}});
  }
  return 0;
}

}  // namespace

int run_generate(const Options& options) {
  const auto& spec = options.arguments.front();
  if (!is_generator(spec)) throw InvalidArgument("'" + spec + "' is no generator: they are gen:KIND:ARGS");
  if (options.json && options.output == "-") throw InvalidArgument("--json needs a file: --output FILE");
  return with_value_type(options.value_type, [&]<class T>() { return generate_matrix<T>(options); });
}

}  // namespace autospmv::tools
