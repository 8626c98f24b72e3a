// autospmv devices: the processor and every CUDA device.

#include <iostream>

#include "tools/command.hpp"
#include "tools/output/json.hpp"
#include "tools/output/table.hpp"

namespace autospmv::tools {

namespace {

Row cells(const Device& device) {
  return {std::string(name_of(device.backend)),
          std::to_string(device.ordinal),
          device.name,
          std::to_string(device.multiprocessors),
          device.clock_mhz > 0 ? std::to_string(device.clock_mhz) : "-",
          fixed(static_cast<double>(device.memory_bytes) * 1e-9, 1),
          fixed(static_cast<double>(device.cache_bytes) * 1e-6, 1),
          device.toolkit,
          device.driver};
}

void print_text(const std::vector<Device>& devices) {
  std::vector<Row> rows;
  rows.reserve(devices.size());
  for (const auto& device : devices) rows.push_back(cells(device));
  print_table(std::cout,
              {{.title = "backend", .left = true},
               {.title = "ordinal"},
               {.title = "name", .left = true},
               {.title = "processors"},
               {.title = "MHz"},
               {.title = "memory GB"},
               {.title = "cache MB"},
               {.title = "toolkit", .left = true},
               {.title = "driver", .left = true}},
              rows);
}

}  // namespace

int run_devices(const Options& options) {
  std::vector<Device> devices = {host_device()};
  for (auto& device : cuda_devices()) devices.push_back(std::move(device));
  if (!options.json) {
    print_text(devices);
    return 0;
  }
  Json json = Json::array();
  for (const auto& device : devices) json.push_back(to_json(device));
  print_json(json);
  return 0;
}

}  // namespace autospmv::tools
