/* Which names a shared library of autospmv exports. */
#ifndef AUTOSPMV_EXPORT_H
#define AUTOSPMV_EXPORT_H

#if defined(__GNUC__)
#define AUTOSPMV_API __attribute__((visibility("default")))
#else
#define AUTOSPMV_API
#endif

#endif
