# Static archives of the dependencies: the released program must run on hosts that have none of them.
set(ZLIB_USE_STATIC_LIBS ON)

# meshwright_library(NAME [DEPS target...]): the layer's static library from every .cc beside its CMakeLists.txt.
function(meshwright_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  add_library(meshwright_${name} STATIC ${sources})
  target_include_directories(meshwright_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(meshwright_${name} PUBLIC ${ARG_DEPS})
endfunction()

# meshwright_test(NAME [DEPS target...]): one test program a layer, from every *_test.cc beside its CMakeLists.txt.
function(meshwright_test name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_executable(${name}_test ${sources})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name}_test PRIVATE
    MESHWRIGHT_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    MESHWRIGHT_SHARED="${PROJECT_SOURCE_DIR}/../shared")
  target_link_libraries(${name}_test PRIVATE meshwright_${name} ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name}_test COMMAND ${name}_test)
endfunction()
