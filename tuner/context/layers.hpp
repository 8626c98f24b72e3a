// What is known below the user's own database: what a site keeps, and what is installed with the library.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autospmv/options.hpp"
#include "db/database.hpp"

namespace autospmv {

/// The file that is installed with this library; empty where there is none.
std::filesystem::path installed_knowledge();

/// The databases that the options ask for, the uppermost first, as ContextOptions::system_databases says.
std::vector<std::shared_ptr<Database>> layers_of(const ContextOptions& options, const Database::Warn& warn);

}  // namespace autospmv
