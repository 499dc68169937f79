// Patterns as `meshwright explain` prints and takes them (GlobMatch in src/meshwright/intra/names.h): `*`
// is any characters, `?` one, `{0..3,7}` and `{1..15..2}` a whole number that is among these.

interface NumberRange {
  /** Digits that are meant as they are written; else empty. */
  text: string;
  first: number;
  last: number;
  step: number;
}

interface NumberSet {
  ranges: NumberRange[];
  /** Of its text in the pattern. */
  length: number;
}

const usual = /^(0|[1-9][0-9]*)$/;
const isDigit = (text: string, at: number): boolean => at >= 0 && at < text.length && text[at] >= "0" && text[at] <= "9";

function rangeOf(text: string): NumberRange | null {
  if (/^[0-9]+$/.test(text)) return { text, first: 0, last: 0, step: 1 };
  const ends = text.split("..");
  if (ends.length < 2 || ends.length > 3 || !ends.every((end) => usual.test(end))) return null;
  const [first, last, step = 1] = ends.map(Number);
  return step < 1 ? null : { text: "", first, last, step };
}

/** A set of numbers at the beginning of a pattern. */
function setAt(pattern: string): NumberSet | null {
  const end = pattern.indexOf("}");
  if (end < 0) return null;
  const ranges = pattern.slice(1, end).split(",").map(rangeOf);
  return ranges.some((range) => range === null) ? null : { ranges: ranges as NumberRange[], length: end + 1 };
}

function setsOf(pattern: string): Map<number, NumberSet> {
  const sets = new Map<number, NumberSet>();
  for (let i = pattern.indexOf("{"); i >= 0; i = pattern.indexOf("{", i + 1)) {
    const set = setAt(pattern.slice(i));
    if (set) sets.set(i, set);
  }
  return sets;
}

/** Length of the number at `text[at]`, where it begins and is of the set; 0: it is not. */
function numberLength(set: NumberSet, text: string, at: number): number {
  if (isDigit(text, at - 1)) return 0;
  let end = at;
  while (isDigit(text, end)) end += 1;
  const digits = text.slice(at, end);
  if (digits === "") return 0;
  const number = usual.test(digits) ? Number(digits) : NaN;
  const found = set.ranges.some((range) =>
    range.text !== "" ? range.text === digits : number >= range.first && number <= range.last && (number - range.first) % range.step === 0,
  );
  return found ? digits.length : 0;
}

/** Whether a text has more to it than its own characters. */
export const isGlob = (pattern: string): boolean => /[*?]/.test(pattern) || setsOf(pattern).size > 0;

/** Whether a whole text fits the pattern. */
export function globMatcher(pattern: string): (text: string) => boolean {
  const sets = setsOf(pattern);
  return (text) => {
    if (pattern === text) return true;
    let p = 0;
    let t = 0;
    let star = -1; // the last `*`
    let resume = 0; // where its match ends so far
    while (t < text.length) {
      const set = sets.get(p);
      const length = set ? numberLength(set, text, t) : 0;
      if (pattern[p] === "*") {
        star = p;
        resume = t;
        p += 1;
      } else if (set && length > 0) {
        p += set.length;
        t += length;
      } else if (!set && p < pattern.length && (pattern[p] === "?" || pattern[p] === text[t])) {
        p += 1;
        t += 1;
      } else if (star >= 0) {
        p = star + 1;
        resume += 1;
        t = resume;
      } else {
        return false;
      }
    }
    while (pattern[p] === "*") p += 1;
    return p === pattern.length;
  };
}
