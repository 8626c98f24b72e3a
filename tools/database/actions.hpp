// What autospmv db does, an action a function. Each gives the program's exit status.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "db/database.hpp"
#include "tools/options.hpp"

namespace autospmv::tools {

int list_matrices(const Options& options);
int show_matrix(const Options& options);
int print_statistics(const Options& options);
int check_database(const Options& options);
int export_rows(const Options& options);
int import_rows(const Options& options);
int merge_databases(const Options& options);
int compare_databases(const Options& options);
int forget_rows(const Options& options);
int vacuum_database(const Options& options);

/// Of --db, else the user's own.
std::filesystem::path place_of(const Options& options);

/// What the file holds. Nothing is written.
std::shared_ptr<Database> look_at_place(const Options& options);

/// The same, to be changed. Throws Error where it cannot be.
std::shared_ptr<Database> open_to_change(const Options& options);

/// Has it keep ready what predictions need of all matrices: those who read it below their own cannot.
void prepare(Database& database);

/// What the options choose: one selection a matrix that is named, or one for all of them.
std::vector<Selection> selections_of(const Options& options);

/// Whether they choose less than everything.
bool selects(const Options& options);

/// Every matrix and environment of which a trial is selected, most recent first.
std::vector<TunedMatrix> entries_of(Database& database, const Options& options);

/// Those of the selected format.
void keep_selected(std::vector<TrialRecord>& trials, const Options& options);

}  // namespace autospmv::tools
