# meshwright_bundle_page(FILE): makes FILE, C++ with the page that `meshwright report` writes, from the TypeScript in report/.
# What npm installs goes into report/node_modules, once for all build folders.
function(meshwright_bundle_page output)
  find_program(MESHWRIGHT_NPM npm)
  find_program(MESHWRIGHT_NODE node)
  if(NOT MESHWRIGHT_NPM OR NOT MESHWRIGHT_NODE)
    message(FATAL_ERROR
      "The page of `meshwright report` is built with npm and Node.js 18 or newer, which are not there. Install them "
      "(Debian: apt-get install nodejs npm), or leave the page out with -DMESHWRIGHT_REPORT=OFF.")
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/report)
  set(installed ${folder}/node_modules/.installed)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/src/*)
  # esbuild's own install script only looks whether npm has fetched the binary, which it has.
  add_custom_command(
    OUTPUT ${installed}
    COMMAND ${MESHWRIGHT_NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${installed}
    DEPENDS ${folder}/package.json ${folder}/package-lock.json
    WORKING_DIRECTORY ${folder}
    COMMENT "Installing what the report's page is built with"
    VERBATIM)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${MESHWRIGHT_NODE} build.mjs --cc ${output}
    DEPENDS ${installed} ${folder}/build.mjs ${sources}
    WORKING_DIRECTORY ${folder}
    COMMENT "Bundling the report's page"
    VERBATIM)
endfunction()
