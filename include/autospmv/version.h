/* The version of these headers, by semantic versioning. Before 1.0, a minor release may change the interface. */
#ifndef AUTOSPMV_VERSION_H
#define AUTOSPMV_VERSION_H

#define AUTOSPMV_VERSION_MAJOR 0
#define AUTOSPMV_VERSION_MINOR 2
#define AUTOSPMV_VERSION_PATCH 0
#define AUTOSPMV_VERSION "0.2.0"

#endif
