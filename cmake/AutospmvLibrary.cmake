# autospmv_library(NAME DEPENDS...): the static library of one folder, from the sources in SOURCES (host) and
# CUDA_SOURCES (compiled only with CUDA). The libraries it links are the only folders it may include.

function(autospmv_compile_options target)
  # Of sources that are compiled together, one's own names are in sight of the others.
  set(unity_options "")
  if(CMAKE_UNITY_BUILD)
    set(unity_options $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  # clang takes it for a fault where a loop that may be vectorized is not, as it is under a sanitizer.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>
    ${unity_options}
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra --expt-relaxed-constexpr --extended-lambda>
    # What profilers show beside instructions, and more than half of a library that has it.
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<CONFIG:RelWithDebInfo>>:-lineinfo>)
  if(AUTOSPMV_WERROR)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Werror>
      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Werror -Werror=all-warnings>)
  endif()
  if(AUTOSPMV_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${AUTOSPMV_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
    target_link_options(${target} PRIVATE -fsanitize=${AUTOSPMV_SANITIZE})
  endif()
endfunction()

function(autospmv_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;CUDA_SOURCES;DEPENDS" ${ARGN})
  if(AUTOSPMV_WITH_CUDA)
    list(APPEND ARG_SOURCES ${ARG_CUDA_SOURCES})
  endif()
  add_library(autospmv_${name} STATIC ${ARG_SOURCES})
  target_include_directories(autospmv_${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(autospmv_${name} PUBLIC ${ARG_DEPENDS})
  set_target_properties(autospmv_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  autospmv_compile_options(autospmv_${name})
endfunction()
