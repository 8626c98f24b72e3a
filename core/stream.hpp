#pragma once
#include "autospmv/stream.hpp"
