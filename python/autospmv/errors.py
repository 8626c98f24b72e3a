"""What is raised where something is broken. Messages are one line."""


class Error(Exception):
    """Misuse, files and devices that fail: the base of all that this package raises, but for TypeError."""


class InvalidArgument(Error, ValueError):
    """What no matrix, vector or option can be: wrong sizes, columns out of range."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory on the host or the device."""


class DeviceError(Error):
    """A call of CUDA or cuSPARSE failed."""


class Unsupported(Error, NotImplementedError):
    """Sensible, but not in this version or build."""
