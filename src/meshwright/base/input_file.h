#ifndef MESHWRIGHT_BASE_INPUT_FILE_H_
#define MESHWRIGHT_BASE_INPUT_FILE_H_

#include <string>

namespace meshwright {

// A file that something was made from.
struct InputFile {
  std::string path;    // as the user wrote it; "-": standard input
  std::string kind;    // "hlo_text", "hlo_proto", "stablehlo", "cluster_yaml", "fixes", "model",
                       // "layer_profile"
  std::string sha256;  // of the file as stored, 64 lower-case hex digits

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("path", self.path);
    visit("kind", self.kind);
    visit("sha256", self.sha256);
  }
  friend bool operator==(const InputFile&, const InputFile&) = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_INPUT_FILE_H_
