# Programs are linked with archives of their dependencies: they must run on hosts that have none of them. Debian
# compiles the archives of abseil, yaml-cpp and protobuf for programs alone; libmeshwright.so takes their shared libraries.
set(ZLIB_USE_STATIC_LIBS ON)

# Sets MESHWRIGHT_ABSEIL_SHARED to abseil's shared libraries, which Debian's package names, and lets its targets stand
# for the archives beside them. A macro, because imported targets belong to the directory that found them.
macro(meshwright_abseil)
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER imported INCLUDE REGEX "^absl::")
  foreach(target ${imported})
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(configuration ${configurations})
      get_target_property(location ${target} IMPORTED_LOCATION_${configuration})
      if(location MATCHES "\\.so[.0-9]*$")
        list(APPEND MESHWRIGHT_ABSEIL_SHARED "${location}")
      endif()
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${location}")
      if(EXISTS "${archive}")
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${archive}")
      endif()
    endforeach()
  endforeach()
endmacro()

# meshwright_link(LAYER ARCHIVES item... SHARED item...): what a layer needs, as archives in programs and as shared
# libraries in a shared library.
function(meshwright_link layer)
  cmake_parse_arguments(ARG "" "" "ARCHIVES;SHARED" ${ARGN})
  set(shared "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>")
  target_link_libraries(${layer} INTERFACE "$<${shared}:${ARG_SHARED}>" "$<$<NOT:${shared}>:${ARG_ARCHIVES}>")
endfunction()

# Headers that nearly every source includes. Parsing them once a layer takes a third off the build.
set(MESHWRIGHT_PRECOMPILED
  <algorithm> <functional> <map> <memory> <optional> <string> <string_view> <utility> <vector>
  <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_join.h>)

# How the objects of every layer are compiled: for libmeshwright.so too. Hidden, as only what the linker may not replace
# is called directly.
function(meshwright_layer_properties target)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# How tests are compiled. They are mostly template code that runs once: optimising it costs more than it saves,
# instrumented all the more.
function(meshwright_test_properties target)
  if(NOT MESHWRIGHT_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  endif()
  target_link_libraries(${target} PRIVATE GTest::gtest GTest::gmock)
endfunction()

# meshwright_batch(TARGET layer|test [header...]): compiles a target's sources in batches, or one by one, with the headers
# above and those named compiled before them. Batches share them, as they are compiled alike.
function(meshwright_batch target kind)
  cmake_language(CALL meshwright_${kind}_properties ${target})
  if(NOT MESHWRIGHT_UNITY)
    target_precompile_headers(${target} PRIVATE ${MESHWRIGHT_PRECOMPILED} ${ARGN})
    return()
  endif()
  set(headers meshwright_${kind}_headers)
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${headers}.cc CONTENT "")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/${headers}.cc)
    cmake_language(CALL meshwright_${kind}_properties ${headers})
    target_precompile_headers(${headers} PRIVATE ${MESHWRIGHT_PRECOMPILED} ${ARGN})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Letting the heap grow to 2 GB before garbage is collected, not to 128 MB, takes a tenth off the time of a batch.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=2000000>")
  endif()
endfunction()

# meshwright_library(NAME [NO_SEARCH] [DEPS target...]): the layer's static library from every .cc in the folder of its
# CMakeLists.txt and those below it. NO_SEARCH: plans take as long where the layer is optimised less, which is quicker.
function(meshwright_library name)
  cmake_parse_arguments(ARG "NO_SEARCH" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(main|without_page/.*)\\.cc$")
  add_library(meshwright_${name} STATIC ${sources})
  target_include_directories(meshwright_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(meshwright_${name} PUBLIC ${ARG_DEPS})
  if(ARG_NO_SEARCH)
    target_compile_options(meshwright_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  meshwright_batch(meshwright_${name} layer)
endfunction()

# meshwright_test(NAME [COST seconds] [DEPS target...]): one test program a layer, from every .cc in the folder of its
# CMakeLists.txt and those below it. Those that cost most start first, so that all cores are busy until the end.
function(meshwright_test name)
  cmake_parse_arguments(ARG "" "COST" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_executable(${name}_test ${sources})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name}_test PRIVATE
    MESHWRIGHT_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    MESHWRIGHT_SHARED="${PROJECT_SOURCE_DIR}/../shared")
  meshwright_batch(${name}_test test <gtest/gtest.h>)
  target_link_libraries(${name}_test PRIVATE meshwright_${name} ${ARG_DEPS} GTest::gtest_main)
  add_test(NAME ${name}_test COMMAND ${name}_test)
  if(ARG_COST)
    set_tests_properties(${name}_test PROPERTIES COST ${ARG_COST})
  endif()
endfunction()
