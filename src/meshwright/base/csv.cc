#include "meshwright/base/csv.h"

#include <set>
#include <utility>

#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

absl::Status ErrorAt(std::string_view file, int line, std::string_view message) {
  return absl::InvalidArgumentError(StrCat(file, ":", line, ": ", message));
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  bool AtEnd() const { return at_ >= text_.size(); }

  absl::StatusOr<CsvRow> Row() {
    CsvRow row;
    row.line = line_;
    while (true) {
      std::string& field = row.fields.emplace_back();
      if (absl::Status status = Field(&field); !status.ok()) return status;
      if (AtEnd()) return row;
      const char end = text_[at_++];
      if (end == ',') continue;
      if (end == '\r' && !AtEnd() && text_[at_] == '\n') ++at_;
      ++line_;
      return row;
    }
  }

 private:
  bool AtFieldEnd() const {
    return AtEnd() || text_[at_] == ',' || text_[at_] == '\n' || text_[at_] == '\r';
  }

  absl::Status Field(std::string* field) {
    if (AtEnd() || text_[at_] != '"') {
      for (; !AtFieldEnd(); ++at_) {
        if (text_[at_] == '"')
          return ErrorAt(file_, line_, "a quote inside a field without quotes");
        field->push_back(text_[at_]);
      }
      return absl::OkStatus();
    }
    const int opened = line_;
    for (++at_; !AtEnd(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      field->push_back(text_[at_]);
    }
    if (AtEnd()) return ErrorAt(file_, opened, "a quote is not closed");
    ++at_;
    if (AtFieldEnd()) return absl::OkStatus();
    return ErrorAt(file_, line_, "text behind a closed quote");
  }

  std::string_view text_, file_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

absl::StatusOr<CsvTable> ParseCsv(std::string_view text, std::string_view file) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  Parser parser(text, file);
  CsvTable table;
  if (parser.AtEnd()) return ErrorAt(file, 1, "empty; expected a header of columns");
  absl::StatusOr<CsvRow> header = parser.Row();
  if (!header.ok()) return header.status();
  table.header = std::move(header->fields);
  std::set<std::string> names;
  for (const std::string& name : table.header) {
    if (!names.insert(name).second) {
      return ErrorAt(file, 1, StrCat("column \"", name, "\" occurs twice"));
    }
  }
  while (!parser.AtEnd()) {
    absl::StatusOr<CsvRow> row = parser.Row();
    if (!row.ok()) return row.status();
    if (row->fields.size() == 1 && row->fields[0].empty()) continue;
    if (row->fields.size() != table.header.size()) {
      return ErrorAt(
          file, row->line,
          StrCat(row->fields.size(), " fields, but the header has ", table.header.size()));
    }
    table.rows.push_back(*std::move(row));
  }
  return table;
}

std::string CsvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line.push_back(',');
    if (fields[i].find_first_of(",\"\r\n") == std::string::npos) {
      line += fields[i];
      continue;
    }
    line.push_back('"');
    for (const char c : fields[i]) {
      if (c == '"') line.push_back('"');
      line.push_back(c);
    }
    line.push_back('"');
  }
  line.push_back('\n');
  return line;
}

}  // namespace meshwright
