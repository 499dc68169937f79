#ifndef MESHWRIGHT_HLO_PROTO_MESSAGE_H_
#define MESHWRIGHT_HLO_PROTO_MESSAGE_H_

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "meshwright/hlo/proto/wire.h"

// Messages of protocol buffers, enough of them for HLO's: classes with the accessors that protoc
// generates, from lists of fields (hlo_proto.h). Debian's protobuf archive cannot be linked into a
// shared library, and this is a few hundred lines.
//
//   #define POINT_FIELDS(F) F(SCALAR, int64_t, x, 1) F(SUBS, Point, children, 2)
//   MESHWRIGHT_PROTO_MESSAGE(Point, POINT_FIELDS)
//
// A field is F(label, type, name, number), fields in the order of their numbers. Labels:
//   SCALAR    a number, bool or enum: name(), set_name(v)
//   OPTIONAL  the same that may be absent: has_name() too
//   TEXT      bytes, as std::string: name(), set_name(v), mutable_name()
//   SUB       a message: has_name(), name(), mutable_name(), clear_name()
//   SCALARS, TEXTS, SUBS  lists: name(), name(i), name_size(), add_name(...), mutable_name(),
//             clear_name(); lists of messages also mutable_name(i), of scalars set_name(i, v)
//   MAP       from int64_t to messages, in the order of keys: name(), mutable_name()
// As in proto3, scalars that are zero and empty texts are not written, lists of scalars are packed;
// fields that are not in the list are skipped. Pointers into a list hold until it grows.

namespace meshwright::proto {

// A list with the names of protobuf's. Bools are kept as bytes, to be iterated over.
template <typename T>
class Repeated {
 public:
  using value_type = T;
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

  int size() const { return static_cast<int>(items_.size()); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  const Stored& operator[](int i) const { return items_[static_cast<size_t>(i)]; }
  const Stored& Get(int i) const { return items_[static_cast<size_t>(i)]; }
  Stored* Mutable(int i) { return &items_[static_cast<size_t>(i)]; }
  Stored* Add() { return &items_.emplace_back(); }
  void Add(T value) { items_.push_back(static_cast<Stored>(std::move(value))); }
  template <typename Iterator>
  void Add(Iterator first, Iterator last) {
    items_.insert(items_.end(), first, last);
  }
  void Reserve(int size) { items_.reserve(static_cast<size_t>(size)); }
  void SwapElements(int a, int b) {
    std::swap(items_[static_cast<size_t>(a)], items_[static_cast<size_t>(b)]);
  }
  void clear() { items_.clear(); }

 private:
  std::vector<Stored> items_;
};

// A message that may be absent.
template <typename M>
class Sub {
 public:
  Sub() = default;
  Sub(const Sub& other) : message_(other.Copy()) {}
  Sub(Sub&&) noexcept = default;
  Sub& operator=(const Sub& other) {
    message_ = other.Copy();
    return *this;
  }
  Sub& operator=(Sub&&) noexcept = default;

  bool has() const { return message_ != nullptr; }
  const M& get() const {
    static const M* const absent = new M;
    return message_ != nullptr ? *message_ : *absent;
  }
  M* mutable_get() {
    if (message_ == nullptr) message_ = std::make_unique<M>();
    return message_.get();
  }
  void clear() { message_.reset(); }

