#ifndef MESHWRIGHT_EXPORT_ARTEFACT_H_
#define MESHWRIGHT_EXPORT_ARTEFACT_H_

#include <string>
#include <vector>

namespace meshwright {

// A file of a launch.
struct Artefact {
  std::string name;  // in the folder of the launch, without slashes
  std::string contents;
  bool executable = false;
  friend bool operator==(const Artefact&, const Artefact&) = default;
};

using Artefacts = std::vector<Artefact>;

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_ARTEFACT_H_
