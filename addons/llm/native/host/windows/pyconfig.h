#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

/* What Python's headers have to know of Python for Windows x86-64, in place of the pyconfig.h of the Python that builds.
 * With MS_WINDOWS, some structures have more members. */

#define MS_WINDOWS
#define MS_WIN64
#define NT_THREADS

/* Its functions are in a DLL. */
#define Py_ENABLE_SHARED
#define HAVE_DECLSPEC_DLL

#define HAVE_STDDEF_H
#define HAVE_SYS_STAT_H
#define HAVE_WCHAR_H

#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_DOUBLE 8
#define ALIGNOF_LONG 4
#define ALIGNOF_SIZE_T 8

#endif
