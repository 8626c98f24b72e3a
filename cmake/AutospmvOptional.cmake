# Parts that are built where what they need is found. Each has an option AUTOSPMV_<PART> of ON, OFF or AUTO, and says in
# a line what becomes of it, which also stands in <part>.txt in the build directory.

# autospmv_say(NAME TEXT), NAME as its own people write it
function(autospmv_say name text)
  string(TOLOWER ${name} file)
  message(STATUS "${name}: ${text}")
  file(WRITE ${PROJECT_BINARY_DIR}/${file}.txt "${name}: ${text}\n")
endfunction()

# autospmv_without(NAME WHY): what is asked for must be there, what is found by itself may be no use. Ends the file that
# calls it.
macro(autospmv_without name why)
  string(TOUPPER ${name} autospmv_part)
  if(AUTOSPMV_${autospmv_part} STREQUAL "ON")
    message(FATAL_ERROR "AUTOSPMV_${autospmv_part} is ON and ${why}")
  endif()
  autospmv_say(${name} "NOT COMPILED, ${why}")
  return()
endmacro()

# autospmv_optional(NAME): ends the file that calls it where the part is not wanted.
macro(autospmv_optional name)
  string(TOUPPER ${name} autospmv_part)
  if(NOT AUTOSPMV_${autospmv_part} MATCHES "^(ON|OFF|AUTO)$")
    message(FATAL_ERROR "AUTOSPMV_${autospmv_part} is '${AUTOSPMV_${autospmv_part}}'; it takes ON, OFF or AUTO")
  endif()
  if(AUTOSPMV_${autospmv_part} STREQUAL "OFF")
    autospmv_without(${name} "AUTOSPMV_${autospmv_part} is OFF")
  endif()
endmacro()