 private:
  std::unique_ptr<M> Copy() const {
    return message_ != nullptr ? std::make_unique<M>(*message_) : nullptr;
  }
  std::unique_ptr<M> message_;
};

template <typename M>
concept Message = requires(M& message, WireReader& reader, WireTag tag, std::string& out) {
  { message.ParseField(tag, reader) } -> std::same_as<bool>;
  message.AppendTo(out);
};

// Fills `message` with the fields up to the end of `reader`; false if they are malformed.
template <Message M>
bool ParseMessage(WireReader& reader, M& message) {
  while (!reader.AtEnd()) {
    WireTag tag;
    if (!reader.Tag(tag) || !message.ParseField(tag, reader)) return false;
  }
  return true;
}

// ---- one field: ParseField reads what follows a tag, AppendField writes tag and value ----

template <WireScalar T>
bool ParseField(WireTag tag, WireReader& reader, T& value) {
  return tag.type == WireTypeOf<T>() ? reader.Scalar(value) : reader.Skip(tag);
}
template <WireScalar T>
void AppendField(uint32_t number, T value, std::string& out) {
  if (IsZero(value)) return;
  AppendTag({number, WireTypeOf<T>()}, out);
  AppendScalar(value, out);
}

inline bool ParseField(WireTag tag, WireReader& reader, std::string& value) {
  if (tag.type != WireType::kBytes) return reader.Skip(tag);
  std::string_view bytes;
  if (!reader.Bytes(bytes)) return false;
  value.assign(bytes);
  return true;
}
inline void AppendBytes(uint32_t number, std::string_view value, std::string& out) {
  AppendTag({number, WireType::kBytes}, out);
  AppendScalar(static_cast<uint64_t>(value.size()), out);
  out.append(value);
}
inline void AppendField(uint32_t number, const std::string& value, std::string& out) {
  if (!value.empty()) AppendBytes(number, value, out);
}

template <Message M>
bool ParseField(WireTag tag, WireReader& reader, M& message) {
  if (tag.type != WireType::kBytes) return reader.Skip(tag);
  WireReader inside = reader.Nested();
  return inside.ok() && ParseMessage(inside, message);
}
template <Message M>
void AppendField(uint32_t number, const M& message, std::string& out) {
  std::string inside;
  message.AppendTo(inside);
  AppendBytes(number, inside, out);
}

template <typename M>
bool ParseField(WireTag tag, WireReader& reader, Sub<M>& sub) {
  return ParseField(tag, reader, *sub.mutable_get());
}
template <typename M>
void AppendField(uint32_t number, const Sub<M>& sub, std::string& out) {
  if (sub.has()) AppendField(number, sub.get(), out);
}

template <typename T>
bool ParseField(WireTag tag, WireReader& reader, std::optional<T>& value) {
  if (tag.type != WireTypeOf<T>()) return reader.Skip(tag);
  return reader.Scalar(value.emplace());
}
template <typename T>
void AppendField(uint32_t number, const std::optional<T>& value, std::string& out) {
  if (!value.has_value()) return;
  AppendTag({number, WireTypeOf<T>()}, out);
  AppendScalar(*value, out);
}

template <typename T>
bool ParseField(WireTag tag, WireReader& reader, Repeated<T>& list) {
  if constexpr (WireScalar<T>) {
    if (tag.type == WireTypeOf<T>()) {  // writers need not pack
      T value{};
      if (!reader.Scalar(value)) return false;
      list.Add(value);
      return true;
    }
    if (tag.type != WireType::kBytes) return reader.Skip(tag);
    WireReader packed = reader.Nested();
    while (packed.ok() && !packed.AtEnd()) {
      T value{};
      if (!packed.Scalar(value)) return false;
      list.Add(value);
    }
    return packed.ok();
  } else {
    if (tag.type != WireType::kBytes) return reader.Skip(tag);
    return ParseField(tag, reader, *list.Add());
  }
}
template <typename T>
void AppendField(uint32_t number, const Repeated<T>& list, std::string& out) {
  if constexpr (WireScalar<T>) {
    if (list.empty()) return;
    std::string packed;
    for (const auto& value : list) AppendScalar(static_cast<T>(value), packed);
    AppendBytes(number, packed, out);
  } else if constexpr (std::is_same_v<T, std::string>) {
    for (const std::string& value : list) AppendBytes(number, value, out);
  } else {
    for (const T& message : list) AppendField(number, message, out);
  }
}

// An entry of a map is a message of key (1) and value (2).
template <typename M>
struct MapEntry {
  int64_t key = 0;
  M value;
  bool ParseField(WireTag tag, WireReader& reader) {
    if (tag.number == 1) return proto::ParseField(tag, reader, key);
    if (tag.number == 2) return proto::ParseField(tag, reader, value);
    return reader.Skip(tag);
  }
  void AppendTo(std::string& out) const {
    AppendField(1, key, out);
    AppendField(2, value, out);
  }
};
template <typename M>
bool ParseField(WireTag tag, WireReader& reader, std::map<int64_t, M>& map) {
  MapEntry<M> entry;
  if (!ParseField(tag, reader, entry)) return false;
  if (tag.type == WireType::kBytes) map[entry.key] = std::move(entry.value);
  return true;
}
template <typename M>
void AppendField(uint32_t number, const std::map<int64_t, M>& map, std::string& out) {
  for (const auto& [key, value] : map) AppendField(number, MapEntry<M>{key, value}, out);
}

}  // namespace meshwright::proto

// ---- classes ----

#define MESHWRIGHT_PROTO_STORE(label, type, name, number) \
  MESHWRIGHT_PROTO_STORE_##label(type, name##_)
#define MESHWRIGHT_PROTO_STORE_SCALAR(type, member) type member{};
#define MESHWRIGHT_PROTO_STORE_OPTIONAL(type, member) std::optional<type> member;
#define MESHWRIGHT_PROTO_STORE_TEXT(type, member) std::string member;
#define MESHWRIGHT_PROTO_STORE_SUB(type, member) Sub<type> member;
#define MESHWRIGHT_PROTO_STORE_SCALARS(type, member) Repeated<type> member;
#define MESHWRIGHT_PROTO_STORE_TEXTS(type, member) Repeated<std::string> member;
#define MESHWRIGHT_PROTO_STORE_SUBS(type, member) Repeated<type> member;
#define MESHWRIGHT_PROTO_STORE_MAP(type, member) std::map<int64_t, type> member;

#define MESHWRIGHT_PROTO_ACCESS(label, type, name, number) \
  MESHWRIGHT_PROTO_ACCESS_##label(type, name)
#define MESHWRIGHT_PROTO_ACCESS_SCALAR(type, name) \
  type name() const { return name##_; }            \
  void set_##name(type value) { name##_ = value; }
#define MESHWRIGHT_PROTO_ACCESS_OPTIONAL(type, name)      \
  bool has_##name() const { return name##_.has_value(); } \
  type name() const { return name##_.value_or(type{}); }  \
  void set_##name(type value) { name##_ = value; }
#define MESHWRIGHT_PROTO_ACCESS_TEXT(type, name)                     \
  const std::string& name() const { return name##_; }                \
  void set_##name(std::string_view value) { name##_.assign(value); } \
  std::string* mutable_##name() { return &name##_; }
#define MESHWRIGHT_PROTO_ACCESS_SUB(type, name)            \
  bool has_##name() const { return name##_.has(); }        \
  const type& name() const { return name##_.get(); }       \
  type* mutable_##name() { return name##_.mutable_get(); } \
  void clear_##name() { name##_.clear(); }
#define MESHWRIGHT_PROTO_ACCESS_LIST(type, name)         \
  const Repeated<type>& name() const { return name##_; } \
  Repeated<type>* mutable_##name() { return &name##_; }  \
  int name##_size() const { return name##_.size(); }     \
  void clear_##name() { name##_.clear(); }
#define MESHWRIGHT_PROTO_ACCESS_SCALARS(type, name)                   \
  MESHWRIGHT_PROTO_ACCESS_LIST(type, name)                            \
  type name(int i) const { return static_cast<type>(name##_[i]); }    \
  void set_##name(int i, type value) { *name##_.Mutable(i) = value; } \
  void add_##name(type value) { name##_.Add(value); }
#define MESHWRIGHT_PROTO_ACCESS_TEXTS(type, name)             \
  MESHWRIGHT_PROTO_ACCESS_LIST(std::string, name)             \
  const std::string& name(int i) const { return name##_[i]; } \
  void add_##name(std::string_view value) { name##_.Add()->assign(value); }
#define MESHWRIGHT_PROTO_ACCESS_SUBS(type, name)             \
  MESHWRIGHT_PROTO_ACCESS_LIST(type, name)                   \
  const type& name(int i) const { return name##_[i]; }       \
  type* mutable_##name(int i) { return name##_.Mutable(i); } \
  type* add_##name() { return name##_.Add(); }
#define MESHWRIGHT_PROTO_ACCESS_MAP(type, name)                   \
  const std::map<int64_t, type>& name() const { return name##_; } \
  std::map<int64_t, type>* mutable_##name() { return &name##_; }

#define MESHWRIGHT_PROTO_PARSE(label, type, name, number) \
  case number:                                            \
    return proto::ParseField(tag, reader, name##_);
#define MESHWRIGHT_PROTO_APPEND(label, type, name, number) AppendField(number, name##_, out);

// Further arguments are base classes: types that belong to the message.
#define MESHWRIGHT_PROTO_MESSAGE(Name, FIELDS, ...)                           \
  class Name __VA_OPT__( : public) __VA_ARGS__ {                              \
   public:                                                                    \
    FIELDS(MESHWRIGHT_PROTO_ACCESS)                                           \
    bool ParseField(WireTag tag, WireReader& reader) {                        \
      switch (tag.number) {                                                   \
        FIELDS(MESHWRIGHT_PROTO_PARSE)                                        \
        default:                                                              \
          return reader.Skip(tag);                                            \
      }                                                                       \
    }                                                                         \
    void AppendTo(std::string& out) const { FIELDS(MESHWRIGHT_PROTO_APPEND) } \
    bool ParseFromString(std::string_view bytes) {                            \
      *this = Name();                                                         \
      WireReader reader(bytes);                                               \
      return ParseMessage(reader, *this);                                     \
    }                                                                         \
    std::string SerializeAsString() const {                                   \
      std::string out;                                                        \
      AppendTo(out);                                                          \
      return out;                                                             \
    }                                                                         \
                                                                              \
   private:                                                                   \
    FIELDS(MESHWRIGHT_PROTO_STORE)                                            \
  };

#endif  // MESHWRIGHT_HLO_PROTO_MESSAGE_H_
